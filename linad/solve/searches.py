"""How solutions are found, of parameters that are given later.

Classes, as are the equations of `linad.solve.solutions`: the derivative of a solution keeps them,
and it is pickled as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import name_of
from linad.solve.shaken import shaken_data, shaken_function
from linad.solve.solution_options import Solver


class OfUnknowns:
    """``f(x, *theta)`` as a function of x alone."""

    def __init__(self, f: Callable[..., Any], theta: Sequence[Any]) -> None:
        self.f, self.theta = f, tuple(theta)

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def __call__(self, x: Any) -> Any:
        return self.f(x, *self.theta)

    def shaken(self, whole: bool) -> "OfUnknowns":
        """The same with its data changed in their last digits; see `linad.solve.shaken`."""
        return OfUnknowns(shaken_function(self.f, whole), shaken_data(self.theta, whole))


class SolutionSearch:
    """``search(x, theta)``: what a solver returns that starts at x.

    Parameters
    ----------
    solver : callable
        ``solver(f, x0, **options)``.
    f : callable
        ``f(x, *theta)``.
    options : dict
    """

    def __init__(self, solver: Solver, f: Callable[..., Any], options: dict[str, Any]) -> None:
        self.solver, self.f, self.options = solver, f, options

    def __call__(self, x: Array, theta: Any) -> Any:
        return self.solver(OfUnknowns(self.f, theta), x, **self.options)


class BoundedSearch(SolutionSearch):
    """The same within bounds, containers like x, which are the first two parameters."""

    def __call__(self, x: Array, theta: Any) -> Any:
        lower, upper, *rest = theta
        limits = self.limits(lower, upper)
        return self.solver(OfUnknowns(self.f, rest), x, bounds=limits, **self.options)

    def limits(self, lower: Any, upper: Any) -> Any:
        """Bounds, as the solver takes them."""
        return lower, upper


class VectorBoundedSearch(BoundedSearch):
    """The same of a solver that takes the bounds of x as one vector."""

    def limits(self, lower: Any, upper: Any) -> Any:
        from scipy.optimize import Bounds

        return Bounds(tree.vector(lower), tree.vector(upper))
