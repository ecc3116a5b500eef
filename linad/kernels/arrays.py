"""Arrays as the lowering of kernels sees them: windows of arrays, and expressions of entries."""

from collections.abc import Callable
from dataclasses import dataclass

from linad.kernels.expressions import ZERO, Expr, add, binary, dim, get, mul, sub


@dataclass(frozen=True)
class Axis:
    """An axis of a window: entries ``start + step * i``; ``whole`` is an axis of the array."""

    start: Expr
    step: Expr
    length: Expr
    whole: bool = False


class ArrayWindow:
    """Entries of an array: a fixed index, or an axis, for each axis of the array."""

    def __init__(self, array: str, entries: tuple[Expr | Axis, ...]) -> None:
        self.array, self.entries = array, entries
        self.axes = [e for e in entries if isinstance(e, Axis)]
        self.dims = tuple([a.length for a in self.axes])

    def is_whole(self) -> bool:
        """Whether these are all entries."""
        return all([isinstance(e, Axis) and e.whole for e in self.entries])

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where an entry of the window lies in the array."""
        left = list(indices)
        found = []
        for e in self.entries:
            if isinstance(e, Axis):
                found.append(add(e.start, mul(e.step, left.pop(0))))
            else:
                found.append(e)
        return tuple(found)

    def at(self, *indices: Expr) -> Expr:
        """An entry."""
        return get(self.array, *self.index(indices))


def whole(array: str, ndim: int) -> ArrayWindow:
    """All of an array."""
    one = Expr("num", ("1",))
    axes = [Axis(ZERO, one, dim(array, k), whole=True) for k in range(ndim)]
    return ArrayWindow(array, tuple(axes))


class Computed:
    """An array of which each entry is an expression; it has no memory."""

    def __init__(
        self, dims: tuple[Expr, ...], at: Callable[..., Expr], reads: frozenset[str]
    ) -> None:
        self.dims, self.at, self.reads = dims, at, reads


Array = ArrayWindow | Computed


def arrays_read(a: Array) -> frozenset[str]:
    """The arrays whose entries it has."""
    return frozenset([a.array]) if isinstance(a, ArrayWindow) else a.reads


def length_of(start: Expr, stop: Expr, step: int) -> Expr:
    """Number of entries of a slice, at least 0."""
    from linad.kernels.expressions import call, num

    count = sub(stop, start)
    if step > 1:
        count = binary("//", add(count, num(step - 1)), num(step))
    return count if count.op == "num" else call("max", ZERO, count)


__all__ = ["Array", "ArrayWindow", "Axis", "Computed", "arrays_read", "length_of", "whole"]
