"""Says once that a fit spends its time in Python, and what to write instead."""

from collections.abc import Callable
from typing import Any

from linad.core.patience import Patience
from linad.jit.jitted import Jitted

PATIENCE = 5.0
"""Seconds that somebody waits for a fit in silence."""


class Waiting:
    """A function of a fit, which looks at the clock whenever it runs.

    Parameters
    ----------
    name, called : str
        The fit, and the function that the user gave.
    given : callable
        That function; nothing is said of one that is compiled.
    run : callable
        What to run.
    """

    def __init__(self, name: str, called: str, given: Any, run: Callable[..., Any]) -> None:
        self.name, self.called, self.run = name, called, run
        self.compiled = isinstance(given, Jitted)
        self.patience = Patience(PATIENCE)

    def __call__(self, p: Any) -> Any:
        seconds = None if self.compiled else self.patience.spent()
        if seconds is not None:
            self.patience.say(
                f"{self.name}: {self.called} has run for {seconds:.0f} s in Python; "
                f"{self.name}(linad.jit({self.called}), ...) compiles it"
            )
        return self.run(p)
