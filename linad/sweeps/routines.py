"""How primitives that are not loops are lowered: a table of routines, which register themselves."""

from collections.abc import Callable
from typing import Any

from linad.core.tape import Equation

Routine = Callable[[Any, Equation], bool]
"""Takes a `linad.sweeps.lower.Lowering` and an equation, adds instructions, and says whether it
could. What is left runs in NumPy."""


class Routines(dict[str, Routine]):
    """Routines by the names of the primitives that they lower."""

    def lowers(self, *names: str) -> Callable[[Routine], Routine]:
        """Register a function as the routine of these primitives; a decorator."""

        def register(function: Routine) -> Routine:
            for name in names:
                self[name] = function
            return function

        return register


PORTABLE = Routines()
"""Routines whose kernels any target can compile."""

routine = PORTABLE.lowers
