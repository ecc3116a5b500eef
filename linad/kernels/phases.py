"""A program in phases: stretches that one thread runs, and loops whose pieces threads share.

    e = 0.0                                       phase 1: one thread
    for piece in range(16):                       phase 2: any thread takes any piece
        for n in range(begin, end):
            e += f(a[n])
    out[0] = e                                    phase 3: one thread

No two pieces touch one number. An array in which each turn writes at its own index, ``a[n, ..]``,
is shared. Of one that each turn makes anew each piece has its own. Where pieces only add, to a
scalar or to entries anywhere, each adds to its own, from zero, and the next phase adds the pieces'
up in their order. So the results depend on the number of pieces, which is always the same, and not
on the number of threads. A loop in which anything else is written is left to one thread.

Phases hand scalars on in arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import (
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    add,
    dim,
    get,
    nodes,
    num,
    rebuilt,
    var,
)
from linad.kernels.fresh_names import FreshNames
from linad.kernels.pieces import PIECES, exposed, is_sum
from linad.kernels.room import pushes
from linad.kernels.split_loops import SUFFIX
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
    StackRoom,
    Statement,
    Swap,
    WhileLoop,
    assigned,
    expressions,
    walk,
)

START, STOP = var("_start"), var("_stop")
"""The pieces that a call of a phase is to take."""

SMALLEST_STACK = 64


@dataclass
class Phase:
    """A stretch of a program.

    Attributes
    ----------
    body : list of Statement
    shared : bool
        Whether it is a loop over the pieces from `START` to `STOP`.
    """

    body: list[Statement]
    shared: bool


@dataclass
class ProgramInPhases:
    """A program in phases.

    Attributes
    ----------
    program : KernelProgram
        With the arrays that the phases need besides its own; its body makes all of them.
    phases : list of Phase
    copies : list of str
        The arrays of which each piece has its own part.
    """

    program: KernelProgram
    phases: list[Phase]
    copies: list[str]


def in_phases(program: KernelProgram) -> ProgramInPhases | None:
    """The program in phases; None if it has no loops in pieces, or one that cannot be shared."""
    rooms = program.rooms
    for s in walk(program.body):
        if isinstance(s, (Check, Swap, Grow)) or (isinstance(s, New) and s.array not in rooms):
            return None
    if not any([isinstance(s, For) and s.pieces for s in program.body]):
        return None
    return _PhaseWriter(program).written()


class _PhaseWriter:
    def __init__(self, program: KernelProgram) -> None:
        self.program, self.kinds = program, dict(program.kinds)
        self.names = FreshNames(program, SUFFIX)
        self.stacks = {s.name: s.dtype for s in program.stacks}
        self.made = [s for s in program.body if isinstance(s, New)]
        self.phases: list[Phase] = [Phase([], shared=False)]
        for s in program.body:
            if isinstance(s, For) and s.pieces:
                self.phases += [Phase([s], shared=True), Phase([], shared=False)]
            elif not isinstance(s, NewStack):
                self.phases[-1].body.append(s)
        self.copies: list[str] = []
        self.counters = [turn_counters(phase) for phase in self.phases]
        self.touched = [{a for a, _, _ in accesses(phase.body)} for phase in self.phases]

    def written(self) -> ProgramInPhases | None:
        """The program in phases, if each loop in pieces can be shared."""
        if self.stacks_grow():
            return None
        for k, phase in enumerate(self.phases):
            if phase.shared and not self.share(k):
                return None
        self.phases = [phase for phase in self.phases if phase.body]
        self.hand_on()
        self.give_stacks()
        program = replace(self.program, kinds=self.kinds, body=[*self.made])
        return ProgramInPhases(program, self.phases, self.copies)

    def scalars(self, found: set[str]) -> set[str]:
        """Those of some names that are scalars'."""
        return {n for n in found if isinstance(self.kinds.get(n), str)}

    def integer(self, name: str) -> Expr:
        """A new scalar."""
        new = self.names.make(name)
        self.kinds[new] = "i"
        return var(new)

    def array(self, name: str, dims: Sequence[Expr], dtype: str) -> str:
        """A new array."""
        new = self.names.make(name)
        self.kinds[new] = ArrayKind(dtype, len(dims))
        self.made.append(New(new, tuple(dims), dtype, zeros=False))
        return new

    # Stacks.

    def stacks_grow(self) -> bool:
        """Whether a stack that phases of one thread hand on takes more than known numbers of
        values.
        """
        for stack in self.handed_stacks():
            for phase in self.phases:
                loops = [s for s in walk(phase.body) if isinstance(s, (For, WhileLoop))]
                if not phase.shared and any([pushes([s])[stack] for s in loops]):
                    return True
        return False

    def handed_stacks(self) -> list[str]:
        """Stacks on which one phase puts values that another one takes."""
        used = [
            {s.stack for s in walk(phase.body) if isinstance(s, (PushValue, PopValue))}
            for phase in self.phases
            if not phase.shared
        ]
        return [stack for stack in self.stacks if sum([stack in found for found in used]) > 1]

    def give_stacks(self) -> None:
        """Give each phase the stacks that it uses: its own, or one that is handed on."""
        handed: dict[str, str] = {}
        alone = [s for phase in self.phases if not phase.shared for s in phase.body]
        for name in self.handed_stacks():
            count = num(pushes(alone)[name])
            handed[name] = self.array(f"{name}_handed", (count,), self.stacks[name])
        heights = {n: self.array(f"{n}_heights", (ONE,), "int64") for n in handed.values()}
        known: set[str] = set()
        for phase in self.phases:
            if not phase.shared:
                phase.body = on_stacks(phase.body, handed)
            used = {s.stack for s in walk(phase.body) if isinstance(s, OfStack)}
            used |= {a for a, _, _ in accesses(phase.body)} & {*self.stacks}
            start: list[Statement] = []
            end: list[Statement] = []
            for name in sorted(used):
                height = f"{name}_n"
                if name in heights:
                    below = get(heights[name], ZERO) if name in known else ZERO
                    start.append(Let(height, below))
                    end.append(Put(heights[name], (ZERO,), var(height)))
                    known.add(name)
                else:
                    start.append(New(name, (num(SMALLEST_STACK),), self.stacks[name]))
                    start.append(Let(height, ZERO))
            phase.body = [*start, *phase.body, *end]

    # Loops that are shared.

    def share(self, k: int) -> bool:
        """Make a loop one whose pieces touch nothing in common; whether that can be."""
        (loop,) = self.phases[k].body
        assert isinstance(loop, For)
        later = set().union(*[exposed(p.body) for p in self.phases[k + 1 :]])
        changed = assigned(loop.body)
        sums = sorted(self.scalars(changed & (exposed(loop.body, {loop.name}) | later)))
        inside = [*walk(loop.body)]
        if not all([self.kinds[name] == "f" and is_sum(name, inside) for name in sums]):
            return False
        parts = self.own_parts(k, loop)
        if parts is None:
            return False
        piece = var(loop.name)
        start: list[Statement] = [Let(name, NONE) for name in sums]
        end: list[Statement] = []
        following: list[Statement] = []
        for array, (part, adds) in parts.items():
            index = self.index_of(array)
            start.append(self.over(array, index, Put(part, (piece, *index), NONE)))
            if adds:
                turn = self.integer("k")
                added = Put(array, index, get(part, turn, *index), adds=True)
                total = self.over(array, index, added)
                following.append(For(turn.parts[0], ZERO, num(PIECES), ONE, [total]))
        for name in sums:
            part = self.array(f"{name}_parts", (num(PIECES),), "float64")
            end.append(Put(part, (piece,), var(name)))
            turn = self.integer("k")
            more: list[Statement] = [Let(name, add(var(name), get(part, turn)))]
            following.append(For(turn.parts[0], ZERO, num(PIECES), ONE, more))
        new = {array: part for array, (part, _) in parts.items()}
        body = [*start, *moved(loop.body, new, piece), *end]
        self.phases[k].body = [replace(loop, start=START, stop=STOP, body=body)]
        self.phases[k + 1].body[:0] = following
        return True

    def own_parts(self, k: int, loop: For) -> dict[str, tuple[str, bool]] | None:
        """The arrays of which each piece gets a part of its own: its name, and whether the parts
        are added up; None if pieces would still meet in one.
        """
        counters = self.counters[k]
        # Of what other loops, or what is around them, touch as well, no piece has a part alone.
        others = [t for c, t in zip(self.counters, self.touched, strict=True) if c != counters]
        elsewhere = set().union(*others)
        in_turn = {s.array for s in self.made if s.in_turn} - elsewhere
        touched: dict[str, list[tuple[tuple[Expr, ...], str]]] = {}
        for array, index, how in accesses(loop.body):
            if array not in self.stacks:
                touched.setdefault(array, []).append((index, how))
        found: dict[str, tuple[str, bool]] = {}
        for array, places in touched.items():
            ways = {how for _, how in places}
            at_own = [
                len(counters) == 1 and {i[axis] for i, _ in places} == {var(*counters)}
                for axis in range(len(places[0][0]))
            ]
            if ways == {"read"} or any(at_own):
                continue
            if array not in in_turn and ways != {"add"}:
                return None
            kind = self.kinds[array]
            assert isinstance(kind, ArrayKind)
            dims = (num(PIECES), *[dim(array, axis) for axis in range(kind.ndim)])
            part = self.array(f"{array}_parts", dims, kind.dtype)
            self.copies.append(part)
            found[array] = part, array not in in_turn
        return found

    def index_of(self, array: str) -> tuple[Expr, ...]:
        """New scalars for the indices of an array."""
        kind = self.kinds[array]
        assert isinstance(kind, ArrayKind)
        return tuple([self.integer("k") for _ in range(kind.ndim)])

    def over(self, array: str, index: tuple[Expr, ...], s: Statement) -> Statement:
        """A statement for each entry of an array."""
        for axis, i in reversed([*enumerate(index)]):
            s = For(i.parts[0], ZERO, dim(array, axis), ONE, [s])
        return s

    # Scalars.

    def hand_on(self) -> None:
        """Have phases keep scalars in arrays that later ones read."""
        read = [self.scalars(exposed(p.body)) for p in self.phases]
        changed = [self.scalars(assigned(p.body)) for p in self.phases]
        handed: set[str] = set()
        for k, phase in enumerate(self.phases):
            if not phase.shared:
                handed |= changed[k] & set().union(*read[k + 1 :])
        places: dict[str, tuple[str, Expr]] = {}
        for kinds, dtype in (("f", "float64"), ("ib", "int64")):
            those = sorted([n for n in handed if str(self.kinds[n]) in kinds])
            if those:
                array = self.array("handed_on", (num(len(those)),), dtype)
                places.update({n: (array, num(j)) for j, n in enumerate(those)})
        known: set[str] = set()
        for k, phase in enumerate(self.phases):
            mine = handed & (read[k] | (set() if phase.shared else changed[k]))
            start: list[Statement] = [Let(n, get(*places[n])) for n in sorted(mine & known)]
            end: list[Statement] = []
            if not phase.shared:
                known |= changed[k] & handed
                end = [
                    Put(places[n][0], (places[n][1],), var(n)) for n in sorted(changed[k] & handed)
                ]
            phase.body = [*start, *phase.body, *end]


def turn_counters(phase: Phase) -> set[str]:
    """The variables that pieces count turns by: one for each of the user's loops."""
    loops = [s for s in phase.body if isinstance(s, For) and s.pieces]
    return {s.name for loop in loops for s in loop.body if isinstance(s, For)}


OfStack = PushValue | PopValue | StackRoom


def on_stacks(body: Sequence[Statement], stacks: dict[str, str]) -> list[Statement]:
    """Statements with other stacks in the place of some."""

    def one(s: Statement) -> Statement:
        if isinstance(s, (For, WhileLoop)):
            return replace(s, body=[*map(one, s.body)])
        if isinstance(s, If):
            return replace(s, yes=[*map(one, s.yes)], no=[*map(one, s.no)])
        return replace(s, stack=stacks.get(s.stack, s.stack)) if isinstance(s, OfStack) else s

    return [*map(one, body)]


def accesses(body: Sequence[Statement]) -> list[tuple[str, tuple[Expr, ...], str]]:
    """The entries that statements read, write or add to: array, indices, and which it is."""
    found = []
    for s in walk([*body]):
        for e in expressions(s):
            found += [(n.parts[0], n.parts[1], "read") for n in nodes(e) if n.op == "get"]
        if isinstance(s, Put):
            found.append((s.array, s.index, "add" if s.adds else "write"))
    return found


def moved(body: Sequence[Statement], parts: dict[str, str], piece: Expr) -> list[Statement]:
    """Statements that use a piece's own parts in the place of arrays."""

    def of(e: Expr) -> Expr:
        e = rebuilt(e, of)
        if e.op == "get" and e.parts[0] in parts:
            return get(parts[e.parts[0]], piece, *e.parts[1])
        return e

    def one(s: Statement) -> Statement:
        if isinstance(s, Put):
            index = tuple(map(of, s.index))
            if s.array in parts:
                return replace(s, array=parts[s.array], index=(piece, *index), value=of(s.value))
            return replace(s, index=index, value=of(s.value))
        if isinstance(s, (Let, PushValue)):
            return replace(s, value=of(s.value))
        if isinstance(s, For):
            inner = [*map(one, s.body)]
            return replace(s, start=of(s.start), stop=of(s.stop), step=of(s.step), body=inner)
        if isinstance(s, WhileLoop):
            return replace(s, test=of(s.test), body=[*map(one, s.body)])
        if isinstance(s, If):
            return replace(s, test=of(s.test), yes=[*map(one, s.yes)], no=[*map(one, s.no)])
        return replace(s, count=of(s.count)) if isinstance(s, StackRoom) else s

    return [*map(one, body)]
