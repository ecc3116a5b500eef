"""Says once that a solver spends its time in Python, and what to write instead."""

import functools
from collections.abc import Callable
from typing import Any

from linad.core.patience import Patience
from linad.jit.jitted import Jitted

PATIENCE = 5.0
"""Seconds that somebody waits for a solver in silence."""


class Waiting:
    """A function that a solver runs, which looks at the clock whenever it does.

    Parameters
    ----------
    name, called : str
        The solver, and the function that the user gave.
    given : callable
        That function; nothing is said of one that is compiled, or linad's own.
    run : callable
        What to run.
    """

    def __init__(self, name: str, called: str, given: Any, run: Callable[..., Any]) -> None:
        self.name, self.called, self.run = name, called, run
        while isinstance(given, functools.partial):
            given = given.func
        own = (getattr(given, "__module__", None) or "").partition(".")[0] == "linad"
        self.silent = isinstance(given, Jitted) or own
        self.patience = Patience(PATIENCE)

    def __call__(self, p: Any) -> Any:
        self.look()
        return self.run(p)

    def look(self) -> None:
        """Say that it takes long, if it does and nothing has been said."""
        seconds = None if self.silent else self.patience.spent()
        if seconds is not None:
            self.patience.say(
                f"{self.name}: {self.called} has run for {seconds:.0f} s in Python; "
                f"{self.name}(linad.jit({self.called}), ...) compiles it"
            )
