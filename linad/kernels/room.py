"""Room on stacks, made once for a loop or for a stretch of statements."""

from collections import Counter
from collections.abc import Sequence

from linad.kernels.expressions import ZERO, Expr, add, mul, names, nodes, num
from linad.kernels.statements import (
    For,
    If,
    New,
    PushValue,
    StackRoom,
    Statement,
    WhileLoop,
    assigned,
    bodies,
    turns_of,
    walk,
)


def with_room(body: Sequence[Statement]) -> list[Statement]:
    """The statements, with room made before they put values on stacks.

    A loop that puts the same number of values in every turn gets room for all of them at once,
    with the loops inside it; other loops make it turn by turn.
    """
    out: list[Statement] = []
    stretch: list[Statement] = []
    counts: dict[str, Expr] = {}

    def close() -> None:
        out.extend([StackRoom(stack, n) for stack, n in counts.items()])
        out.extend(stretch)
        stretch.clear()
        counts.clear()

    for s in body:
        room = room_of(s)
        if room is None:
            close()
            if isinstance(s, (For, WhileLoop)):
                s.body = with_room(s.body)
            elif isinstance(s, If):
                s.yes, s.no = with_room(s.yes), with_room(s.no)
            out.append(s)
            continue
        if any([not is_known_before(n, stretch) for n in room.values()]):
            close()
        for stack, n in room.items():
            counts[stack] = add(counts.get(stack, ZERO), n)
        stretch.append(s)
    close()
    return out


def is_known_before(n: Expr, stretch: list[Statement]) -> bool:
    """Whether a number is the same before statements as behind them."""
    made = {s.array for s in walk(stretch) if isinstance(s, New)}
    lengths = {e.parts[0] for e in nodes(n) if e.op == "dim"}
    return not names(n) & assigned(stretch) and not lengths & made


def room_of(s: Statement) -> dict[str, Expr] | None:
    """How many values a statement puts on each stack; None if that is known turn by turn only.

    A branch counts as if it were always taken, but not in loops within loops: there it may be
    rare, and room for all turns too much.
    """
    if isinstance(s, For) and pushes([s]):
        return room_of_loop(s)
    if _has_loops([s]):
        return None
    return {stack: num(n) for stack, n in pushes([s]).items()}


def room_of_loop(loop: For) -> dict[str, Expr] | None:
    each: dict[str, Expr] = {}
    nested = _has_loops(loop.body)
    varying = assigned(loop.body) | {loop.name}
    for s in loop.body:
        found = room_of(s)
        rare = nested and any([isinstance(t, If) and bool(pushes([t])) for t in walk([s])])
        if found is None or rare or any([names(n) & varying for n in found.values()]):
            return None
        for stack, n in found.items():
            each[stack] = add(each.get(stack, ZERO), n)
    return {stack: mul(n, turns_of(loop)) for stack, n in each.items()}


def pushes(body: Sequence[Statement]) -> Counter[str]:
    """How many values statements put on each stack, at most, if loops take one turn."""
    found: Counter[str] = Counter()
    for s in body:
        if isinstance(s, PushValue):
            found[s.stack] += 1
        elif isinstance(s, If):
            found += pushes(s.yes) | pushes(s.no)
        else:
            for inner in bodies(s):
                found += pushes(inner)
    return found


def _has_loops(body: Sequence[Statement]) -> bool:
    return any([isinstance(s, (For, WhileLoop)) and bool(pushes([s])) for s in walk([*body])])
