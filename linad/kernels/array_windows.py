"""Arrays as the lowering of kernels sees them: windows of arrays, and expressions of entries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linad.kernels.expressions import ONE, ZERO, Expr, add, binary, dim, get, mul, sub


@dataclass(frozen=True)
class Axis:
    """An axis of a window: entries ``start + step * i``; ``whole`` is an axis of the array.

    ``picks`` is an array with the numbers of the entries, if it picks them: ``a[[2, 0]]``.
    """

    start: Expr
    step: Expr
    length: Expr
    whole: bool = False
    picks: str = ""

    def place(self, i: Expr) -> Expr:
        """Where an entry of the axis lies."""
        i = get(self.picks, i) if self.picks else i
        return add(self.start, mul(self.step, i))


@dataclass(frozen=True)
class Form:
    """Other axes for the entries of a window, which keep their order."""

    base: "ArrayWindow"
    dims: tuple[Expr, ...]

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where an entry lies in the array."""
        return self.base.index(regrouped(indices, self.dims, self.base.dims))


class ArrayWindow:
    """Entries of an array: a fixed index, or an axis, for each axis of the array.

    Parameters
    ----------
    array : str
    entries : tuple of Expr and Axis
    order : tuple of int, optional
        Which of the axes among the entries is each axis of the window; as they come.
    form : Form, optional
        The axes that the entries are of, if they are not the array's own.
    """

    def __init__(
        self,
        array: str,
        entries: tuple[Expr | Axis, ...],
        order: tuple[int, ...] | None = None,
        form: Form | None = None,
    ) -> None:
        self.array, self.entries, self.form = array, entries, form
        axes = [e for e in entries if isinstance(e, Axis)]
        self.order = tuple(range(len(axes))) if order is None else order
        self.axes = [axes[k] for k in self.order]
        self.dims = tuple([a.length for a in self.axes])

    @property
    def region(self) -> tuple[Any, ...]:
        """What tells it from other windows of the array."""
        form = self.form and (self.form.dims, self.form.base.region)
        return self.entries, self.order, form

    def permuted(self, axes: Sequence[int]) -> "ArrayWindow":
        """The window with its axes in another order."""
        order = tuple([self.order[k] for k in axes])
        return ArrayWindow(self.array, self.entries, order, self.form)

    def is_whole(self) -> bool:
        """Whether these are all entries, in their order."""
        whole = all([isinstance(e, Axis) and e.whole for e in self.entries])
        return whole and not self.form and self.order == tuple(range(len(self.order)))

    def is_picked(self) -> bool:
        """Whether an array of numbers or truths picks its entries."""
        return any([isinstance(e, Axis) and bool(e.picks) for e in self.entries])

    def lies_together(self) -> bool:
        """Whether nothing lies between the entries: of a row of rows some, of these all."""
        full = self.form.dims if self.form else (None,) * len(self.entries)
        inside = False
        for e, n in zip(self.entries, full, strict=True):
            if not isinstance(e, Axis):
                if inside:
                    return False
            elif inside:
                if not e.whole and e != Axis(ZERO, ONE, n):  # type: ignore[arg-type]  # no length is None
                    return False
            else:
                inside = True
                if e.step != ONE:
                    return False
        return self.order == tuple(range(len(self.order)))

    def reshaped(self, dims: tuple[Expr, ...]) -> "ArrayWindow":
        """The same entries, under other axes."""
        axes = tuple([Axis(ZERO, ONE, n) for n in dims])
        return ArrayWindow(self.array, axes, None, Form(self, dims))

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where an entry of the window lies in the array."""
        left = iter([i for _, i in sorted(zip(self.order, indices, strict=True))])
        found = []
        for e in self.entries:
            if isinstance(e, Axis):
                found.append(e.place(next(left)))
            else:
                found.append(e)
        return self.form.index(tuple(found)) if self.form else tuple(found)

    def at(self, *indices: Expr) -> Expr:
        """An entry."""
        return get(self.array, *self.index(indices))


def item_of(a: ArrayWindow, k: Expr) -> Any:
    """An entry along the first axis."""
    if len(a.dims) == 1:
        return a.at(k)
    first = a.order[0]
    axes = iter(range(len(a.order)))
    entries: list[Any] = []
    for e in a.entries:
        here = isinstance(e, Axis) and next(axes) == first
        entries.append(e.place(k) if here and isinstance(e, Axis) else e)
    order = tuple([n - (n > first) for n in a.order[1:]])
    return ArrayWindow(a.array, tuple(entries), order, a.form)


def regrouped(
    indices: tuple[Expr, ...], dims: tuple[Expr, ...], onto: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    """The indices under axes ``onto`` of the entry that has these under axes ``dims``."""
    if dims and onto and dims[0] == onto[0]:
        return (indices[0], *regrouped(indices[1:], dims[1:], onto[1:]))
    if dims and onto and dims[-1] == onto[-1]:
        return (*regrouped(indices[:-1], dims[:-1], onto[:-1]), indices[-1])
    flat = ZERO
    for i, n in zip(indices, dims, strict=True):
        flat = add(mul(flat, n) if flat != ZERO else ZERO, i)
    found: list[Expr] = []
    for n in onto[:0:-1]:
        found.insert(0, binary("%", flat, n))
        flat = binary("//", flat, n)
    return (flat, *found) if onto else ()


def whole(array: str, ndim: int) -> ArrayWindow:
    """All of an array."""
    axes = [Axis(ZERO, ONE, dim(array, k), whole=True) for k in range(ndim)]
    return ArrayWindow(array, tuple(axes))


class Computed:
    """An array of which each entry is an expression; it has no memory."""

    def __init__(
        self, dims: tuple[Expr, ...], at: Callable[..., Expr], reads: frozenset[str]
    ) -> None:
        self.dims, self.at, self.reads = dims, at, reads


Array = ArrayWindow | Computed


def arrays_in(value: Any) -> set[str]:
    """The arrays that a value is a part of, or has parts of."""
    if isinstance(value, list):
        return set().union(*[arrays_in(v) for v in value])
    return {value.array} if isinstance(value, ArrayWindow) else set()


def length_of(start: Expr, stop: Expr, step: int) -> Expr:
    """Number of entries of a slice, at least 0."""
    from linad.kernels.expressions import call, num

    count = sub(stop, start)
    if step > 1:
        count = binary("//", add(count, num(step - 1)), num(step))
    return count if count.op == "num" else call("max", ZERO, count)


__all__ = [
    "Array",
    "ArrayWindow",
    "Axis",
    "Computed",
    "Form",
    "arrays_in",
    "item_of",
    "length_of",
    "whole",
]
