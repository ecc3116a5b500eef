"""The tangent of a kernel: the same statements, each with that of its tangent before it."""

from collections.abc import Sequence
from dataclasses import replace

from linad.kernels.analysis import KernelProgram, varied_names
from linad.kernels.expressions import NONE, ArrayKind, Expr, get, var
from linad.kernels.fresh_names import FreshNames
from linad.kernels.partials import Derivative, Values
from linad.kernels.pieces import in_pieces, is_by_pieces
from linad.kernels.statements import (
    For,
    Grow,
    If,
    Let,
    New,
    NewStack,
    PopValue,
    PushValue,
    Put,
    StackRoom,
    Statement,
    Swap,
    WhileLoop,
)


class Tangent:
    """Makes the tangent of a program with respect to some of its arguments."""

    def __init__(self, program: KernelProgram, active: Sequence[str], pieces: bool = False) -> None:
        self.program = program
        self.kinds = dict(program.kinds)
        self.varied = varied_names(program, active)
        self.suffix = f"_d{program.level + 1}"
        self.names = FreshNames(program, self.suffix)
        for name in self.varied:
            if name in self.kinds:
                self.kinds[self.of(name)] = self.kinds[name]
        scalars = [n for n in self.varied if self.kinds.get(n) == "f"]
        start: list[Statement] = [
            Let(self.of(n), NONE) for n in sorted(scalars) if n not in program.arguments
        ]
        later = [n for n in program.arguments if n in self.varied and n not in active]
        start += [Let(self.of(n), NONE) for n in later if self.kinds[n] == "f"]
        self.arguments = [self.of(n) for n in program.arguments if n in self.varied and n in active]
        self.arguments += [self.of(n) for n in later if isinstance(self.kinds[n], ArrayKind)]
        found = [self.cut(s) if pieces and is_by_pieces(s) else s for s in program.body]
        self.body = start + self.block(found)

    def cut(self, s: For) -> For:
        """A loop in pieces."""
        return in_pieces(s, lambda begin, end: [replace(s, start=begin, stop=end)], self.integer)

    def integer(self, name: str) -> Expr:
        """A new scalar."""
        new = self.fresh(name)
        self.kinds[new] = "i"
        return var(new)

    def of(self, name: str) -> str:
        """The name of a tangent."""
        return name + self.suffix

    def fresh(self, name: str) -> str:
        """A name for a value."""
        return self.names.make(name)

    def leaf(self, e: Expr) -> Expr:
        if e.op == "var":
            return var(self.of(e.parts[0]))
        return get(self.of(e.parts[0]), *e.parts[1])

    def made(self) -> KernelProgram:
        """The tangent, as a program."""
        p = self.program
        arguments = [*p.arguments, *self.arguments]
        name = f"{p.name}_tangent"
        return KernelProgram(name, arguments, self.kinds, self.body, p.level + 1, written=p.written)

    def block(self, body: Sequence[Statement]) -> list[Statement]:
        """The tangents of statements, and these."""
        out: list[Statement] = []
        for s in body:
            self.statement(s, out)
        return out

    def statement(self, s: Statement, out: list[Statement]) -> None:
        """Add the tangent of a statement, by ``of_<kind>``, and itself."""
        start = len(out)
        write = getattr(self, f"of_{type(s).__name__}", None)
        if write is None:
            out.append(s)
        else:
            write(s, out)
        if len(out) > start and not out[start].comment and s.comment:
            out[start].comment = s.comment

    def push(self, value: Expr, values: Values) -> Expr:
        """The tangent of an expression."""
        return Derivative(values, self.varied).push(value, self.leaf)

    def of_Let(self, s: Let, out: list[Statement]) -> None:
        values = Values(self.kinds, self.fresh, out)
        if s.name in self.varied:
            out.append(Let(self.of(s.name), self.push(s.value, values)))
        out.append(Let(s.name, values.flat(s.value)))

    def of_Put(self, s: Put, out: list[Statement]) -> None:
        values, index = Values(self.kinds, self.fresh, out), s.index
        if s.array in self.varied:
            index = values.index(index)
            tangent = self.push(s.value, values)
            if not s.adds or tangent != NONE:
                out.append(Put(self.of(s.array), index, tangent, s.adds))
        out.append(Put(s.array, index, values.flat(s.value), s.adds))

    def of_For(self, s: For, out: list[Statement]) -> None:
        out.append(replace(s, body=self.block(s.body), comment=""))

    def of_WhileLoop(self, s: WhileLoop, out: list[Statement]) -> None:
        out.append(WhileLoop(s.test, self.block(s.body)))

    def of_If(self, s: If, out: list[Statement]) -> None:
        out.append(If(s.test, self.block(s.yes), self.block(s.no)))

    def of_New(self, s: New | Grow, out: list[Statement]) -> None:
        out.append(s)
        if s.array in self.varied:
            out.append(replace(s, array=self.of(s.array)))

    of_Grow = of_New

    def of_Swap(self, s: Swap, out: list[Statement]) -> None:
        out.append(s)
        if s.targets[0] in self.varied:
            targets, sources = [tuple(map(self.of, n)) for n in (s.targets, s.sources)]
            out.append(Swap(targets, sources))

    def of_NewStack(self, s: NewStack, out: list[Statement]) -> None:
        out.append(s)
        if s.name in self.varied:
            out.append(NewStack(self.of(s.name), s.dtype))

    def of_StackRoom(self, s: StackRoom, out: list[Statement]) -> None:
        out.append(s)
        if s.stack in self.varied:
            out.append(StackRoom(self.of(s.stack), s.count))

    def of_PushValue(self, s: PushValue, out: list[Statement]) -> None:
        if s.stack in self.varied:
            tangent = self.push(s.value, Values(self.kinds, self.fresh, out))
            out.append(PushValue(self.of(s.stack), tangent))
        out.append(s)

    def of_PopValue(self, s: PopValue, out: list[Statement]) -> None:
        if s.stack in self.varied:
            out.append(PopValue(self.of(s.stack), self.of(s.name)))
            self.kinds.setdefault(self.of(s.name), "f")
        elif s.name in self.varied:
            out.append(Let(self.of(s.name), NONE))
        out.append(s)


def tangent_of(
    program: KernelProgram, active: Sequence[str], pieces: bool = False
) -> KernelProgram:
    """The tangent of a program; if ``pieces`` with loops over `prange` in pieces.

    Its arguments are those of the program, tangents of the active ones, in their order, and
    tangents of the other arrays that come to depend on them.
    """
    return Tangent(program, active, pieces).made()
