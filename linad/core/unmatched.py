"""Labels without a partner: what pandas makes NaN of where two Series meet."""

from contextvars import ContextVar
from typing import Any

from linad.core.callers import warn_user
from linad.core.frames import place
from linad.core.showing import shown

UNMATCHED: ContextVar[list[str] | None] = ContextVar("linad_unmatched", default=None)
"""Collects what there is to say of such labels, for who looks for the origin of a NaN."""


def note(first: Any, second: Any) -> None:
    """Take note of two indexes of pandas whose entries meet, as far as they are not the same.

    Where no label has a partner all entries become NaN, of which the sum is 0: that is told at
    once.
    """
    if first.equals(second):
        return
    alone = first.symmetric_difference(second)
    if not len(alone):
        return
    none = len(alone) == len(first.union(second))
    collecting = UNMATCHED.get()
    if collecting is None and not none:
        return
    words = (
        f"pandas matches rows by their labels, and {'all' if none else len(alone)} labels "
        f"{'are' if len(alone) > 1 else 'is'} in one of two Series alone, as {shown(alone[0])}, "
        f"which makes NaN of {'everything' if none else 'them'}: give both the same labels, "
        f"s.reset_index(drop=True), or take the numbers, s.to_numpy()"
    )
    if collecting is None:
        warn_user(words)
    else:
        at = place()
        collecting.append(words + (f" (at {at})" if at else ""))
