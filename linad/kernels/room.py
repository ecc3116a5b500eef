"""Room on stacks, made once for a loop or for a stretch of statements."""

from collections import Counter
from collections.abc import Sequence

from linad.kernels.expressions import call, mul, num, sub
from linad.kernels.statements import (
    For,
    If,
    PushValue,
    StackRoom,
    Statement,
    WhileLoop,
    bodies,
    walk,
)


def with_room(body: Sequence[Statement]) -> list[Statement]:
    """The statements, with room made before they put values on stacks.

    A loop that puts the same number of values in every turn gets room for all of them at once;
    other loops make it turn by turn.
    """
    out: list[Statement] = []
    stretch: list[Statement] = []

    def close() -> None:
        counts = pushes(stretch)
        out.extend([StackRoom(stack, num(n)) for stack, n in counts.items()])
        out.extend(stretch)
        stretch.clear()

    for s in body:
        if isinstance(s, For) and pushes([s]) and not _has_loops(s.body):
            close()
            turns = sub(s.stop, s.start)
            if s.step != num(1):
                turns = call("abs", turns)
            for stack, n in pushes(s.body).items():
                room = mul(num(n), turns)
                out.append(
                    StackRoom(stack, room if s.step != num(1) else call("max", num(0), room))
                )
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
