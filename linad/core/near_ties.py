"""Whether a function decides, again and again, by what comes ever closer to a tie.

A bisection looks at the sign of f(m) at points m that come closer to a root, step by step by a
constant factor; so does any search by comparisons, on both sides of what it looks for. What such a
function returns moves with its arguments through these decisions, of which a derivative, with all
decisions as they were taken, knows nothing. The margins of its decisions tell: each side reaches a
new order of magnitude every few steps, down to rounding. In a sequence of n numbers in no order
that happens some log(n) times; and a loop that ends at a tolerance asks the same question, with the
same answer, until it ends. A bisection whose root lies at a quarter of the interval, say, comes to
it from one side: there each margin is half of the one before.

A search that zooms in on a minimum asks no sign: of the values on a grid it takes the least one, by
`argmin`, and another grid around that. There the values are ever closer to each other.

This is a suspicion, and costs little: a function that takes few decisions is not looked at. Whether
its derivative is wrong is found out by `linad.api.hidden_searches`.
"""

import itertools
from array import array
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced

FEW = 4
"""Decisions that a function takes before any is looked at."""

WINDOW = 256
"""Decisions that are looked at together: a search among others still fills a part of them."""

MANY = 4096
"""Entries of an array that are all looked at."""

ORDERS = 12
"""Powers of two by which a search comes closer, at the least."""

ON_EACH_SIDE = 3
"""How many of these are reached from each side, where it comes from both."""

NEARLY, OTHERS = 0.005, 2
"""How near to a half, relative to the one before, margins are that are halved each time; and how
many other decisions there may be in each step."""

ZOOMED = 2
"""How many times in turn the values on a grid are at most half as far apart as those before."""

_DOUBLES = {float, np.float64}


class NearTies:
    """The margins by which a function decides, and whether they are those of a search.

    Of arrays those of one entry are noted, since searches for all entries go on at the same time:
    not the first, the middle or the last, which are round numbers more often than others. And that
    of the entry which is nearest to a tie, unless there are many: a search that counts how many
    entries lie below m comes closer to one of them.

    Attributes
    ----------
    seen : bool
        Whether some were, among those that have been looked at.
    """

    __slots__ = ("margins", "seen", "spreads")

    def __init__(self) -> None:
        self.margins, self.spreads = array("d"), array("d")
        self.seen = False

    def note(self, operands: Any) -> None:
        """Take note of a decision: of a comparison of two values, or on the sign of one."""
        a, b = operands if len(operands) == 2 else (operands[0], 0.0)
        margins = self.margins
        try:
            if type(a) in _DOUBLES and type(b) in _DOUBLES:
                margins.append(float(a) - b)
            else:
                margins.append(_entry(a) - _entry(b))
                margins.extend(_nearest(a, b))
        except (TypeError, IndexError, OverflowError):
            return  # complex numbers, texts, no entries, more than a float holds
        if len(margins) >= WINDOW:
            self.look()

    def pick(self, values: Any) -> None:
        """Take note of values of which the least or the largest is looked for."""
        found = np.asarray(_plain(values), dtype=float)
        found = found[np.isfinite(found)]
        if found.size > 1:
            self.spreads.append(float(np.ptp(found)))
        if len(self.spreads) >= WINDOW:
            self.look()

    def look(self) -> bool:
        """Whether margins were those of a search, now or before."""
        self.seen = self.seen or are_of_a_search(np.array(self.margins))
        self.seen = self.seen or are_of_a_zoom(np.array(self.spreads))
        del self.margins[: -WINDOW // 2]
        del self.spreads[: -WINDOW // 2]
        return self.seen


def _entry(x: Array) -> Any:
    """An entry of an array, as a Python number."""
    x = np.asarray(_plain(x))
    return x.item(5 * x.size >> 3)


def _nearest(a: Any, b: Any) -> list[Any]:
    """The margin of the entry that is nearest to a tie, of what has not one entry or many."""
    a, b = _plain(a), _plain(b)
    if not 1 < np.broadcast(a, b).size <= MANY:
        return []
    with np.errstate(all="ignore"):
        apart = np.subtract(a, b)
    apart = apart[np.isfinite(apart)]
    return [apart.item(np.argmin(np.abs(apart)))] if apart.size else []


def _plain(x: Any) -> Any:
    while isinstance(x, Traced):
        x = x.concrete
    return x


def are_of_a_search(margins: np.ndarray) -> bool:
    """Whether numbers come closer to zero as those of a search do."""
    margins = margins[np.isfinite(margins)]
    if margins.size < ORDERS:
        return False
    sizes = np.abs(margins)
    if np.max(sizes) < 2.0**ORDERS * np.min(sizes):  # as those of most are
        return False
    return _from_both_sides(margins) or _by_halves(sizes)


def _from_both_sides(margins: np.ndarray) -> bool:
    """Whether they reach smaller orders of magnitude one after the other, on both sides of zero."""
    found = margins[margins != 0]
    orders = np.frexp(found)[1]
    if not orders.size or np.ptp(orders) < ORDERS:
        return False
    above, below = (set(np.minimum.accumulate(orders[side])) for side in (found > 0, found < 0))
    return len(above | below) >= ORDERS and min(len(above), len(below)) >= ON_EACH_SIDE


def are_of_a_zoom(spreads: np.ndarray) -> bool:
    """Whether numbers fall as the distances of values do on ever finer grids, perhaps on a few in
    turn."""
    for between in range(1, OTHERS + 2):
        for first in range(between):
            falls, reached = 0, 1.0
            for before, now in itertools.pairwise(spreads[first::between]):
                fell = 0 < 2 * now <= before
                falls, reached = (falls + 1, reached * now / before) if fell else (0, 1.0)
                if falls >= ZOOMED and reached <= 2.0**-ORDERS:
                    return True
    return False


def _by_halves(sizes: np.ndarray) -> bool:
    """Whether each is half of the one before, or of one of the few before: other decisions may lie
    between those of a search."""
    for between in range(1, OTHERS + 2):
        near = np.abs(sizes[between:] - 0.5 * sizes[:-between]) < NEARLY * sizes[:-between]
        for first in range(between):
            misses = np.flatnonzero(~near[first::between])
            ends = np.concatenate([[-1], misses, [near[first::between].size]])
            if np.max(np.diff(ends)) > ORDERS:
                return True
    return False
