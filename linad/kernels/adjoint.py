"""The adjoint of a kernel: forward, keeping what is overwritten; then backward.

The rule that all of it follows: the backward form of a statement finds every needed value as it
was after the statement, and leaves it as it was before. A *run* of assignments keeps on stacks
the scalars and entries that it overwrites; backward it brings them back, computes its own values
again under new names, and hands cotangents on, last statement first. Values that no derivative,
index or test needs are neither kept nor brought back.
"""

from collections.abc import Sequence
from dataclasses import replace

from linad.kernels.analysis import KernelProgram
from linad.kernels.checkpoints import LoopSegments, loops_in_segments
from linad.kernels.cotangents import Planned
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
from linad.kernels.needs import Run, walk_runs
from linad.kernels.partials import Derivative, Values
from linad.kernels.piecewise_loops import PiecewiseLoops
from linad.kernels.room import pushes, with_room
from linad.kernels.statements import (
    Check,
    For,
    Grow,
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
    reads,
    written,
)


class AdjointMaker(PiecewiseLoops):
    """Makes the adjoint of a program with respect to some of its arguments."""

    def __init__(
        self,
        program: KernelProgram,
        active: Sequence[str],
        seeded: bool = False,
        pieces: bool = False,
    ) -> None:
        super().__init__(program, active, seeded)
        self.segments: dict[int, LoopSegments | None] = {}
        self.repeats = False
        chosen = {id(s) for s in loops_in_segments(program)}
        for s, mine in zip(_loops(program.body), _loops(self.body), strict=True):
            if id(s) in chosen and pushes(self.forward(mine.body, frozenset([mine.name]))):
                self.segments[id(mine)] = None
        if pieces and not self.segments:
            self.find_loops_in_pieces()

    def stack_of(self, kind: str) -> str:
        """The stack on which values of a kind are kept."""
        return f"{'reals' if kind == 'f' else 'integers'}_b{self.level}"

    def forward(
        self, body: Sequence[Statement], around: frozenset[str] = frozenset()
    ) -> list[Statement]:
        """The statements, with what they overwrite kept."""
        out: list[Statement] = []
        for s in body:
            made = self.forward_of(s, around)
            if made and not made[0].comment:
                made[0].comment = s.comment
            out += made
        return out

    def forward_of(self, s: Statement, around: frozenset[str]) -> list[Statement]:
        """What one statement becomes."""
        if isinstance(s, Run):
            return self.run_forward(s)
        if isinstance(s, For) and id(s) in self.segments:
            made = self.segments[id(s)] = self.cut(s)
            return made.forward(self.plain(s.body))
        if id(s) in self.pieces:
            assert isinstance(s, For)
            return self.pieces_forward(s)
        if isinstance(s, For):
            return self.for_forward(s, around)
        if isinstance(s, WhileLoop):
            return self.while_forward(s, around)
        if isinstance(s, If):
            return self.if_forward(s, around)
        if isinstance(s, New):
            return [s, self.new_bar(s.array, s.in_turn)] if s.array in self.varied else [s]
        if isinstance(s, Grow):
            bar = [replace(s, array=self.bar(s.array))] if s.array in self.varied else []
            return [s, *bar]
        if isinstance(s, Swap):
            # Where the body is repeated cotangents have their names already.
            return [s] if self.repeats else [s, *self.bars_swapped(s.targets, s.sources)]
        if self.repeats and isinstance(s, Check):  # it held the first time
            return []
        return [s]

    def run_forward(self, s: Run) -> list[Statement]:
        out: list[Statement] = [
            PushValue(self.stack_of(self.kind(name)), var(name)) for name in self.kept_scalars(s)
        ]
        for part in s.parts:
            if not written(part) & self.live:
                continue
            if isinstance(part, Put) and part.array in self.kept[id(s)]:
                old = get(part.array, *part.index)
                out.append(PushValue(self.stack_of(self.kind(part.array)), old))
                out[-1].comment = part.comment
            out.append(part)
        return out

    def for_forward(self, s: For, around: frozenset[str]) -> list[Statement]:
        """A loop; its bounds are kept where they are not the same on the way back."""
        out: list[Statement] = []
        bounds = (s.start, s.stop, s.step)
        kept = self.acts([s]) and not all([self.steady_here(e, around) for e in bounds])
        if kept:
            start, stop, step = bounds
            bounds = self.named(start, out), self.named(stop, out), self.named(step, out)
        inner = self.forward(s.body, around | {s.name})
        if inner:
            out.append(For(s.name, *bounds, inner))
        if kept:
            out += [PushValue(self.stack_of("i"), e) for e in bounds]
        return out

    def while_forward(self, s: WhileLoop, around: frozenset[str]) -> list[Statement]:
        """A loop; how often it ran is kept."""
        count = self.fresh("count")
        self.kinds[count] = "i"
        inner = self.forward(s.body, around)
        if not self.acts(s.body):
            return [WhileLoop(s.test, inner)]
        more = Let(count, add(var(count), ONE))
        return [
            Let(count, ZERO),
            WhileLoop(s.test, [*inner, more]),
            PushValue(self.stack_of("i"), var(count)),
        ]

    def if_forward(self, s: If, around: frozenset[str]) -> list[Statement]:
        """A branch; which way it went is kept where it is not the same on the way back."""
        out: list[Statement] = []
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
        return out

    # Loops in segments.

    def cut(self, s: For) -> LoopSegments:
        """A loop in segments, with the state that its turns hand on."""
        counters = {t.name for t in walk_runs(s.body) if isinstance(t, For)} | {s.name}
        scalars = self.local | self.constants | counters
        found = set()
        for t in walk_runs(s.body):
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
            elif id(s) in self.pieces:
                assert isinstance(s, For)
                out += self.pieces_backward(s)
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
        derivative = Derivative(values, self.varied, reused=bool(self.seed))
        versions: dict[str, Expr] = {}
        undone: list[int] = []
        work: list[Planned] = []
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
        out += self.handed_on(work)

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
        scalars = sorted([n for n in self.varied if self.kinds.get(n) == "f"])
        own = set().union(*[self.own[k] for k in self.pieces])
        for name in scalars:
            if name not in self.local:
                start.append(self.new_bar(name, name in own))
        for name in p.arguments:
            if name in scalars and name in self.active:
                slot = self.slot(name)
                self.kinds[slot] = ArrayKind("float64", 1)
                out = Put(slot, self.seed or (ZERO,), self.bar_of(var(name)), adds=True)
                end += self.for_each_seed([out])
        body = [*start, *forward, *backward, *end]
        name, arguments = f"{p.name}_adjoint", [*p.arguments, *self.arguments()]
        return KernelProgram(name, arguments, self.kinds, body, self.level, written=p.written)


def _loops(body: Sequence[Statement]) -> list[For]:
    return [s for s in body if isinstance(s, For)]


def adjoint_of(
    program: KernelProgram, active: Sequence[str], seeded: bool = False, pieces: bool = False
) -> KernelProgram:
    """The adjoint of a program; if ``seeded`` for several seeds at once, and if ``pieces`` with
    loops over `prange` in pieces.

    Its arguments are those of the program, then cotangents of its arrays that vary and of its
    active scalars, in their order; the latter are arrays of one entry. Cotangents of arrays that
    are written come in as those of the results and go out as those of the arguments. For several
    seeds each has an axis in front, for one seed the scalars' have one entry.
    """
    return AdjointMaker(program, active, seeded, pieces).made()
