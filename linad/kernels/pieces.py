"""A loop over ``numba.prange`` in pieces, which threads can take one by one.

    for n in prange(first, last):           for piece in range(16):
        ...                                     begin = first + piece * length
                                    becomes     for n in range(begin, min(begin + length, last)):
                                                    ...

There are always as many pieces, whatever the number of threads. An adjoint that keeps values goes
through a piece forward, and keeps the values of this piece alone, and then backward.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeGuard

from linad.kernels.expressions import (
    ONE,
    ZERO,
    Expr,
    add,
    binary,
    call,
    mul,
    names,
    nodes,
    num,
    sub,
    var,
)
from linad.kernels.needs import Run
from linad.kernels.statements import (
    Check,
    For,
    Grow,
    If,
    Let,
    PopValue,
    Statement,
    Swap,
    WhileLoop,
    expressions,
    reads,
    walk,
    written,
)

PIECES = 16


def is_by_pieces(s: Statement) -> TypeGuard[For]:
    """Whether a statement is a loop that can be cut into pieces."""
    if not isinstance(s, For) or not s.prange or s.step != ONE:
        return False
    return not any([isinstance(t, (Check, Swap, Grow)) for t in walk(s.body)])


def in_pieces(
    loop: For,
    turns: Callable[[Expr, Expr], list[Statement]],
    integer: Callable[[str], Expr],
) -> For:
    """A loop in pieces.

    Parameters
    ----------
    loop : For
        Its step is 1.
    turns : callable
        ``turns(begin, end)`` are the statements for the turns of a piece.
    integer : callable
        Makes a new scalar.
    """
    piece, length, begin, end = [integer(n) for n in ("piece", "length", "begin", "end")]
    before = sub(add(sub(loop.stop, loop.start), num(PIECES)), ONE)
    bounds: list[Statement] = [
        Let(length.parts[0], binary("//", before, num(PIECES))),
        Let(begin.parts[0], add(loop.start, mul(piece, length))),
        Let(end.parts[0], call("min", add(begin, length), loop.stop)),
    ]
    body = [*bounds, *turns(begin, end)]
    return For(piece.parts[0], ZERO, num(PIECES), ONE, body, pieces=True, comment=loop.comment)


def exposed(body: Sequence[Statement], done: Collection[str] = ()) -> set[str]:
    """Names whose values statements read that something before them has assigned, or may have.

    An array counts wherever it is read: its entries are not told apart.
    """
    return _exposed(body, {*done})


def _exposed(body: Sequence[Statement], done: set[str]) -> set[str]:
    """The same; scalars that the statements certainly assign are added to ``done``."""
    found: set[str] = set()
    for s in body:
        if isinstance(s, Run):
            found |= _exposed(s.parts, done)
            continue
        found |= reads(s) - done
        if isinstance(s, For):
            found |= _exposed(s.body, done | {s.name})
        elif isinstance(s, WhileLoop):
            found |= _exposed(s.body, {*done})
        elif isinstance(s, If):
            yes, no = {*done}, {*done}
            found |= _exposed(s.yes, yes) | _exposed(s.no, no)
            done |= yes & no
        elif isinstance(s, (Let, PopValue)):
            done.add(s.name)
    return found


def is_sum(name: str, statements: Iterable[Statement]) -> bool:
    """Whether statements do nothing with a scalar but add to it; those inside them are theirs."""
    sums = reads = 0
    for s in statements:
        for e in expressions(s):
            reads += sum([n == var(name) for n in nodes(e)])
        if name not in written(s):
            continue
        if not isinstance(s, Let) or s.value.op not in ("+", "-"):
            return False
        before, added = s.value.parts
        if before != var(name) or name in names(added):
            return False
        sums += 1
    return reads == sums
