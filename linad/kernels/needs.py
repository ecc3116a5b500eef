"""What an adjoint keeps of a program: values that its backward sweep reads, and no others."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linad.kernels.analysis import (
    KernelProgram,
    constant_names,
    spread,
    swapped,
    unwritten_arrays,
    varied_names,
)
from linad.kernels.expressions import ArrayKind, Expr, names, var
from linad.kernels.partials import Derivative, Values
from linad.kernels.statements import (
    Check,
    For,
    Grow,
    If,
    Let,
    New,
    Put,
    Statement,
    Swap,
    WhileLoop,
    bodies,
    reads,
    written,
)


@dataclass
class Run(Statement):
    """Assignments, one after the other."""

    parts: list[Statement]


class BackwardNeeds:
    """What the backward sweep of a program needs, with respect to some of its arguments.

    Attributes
    ----------
    body : list of Statement
        The program's, with assignments put into runs.
    varied : set of str
        Scalars and arrays that depend on the active arguments.
    local : set of str
        Scalars that every run assigns before it reads them.
    needed, live : set of str
        Names whose values the backward sweep reads, and those that the forward sweep computes.
    kept : dict
        By the id of a run the names of which it keeps old values.
    """

    def __init__(self, program: KernelProgram, active: Sequence[str]) -> None:
        self.program, self.active = program, active
        self.kinds = dict(program.kinds)
        self.varied = varied_names(program, active)
        self.groups = swapped(program.body)
        self.constants = constant_names(program)
        self.steady = self.constants | unwritten_arrays(program)
        self.body = self.grouped(program.body)
        self.runs = [s for s in walk_runs(self.body) if isinstance(s, Run)]
        self.local = self.local_names()
        self.needed = self.needed_names()
        self.live = self.live_names()
        self.kept: dict[int, set[str]] = {}
        self.recorded(self.body, set())

    def kind(self, name: str) -> str:
        """Of a scalar, or of the entries of an array."""
        kind = self.kinds[name]
        return kind.scalar if isinstance(kind, ArrayKind) else kind

    def grouped(self, body: Sequence[Statement]) -> list[Statement]:
        """Statements, with assignments put into runs."""
        out: list[Statement] = []
        made: set[str] = set()
        for s in body:
            if isinstance(s, (Let, Put)):
                index = names(s.value) if isinstance(s, Let) and self.kind(s.name) != "f" else set()
                if not out or not isinstance(out[-1], Run) or index & made:
                    out.append(Run([]))
                    made = set()
                run = out[-1]
                assert isinstance(run, Run)
                run.parts.append(s)
                if isinstance(s, Put) or self.kind(s.name) == "f":
                    made |= written(s)
            elif isinstance(s, For):
                out.append(replace(s, body=self.grouped(s.body), pieces=False))
            elif isinstance(s, WhileLoop):
                out.append(WhileLoop(s.test, self.grouped(s.body), comment=s.comment))
            elif isinstance(s, If):
                yes, no = self.grouped(s.yes), self.grouped(s.no)
                out.append(If(s.test, yes, no, comment=s.comment))
            else:
                out.append(s)
        return out

    def local_names(self) -> set[str]:
        """Scalars that every run assigns before it reads them: old values are nobody's."""
        seen: set[str] = set()
        exposed: set[str] = {*self.program.arguments} | self.constants
        for s in walk_runs(self.body):
            if not isinstance(s, Run):
                exposed |= reads(s)
                continue
            done: set[str] = set()
            for part in s.parts:
                exposed |= reads(part) - done
                if isinstance(part, Let):
                    done.add(part.name)
                    seen.add(part.name)
        return seen - exposed

    def derivative_reads(self, s: Statement) -> set[str]:
        """Names whose values the backward form of an assignment reads."""
        found: set[str] = set()
        assert isinstance(s, (Let, Put))
        target = s.name if isinstance(s, Let) else s.array
        if target in self.varied:
            if isinstance(s, Put):
                for i in s.index:
                    found |= names(i)
            lets: list[Statement] = []
            counter = itertools.count()
            kinds = dict(self.kinds, **{"=w": "f"})
            values = Values(kinds, lambda name: f"={name}{next(counter)}", lets)

            def sink(leaf: Expr, w: Expr) -> None:
                nonlocal found
                found |= names(w)
                if leaf.op == "get":
                    for i in leaf.parts[1]:
                        found |= names(i)

            Derivative(values, self.varied).pull(s.value, var("=w"), sink, lets)
            for x in lets:
                found |= reads(x)
        return {n for n in found if not n.startswith("=")}

    def needed_names(self) -> set[str]:
        """Names whose values the backward sweep reads, or must bring back to compute others."""
        needed: set[str] = set()
        while True:
            before = len(needed)
            for run in self.runs:
                needed |= self.backward_reads(run, needed)
            spread(needed, self.groups)
            if len(needed) == before:
                return needed

    def backward_reads(self, run: Run, needed: set[str]) -> set[str]:
        """Names whose values the backward form of a run reads, where some names are needed."""
        found: set[str] = set()
        later: set[str] = set()
        for s in reversed(run.parts):
            found |= self.derivative_reads(s)
            if isinstance(s, Put) and s.array in needed:
                found = found.union(*map(names, s.index))
                if s.array in later:
                    found |= names(s.value) | {s.array}
            elif isinstance(s, Let) and self.again(s, needed, later):
                found |= names(s.value)
            later |= reads(s)
        return found

    def recorded(self, body: Sequence[Statement], used: set[str]) -> set[str]:
        """Find what each run must keep: values that the backward form of something before, or of
        the run itself, reads. ``used`` are the names of such values at the start; returns those
        at the end.
        """
        for s in body:
            if isinstance(s, Run):
                used = used | self.backward_reads(s, self.needed) & self.needed
                for part in s.parts:
                    self.kept.setdefault(id(s), set()).update(written(part) & used)
                used = used - {p.name for p in s.parts if isinstance(p, Let)}
            elif isinstance(s, (For, WhileLoop)):
                while True:
                    after = used | self.recorded(s.body, used)
                    if after == used:
                        break
                    used = after
            elif isinstance(s, If):
                used = self.recorded(s.yes, used) | self.recorded(s.no, used)
            elif isinstance(s, Swap):
                used = set(used)
                spread(used, self.groups)
        return used

    def again(self, s: Let, needed: set[str], later: set[str]) -> bool:
        """Whether a run computes a scalar again when it goes backward."""
        return s.name in needed and s.name in later and s.name not in self.constants

    def live_names(self) -> set[str]:
        """Names whose values the forward sweep computes."""
        live = self.needed - self.local  # runs compute these again, going backward
        for s in walk_runs(self.body):
            if isinstance(s, (For, WhileLoop, If, Check, New, Grow)):
                live |= reads(s)
        while True:
            before = len(live)
            spread(live, self.groups)
            for s in walk_runs(self.body):
                for part in s.parts if isinstance(s, Run) else [s]:
                    if written(part) & live:
                        live |= reads(part)
            if len(live) == before:
                return live

    def acts(self, body: Sequence[Statement]) -> bool:
        """Whether the backward forms of statements do anything."""
        for s in body:
            if isinstance(s, Run):
                if self.kept_scalars(s) or self.kept_puts(s):
                    return True
                if any([written(part) & self.varied for part in s.parts]):
                    return True
            elif isinstance(s, Swap) or any([self.acts(inner) for inner in bodies(s)]):
                return True
        return False

    def kept_scalars(self, run: Run) -> list[str]:
        """Scalars whose values at the start of a run are kept."""
        found = {s.name for s in run.parts if isinstance(s, Let)} & self.kept[id(run)]
        return sorted(found - self.local - self.constants)

    def kept_puts(self, run: Run) -> list[int]:
        """The assignments to entries whose old values are kept."""
        found = enumerate(run.parts)
        return [k for k, s in found if isinstance(s, Put) and s.array in self.kept[id(run)]]

    def steady_here(self, e: Expr, around: frozenset[str]) -> bool:
        """Whether an expression has the same value in the backward sweep."""
        return names(e) <= self.steady | around


def walk_runs(body: Sequence[Statement]) -> Iterator[Statement]:
    for s in body:
        yield s
        if isinstance(s, (For, WhileLoop)):
            yield from walk_runs(s.body)
        elif isinstance(s, If):
            yield from walk_runs(s.yes)
            yield from walk_runs(s.no)
