"""Says that a solver spends its time in Python, and what to write instead; and seldom again."""

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from linad.core.callers import defining_package
from linad.core.patience import SECONDS, say
from linad.core.settings import settings
from linad.jit.jitted import Jitted
from linad.jit.specializations import COMPILING, LONG

RARELY = 10.0
"""By how much longer it has to take until it is said again; and seconds, at least."""

FEW = 100
"""Operations of which a few more or less are no loop that goes round more often."""


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
        self.fewest, self.most = sys.maxsize, 0  # operations, of all points

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
                    f"{self._remedy()}"
                )
            self.entered = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.entered

    def saw(self, J: Any, iterates: bool = False) -> None:
        """Note of how many operations the function was, by its derivative at a point.

        Integrations, and searches of linad's, are loops in a program, however often they go round.
        """
        operations = len(getattr(J, "steps", ()))
        if operations and not iterates:
            self.fewest, self.most = min(self.fewest, operations), max(self.most, operations)

    @property
    def varies(self) -> bool:
        """Whether it takes more operations at one point than at another, as loops do whose length
        hangs on values."""
        return self.most > self.fewest > FEW

    @property
    def pays_compiled(self) -> bool:
        """Whether `linad.jit` would make it faster, as far as is known."""
        return not (self.compiled or self.varies or self.most >= LONG)

    def _remedy(self) -> str:
        """What would help: no compiler where there would be ever more to compile."""
        if self.varies:
            return (
                f"it is {self.fewest} operations at one point and {self.most} at another, and "
                f"linad.jit would compile it anew for each number of them: let loops go round as "
                f"often at every point, with np.where for what does not count, best over whole "
                f"arrays; linad.scipy.optimize.brentq for one that finds a root; or linad.kernel "
                f"compiles loops and ifs over numbers as they stand"
            )
        if self.most >= LONG:
            return (
                f"it is {self.most} operations, which linad.jit compiles one by one, in about "
                f"{COMPILING * self.most:.0f} s: write loops over numbers as operations on whole "
                f"arrays, or let linad.kernel compile loops and ifs over numbers as they stand"
            )
        return (
            f"{self.name}(linad.jit({self.called}), ...) compiles it, in seconds that count if it "
            f"runs once, or linad.kernel, if it is loops and ifs over numbers"
        )
