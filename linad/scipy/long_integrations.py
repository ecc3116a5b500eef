"""Says how far a long integration in Python has come, and what would take fewer steps.

An explicit method is not accurate but stable by its short steps where a problem is stiff, and takes
thousands of times as many as an implicit one. A fit runs the integration again and again: of one
line of a program it is said once, and again only of an integration ten times as long.
"""

import math

from linad.core.frames import place
from linad.core.long_loops import count, counting
from linad.core.patience import SECONDS, Patience, say

BETWEEN = 64
"""Steps between two looks at the clock."""

WINDOW, HOPELESS = 4096, 1e-6
"""Steps over which an integration has to come further by this part of what is left."""

AGAIN = 10.0
"""By how much longer an integration has to take until it is said again."""

_due: dict[str, float] = {}  # seconds, by the line that integrates


class Integration:
    """The steps of one integration.

    Parameters
    ----------
    method : str
        As SciPy calls it.
    end : float
        Where it is to end.
    explicit : bool
        Whether an implicit method may be what is wanted.
    """

    def __init__(self, method: str, end: float, explicit: bool) -> None:
        self.method, self.end, self.explicit = method, end, explicit
        self.steps, self.patience = 0, Patience()
        self.seen = math.inf

    def stepped(self, t: float) -> None:
        """Count a step that ended at t; say so where many have taken long."""
        self.steps += 1
        count(self.steps)
        if self.steps % WINDOW == 0:
            self._look_ahead(t)
        if self.steps % BETWEEN or (seconds := self.patience.spent()) is None:
            return
        at = place()
        due = _due.get(at, SECONDS)
        if seconds < due:
            self.patience.again(due)
            return
        _due[at] = AGAIN * seconds
        self.patience.again(AGAIN * seconds)
        say(self._line(t, seconds, at))

    def _look_ahead(self, t: float) -> None:
        """Give up in a fit where the end is out of reach; SciPy goes on."""
        gone, left = abs(t - self.seen), abs(self.end - t)
        self.seen = t
        allowance = counting()
        if allowance is not None and gone <= HOPELESS * left:
            allowance.give_up(
                f"{self.method} took {WINDOW} steps to come from t = {t:.6g} to a point beside it, "
                f"of {self.end:.6g}: the solution explodes there, or its right side does"
            )

    def _line(self, t: float, seconds: float, at: str) -> str:
        remedy = '; a stiff problem takes few steps by method="Radau", "BDF" or "LSODA"'
        remedy = remedy if self.explicit else ""
        return (
            f"{self.method} has taken {self.steps} steps in {seconds:.0f} s, up to t = {t:.4g} of "
            f"{self.end:.4g}{f' (at {at})' if at else ''}{remedy}"
        )
