"""Minima that are differentiated through, of functions and of sums of squares.

Each returns the minimum itself, an ordinary value of a traced program. Its derivative comes from
the equation that the minimum satisfies, `linad.solve.implicit`:

    minimum         ∇_x f(x, θ) = 0              J_x is the Hessian
    least squares   J_r(x, θ)^H r(x, θ) = 0      J_x = J_r^H J_r + Σ r_i ∇²r_i, in full

Within bounds a minimum satisfies others, `linad.solve.bounded_solutions`; with a robust loss
J_r^H ρ' r takes the place of J_r^H r.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import vjp
from linad.api.gradients import grad
from linad.control.captured import with_captured
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import FUNCTION, POSITIVE, takes
from linad.errors import DTypeError
from linad.solve.bounded_solutions import Stationary, sides_of
from linad.solve.compiled_least_squares import least_squares_loop
from linad.solve.compiled_minima import minimum_loop
from linad.solve.implicit import solved, start_of
from linad.solve.labels import refuse_bounds_in_other_order
from linad.solve.least_squares import levenberg_marquardt
from linad.solve.losses import LOSS, Loss
from linad.solve.objectives import refuse_limits
from linad.solve.problems import as_point
from linad.solve.searches import BoundedSearch, SolutionSearch, VectorBoundedSearch
from linad.solve.solution_options import SOLVED, Solver, opened
from linad.solve.step_systems import seen_through
from linad.solve.trust_region import trust_region


@takes(f=FUNCTION, **SOLVED)
def minimum(
    f: Callable[..., Any],
    x0: Array,
    *theta: Any,
    solver: Solver = trust_region,
    linear_solver: str = "auto",
    rtol: float | None = None,
    **options: Any,
) -> Any:
    """Return the x that minimises ``f(x, *theta)``, differentiable in ``theta``.

    Parameters
    ----------
    f : callable
        ``f(x, *theta)`` in plain NumPy, a real scalar; twice differentiable.
    x0, *theta, linear_solver, rtol
        As for `root`.
    solver : callable
        ``solver(f, x0, **options) -> OptimizeResult``: `trust_region`, `newton_cg`, `lbfgs`.
    **options
        For the solver: ``gtol``, ``maxiter`` and so on. Its ``bounds``, as of `lbfgs`, may be
        traced: an unknown that its bound holds at the solution moves with the bound, and no
        further. ``constraints`` are refused: linad does not know the derivative then.

    Returns
    -------
    x
        Like x0: a local minimum.

    Raises
    ------
    ConvergenceError
        If the solver finds no minimum.
    OptionError, ShapeError, TreeError
        If bounds do not fit x0 or cross, or the solver takes none.
    numpy.linalg.LinAlgError
        When differentiated, if the Hessian is singular at the minimum.

    Notes
    -----
    The Jacobian operator is -H^-1 ∂(∇f)/∂θ with H the Hessian, of the unknowns that no bound
    holds. The value at the minimum is ``f(x, *theta)``. Bounds must come by ``bounds``: linad does
    not see those that a function of your own hands to a solver.

    Examples
    --------
    >>> import numpy as np, linad
    >>> f = lambda x, a: np.sum(np.exp(x) - a * x)     # minimum at log(a)
    >>> linad.grad(lambda a: np.sum(linad.solve.minimum(f, np.zeros(2), a)))(np.array([2.0, 4.0]))
    array([0.5 , 0.25])
    """
    solver, options = opened(solver, options)
    bounds = options.pop("bounds", None)
    refuse_limits("minimum", None, options.pop("constraints", ()))
    f = seen_through(f, linear_solver, x0)
    f, theta = with_captured(f, as_point(x0), theta)
    gradient = grad(f)
    search: SolutionSearch
    if bounds is None:
        search, loop = SolutionSearch(solver, f, options), minimum_loop(f, solver, options)
        return solved("minimum", gradient, search, x0, theta, linear_solver, rtol, loop)
    search = VectorBoundedSearch(solver, f, options)
    refuse_bounds_in_other_order("minimum", bounds, tree.flatten(x0)[0])
    x0 = start_of(x0, theta, "minimum")
    given = (*sides_of("minimum", bounds, x0, of_vector=True), *theta)
    equations = Stationary(gradient)
    return solved("minimum", equations, search, x0, given, linear_solver, rtol)


@takes(r=FUNCTION, loss=LOSS, f_scale=POSITIVE, **SOLVED)
def least_squares(
    r: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = levenberg_marquardt,
    linear_solver: str = "auto",
    rtol: float | None = None,
    **options: Any,
) -> Any:
    """Return the x that minimises ``|r(x, *theta)|²``, differentiable in ``theta``.

    It returns x itself, not an ``OptimizeResult`` as `scipy.optimize.least_squares` does: a value
    to compute on with, whose derivative is traced. For a result see `levenberg_marquardt`.

    Parameters
    ----------
    r : callable
        ``r(x, *theta)`` in plain NumPy: residuals, an array or a container of arrays.
    x0, *theta, linear_solver, rtol
        As for `root`.
    solver : callable
        ``solver(r, x0, **options) -> OptimizeResult``: `levenberg_marquardt`, `gauss_newton`.
    **options
        For the solver: ``xtol``, ``gtol`` and so on. Its ``bounds``, as of `levenberg_marquardt`,
        may be traced: an unknown that its bound holds at the solution moves with the bound, and no
        further. A robust ``loss`` has its share in the derivative.

    Returns
    -------
    x
        Like x0.

    Raises
    ------
    ConvergenceError, OptionError, ShapeError, TreeError, numpy.linalg.LinAlgError
        As for `minimum`.

    See Also
    --------
    levenberg_marquardt : The same minimum as a result: ``x``, ``fun``, ``cost``, ``message`` ...
    fit : A result with standard errors, intervals, a report and a plot.
    curve_fit : The same of a model and data.

    Notes
    -----
    The derivative uses the full Hessian of ``|r|²/2``, or of the robust cost, curvature of the
    residuals included, so it is exact where the fit is not.

    Examples
    --------
    The slope of a line through points, and what it owes to each of them:

    >>> import numpy as np, linad
    >>> t = np.array([1.0, 2.0, 3.0])
    >>> slope = lambda data: linad.solve.least_squares(lambda a, y: a * t - y, 1.0, data)
    >>> slope(2.0 * t).round(12), linad.grad(slope)(2.0 * t)
    (np.float64(2.0), array([0.07142857, 0.14285714, 0.21428571]))
    """
    solver, options = opened(solver, options)
    bounds, loss = options.pop("bounds", None), options.get("loss", "linear")
    r = seen_through(r, linear_solver, x0)
    r, theta = with_captured(r, as_point(x0), theta)
    if any(np.iscomplexobj(v) for v in tree.flatten(x0)[0]):
        raise DTypeError(
            "least_squares: x0 is complex; fit its real and imaginary parts, as two arrays"
        )
    told = {name: v for name, v in options.items() if name not in {"loss", "f_scale"}}
    robust = None if loss == "linear" else Loss(loss, options.get("f_scale", 1.0))
    loop = least_squares_loop(r, solver, told, robust, bounds is not None)
    gradient = _CostGradient(r, robust)
    search: SolutionSearch
    if bounds is None:
        search = SolutionSearch(solver, r, options)
        return solved("least_squares", gradient, search, x0, theta, linear_solver, rtol, loop)
    search = BoundedSearch(solver, r, options)
    refuse_bounds_in_other_order("least_squares", bounds, tree.flatten(x0)[0])
    x0 = start_of(x0, theta, "least_squares")
    given = (*sides_of("least_squares", bounds, x0, of_vector=False), *theta)
    equations = Stationary(gradient)
    return solved("least_squares", equations, search, x0, given, linear_solver, rtol, loop)


class _CostGradient:
    """The gradient in x of half the sum of squares, or of a robust cost."""

    def __init__(self, r: Callable[..., Any], loss: Loss | None) -> None:
        self.r, self.loss = r, loss

    def __call__(self, x: Array, *theta: Any) -> Any:
        y, pull = vjp(lambda x: self.r(x, *theta), x)
        if self.loss is not None:
            leaves, structure = tree.flatten(y)
            y = tree.unflatten(structure, [self.loss.influence(leaf) for leaf in leaves])
        return pull(y)[0]
