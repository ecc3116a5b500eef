"""Says that a solver spends its time in Python, and what to write instead; and seldom again."""

import functools
import time
from collections.abc import Callable
from typing import Any

from linad.core.callers import defining_package
from linad.core.patience import SECONDS, say
from linad.core.settings import settings
from linad.jit.jitted import Jitted

RARELY = 10.0
"""By how much longer it has to take until it is said again; and seconds, at least."""


class Waiting:
    """A function that a solver runs, and a clock of the time spent in it.

    ``with waiting:`` goes around what else runs it, or its derivative. Whatever a solver does
    between, linear algebra above all, does not count: compiling the function would not help.

    Parameters
    ----------
    name, called : str
        The solver, and the function that the user gave.
    given : callable
        That function; nothing is said of one that is compiled, or linad's own.
    run : callable
        What to run.
    """

    def __init__(
        self, name: str, called: str, given: Callable[..., Any], run: Callable[..., Any]
    ) -> None:
        self.name, self.called, self.run = name, called, run
        self.__name__ = called
        while isinstance(given, functools.partial):
            given = given.func
        own = defining_package(given) == "linad"
        self.compiled = isinstance(given, Jitted) or own
        self.silent = self.compiled or not settings().progress
        self.seconds, self.entered, self.depth = 0.0, 0.0, 0
        self.due = SECONDS

    def __call__(self, *args: Any) -> Any:
        with self:
            return self.run(*args)

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth == 1:
            if self.seconds >= self.due and not self.silent:
                self.due = max(RARELY * self.seconds, RARELY)
                say(
                    f"{self.name}: {self.called} has run for {self.seconds:.0f} s in Python; "
                    f"{self.name}(linad.jit({self.called}), ...) compiles it, "
                    f"or linad.kernel, if it is loops and ifs over numbers"
                )
            self.entered = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.entered
