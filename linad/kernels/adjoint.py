"""The adjoint of a kernel: forward, keeping what is overwritten; then backward.

The rule that all of it follows: the backward form of a statement finds every needed value as it
was after the statement, and leaves it as it was before. A *run* of assignments keeps on stacks
the scalars and entries that it overwrites; backward it brings them back, computes its own values
again under new names, and hands cotangents on, last statement first. Values that no derivative,
index or test needs are neither kept nor brought back.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linad.kernels.analysis import (
    KernelProgram,
    constant_names,
    loop_variables,
    spread,
    swapped,
    unwritten_arrays,
    varied_names,
)
from linad.kernels.checkpoints import LoopSegments, loops_in_segments
from linad.kernels.expressions import (
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    add,
    binary,
    get,
    mul,
    names,
    num,
    renamed,
    sub,
    var,
)
from linad.kernels.partials import Derivative, Values
from linad.kernels.room import pushes, with_room
from linad.kernels.statements import (
    Check,
    For,
    If,
    Let,
    New,
    NewStack,
    PopValue,
    PushValue,
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


class AdjointMaker:
    """Makes the adjoint of a program with respect to some of its arguments."""

    def __init__(self, program: KernelProgram, active: Sequence[str]) -> None:
        self.program, self.active = program, active
        self.kinds = dict(program.kinds)
        self.level = program.level + 1
        self.numbers = itertools.count()
        self.versions: dict[str, str] = {}
        self.varied = varied_names(program, active)
        self.groups = swapped(program.body)
        self.constants = constant_names(program)
        self.steady = self.constants | unwritten_arrays(program)
        self.counters = loop_variables(program)
        self.writes = program.writes
        self.body = self.grouped(program.body)
        self.segments: dict[int, LoopSegments | None] = {}
        self.repeats = False
        self.runs = [s for s in _walk(self.body) if isinstance(s, Run)]
        self.local = self.local_names()
        self.needed = self.needed_names()
        self.live = self.live_names()
        self.kept: dict[int, set[str]] = {}
        self.recorded(self.body, set())
        for name in self.varied:
            if name in self.kinds:
                self.kinds[self.bar(name)] = self.kinds[name]
        chosen = {id(s) for s in loops_in_segments(program)}
        for s, mine in zip(_loops(program.body), _loops(self.body), strict=True):
            if id(s) in chosen and pushes(self.forward(mine.body, frozenset([mine.name]))):
                self.segments[id(mine)] = None

    # Names.

    def bar(self, name: str) -> str:
        """The name of a cotangent."""
        return f"{name}_b{self.level}"

    def fresh(self, name: str) -> str:
        """A name for a value."""
        return f"{name}{next(self.numbers)}_b{self.level}"

    def stack_of(self, kind: str) -> str:
        """The stack on which values of a kind are kept."""
        return f"{'reals' if kind == 'f' else 'integers'}_b{self.level}"

    def kind(self, name: str) -> str:
        """Of a scalar, or of the entries of an array."""
        kind = self.kinds[name]
        return kind.scalar if isinstance(kind, ArrayKind) else kind

    # What is known before.

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
                out.append(
                    For(s.name, s.start, s.stop, s.step, self.grouped(s.body), comment=s.comment)
                )
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
        for s in _walk(self.body):
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
                later: set[str] = set()
                for s in reversed(run.parts):
                    needed |= self.derivative_reads(s)
                    if isinstance(s, Put) and s.array in needed:
                        for i in s.index:
                            needed |= names(i)
                        if s.array in later:
                            needed |= names(s.value)
                    elif isinstance(s, Let) and self.again(s, needed, later):
                        needed |= names(s.value)
                    later |= reads(s)
            spread(needed, self.groups)
            if len(needed) == before:
                return needed

    def backward_reads(self, run: Run) -> set[str]:
        """Names whose values the backward form of a run reads."""
        found: set[str] = set()
        later: set[str] = set()
        for s in reversed(run.parts):
            found |= self.derivative_reads(s)
            if isinstance(s, Put) and s.array in self.needed:
                for i in s.index:
                    found |= names(i)
                if s.array in later:
                    found |= names(s.value) | {s.array}
            elif isinstance(s, Let) and self.again(s, self.needed, later):
                found |= names(s.value)
            later |= reads(s)
        return found & self.needed

    def recorded(self, body: Sequence[Statement], used: set[str]) -> set[str]:
        """Find what each run must keep: values that the backward form of something before, or of
        the run itself, reads. ``used`` are the names of such values at the start; returns those
        at the end.
        """
        for s in body:
            if isinstance(s, Run):
                used = used | self.backward_reads(s)
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
        live = set(self.needed)
        for s in _walk(self.body):
            if isinstance(s, (For, WhileLoop, If, Check, New)):
                live |= reads(s)
        while True:
            before = len(live)
            spread(live, self.groups)
            for s in _walk(self.body):
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

    # Forward.

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

    def forward(
        self, body: Sequence[Statement], around: frozenset[str] = frozenset()
    ) -> list[Statement]:
        """The statements, with what they overwrite kept."""
        out: list[Statement] = []
        for s in body:
            start = len(out)
            if isinstance(s, Run):
                for name in self.kept_scalars(s):
                    out.append(PushValue(self.stack_of(self.kind(name)), var(name)))
                for part in s.parts:
                    if not written(part) & self.live:
                        continue
                    if isinstance(part, Put) and part.array in self.kept[id(s)]:
                        old = get(part.array, *part.index)
                        out.append(PushValue(self.stack_of(self.kind(part.array)), old))
                        out[-1].comment = part.comment
                    out.append(part)
            elif isinstance(s, For) and id(s) in self.segments:
                made = self.segments[id(s)] = self.cut(s)
                out += made.forward(self.plain(s.body))
            elif isinstance(s, For):
                bounds = (s.start, s.stop, s.step)
                kept = self.acts([s]) and not all([self.steady_here(e, around) for e in bounds])
                if kept:
                    bounds = (
                        self.named(s.start, out),
                        self.named(s.stop, out),
                        self.named(s.step, out),
                    )
                inner = self.forward(s.body, around | {s.name})
                if inner:
                    out.append(For(s.name, *bounds, inner))
                if kept:
                    out += [PushValue(self.stack_of("i"), e) for e in bounds]
            elif isinstance(s, WhileLoop):
                count = self.fresh("count")
                self.kinds[count] = "i"
                more = Let(count, add(var(count), ONE))
                inner = self.forward(s.body, around)
                if self.acts(s.body):
                    out.append(Let(count, ZERO))
                    out.append(WhileLoop(s.test, [*inner, more]))
                    out.append(PushValue(self.stack_of("i"), var(count)))
                else:
                    out.append(WhileLoop(s.test, inner))
            elif isinstance(s, If):
                test = s.test
                kept = self.acts([s]) and not self.steady_here(test, around)
                if kept:
                    test = self.named(Expr("if", (test, ONE, ZERO)), out, "taken")
                shown = Expr("==", (test, ONE)) if kept else test
                yes, no = self.forward(s.yes, around), self.forward(s.no, around)
                if yes or no:
                    out.append(If(shown, yes, no))
                if kept:
                    out.append(PushValue(self.stack_of("i"), test))
            elif isinstance(s, New):
                out.append(s)
                if s.array in self.varied:
                    out.append(replace(s, array=self.bar(s.array), zeros=True))
            elif isinstance(s, Swap):
                out.append(s)
                if not self.repeats:  # then cotangents have their names already
                    out += self.bars_swapped(s.targets, s.sources)
            elif not (self.repeats and isinstance(s, Check)):  # it held the first time
                out.append(s)
            if len(out) > start and not out[start].comment:
                out[start].comment = s.comment
        return out

    # Loops in segments.

    def cut(self, s: For) -> LoopSegments:
        """A loop in segments, with the state that its turns hand on."""
        counters = {t.name for t in _walk(s.body) if isinstance(t, For)} | {s.name}
        scalars = self.local | self.constants | counters
        found = set()
        for t in _walk(s.body):
            for part in t.parts if isinstance(t, Run) else [t]:
                found |= written(part) & self.live
        return LoopSegments(s, self.program.checkpoints, found - scalars, self.kinds, self.fresh)

    def plain(self, body: Sequence[Statement]) -> list[Statement]:
        """The statements that anything needs, with nothing kept."""
        out: list[Statement] = []
        for s in body:
            if isinstance(s, Run):
                out += [part for part in s.parts if written(part) & self.live]
            elif isinstance(s, For):
                inner = self.plain(s.body)
                if inner:
                    out.append(For(s.name, s.start, s.stop, s.step, inner, comment=s.comment))
            elif isinstance(s, WhileLoop):
                out.append(WhileLoop(s.test, self.plain(s.body), comment=s.comment))
            elif isinstance(s, If):
                yes, no = self.plain(s.yes), self.plain(s.no)
                if yes or no:
                    out.append(If(s.test, yes, no, comment=s.comment))
            elif isinstance(s, Swap):
                out += [s, *self.bars_swapped(s.targets, s.sources)]
            else:
                out.append(s)
        return out

    def segment_backward(self, s: For) -> list[Statement]:
        """The backward form of a loop in segments."""
        segments = self.segments[id(s)]
        assert segments is not None
        around = frozenset([s.name])
        self.repeats = True
        inner = self.forward(s.body, around)
        self.repeats = False
        again = with_room([For(s.name, segments.begin, segments.end, ONE, inner)])
        return segments.backward(again, self.backward(s.body, around))

    def bars_swapped(self, targets: Sequence[str], sources: Sequence[str]) -> list[Statement]:
        """The same exchange of cotangents."""
        if targets[0] not in self.varied:
            return []
        return [Swap(tuple(map(self.bar, targets)), tuple(map(self.bar, sources)))]

    def named(self, e: Expr, out: list[Statement], name: str = "bound") -> Expr:
        """A scalar of its own for a value."""
        new = self.fresh(name)
        self.kinds[new] = "i"
        out.append(Let(new, e))
        return var(new)

    def popped(self, out: list[Statement], kind: str, name: str = "bound") -> Expr:
        """A value from a stack."""
        new = self.fresh(name)
        self.kinds[new] = kind
        out.append(PopValue(self.stack_of(kind), new))
        return var(new)

    # Backward.

    def backward(
        self, body: Sequence[Statement], around: frozenset[str] = frozenset()
    ) -> list[Statement]:
        """The backward forms of statements, the last one's first."""
        out: list[Statement] = []
        for s in reversed(body):
            start = len(out)
            if not self.acts([s]):
                continue
            if isinstance(s, Run):
                self.run_backward(s, out)
            elif isinstance(s, For) and id(s) in self.segments:
                out += self.segment_backward(s)
            elif isinstance(s, For):
                bounds = (s.start, s.stop, s.step)
                if not all([self.steady_here(e, around) for e in bounds]):
                    step, stop, first = [self.popped(out, "i") for _ in bounds]
                    bounds = (first, stop, step)
                inner = self.backward(s.body, around | {s.name})
                out += self.reversed_loop(s.name, *bounds, inner)
            elif isinstance(s, WhileLoop):
                count = self.popped(out, "i", "count")
                turn = self.fresh("turn")
                self.kinds[turn] = "i"
                out.append(For(turn, ZERO, count, ONE, self.backward(s.body, around)))
            elif isinstance(s, If):
                test = s.test
                if not self.steady_here(test, around):
                    test = Expr("==", (self.popped(out, "i", "taken"), ONE))
                yes, no = self.backward(s.yes, around), self.backward(s.no, around)
                if yes or no:
                    out.append(If(test, yes, no))
            elif isinstance(s, Swap):
                out.append(Swap(s.sources, s.targets))
                out += self.bars_swapped(s.sources, s.targets)
            if len(out) > start and not out[start].comment:
                out[start].comment = s.comment
        return out

    def reversed_loop(
        self, name: str, start: Expr, stop: Expr, step: Expr, inner: list[Statement]
    ) -> list[Statement]:
        """The loop, last turn first."""
        if not inner:
            return []
        if step == ONE:
            return [For(name, sub(stop, ONE), sub(start, ONE), num(-1), inner)]
        if step == num(-1):
            return [For(name, add(stop, ONE), add(start, ONE), ONE, inner)]
        up = binary("//", sub(add(sub(stop, start), step), ONE), step)
        down = binary("//", add(add(sub(stop, start), step), ONE), step)
        count = Expr("if", (Expr(">", (step, ZERO)), up, down))
        turn = self.fresh("turn")
        self.kinds[turn] = "i"
        here = Let(name, add(start, mul(var(turn), step)))
        return [For(turn, sub(count, ONE), num(-1), num(-1), [here, *inner])]

    def run_backward(self, run: Run, out: list[Statement]) -> None:
        """The backward form of a run."""
        puts = self.kept_puts(run)
        old: dict[int, Expr] = {}
        for k in reversed(puts):
            part = run.parts[k]
            assert isinstance(part, Put)
            old[k] = self.popped(out, self.kind(part.array), "old")
        for name in reversed(self.kept_scalars(run)):
            out.append(PopValue(self.stack_of(self.kind(name)), name))
        later = self.read_later(run)
        places, integers = self.places_again(run, later, out)
        for k in reversed(puts):
            part = run.parts[k]
            assert isinstance(part, Put)
            out.append(Put(part.array, places[k], old[k]))
        values = Values(self.kinds, self.fresh, out)
        for k in puts:
            array = run.parts[k].array  # type: ignore[attr-defined]
            if [p.array for p in run.parts if isinstance(p, Put)].count(array) == 1:
                values.known[get(array, *places[k])] = old[k]
        derivative = Derivative(values, self.varied)
        versions: dict[str, Expr] = {}
        undone: list[int] = []
        work: list[
            tuple[Statement, tuple[Expr, ...], str, list[tuple[Expr, Expr] | Statement]]
        ] = []
        for k, s in enumerate(run.parts):
            assert isinstance(s, (Let, Put))
            e = renamed(s.value, versions)
            target = s.name if isinstance(s, Let) else s.array
            if target in self.varied:
                work.append(self.planned(s, e, places.get(k, ()), versions, derivative))
            if isinstance(s, Let):
                if k in integers:
                    versions[s.name] = integers[k]
                elif self.again(s, self.needed, later[k]):
                    new = self.fresh(s.name)
                    self.kinds[new] = self.kinds[s.name]
                    out.append(Let(new, values.flat(e)))
                    versions[s.name] = var(new)
                    self.versions[new] = s.name
                    derivative.varied = {*derivative.varied} | (
                        {new} if s.name in self.varied else set()
                    )
            elif k in old and s.array in later[k]:
                out.append(Put(s.array, places[k], values.flat(e), s.adds))
                values.forget(s.array)
                undone.append(k)
        for k in reversed(undone):
            part = run.parts[k]
            assert isinstance(part, Put)
            out.append(Put(part.array, places[k], old[k]))
        self.hand_on(work, out)

    def read_later(self, run: Run) -> list[set[str]]:
        """For each assignment of a run, the names that those behind it read."""
        found: list[set[str]] = []
        later: set[str] = set()
        for s in reversed(run.parts):
            found.append(set(later))
            later |= reads(s)
        return found[::-1]

    def places_again(
        self, run: Run, later: list[set[str]], out: list[Statement]
    ) -> tuple[dict[int, tuple[Expr, ...]], dict[int, Expr]]:
        """Integers computed again, and the indices of the entries that are assigned."""
        versions: dict[str, Expr] = {}
        places: dict[int, tuple[Expr, ...]] = {}
        integers: dict[int, Expr] = {}
        written_here: set[str] = {s.array for s in run.parts if isinstance(s, Put)}
        for k, s in enumerate(run.parts):
            if isinstance(s, Put):
                place = []
                for i in s.index:
                    e = renamed(i, versions)
                    if any([x in written_here for x in names(e)]) or e.op == "get":
                        e = self.named(e, out, "place")
                    place.append(e)
                places[k] = tuple(place)
            elif (
                isinstance(s, Let)
                and self.kind(s.name) != "f"
                and self.again(s, self.needed, later[k])
            ):
                new = self.fresh(s.name)
                self.kinds[new] = self.kinds[s.name]
                out.append(Let(new, renamed(s.value, versions)))
                versions[s.name] = integers[k] = var(new)
        return places, integers

    def planned(
        self,
        s: Let | Put,
        e: Expr,
        place: tuple[Expr, ...],
        versions: dict[str, Expr],
        derivative: Derivative,
    ) -> tuple[Statement, tuple[Expr, ...], str, list[tuple[Expr, Expr] | Statement]]:
        """What the backward form of an assignment does, in the values of this point."""
        seed = self.fresh("w")
        self.kinds[seed] = "f"
        collected: list[Statement] = []
        sums: dict[Expr, Expr] = {}

        def sink(leaf: Expr, w: Expr) -> None:
            if leaf.op == "get":
                leaf = get(leaf.parts[0], *derivative.values.index(leaf.parts[1]))
            sums[leaf] = add(sums[leaf], w) if leaf in sums else w

        known = versions_of(versions)
        if isinstance(s, Let) and e.op in "+-" and self.is_self(e.parts[0], s, known):
            rest = e.parts[1]
            if not self.reads_bar(rest, s.name, known):
                w = var(self.bar(s.name))
                derivative.pull(rest, w if e.op == "+" else Expr("neg", (w,)), sink, collected)
                return s, place, "", [*collected, *sums.items()]
        derivative.pull(e, var(seed), sink, collected)
        return s, place, seed, [*collected, *sums.items()]

    def is_self(self, e: Expr, s: Let, known: dict[str, str]) -> bool:
        return e.op == "var" and known.get(e.parts[0], e.parts[0]) == s.name

    def reads_bar(self, e: Expr, name: str, known: dict[str, str]) -> bool:
        return name in {known.get(n, n) for n in names(e)}

    def hand_on(
        self,
        work: list[tuple[Statement, tuple[Expr, ...], str, list[tuple[Expr, Expr] | Statement]]],
        out: list[Statement],
    ) -> None:
        """Cotangents, the last assignment's first."""
        back = {self.bar(n): n for n in self.varied}
        zero = {self.bar(n) for n in self.local if n in self.varied}
        local = set(zero)
        for s, place, seed, steps in reversed(work):
            start = len(out)
            if isinstance(s, Let):
                b = self.bar(s.name)
                if b in zero:
                    continue
                if seed:
                    if steps:
                        out.append(Let(seed, var(b)))
                    zero.add(b)
            else:
                assert isinstance(s, Put)
                b = self.bar(s.array)
                if steps:
                    out.append(Let(seed, get(b, *place)))
                here = get(s.array, *place)
                entry = [w for w in steps if isinstance(w, tuple) and w[0] == here]
                if not s.adds:
                    if not entry:
                        out.append(Put(b, place, NONE))
                        here = NONE
                else:
                    here = NONE
            own = here if isinstance(s, Put) else NONE
            lets = [step for step in steps if isinstance(step, Statement)]
            links = [step for step in steps if not isinstance(step, Statement)]
            links.sort(key=lambda link: link[0] != own)
            for step in [*lets, *links]:
                if isinstance(step, Statement):
                    out.append(step)
                    continue
                leaf, w = step
                name = self.original(leaf.parts[0])
                target = self.bar(name)
                if leaf.op == "get":
                    out.append(Put(target, leaf.parts[1], w, adds=leaf != own))
                elif target in zero:
                    out.append(Let(target, w))
                    zero.discard(target)
                else:
                    out.append(Let(target, add(var(target), w)))
            if len(out) > start and not out[start].comment:
                out[start].comment = s.comment
        for b in sorted(zero - local):
            assert b in back
            out.append(Let(b, NONE))

    def original(self, name: str) -> str:
        """The scalar of which a name is a version."""
        return self.versions.get(name, name)

    # All of it.

    def made(self) -> KernelProgram:
        """The adjoint, as a program."""
        p = self.program
        forward = self.forward(self.body)
        backward = self.backward(self.body)
        forward = with_room(forward)
        used = pushes([*forward, *backward])
        stacks = {self.stack_of("f"): "float64", self.stack_of("i"): "int64"}
        start: list[Statement] = [NewStack(n, dtype) for n, dtype in stacks.items() if used[n]]
        kept = set().union(*[set(self.kept_scalars(r)) for r in self.runs])
        for cut in self.segments.values():
            assert cut is not None
            kept |= {n for n in cut.kept if isinstance(self.kinds[n], str)}
        for name in sorted(kept - {*p.arguments}):
            start.append(Let(name, NONE if self.kinds[name] == "f" else ZERO))
        end: list[Statement] = []
        bars: list[str] = []
        scalars = [n for n in self.varied if self.kinds.get(n) == "f"]
        for name in sorted(scalars):
            if name not in self.local:
                start.append(Let(self.bar(name), NONE))
        for name in p.arguments:
            if name not in self.varied:
                continue
            if isinstance(self.kinds[name], ArrayKind):
                bars.append(self.bar(name))
            elif name in self.active:
                slot = f"{name}_slot_b{self.level}"
                self.kinds[slot] = ArrayKind("float64", 1)
                bars.append(slot)
                end.append(Put(slot, (ZERO,), var(self.bar(name)), adds=True))
        body = [*start, *forward, *backward, *end]
        return KernelProgram(
            f"{p.name}_adjoint", [*p.arguments, *bars], self.kinds, body, self.level
        )


def versions_of(versions: dict[str, Expr]) -> dict[str, str]:
    """The scalar of which each version is one."""
    return {e.parts[0]: name for name, e in versions.items()}


def _loops(body: Sequence[Statement]) -> list[For]:
    return [s for s in body if isinstance(s, For)]


def _walk(body: Sequence[Statement]) -> Iterator[Statement]:
    for s in body:
        yield s
        if isinstance(s, (For, WhileLoop)):
            yield from _walk(s.body)
        elif isinstance(s, If):
            yield from _walk(s.yes)
            yield from _walk(s.no)


def adjoint_of(program: KernelProgram, active: Sequence[str]) -> KernelProgram:
    """The adjoint of a program.

    Its arguments are those of the program, then cotangents of its arrays that vary and of its
    active scalars, in their order; the latter are arrays of one entry. Cotangents of arrays that
    are written come in as those of the results and go out as those of the arguments.
    """
    return AdjointMaker(program, active).made()
