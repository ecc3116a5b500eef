"""Room on stacks, made once for a loop or for a stretch of statements."""

from collections import Counter
from collections.abc import Sequence

from linad.kernels.expressions import ZERO, Expr, add, call, mul, names, num, sub
from linad.kernels.statements import (
    For,
    If,
    PushValue,
    StackRoom,
    Statement,
    WhileLoop,
    assigned,
    bodies,
    walk,
)


def with_room(body: Sequence[Statement]) -> list[Statement]:
    """The statements, with room made before they put values on stacks.

    A loop that puts the same number of values in every turn gets room for all of them at once,
    with the loops inside it; other loops make it turn by turn.
    """
    out: list[Statement] = []
    stretch: list[Statement] = []

    def close() -> None:
        counts = pushes(stretch)
        out.extend([StackRoom(stack, num(n)) for stack, n in counts.items()])
        out.extend(stretch)
        stretch.clear()

    for s in body:
        room = room_of_loop(s) if isinstance(s, For) and pushes([s]) else None
        if room is not None:
            close()
            out += [StackRoom(stack, n) for stack, n in room.items()]
            out.append(s)
        elif _has_loops([s]):
            close()
            if isinstance(s, (For, WhileLoop)):
                s.body = with_room(s.body)
            elif isinstance(s, If):
                s.yes, s.no = with_room(s.yes), with_room(s.no)
            out.append(s)
        else:
            stretch.append(s)
    close()
    return out


def room_of_loop(loop: For) -> dict[str, Expr] | None:
    """How many values a loop puts on each stack; None if that is known turn by turn only.

    A branch counts as if it were always taken, but not in loops within loops: there it may be
    rare, and room for all turns too much.
    """
    each: dict[str, Expr] = {}
    if _has_loops(loop.body):
        if any([isinstance(s, If) and bool(pushes([s])) for s in walk(loop.body)]):
            return None
        varying = assigned(loop.body) | {loop.name}
        for s in loop.body:
            if isinstance(s, PushValue):
                found: dict[str, Expr] | None = {s.stack: num(1)}
            elif not pushes([s]):
                continue
            else:
                found = room_of_loop(s) if isinstance(s, For) else None
            if found is None or any([names(n) & varying for n in found.values()]):
                return None
            for stack, n in found.items():
                each[stack] = add(each.get(stack, ZERO), n)
    else:
        each = {stack: num(n) for stack, n in pushes(loop.body).items()}
    turns = sub(loop.stop, loop.start)
    turns = call("max", ZERO, turns) if loop.step == num(1) else call("abs", turns)
    return {stack: mul(n, turns) for stack, n in each.items()}


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
