"""Loops of which the adjoint keeps some states only, and runs again from these.

A loop of n turns is cut into K segments, or fewer, of m = ceil(n / K) turns. Forward, the state at
the start of each segment is kept and nothing else. Backward, last segment first, the state is
brought back, the segment runs again and keeps what it overwrites, and then goes backward. So K
states are kept and the overwritten values of m turns, in the place of those of n; each turn is run
twice.

Source: A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
automatic differentiation", 1992; this is its schedule with one level.
"""

from collections.abc import Callable, Iterable

from linad.errors import KernelError
from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import (
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    Kind,
    add,
    binary,
    dim,
    get,
    mul,
    num,
    sub,
    var,
)
from linad.kernels.statements import For, Grow, Let, New, Put, Statement, WhileLoop, walk


def loops_in_segments(program: KernelProgram) -> list[For]:
    """The loops at the top of a program that are run in segments: those with loops inside, or
    all if there are none of these.
    """
    if not program.checkpoints:
        return []
    found = [s for s in program.body if isinstance(s, For) and s.step == ONE]
    found = [s for s in found if not any([isinstance(t, Grow) for t in walk(s.body)])]
    nested = [s for s in found if any([isinstance(t, (For, WhileLoop)) for t in walk(s.body)])]
    if not found:
        raise KernelError(
            f"kernel {program.name}: checkpoints={program.checkpoints}, but no loop over "
            f"`range(n)` or `range(m, n)` at its top; loops that `break` or `return` leaves, or in "
            f"which lists grow, are not run in segments"
        )
    return nested or found


class LoopSegments:
    """A loop that is cut into segments, and the state that is kept at the start of each.

    Parameters
    ----------
    loop : For
        Its step is 1.
    count : int
        K.
    state : iterable of str
        The scalars and arrays that the turns hand on.
    kinds : dict
        Of all scalars and arrays; new ones are added.
    fresh : callable
        Makes a name.
    """

    def __init__(
        self,
        loop: For,
        count: int,
        state: Iterable[str],
        kinds: dict[str, Kind],
        fresh: Callable[[str], str],
    ) -> None:
        self.loop, self.count, self.kinds, self.fresh = loop, num(count), kinds, fresh
        self.first, self.last, self.length, self.segments, self.segment, self.begin, self.end = [
            self.integer(n)
            for n in ("first", "last", "length", "segments", "segment", "begin", "end")
        ]
        self.kept = {name: fresh(f"{name}_kept") for name in sorted(state)}
        for name, kept in self.kept.items():
            kind = kinds[name]
            ndim = kind.ndim if isinstance(kind, ArrayKind) else 0
            dtype = kind.dtype if isinstance(kind, ArrayKind) else _DTYPES[kind]
            kinds[kept] = ArrayKind(dtype, ndim + 1)

    def integer(self, name: str) -> Expr:
        """A new scalar."""
        new = self.fresh(name)
        self.kinds[new] = "i"
        return var(new)

    def forward(self, turn: list[Statement]) -> list[Statement]:
        """The loop, with the state kept at the start of each segment."""
        s = self.loop
        turns = sub(self.last, self.first)
        some = Expr(">", (self.length, ZERO))
        out: list[Statement] = [
            Let(self.first.parts[0], s.start),
            Let(self.last.parts[0], s.stop),
            Let(self.length.parts[0], _ceil(turns, self.count)),
            Let(self.segments.parts[0], Expr("if", (some, _ceil(turns, self.length), ZERO))),
        ]
        for name, kept in self.kept.items():
            kind = self.kinds[kept]
            assert isinstance(kind, ArrayKind)
            dims = tuple([dim(name, k) for k in range(kind.ndim - 1)])
            out.append(New(kept, (self.count, *dims), kind.dtype, zeros=False))
        segment = For(s.name, self.begin, self.end, ONE, turn)
        inner = [*self.moved(keep=True), *self.bounds(), segment]
        return [*out, For(self.segment.parts[0], ZERO, self.segments, ONE, inner)]

    def backward(self, again: list[Statement], back: list[Statement]) -> list[Statement]:
        """The segments, last one first: each one again, with what it overwrites kept, and back."""
        s, down = self.loop, num(-1)
        inner = [
            *self.moved(keep=False),
            *self.bounds(),
            *again,
            For(s.name, sub(self.end, ONE), sub(self.begin, ONE), down, back),
        ]
        return [For(self.segment.parts[0], sub(self.segments, ONE), down, down, inner)]

    def bounds(self) -> list[Statement]:
        """Find the turns of the segment."""
        begin = add(self.first, mul(self.segment, self.length))
        end = add(self.begin, self.length)
        shorter = Expr("<", (end, self.last))
        return [
            Let(self.begin.parts[0], begin),
            Let(self.end.parts[0], Expr("if", (shorter, end, self.last))),
        ]

    def moved(self, keep: bool) -> list[Statement]:
        """The state, kept or brought back."""
        out: list[Statement] = []
        for name, kept in self.kept.items():
            kind = self.kinds[name]
            if not isinstance(kind, ArrayKind):
                here = self.segment
                out.append(Put(kept, (here,), var(name)) if keep else Let(name, get(kept, here)))
                continue
            index = [self.integer("k") for _ in range(kind.ndim)]
            place = (self.segment, *index)
            s: Statement = (
                Put(kept, place, get(name, *index))
                if keep
                else Put(name, tuple(index), get(kept, *place))
            )
            for axis in reversed(range(kind.ndim)):
                s = For(index[axis].parts[0], ZERO, dim(name, axis), ONE, [s])
            out.append(s)
        return out


def _ceil(n: Expr, size: Expr) -> Expr:
    """How many parts of a size n is cut into."""
    return binary("//", sub(add(n, size), ONE), size)


_DTYPES = {"f": "float64", "i": "int64", "b": "bool"}

__all__ = ["LoopSegments", "loops_in_segments"]
