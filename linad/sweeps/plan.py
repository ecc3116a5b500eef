"""Which equations run together, and in which order.

Elementwise equations of one shape that can run side by side share a loop: one pass over
memory instead of one an equation. Each equation has a *level*: what it reads from memory was
written at lower levels. Equations of one level and shape cannot depend on each other through
memory, so they fuse; whatever one of them makes for another stays in a register. A sum or a
maximum joins the loop that makes its terms. A loop that may go on for ever where a guard fails is
on no lower level than the guards before it.

    y = tanh(x @ W + b)        level 0: matmul        level 1: add, tanh, square, 1 - ...
    s = 1 - y * y                                      stored: y; s only if somebody else reads it

What a later loop alone reads is computed there (it *sinks*), so that it is never stored. A sum that
nobody needs before a later loop over the same entries is taken there, where that spares memory:

    s = exp(u)                                         level 0, as sum(log(x)) would be
    z = (log(x) - m) / s, sum(z * z), sum(log(x))      level 1: one pass over x
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Tape, Var
from linad.sweeps.loop_reductions import is_reduction, reduces_in_loop
from linad.sweeps.steps import WRITE, CallStep, Loop, Step, operands_of, unique
from linad.sweeps.target import Target

STATEMENTS = 48
"""Most equations of one loop. Compiling a loop takes 40 ms and half a millisecond each."""

NUMBERS = 384
"""The same of numbers that repeat nothing: a straight line, five to seven of which compile in a
millisecond. One of them runs in a quarter of the time that an instruction of its own takes."""

FUNCTION, WRITTEN_OUT = 40, 32
"""What costs as many additions is a polynomial, which compiles as slowly as so many equations."""

CHEAP = 4
"""What costs no more than so many additions is computed again rather than stored."""


TINY, RARE = 8, 16
"""Entries of a loop so short that its work is less than its instruction, and how many such loops,
all different, a program may have a kernel for."""

LONG, AGAIN = 1024, 1000
"""Entries from which a loop is worth joining to a later one, and how many equations, in all, are
planned again to find out."""


def is_elementwise(eqn: Equation, target: Target) -> bool:
    """Whether a loop can compute an equation."""
    if len(eqn.outputs) != 1:
        return False
    out = eqn.outputs[0]
    if not size_of(out.shape):
        return False
    return target.row_of(eqn.primitive.name, out.dtype, operands_of(eqn)) is not None


class Planner:
    """Levels, loops and order of the equations of a tape.

    Parameters
    ----------
    tape : Tape
    target : Target
    views : dict
        Variables that are parts of others.
    more : dict
        Of some equations, what their routines read besides their operands.
    """

    def __init__(
        self,
        tape: Tape,
        target: Target,
        views: dict[Var, Var],
        more: Mapping[Equation, tuple[Var, ...]],
    ) -> None:
        self.tape, self.target, self.views, self.more = tape, target, views, more
        self._place_all({})

    def _place_all(self, waiting: Mapping[Equation, int]) -> None:
        """Give the equations their levels, some of them no earlier ones than they are told."""
        self.waiting = waiting
        self.ready: dict[Any, int] = dict.fromkeys(self.tape.inputs, 0)
        self.register: dict[Var, tuple[int, Shape]] = {}
        self.level: dict[Equation, int] = {}
        self.group: dict[Equation, tuple[int, Shape]] = {}  # of what loops compute
        self.read_until: dict[Var, int] = defaultdict(lambda: -1)  # by storage
        self.storage: dict[Var, Var] = {}
        self.overwritten: set[Var] = set()
        self.guarded = 0  # from which level on the guards have been asked
        for eqn in self.tape.equations:
            self._place(eqn)

    def steps(self) -> list[Step]:
        return self._ordered(self._with_later_sums(self._sink()))

    # Levels.

    def _storage_of(self, var: Var) -> Var:
        while var in self.storage:
            var = self.storage[var]
        return var

    def _reads(self, var: Any, level: int) -> None:
        if isinstance(var, Var):
            root = self._storage_of(var)
            self.read_until[root] = max(self.read_until[root], level)

    def _place(self, eqn: Equation) -> None:
        variables = [a for a in eqn.inputs if isinstance(a, Var)] + [*self.more.get(eqn, ())]
        if eqn.outputs and eqn.outputs[0] in self.views:
            source = self.views[eqn.outputs[0]]
            self.ready[eqn.outputs[0]] = self.ready[source]
            self.storage[eqn.outputs[0]] = source
            return
        if is_elementwise(eqn, self.target):
            out = eqn.outputs[0]
            level = max([self._operand_level(a, out.shape) for a in variables], default=0)
            self.group[eqn] = self.register[out] = (level, out.shape)
        elif reduces_in_loop(eqn, self.target.takes):
            level = self._operand_level(variables[0], variables[0].shape)
            level = max(level, self.waiting.get(eqn, 0))
            self.group[eqn] = (level, variables[0].shape)
        else:
            level = max([self.ready[a] for a in variables], default=0)
            if eqn.primitive.name == WRITE and isinstance(eqn.inputs[0], Var):
                root = self._storage_of(eqn.inputs[0])
                level = max(level, self.read_until[root] + 1)
                self.storage[eqn.outputs[0]] = root
                self.overwritten.add(root)
            if eqn.primitive.endless:
                level = max(level, self.guarded)
            if eqn.primitive.guards:
                self.guarded = max(self.guarded, level)
        self.level[eqn] = level
        for a in variables:
            self._reads(a, level)
        for out in eqn.outputs:
            self.ready[out] = level + 1

    def _operand_level(self, a: Var, shape: Shape) -> int:
        found = self.register.get(a)
        if found is not None and found[1] == shape:
            return found[0]
        return self.ready[a]

    # Sinking.

    def _sink(self) -> dict[Any, list[Equation]]:
        """The equations of each loop; what only later loops need moves into them."""
        members: dict[Any, list[Equation]] = defaultdict(list)
        loops: dict[Equation, set[Any]] = {}
        users: dict[Var, list[Equation]] = defaultdict(list)
        for eqn in self.tape.equations:
            for a in unique(a for a in eqn.inputs if isinstance(a, Var)):
                users[a].append(eqn)
        size: dict[Any, int] = defaultdict(int)
        for eqn in self.tape.equations:
            group = self.group.get(eqn)
            if group is not None:
                size[group] += 1
        results = {a for a in self.tape.outputs if isinstance(a, Var)}
        for eqn in reversed(self.tape.equations):
            group = self.group.get(eqn)
            if group is None:
                continue
            loops[eqn] = {group}
            out = eqn.outputs[0]
            if out in self.register and out not in results:
                wanted: set[Any] = set()
                for user in users[out]:
                    wanted |= loops.get(user, {None})
                if self._may_sink(eqn, group, wanted, users, loops, size):
                    for target in wanted - {group}:
                        size[target] += 1
                    size[group] -= group not in wanted
                    loops[eqn] = wanted
        for eqn in self.tape.equations:
            for group in loops.get(eqn, ()):
                members[group].append(eqn)
        return members

    def _may_sink(
        self,
        eqn: Equation,
        group: tuple[Any, ...],
        wanted: set[Any],
        users: Any,
        loops: Any,
        size: Any,
    ) -> bool:
        if not wanted or None in wanted or wanted == {group}:
            return False
        shape = eqn.outputs[0].shape
        if any(g[1] != shape or size[g] >= STATEMENTS for g in wanted):
            return False
        cost = self.target.cost_of(eqn.primitive.name)
        if len(wanted) > 1 and cost > CHEAP:
            return False
        variables = unique(a for a in eqn.inputs if isinstance(a, Var))
        if any(self._storage_of(a) in self.overwritten for a in variables):
            return False
        kept = [a for a in variables if not self._in_memory(a, users, loops)]
        large = [a for a in kept if a.shape == shape]
        return len(large) <= 1

    def _in_memory(self, a: Var, users: Any, loops: Any) -> bool:
        """Whether a value is stored whoever else reads it."""
        found = self.register.get(a)
        if found is None:
            return True
        return any(found not in loops.get(user, {None}) for user in users[a])

    # Later sums.

    def _ways(self) -> list[tuple[list[Equation], int]]:
        """Reductions that may be worth taking later, and the levels of loops of their shape."""
        reductions: dict[Any, list[Equation]] = defaultdict(list)
        for eqn, group in self.group.items():
            if is_reduction(eqn) and size_of(group[1]) >= LONG:
                reductions[group].append(eqn)
        tries = AGAIN // max(1, len(self.tape.equations))
        if not (reductions and tries and self.target.reorders):
            return []
        loops: dict[Any, list[Equation]] = defaultdict(list)
        for eqn, group in self.group.items():
            loops[group].append(eqn)
        in_order = sorted(loops)
        pairs = [
            (sums, loops[at, other], at)
            for (level, shape), sums in reductions.items()
            for at, other in in_order
            if other == shape and at > level
        ]
        ways = []
        for sums, loop, at in pairs[:tries]:
            needed = self._needed_for(loop)
            moving = [eqn for eqn in sums if eqn.outputs[0] not in needed]
            if moving:
                ways.append((moving, at))
        return ways

    def _needed_for(self, equations: list[Equation]) -> set[Any]:
        """All that some equations depend on."""
        found: set[Any] = {a for eqn in equations for a in eqn.inputs if isinstance(a, Var)}
        for eqn in reversed(self.tape.equations):
            if not found.isdisjoint(eqn.outputs):
                found.update(a for a in eqn.inputs if isinstance(a, Var))
        return found

    def _with_later_sums(self, members: dict[Any, list[Equation]]) -> dict[Any, list[Equation]]:
        """The equations of each loop, where reductions wait for loops that spare memory by it."""
        ways = self._ways()
        if not ways:
            return members
        waiting: dict[Equation, int] = {}
        least = self._traffic(members)
        most = max(STATEMENTS, *map(len, members.values()))
        for reductions, level in ways:
            tried = waiting | dict.fromkeys(reductions, level)
            self._place_all(tried)
            found = self._sink()
            traffic = self._traffic(found)
            if traffic < least and max(map(len, found.values())) <= most:
                waiting, least = tried, traffic
        self._place_all(waiting)
        return self._sink()

    def _traffic(self, members: dict[Any, list[Equation]]) -> int:
        """Bytes that loops read from memory and write to it."""
        read: Counter[Var] = Counter()
        for group, equations in members.items():
            read.update(Loop(group[1], equations).reads)
        kept = {a for a in self.tape.outputs if isinstance(a, Var)} | read.keys()
        for eqn in reversed(self.tape.equations):
            out = eqn.outputs[0] if eqn.outputs else None
            if out in self.views and out in kept:
                kept.add(self.views[out])
            elif eqn not in self.group and out not in self.views:
                kept.update(a for a in (*eqn.inputs, *self.more.get(eqn, ())) if isinstance(a, Var))
        made = {eqn.outputs[0] for eqn in self.group}
        return sum([size_of(v.shape) * v.dtype.itemsize * (read[v] + (v in made)) for v in kept])

    # Order.

    def _ordered(self, members: dict[Any, list[Equation]]) -> list[Step]:
        number = {eqn: k for k, eqn in enumerate(self.tape.equations)}
        found: list[tuple[int, int, Step]] = []
        parts = [
            (level, shape, part)
            for (level, shape), equations in members.items()
            for part in cut(equations, self.lines if size_of(shape) == 1 else None)
        ]
        for level, shape, part in split_rare(parts):
            found.append((level, number[part[0]], Loop(shape, part)))
        for eqn, level in self.level.items():
            if self.group.get(eqn) is None:
                found.append((level, number[eqn], CallStep(eqn, self.more.get(eqn, ()))))
        found.sort(key=lambda entry: entry[:2] if self.target.reorders else entry[1:2])
        return [step for _, _, step in found]

    def lines(self, equations: list[Equation]) -> list[list[Equation]]:
        """Equations of numbers, cut where they have taken long enough to compile."""
        found: list[list[Equation]] = [[]]
        room = NUMBERS
        for eqn in equations:
            room -= WRITTEN_OUT if self.target.cost_of(eqn.primitive.name) >= FUNCTION else 1
            if room < 0 and len(found[-1]) >= STATEMENTS:
                found.append([])
                room = NUMBERS
            found[-1].append(eqn)
        return found


def cut(
    equations: list[Equation], straight: Callable[..., Any] | None = None
) -> list[list[Equation]]:
    """Cut the equations of a loop into parts of bounded length; those that do not repeat themselves
    by ``straight``, if it is given.

    A program that repeats itself, as one that calls a step function a thousand times, is cut
    where it repeats: then all parts are one kernel.
    """
    n = len(equations)
    if n <= STATEMENTS:
        return [equations]
    period = _period([eqn.primitive.name for eqn in equations])
    if period is None:
        if straight is not None:
            return straight(equations)  # type: ignore[no-any-return]
        return [equations[i : i + STATEMENTS] for i in range(0, n, STATEMENTS)]
    start, length = period
    # As many repetitions at a time as fit, where that leaves parts enough to share a kernel.
    length *= max(1, min(STATEMENTS, (n - start) // 3) // length)
    pieces = -(-length // STATEMENTS)
    width = -(-length // pieces)
    parts = [equations[:start]] if start else []
    for i in range(start, n, length):
        whole = equations[i : min(i + length, n)]
        parts += [whole[j : j + width] for j in range(0, len(whole), width)]
    bounded = []
    for part in parts:
        bounded += [part[i : i + STATEMENTS] for i in range(0, len(part), STATEMENTS)]
    return bounded


def split_rare(
    parts: list[tuple[int, Shape, list[Equation]]],
) -> list[tuple[int, Shape, list[Equation]]]:
    """Take apart loops over a few entries that are met once, where there are many such.

    A long program of scalars that never quite repeats itself would compile a kernel for
    each, which takes longer than a great many runs. Kernels of one equation serve all.
    """

    def kind(shape: Shape, part: list[Equation]) -> Any:
        return shape, tuple([eqn.primitive.name for eqn in part])

    count = Counter([kind(shape, part) for _, shape, part in parts])
    rare = {
        key for key, n in count.items() if n == 1 and len(key[1]) > 1 and size_of(key[0]) <= TINY
    }
    if len(rare) <= RARE:
        return parts
    found = []
    for level, shape, part in parts:
        pieces = [[eqn] for eqn in part] if kind(shape, part) in rare else [part]
        found += [(level, shape, piece) for piece in pieces]
    return found


def _period(names: list[str]) -> tuple[int, int] | None:
    """Start and length of the shortest stretch that repeats through most of a list."""
    codes = np.unique(names, return_inverse=True)[1]
    n = len(codes)
    for length in range(1, n // 3 + 1):
        same = codes[length:] == codes[:-length]
        if np.count_nonzero(same) < 0.6 * len(same):
            continue
        breaks = np.flatnonzero(~same)
        edges = np.concatenate([[-1], breaks, [len(same)]])
        longest = int(np.argmax(np.diff(edges)))
        run = int(edges[longest + 1] - edges[longest] - 1)
        if run >= max(2 * length, n // 2):
            return int(edges[longest] + 1), length
    return None
