"""Whether a function decides, again and again, by what comes ever closer to a tie.

A bisection looks at the sign of f(m) at points m that come closer to a root, step by step by a
constant factor; so does any search by comparisons, on both sides of what it looks for. What such a
function returns moves with its arguments through these decisions, of which a derivative, with all
decisions as they were taken, knows nothing. The margins of its decisions tell: each side reaches a
new order of magnitude every few steps, down to rounding. In a sequence of n numbers in no order that
happens some log(n) times; and a loop that ends at a tolerance asks the same question, with the same
answer, until it ends.

This is a suspicion, and costs little: a function that takes few decisions is not looked at. Whether
its derivative is wrong is found out by `linad.api.hidden_searches`.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced

FEW = 4
"""Decisions that a function takes before any is looked at."""

WINDOW = 128
"""Decisions that are looked at together: a search among others still fills a part of them."""

ORDERS = 12
"""Powers of two by which a search comes closer, at the least."""

ON_EACH_SIDE = 3
"""How many of these are reached from each side."""


class NearTies:
    """The margins by which a function decides, and whether they are those of a search.

    Attributes
    ----------
    seen : bool
        Whether some were, among those that have been looked at.
    """

    __slots__ = ("first", "inner", "seen")

    def __init__(self) -> None:
        self.first: list[Any] = []
        self.inner: list[Any] = []  # of arrays, at an entry in the middle
        self.seen = False

    def note(self, operands: Any) -> None:
        """Take note of a decision: of a comparison of two values, or on the sign of one."""
        a, b = [_plain(x) for x in (*operands, 0.0)[:2]]
        size = max(np.size(a), np.size(b))
        if not (np.size(a) and np.size(b)):
            return
        self.first.append(_entry(a, 0) - _entry(b, 0))
        if size > 1:
            self.inner.append(_entry(a, size // 2) - _entry(b, size // 2))
        if len(self.first) == WINDOW:
            self.look()

    def look(self) -> bool:
        """Whether margins were those of a search, now or before."""
        for margins in (self.first, self.inner):
            self.seen = self.seen or are_of_a_search(margins)
            del margins[: -WINDOW // 2]
        return self.seen


def _plain(x: Array) -> Any:
    return x.concrete if isinstance(x, Traced) else x


def _entry(x: Array, k: int) -> Any:
    """An entry of an array that is broadcast; a number of Python's."""
    if isinstance(x, np.ndarray):
        return x.item(k if k < x.size else 0)
    return x.item() if isinstance(x, np.generic) else x


def are_of_a_search(margins: list[Any]) -> bool:
    """Whether numbers come closer to zero, from both sides, as those of a search do."""
    if len(margins) < ORDERS:
        return False
    found = np.array(margins)
    if found.dtype.kind != "f":
        return False  # integers, or complex numbers, which have no order
    found = found[np.isfinite(found) & (found != 0)]
    orders = np.frexp(found)[1]
    if not orders.size or np.ptp(orders) < ORDERS:
        return False
    above, below = (set(np.minimum.accumulate(orders[side])) for side in (found > 0, found < 0))
    return len(above | below) >= ORDERS and min(len(above), len(below)) >= ON_EACH_SIDE
