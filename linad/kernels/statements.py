"""Statements of kernels, and their source.

A kernel in this form is a function of scalars and arrays that writes into arrays and returns
nothing. Loops and branches nest; everything else is one assignment.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from linad.kernels.expression_source import text
from linad.kernels.expressions import ONE, ZERO, Expr, call, names, num


@dataclass
class Statement:
    """What all statements have: the user's lines they stand for."""

    comment: str = field(default="", kw_only=True)

    def source(self) -> list[str]:
        """Its lines of Python, without indentation."""
        raise NotImplementedError


@dataclass
class Let(Statement):
    """``name = value`` of a scalar."""

    name: str
    value: Expr

    def source(self) -> list[str]:
        v = self.value
        if v.op in ("+", "-", "*") and v.parts[0] == Expr("var", (self.name,)):
            return [f"{self.name} {v.op}= {text(v.parts[1])}"]
        return [f"{self.name} = {text(v)}"]


@dataclass
class Put(Statement):
    """``array[index] = value``, or ``+=``."""

    array: str
    index: tuple[Expr, ...]
    value: Expr
    adds: bool = False

    def source(self) -> list[str]:
        index = ", ".join([text(i) for i in self.index])
        if self.adds and self.value.op == "neg":
            return [f"{self.array}[{index}] -= {text(self.value.parts[0])}"]
        return [f"{self.array}[{index}] {'+' * self.adds}= {text(self.value)}"]


@dataclass
class For(Statement):
    """``for name in range(start, stop, step)``; nothing else assigns the name.

    ``any_order`` is whether turns neither read nor write what another one writes, ``prange``
    whether the user says that turns may be taken in any order, ``pieces`` whether the turns are
    pieces of such a loop.
    """

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: list[Statement]
    any_order: bool = field(default=False, kw_only=True)
    prange: bool = field(default=False, kw_only=True)
    pieces: bool = field(default=False, kw_only=True)

    def source(self) -> list[str]:
        bounds = ", ".join([text(e) for e in _bounds(self)])
        numbers = f"any_order(range({bounds}))" if self.any_order else f"range({bounds})"
        return [f"for {self.name} in {numbers}:", *lines(self.body)]


@dataclass
class WhileLoop(Statement):
    """``while test``."""

    test: Expr
    body: list[Statement]

    def source(self) -> list[str]:
        return [f"while {text(self.test)}:", *lines(self.body)]


@dataclass
class If(Statement):
    """``if test``."""

    test: Expr
    yes: list[Statement]
    no: list[Statement]

    def source(self) -> list[str]:
        if not self.yes:
            return [f"if not ({text(self.test)}):", *lines(self.no)]
        tail = ["else:", *lines(self.no)] if self.no else []
        return [f"if {text(self.test)}:", *lines(self.yes), *tail]


@dataclass
class New(Statement):
    """``array = np.zeros(dims)``; outside of loops and branches only.

    ``zeros`` is whether anything reads entries before it writes them, ``in_turn`` whether each
    turn of a loop makes it anew.
    """

    array: str
    dims: tuple[Expr, ...]
    dtype: str
    zeros: bool = True
    in_turn: bool = field(default=False, kw_only=True)

    def source(self) -> list[str]:
        dims = ", ".join([text(d) for d in self.dims]) + "," * (len(self.dims) == 1)
        dtype = "bool_" if self.dtype == "bool" else self.dtype
        return [f"{self.array} = np.zeros(({dims}), dtype=np.{dtype})"]


@dataclass
class Grow(Statement):
    """Make an array of one axis as long as needed, if it is shorter; what is new is zero."""

    array: str
    needed: Expr
    dtype: str

    def source(self) -> list[str]:
        a, needed = self.array, text(self.needed)
        zero = text(num(np.zeros((), self.dtype)[()]))
        return [
            f"if {needed} > {a}.shape[0]:",
            f"    {a}_n = {a}.shape[0]",
            f"    {a} = grown({a}, {needed})",
            f"    for {a}_axis0 in range({a}_n, {a}.shape[0]):",
            f"        {a}[{a}_axis0] = {zero}",
        ]


@dataclass
class Swap(Statement):
    """``a, b = b, a``: arrays change their names."""

    targets: tuple[str, ...]
    sources: tuple[str, ...]

    def source(self) -> list[str]:
        return [f"{', '.join(self.targets)} = {', '.join(self.sources)}"]


@dataclass
class Check(Statement):
    """Raise a `ValueError` with a message unless the condition holds."""

    test: Expr
    message: str

    def source(self) -> list[str]:
        return [f"if not ({text(self.test)}):", f"    raise ValueError({self.message!r})"]


@dataclass
class PushValue(Statement):
    """Put a value on a stack."""

    stack: str
    value: Expr

    def source(self) -> list[str]:
        return [f"{_top(self.stack)} = {text(self.value)}", f"{self.stack}_n += 1"]


@dataclass
class PopValue(Statement):
    """Take a scalar from a stack."""

    stack: str
    name: str

    def source(self) -> list[str]:
        return [f"{self.stack}_n -= 1", f"{self.name} = {_top(self.stack)}"]


@dataclass
class NewStack(Statement):
    """An empty stack, of floats or integers."""

    name: str
    dtype: str

    def source(self) -> list[str]:
        return [f"{self.name} = {self.name}_scratch", f"{self.name}_n = 0"]


@dataclass
class StackRoom(Statement):
    """Make a stack large enough for this many more values."""

    stack: str
    count: Expr

    def source(self) -> list[str]:
        end = f"{self.stack}_end"
        return [
            f"{end} = {self.stack}_n + {text(self.count, 6)}",
            f"if {end} > {self.stack}.size:",
            f"    {self.stack} = grown({self.stack}, {end})",
        ]


def bodies(s: Statement) -> list[list[Statement]]:
    """The lists of statements inside a statement."""
    if isinstance(s, (For, WhileLoop)):
        return [s.body]
    return [s.yes, s.no] if isinstance(s, If) else []


def with_bodies(s: Statement, inner: list[list[Statement]]) -> Statement:
    """A loop or branch with other statements inside."""
    if isinstance(s, If):
        return replace(s, yes=inner[0], no=inner[1])
    assert isinstance(s, (For, WhileLoop))
    return replace(s, body=inner[0])


def walk(body: list[Statement]) -> Iterator[Statement]:
    """All statements, outer ones first."""
    for s in body:
        yield s
        for inner in bodies(s):
            yield from walk(inner)


def expressions(s: Statement) -> tuple[Expr, ...]:
    """The expressions that a statement itself evaluates."""
    if isinstance(s, (Let, PushValue)):
        return (s.value,)
    if isinstance(s, Put):
        return (*s.index, s.value)
    if isinstance(s, For):
        return s.start, s.stop, s.step
    if isinstance(s, (WhileLoop, If, Check)):
        return (s.test,)
    if isinstance(s, StackRoom):
        return (s.count,)
    if isinstance(s, Grow):
        return (s.needed,)
    return s.dims if isinstance(s, New) else ()


def reads(s: Statement) -> set[str]:
    """Names whose values a statement itself reads."""
    found: set[str] = set()
    for e in expressions(s):
        found |= names(e)
    if isinstance(s, Put) and s.adds:
        found.add(s.array)
    return found


def written(s: Statement) -> set[str]:
    """Names that a statement itself assigns."""
    if isinstance(s, (Let, For, PopValue)):
        return {s.name}
    if isinstance(s, (Put, New)):
        return {s.array}
    return set(s.targets) if isinstance(s, Swap) else set()


def assigned(body: list[Statement]) -> set[str]:
    """Names that any of the statements assigns."""
    return set().union(*[written(s) for s in walk(body)])


def lines(body: list[Statement], depth: int = 1) -> list[str]:
    """Source of statements."""
    found: list[str] = []
    last = ""
    for s in body:
        if s.comment and s.comment != last:
            found += [f"# {part}" for part in s.comment.splitlines()]
            last = s.comment
        found += s.source()
    if not any([not line.lstrip().startswith("#") for line in found]):
        found.append("pass")
    return ["    " * (depth > 0) + line for line in found]


def _top(stack: str) -> str:
    """The entry at the top of a stack; a signed index might count from the end, which costs."""
    return f"{stack}[np.uint64({stack}_n)]"


def turns_of(s: For) -> Expr:
    """How many turns a loop takes."""
    if s.start == ZERO and s.step == ONE and s.stop.op == "dim":
        return s.stop
    return call("len_range", *_bounds(s))


def _bounds(s: For) -> tuple[Expr, ...]:
    """The arguments of ``range``, without those that it has by itself."""
    if s.step != ONE:
        return s.start, s.stop, s.step
    return (s.stop,) if s.start == ZERO else (s.start, s.stop)
