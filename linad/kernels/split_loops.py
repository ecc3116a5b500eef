"""Loops that add to several entries of one array in each turn, cut into loops that do one thing.

The adjoint of a stencil hands each cotangent on to the neighbours of an entry:

    for j in range(n):                        for j in range(n):
        w = ...                                   parts[j] = ...
        u_b[j - 1] += w             becomes   for j in range(n):
        u_b[j + 1] += w                           u_b[j - 1] += parts[j]
                                              for j in range(n):
                                                  u_b[j + 1] += parts[j]

In the first form a turn waits for the memory that the last one has written, and the compiler makes
no vector instructions of it; of each loop in the second form it does. Nothing may read the array
in the loop, so that it does not matter when something is added to it, but for rounding.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import (
    NONE,
    ONE,
    ArrayKind,
    Expr,
    Kind,
    add,
    call,
    get,
    mul,
    names,
    negative,
    num,
    sub,
    var,
)
from linad.kernels.fresh_names import FreshNames
from linad.kernels.statements import (
    For,
    If,
    Let,
    NewStack,
    PopValue,
    Put,
    StackRoom,
    Statement,
    WhileLoop,
    expressions,
    written,
)

SUFFIX = "_b0"
"""What no name of a user's, and none of a derivative's, ends in."""

PARTS = f"parts{SUFFIX}"

Place = tuple[str, tuple[Expr, ...]]
"""An array, and the indices of an entry."""


def with_split_loops(program: KernelProgram) -> KernelProgram:
    """The program, with loops split where that lets the compiler make vector instructions."""
    writer = LoopSplitter(program)
    body = writer.split(program.body)
    if not writer.used:
        return program
    writer.kinds[PARTS] = ArrayKind("float64", 1)
    start: list[Statement] = [NewStack(PARTS, "float64")]
    return replace(program, kinds=writer.kinds, body=[*start, *body])


class LoopSplitter:
    """Splits loops.

    Parameters
    ----------
    program : KernelProgram
    """

    def __init__(self, program: KernelProgram) -> None:
        self.kinds: dict[str, Kind] = dict(program.kinds)
        self.names = FreshNames(program, SUFFIX)
        self.used = False

    def split(self, body: Sequence[Statement]) -> list[Statement]:
        """Statements with the innermost loops among them split."""
        out: list[Statement] = []
        for s in body:
            if isinstance(s, For):
                places = places_to_split(s)
                if places:
                    out += self.loops(s, places)
                else:
                    out.append(replace(s, body=self.split(s.body)))
            elif isinstance(s, WhileLoop):
                out.append(replace(s, body=self.split(s.body)))
            elif isinstance(s, If):
                out.append(replace(s, yes=self.split(s.yes), no=self.split(s.no)))
            else:
                out.append(s)
        return out

    def loops(self, loop: For, places: dict[Place, int]) -> list[Statement]:
        """A loop that keeps what is to be added, and loops that add it, a place each."""
        self.used = True
        up = loop.step == ONE
        low = loop.start if up else add(loop.stop, ONE)
        turns = self.scalar("turns", "i")
        assigned_once = {n for n, k in _assignments(loop).items() if k == 1}
        totals = sums(loop)
        parts: list[Expr] = []  # values to be kept, at the end of a turn
        part_of: dict[Place, int] = {}
        first: list[Statement] = []
        summed: list[tuple[str, int]] = []
        for s in loop.body:
            if isinstance(s, Let) and s.name in totals:
                part = self.scalar("part", "f")
                first.append(Let(part.parts[0], totals[s.name], comment=s.comment))
                summed.append((s.name, len(parts)))
                parts.append(part)
                continue
            if not isinstance(s, Put) or (s.array, s.index) not in places:
                first.append(s)
                continue
            place = (s.array, s.index)
            if places[place] == 1 and s.value.op == "var" and s.value.parts[0] in assigned_once:
                if s.value not in parts:
                    parts.append(s.value)
                part_of[place] = parts.index(s.value)
            elif place in part_of:
                part = parts[part_of[place]]
                first.append(Let(part.parts[0], add(part, s.value), comment=s.comment))
            else:
                part = self.scalar("part", "f")
                first.append(Let(part.parts[0], s.value, comment=s.comment))
                part_of[place] = len(parts)
                parts.append(part)
        here = sub(var(loop.name), low)
        kept = [(call("unsigned", add(mul(num(k), turns), here)),) for k in range(len(parts))]
        first += [Put(PARTS, i, part) for i, part in zip(kept, parts, strict=True)]
        length = sub(loop.stop, loop.start) if up else sub(loop.start, loop.stop)
        out: list[Statement] = [
            Let(turns.parts[0], length),
            StackRoom(PARTS, mul(num(len(parts)), turns)),
            replace(loop, body=first),
        ]
        rows: dict[Place, list[Statement]] = {}  # entries with one last index lie in other rows
        for (array, index), k in part_of.items():
            put = Put(array, index, get(PARTS, *kept[k]), adds=True)
            rows.setdefault((array, index[-1:]), []).append(put)
        out += [replace(loop, body=puts) for puts in rows.values()]
        for name, k in summed:
            total: list[Statement] = [Let(name, add(var(name), get(PARTS, *kept[k])))]
            out.append(replace(loop, body=total))
        return out

    def scalar(self, name: str, kind: str) -> Expr:
        """A new scalar."""
        new = self.names.make(name)
        self.kinds[new] = kind
        return var(new)


def places_to_split(loop: For) -> dict[Place, int]:
    """The entries to which a loop adds that can be added to later, and how often it does.

    None if the loop has others inside, if its turns hand scalars on that are not sums, or if the
    compiler can make vector instructions of it as it is.
    """
    if loop.step not in (ONE, num(-1)):
        return {}
    if not all([isinstance(s, (Let, Put, PopValue)) for s in loop.body]):
        return {}
    if _handed_on(loop) - set(sums(loop)):
        return {}
    assigned = set(_assignments(loop))
    read = set().union(*[names(e) for s in loop.body for e in expressions(s)])
    puts = [s for s in loop.body if isinstance(s, Put)]
    fixed = read | {s.array for s in puts if not s.adds}
    places = Counter(
        [
            (s.array, s.index)
            for s in puts
            if s.array not in fixed and not set().union(*map(names, s.index)) & assigned
        ]
    )
    moving: dict[str, set[tuple[Expr, ...]]] = {}  # indices that another turn may have, too
    for array, index in places:
        here = tuple([i if loop.name in names(i) else NONE for i in index])
        moving.setdefault(array, set()).add(here)
    return dict(places) if any([len(found) > 1 for found in moving.values()]) else {}


def sums(loop: For) -> dict[str, Expr]:
    """Scalars that a loop only adds to, once a turn, and what it adds."""
    reads = Counter([n for s in loop.body for e in expressions(s) for n in names(e)])
    assignments = _assignments(loop)
    found = {}
    for s in loop.body:
        if not isinstance(s, Let) or s.value.op not in ("+", "-"):
            continue
        before, added = s.value.parts
        once = reads[s.name] == assignments[s.name] == 1 and s.name not in names(added)
        if before == var(s.name) and once:
            found[s.name] = added if s.value.op == "+" else negative(added)
    return found


def _assignments(loop: For) -> Counter[str]:
    """How often a turn assigns each scalar and array."""
    return Counter([name for s in loop.body for name in written(s)])


def _handed_on(loop: For) -> set[str]:
    """Scalars that a turn reads before it assigns them, and assigns."""
    done: set[str] = set()
    before: set[str] = set()
    for s in loop.body:
        before |= set().union(*[names(e) for e in expressions(s)]) - done
        if not isinstance(s, Put):
            done |= written(s)
    return before & done
