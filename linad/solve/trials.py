"""Trial points of a fit at which its function comes to no end.

An integration takes ever shorter steps where a trial point lets the solution explode, a search
goes on where there is no root: millions of repetitions, for a point that will be refused. So at
trial points a loop may go round `MORE` times as often as at the points that the fit has gone to,
and `LEAST` times in any case. One that would go on makes residuals that are no numbers, as other
points do that are too far away, and the fit goes on with a shorter step. So it does where a
derivative is refused at a trial point, and was not at those before.
"""

from collections.abc import Callable
from typing import Any

from linad.core.array_type import Array
from linad.core.interrupts import is_interrupt
from linad.core.long_loops import NO_LIMIT, Allowance, allowing
from linad.core.showing import shown
from linad.errors import ConvergenceError, DegenerateError, LoopLimitError, UnsupportedError

MORE, LEAST = 16, 1 << 14

REFUSALS = (ConvergenceError, DegenerateError, UnsupportedError)
"""What a function may raise at one point and not at another."""

GIVEN_UP = object()
"""What stands for the values at such a point."""


class Trials:
    """The evaluations of a fit; at first without a limit.

    Parameters
    ----------
    name, called : str
        The solver, and the function that the user gave.
    container : callable
        A point in the form in which the user gave one.
    """

    def __init__(self, name: str, called: str, container: Callable[[Array], Any]) -> None:
        self.name, self.called, self.container = name, called, container
        self.allowance = Allowance()
        self.usual = 0
        self.given_up: list[tuple[str, str]] = []

    def run(self, x: Array, evaluate: Callable[[], Any]) -> Any:
        """What ``evaluate()`` gives at a point; `GIVEN_UP` where a loop in it did not end, or
        where it refuses this point, but none before."""
        limit = self.allowance.limit
        allowance = self.allowance = Allowance(limit)
        try:
            with allowing(allowance):
                return evaluate()
        except REFUSALS as error:
            if error is not allowance.error:
                if limit == NO_LIMIT or isinstance(error, LoopLimitError):
                    raise
                self.given_up.append((shown(self.container(x)), f"{self.called} raised: {error}"))
                return GIVEN_UP
            if limit == NO_LIMIT:
                raise LoopLimitError(
                    f"{self.name}: {error}; in {self.called} where it starts, at "
                    f"{shown(self.container(x))}: start elsewhere"
                ) from error
            words = (
                f"an integration or a loop in {self.called} did not end within {limit} repetitions"
            )
            self.given_up.append((shown(self.container(x)), words))
            return GIVEN_UP
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or is_interrupt(error):
                error.add_note(f"{self.name}: in {self.called} at {shown(self.container(x))}")
            raise

    def accept(self) -> None:
        """The fit goes to the point that was evaluated last."""
        self.usual = max(self.usual, self.allowance.most)
        self.allowance.limit = max(LEAST, MORE * self.usual)

    def told(self) -> str:
        """That points were left out, "" if none was."""
        if not self.given_up:
            return ""
        point, words = self.given_up[0]
        count = len(self.given_up)
        which = (
            f"{count} trial points were left out, first"
            if count > 1
            else "a trial point was left out,"
        )
        return (
            f"{which} {point}, where {words}: start nearer, or keep the parameters within bounds"
        )
