"""What lowering writes with: names that nothing else has, statements, and loops over arrays."""

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from linad.errors import KernelError
from linad.kernels.aliases import handed_over, replaced_names
from linad.kernels.array_windows import Array, ArrayWindow, Axis, Computed, whole
from linad.kernels.expression_source import kind_of
from linad.kernels.expressions import (
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    Kind,
    binary,
    call,
    mul,
    names,
    num,
    var,
)
from linad.kernels.function_source import FunctionSource
from linad.kernels.scalar_functions import CANONICAL
from linad.kernels.statements import Check, For, Grow, Let, New, Put, Statement
from linad.kernels.syntax import loop_names
from linad.kernels.varying_lengths import Lengths

CALLED = {"np", "math", "grown", "any_order", "len", "range", "min", "max", "sizes"}
CALLED |= {"reals", "integers"}
"""Names that generated functions use, or that begin those of their stacks, besides those of
functions of numbers."""


@functools.cache
def reserved_names() -> frozenset[str]:
    """Names of the language that programs are compiled in, and those of which such a name could be
    that of a derivative: the cotangent of ``array`` would be ``array_b1``, an array of booleans.
    """
    from linad.sweeps.cpu.kernel_cache import NAMESPACE  # what imports Numba comes late

    return frozenset(NAMESPACE) | {n.rpartition("_")[0] for n in NAMESPACE if DERIVED.search(n)}


MADE = re.compile(r"_(n|slot|axis\d+)$")
"""How names end that generated functions make of others, for what is beside these."""

DERIVED = re.compile(r"(?<=.)_([bd])(\d+)(?=_|$)")
"""What names of derivatives end in."""

FIRST_ROOM = num(16)
"""Entries that an array which grows has room for at first."""

DTYPES = {"f": "float64", "i": "int64", "b": "bool"}
"""Of arrays of scalars of a kind."""


class LowerAgain(Exception):  # not an error: what was learnt starts a new attempt
    """An attempt has found a name whose arrays must be copied."""


class Frame:
    """One function that is being lowered: the kernel, or one that it calls.

    Attributes
    ----------
    scope : dict
        What a name stands for: an `Expr`, an array, a tuple of these, or a function.
    done : str or None
        The scalar that says the function has returned, where it can return early.
    flags : list of (str, str)
        For each loop around, the scalars that say it was left, and that this turn was.
    depth : int
        How many loops and branches of its callers are around it.
    outer : Frame or None
        That of the function within which it is defined.
    read_in_loop : list of set of str
        For each loop around, the names of arrays that it has read.
    may_copy, values : set of str
        Names of arrays that may be copied when they get the name, and that have to be.
    """

    def __init__(
        self, source: FunctionSource, depth: int = 0, outer: "Frame | None" = None
    ) -> None:
        self.source, self.depth, self.outer = source, depth, outer
        self.read_in_loop: list[set[str]] = []
        self.may_copy = replaced_names(source)
        self.handed_over = handed_over(source)
        self.values: set[str] = set()
        self.scope: dict[str, Any] = {}
        self.done: str | None = None
        self.results: list[str] | None = None
        self.arrays: dict[int, ArrayWindow] = {}  # those of the results that are arrays
        self.flags: list[tuple[str, str]] = []
        self.counters = loop_names(source.tree) - source.captured
        self.stored = {
            n.id
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }


class Closure(NamedTuple):
    """A function that can be called.

    Attributes
    ----------
    source : FunctionSource
    outer : Frame or None
        Of the function within which it is defined: where the names that it does not define are
        found, as they are when it is called.
    defaults : dict
        Values of parameters.
    """

    source: FunctionSource
    outer: Frame | None
    defaults: dict[str, Any]


class StatementBuilder:
    """Statements that are being written.

    Attributes
    ----------
    parameters : list of str
        In the order of the function's; those that stand for functions are left out.
    kinds : dict
        Of all scalars and arrays.
    out : list of Statement
        Where statements go.
    constants : dict
        Arrays from outside of the function, by name.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.parameters: list[str] = []
        self.kinds: dict[str, Kind] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.taken: set[str] = set(CANONICAL) | CALLED | reserved_names()
        self.out: list[Statement] = []
        self.depth = 0
        self.calling: list[Any] = []
        self.hints: dict[str, Kind] = {}  # kinds of scalars that an earlier attempt found
        self.guesses: list[tuple[Expr, str]] = []
        self.copies: set[tuple[Any, str]] = set()  # names, by function, whose arrays are copied
        self.unnamed: set[str] = set()  # new arrays that the user has no name for yet
        self.loops: set[str] = set()  # counters, which nothing assigns
        self.counts: set[str] = set()  # those of them that are never negative
        self.definitions: dict[str, list[Expr]] = {}  # what scalars have been assigned so far
        self.lengths = Lengths(self.loops, self.counts, self.definitions)
        self.sole: Any = None
        self.comment = ""
        self.made_inside: set[str] = set()  # arrays that are made within loops or branches
        self.frames: list[Frame] = []  # of the functions that run, the kernel's first
        self.frame = Frame(source)

    def function(self, frame: Frame) -> Any:
        """Lower the body of a function; returns what it returns."""
        raise NotImplementedError

    # Names, and what is written down.

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        name = name if name.isascii() and not MADE.search(name) else f"{name}_"
        name = DERIVED.sub(r"_\1_\2", name)
        found, k = name, 1
        while found in self.taken:
            found, k = f"{name}_{k}", k + 1
        self.taken.add(found)
        return found

    def emit(self, s: Statement) -> None:
        """Add a statement."""
        s.comment = self.comment
        self.out.append(s)
        if isinstance(s, Let):
            self.definitions.setdefault(s.name, []).append(s.value)
        if isinstance(s, Let) and s.name not in self.kinds:
            self.hints.setdefault(s.name, kind_of(s.value, {**self.hints, **self.kinds}))

    @contextmanager
    def into(self, inside: bool = True) -> Iterator[list[Statement]]:
        """Statements emitted in the block go to a list of their own."""
        before, self.out = self.out, []
        self.depth += inside
        try:
            yield self.out
        finally:
            self.out = before
            self.depth -= inside

    def held(self, e: Expr, name: str = "t") -> Expr:
        """A scalar that has the value of an expression."""
        if e.op == "num":
            return e
        new = self.fresh(name)
        self.emit(Let(new, e))
        return var(new)

    def owned(self, value: Any, name: str = "t") -> Any:
        """A value in scalars that nothing else assigns; arrays stay where they are."""
        if isinstance(value, list):
            return type(value)([self.owned(v, name) for v in value])
        if isinstance(value, Expr):
            new = self.fresh(name)
            self.emit(Let(new, value))
            return var(new)
        if isinstance(value, Computed):
            value = self.copied(value)
        if isinstance(value, ArrayWindow):
            self.unnamed.discard(value.array)
            return self.pinned(value)
        return value

    def kind_here(self, e: Expr) -> str:
        """The kind of a number, as far as is known; a wrong guess is seen later."""
        found = kind_of(e, {**self.hints, **self.kinds})
        self.guesses.append((e, found))
        return found

    def operation(self, op: str, a: Expr, b: Expr) -> Expr:
        """``a op b``; where nothing is left to do but its kind, as in ``1.0 * n``, it has that."""
        found = binary(op, a, b)
        if op in "+-*" and "num" in (a.op, b.op) and found != Expr(op, (a, b)):
            # Kinds of scalars are guesses, which would turn with what is made of them.
            arrays: dict[str, Any] = {
                n: kind for n, kind in self.kinds.items() if isinstance(kind, ArrayKind)
            }
            kind = kind_of(Expr(op, (a, b)), arrays)
            if kind != kind_of(found, arrays):
                return call("float" if kind == "f" else "int", found)
        return found

    def copy_or_refuse(self, frame: Frame, name: str, refusal: KernelError) -> None:
        """Begin again with a name's arrays copied, if nobody could tell."""
        key = (frame.source.key, name)
        if name not in frame.may_copy or key in self.copies:
            raise refusal
        self.copies.add(key)
        raise LowerAgain

    def error(self, node: ast.AST, problem: str, remedy: str) -> KernelError:
        """An error that names the user's line."""
        return self.frame.source.error(node, problem, remedy)

    # Arrays, entry by entry.

    def pinned(self, w: ArrayWindow) -> ArrayWindow:
        """The window as it is now, whatever becomes of the scalars it was made with."""
        loops = set().union(*[{v.parts[0]} for v in self._loop_vars()])

        def pin(e: Expr) -> Expr:
            return e if names(e) <= loops else self.held(e)

        entries: list[Any] = []
        for e in w.entries:
            if isinstance(e, Axis):
                entries.append(Axis(pin(e.start), pin(e.step), pin(e.length), e.whole, e.picks))
            else:
                entries.append(pin(e))
        return ArrayWindow(w.array, tuple(entries), w.order, w.form)

    def _loop_vars(self) -> list[Expr]:
        return [
            v for v in self.frame.scope.values() if isinstance(v, Expr) and v.parts[0] in self.loops
        ]

    def fill(self, window: ArrayWindow, value: Any, s: ast.stmt) -> None:
        """Write an array, or a number, into all entries of a window."""
        if isinstance(value, (ArrayWindow, Computed)):
            mine = (window.array, window.region)
            others = [a == window.array and (a, e) != mine for a, e in regions_of(value)]
            if any(others) or (window.is_picked() and window.array in dict(regions_of(value))):
                value = self.copied(value)
            self.check_dims(window.dims, value.dims, stretch=True)
            if len(value.dims) > len(window.dims):
                raise self.error(s, "the value has more axes than the place", "index it")
        elif not isinstance(value, Expr):
            raise self.error(s, "writes something other than a number or an array", "write numbers")
        elif names(value) & {window.array}:
            value = self.held(value)
        with self.loops_over(window.dims) as indices:
            if isinstance(value, Expr):
                entry = value
            else:
                entry = entry_at(value, indices)
            self.emit(Put(window.array, window.index(indices), entry))

    def check_dims(self, a: Sequence[Expr], b: Sequence[Expr], stretch: bool = False) -> None:
        """Check, when the kernel runs, that axes have the same lengths; ``stretch`` is whether one
        of ``b`` that is known to be 1 may be shorter.
        """
        for m, n in zip(reversed(a), reversed(b), strict=False):
            if m != n and not (stretch and n == ONE):
                self.emit(
                    Check(
                        Expr("==", (m, n)),
                        f"kernel {self.frame.source.name}: axes of different lengths in "
                        f"`{self.comment}`; kernels do not stretch an axis of length 1",
                    )
                )

    @contextmanager
    def loops_over(self, dims: Sequence[Expr]) -> Iterator[tuple[Expr, ...]]:
        """Emit loops, one in the other; what is emitted in the block is their body."""
        counters = [self.fresh("k") for _ in dims]
        self.loops.update(counters)
        self.counts.update(counters)
        with self.into() as inner:
            yield tuple([var(c) for c in counters])
        for c, n in reversed([*zip(counters, dims, strict=True)]):
            loop = For(c, ZERO, n, ONE, inner)
            loop.comment = self.comment
            inner = [loop]
        self.out += inner

    def new(self, dims: Sequence[Expr], dtype: str, zeros: bool = True) -> ArrayWindow:
        """A new array, of zeros or of anything."""
        found = self.fresh("array")
        self.unnamed.add(found)
        if self.depth:
            self.made_inside.add(found)
        self.kinds[found] = ArrayKind(dtype, len(dims))
        sizes = [self.held(d, "size") for d in dims]
        room = [self.lengths.most(n) if self.depth else n for n in sizes]
        if sizes != room and None not in room:  # as long as it may get; this turn uses a part
            self.emit(New(found, tuple([n for n in room if n is not None]), dtype, zeros))
            return ArrayWindow(found, tuple([Axis(ZERO, ONE, n) for n in sizes]))
        if sizes != room:  # as long as it gets
            total = self.held(functools.reduce(mul, sizes, ONE), "size")
            self.kinds[found] = ArrayKind(dtype, 1)
            self.emit(New(found, (FIRST_ROOM,), dtype, zeros))
            self.emit(Grow(found, total, dtype))
            made = ArrayWindow(found, (Axis(ZERO, ONE, total),))
            return made if len(sizes) == 1 else made.reshaped(tuple(sizes))
        self.emit(New(found, tuple(sizes), dtype, zeros))
        return whole(found, len(dims))

    def copied(self, a: Array, dtype: str = "") -> ArrayWindow:
        """An array of its own with these entries, of the same dtype if none is given."""
        kind = self.kinds.get(a.array) if isinstance(a, ArrayWindow) else None
        dtype = dtype or (kind.dtype if isinstance(kind, ArrayKind) else self.dtype_of(a))
        new = self.new(a.dims, dtype, zeros=False)
        with self.loops_over(a.dims) as indices:
            self.emit(Put(new.array, new.index(indices), a.at(*indices)))
        return new

    def dtype_of(self, a: Any) -> str:
        known = {self.kinds[r].dtype for r, _ in regions_of(a)}  # type: ignore[union-attr]
        kind = self.kind_here(a.at(*[ZERO for _ in a.dims]))
        if kind == "f":
            return known.pop() if known == {"float32"} else "float64"
        return DTYPES[kind]

    def clear(self, a: ArrayWindow, value: Expr = NONE) -> None:
        """Set all entries."""
        if self.depth or value != NONE:
            kind = self.kinds[a.array]
            if value == NONE and isinstance(kind, ArrayKind) and kind.scalar != "f":
                value = ZERO if kind.scalar == "i" else num(False)
            with self.loops_over(a.dims) as indices:
                self.emit(Put(a.array, a.index(indices), value))


def entry_at(a: Array, indices: Sequence[Expr]) -> Expr:
    """The entry of an array that stands beside these indices of a larger one."""
    mine = indices[len(indices) - len(a.dims) :]
    return a.at(*[ZERO if n == ONE else i for i, n in zip(mine, a.dims, strict=True)])


def all_of(tests: list[Expr]) -> Expr:
    """All of the tests, joined by ``and``."""
    return functools.reduce(lambda a, b: Expr("and", (a, b)), tests)


def regions_of(a: Any) -> frozenset[Any]:
    """What is read of which arrays."""
    if isinstance(a, ArrayWindow):
        return frozenset([(a.array, a.region)])
    return a.reads if isinstance(a, Computed) else frozenset()
