"""What all functions take that return a solution: a solver with its options, and how the linear
systems of the derivative are solved."""

import functools
from collections.abc import Callable
from typing import Any

from linad.core.options import FUNCTION, TOLERANCE, Kind
from linad.solve.step_systems import LINEAR_SOLVER

Solver = Callable[..., Any]

THETA = Kind("given one by one behind x0", lambda value: False)
"""What solvers and SciPy take as ``args``: here it is what solutions are differentiated in."""

DERIVED = {"linear_solver": LINEAR_SOLVER, "rtol": TOLERANCE.optional}
"""Options of the systems of the derivative."""

SOLVED = {"solver": FUNCTION, "args": THETA, **DERIVED}
"""Options of all functions that hand the rest to a solver."""


def opened(solver: Solver, options: dict[str, Any]) -> tuple[Solver, dict[str, Any]]:
    """A solver and its options, those that `functools.partial` has given it among them."""
    given: Any = solver
    while isinstance(given, functools.partial) and not given.args:
        given, options = given.func, {**given.keywords, **options}
    return given, dict(options)
