"""Solutions that are differentiated through: roots, minima, fits, fixed points, linear systems.

Each returns the solution itself, an ordinary value of a traced program. Its derivative comes
from the equation that the solution satisfies, `linad.solve.implicit`:

    root            g(x, θ) = 0
    fixed point     x - g(x, θ) = 0
    linear system   A(θ) x - b = 0
    minimum         ∇_x f(x, θ) = 0              J_x is the Hessian
    least squares   J_r(x, θ)^H r(x, θ) = 0      J_x = J_r^H J_r + Σ r_i ∇²r_i, in full

Within bounds a minimum satisfies others, `linad.solve.bounded_solutions`; with a robust loss
J_r^H ρ' r takes the place of J_r^H r.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import vjp
from linad.api.gradients import grad
from linad.control.captured import with_captured
from linad.core import tree
from linad.core.options import FUNCTION, POSITIVE, TOLERANCE, Kind, takes
from linad.core.shapes import name_of
from linad.errors import ConvergenceError, DTypeError, TreeError
from linad.solve.bounded_solutions import as_vector, sides_of, stationary
from linad.solve.compiled_least_squares import least_squares_loop
from linad.solve.compiled_minima import minimum_loop
from linad.solve.compiled_newton import loop_of
from linad.solve.compiled_systems import linear_loop
from linad.solve.implicit import solved, start_of
from linad.solve.least_squares import levenberg_marquardt
from linad.solve.losses import LOSS, Loss
from linad.solve.newton import newton
from linad.solve.objectives import refuse_limits
from linad.solve.problems import Equations, Unknown, as_point
from linad.solve.status import Status, Stop, make_result
from linad.solve.step_systems import LINEAR_SOLVER, seen_through, system
from linad.solve.trust_region import trust_region

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


@takes(g=FUNCTION, **SOLVED)
def root(
    g: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = newton,
    linear_solver: str = "auto",
    rtol: float | None = None,
    **options: Any,
) -> Any:
    """Return x with ``g(x, *theta) = 0``, differentiable in ``theta``.

    Parameters
    ----------
    g : callable
        ``g(x, *theta)`` in plain NumPy; returns as many numbers as ``x`` has. It may refer to
        traced values around it.
    x0 : array or container of arrays
        Where the solver starts. The solution has derivative zero in it.
    *theta
        Parameters: arrays or containers of arrays, traced or not.
    solver : callable
        ``solver(f, x0, **options) -> OptimizeResult``: `newton`, `newton_krylov`,
        `scipy.optimize.root`, or your own.
    linear_solver : str
        For the systems of the derivative: "dense", "sparse", "krylov" or "auto".
    rtol : float, optional
        Relative residual of Krylov iterations in the derivative; default 1e-10.
    **options
        For the solver: ``ftol``, ``maxiter`` and so on.

    Returns
    -------
    x
        Like x0; of the wider dtype where ``theta`` is wider.

    Raises
    ------
    ConvergenceError
        If the solver finds no root; ``error.result`` is what it returned.
    numpy.linalg.LinAlgError
        When differentiated, if the Jacobian in x is singular at the solution.

    Notes
    -----
    The Jacobian operator is -J_x^-1 J_θ, in both modes and to any order; the solver's steps
    are not differentiated, and keep nothing. A derivative costs one linearization of ``g``,
    one factorisation for all sweeps, and one solve a sweep.

    Examples
    --------
    >>> import numpy as np, linad
    >>> sqrt = lambda a: linad.solve.root(lambda x, a: x**2 - a, 1.0, a)
    >>> slope = linad.derivative(sqrt)
    >>> float(sqrt(4.0)), float(slope(4.0)), float(linad.derivative(slope)(4.0))
    (2.0, 0.25, -0.03125)
    """
    solver, options = opened(solver, options)
    g = seen_through(g, linear_solver, x0)
    g, theta = with_captured(g, as_point(x0), theta)

    def solve(x: Any, given: Any) -> Any:
        return solver(lambda x: g(x, *given), x, **options)

    loop = loop_of(solver, options)
    return solved("root", g, solve, x0, theta, linear_solver, rtol, loop)


@takes(g=FUNCTION, **SOLVED)
def fixed_point(
    g: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = newton,
    linear_solver: str = "auto",
    rtol: float | None = None,
    **options: Any,
) -> Any:
    """Return x with ``x = g(x, *theta)``, differentiable in ``theta``.

    Parameters
    ----------
    g : callable
        ``g(x, *theta)`` in plain NumPy; returns a container like ``x``. It need not be a
        contraction.
    x0, *theta, linear_solver, rtol
        As for `root`.
    solver : callable
        A root finder for x - g(x): `newton`, or `newton_krylov` where x is large.
    **options
        For the solver.

    Returns
    -------
    x
        Like x0.

    Raises
    ------
    ConvergenceError, numpy.linalg.LinAlgError
        As for `root`.

    Examples
    --------
    >>> import numpy as np, linad
    >>> x = linad.solve.fixed_point(lambda x, a: np.cos(a * x), 0.5, 1.0)
    >>> x.round(12)
    np.float64(0.739085133215)
    """
    solver, options = opened(solver, options)
    g = seen_through(g, linear_solver, x0)
    g, theta = with_captured(g, as_point(x0), theta)

    def residual(x: Any, *given: Any) -> Any:
        return difference(x, g(x, *given), f"fixed_point: {name_of(g)}")

    def solve(x: Any, given: Any) -> Any:
        return solver(lambda x: residual(x, *given), x, **options)

    loop = loop_of(solver, options)
    return solved("fixed_point", residual, solve, x0, theta, linear_solver, rtol, loop)


def difference(a: Any, b: Any, what: str) -> Any:
    """a - b, leaf by leaf."""
    leaves, structure = tree.flatten(a)
    others = tree.flatten_like(b, structure, what)
    return tree.unflatten(structure, [x - y for x, y in zip(leaves, others, strict=True)])


@takes(A=FUNCTION, **DERIVED)
def linear(
    A: Callable[..., Any],
    b: Any,
    *theta: Any,
    linear_solver: str = "auto",
    rtol: float | None = None,
) -> Any:
    """Return x with ``A(x, *theta) = b``, differentiable in ``b`` and ``theta``.

    Parameters
    ----------
    A : callable
        ``A(x, *theta)`` in plain NumPy, linear in x: the product of a matrix that need not
        exist. Returns a container like ``b``.
    b : array or container of arrays
        Right side.
    *theta
        What the matrix depends on.
    linear_solver : str
        "dense", "sparse", "krylov" or "auto".
    rtol : float, optional
        Relative residual of Krylov iterations; default 1e-10.

    Returns
    -------
    x
        Like b.

    Raises
    ------
    ConvergenceError
        If the matrix is singular, or ``A`` is not linear in x.

    Notes
    -----
    For a matrix that is an array `numpy.linalg.solve` traces, and for an operator there is
    `linad.solve_linear`.

    Examples
    --------
    >>> import numpy as np, linad
    >>> def energy(k):      # a chain of springs, fixed at both ends
    ...     stiffness = lambda u, k: np.diff(k * np.diff(u, prepend=0.0, append=0.0))
    ...     return np.sum(linad.solve.linear(stiffness, -np.ones(3), k))
    >>> linad.grad(energy)(np.ones(4))
    array([-2.25, -0.25, -0.25, -2.25])
    """
    b = as_point(b)
    A = seen_through(A, linear_solver, b)
    if not tree.flatten(b)[0]:
        raise TreeError("linear: b holds no array")
    A, theta = with_captured(A, b, theta)

    def residual(x: Any, b: Any, *given: Any) -> Any:
        return difference(A(x, *given), b, f"linear: {name_of(A)}")

    def solve(x: Any, given: Any) -> Any:
        b, *rest = given
        accuracy = rtol or max(1e-10, 100 * Unknown(x, "linear").eps)
        return solve_linear_function(A, x, b, tuple(rest), linear_solver, accuracy)

    leaves, structure = tree.flatten(b)
    zeros = tree.unflatten(structure, [np.zeros(np.shape(v), _dtype_of(v)) for v in leaves])
    return solved("linear", residual, solve, zeros, (b, *theta), linear_solver, rtol, linear_loop)


def _dtype_of(value: Any) -> Any:
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return dtype if dtype.kind in "fc" else np.dtype(float)


def solve_linear_function(
    A: Any, x: Any, b: Any, theta: tuple[Any, ...], linear_solver: str, rtol: float
) -> Any:
    """Solve A(x) = b from zero; one step of refinement decides whether A is linear."""
    problem = Equations(lambda x: difference(A(x, *theta), b, "linear"), x, (), "linear")
    point = problem.x.start
    r, J = problem.linearize(point)
    size = float(np.linalg.norm(r))
    stop = Stop(Status.CONVERGED)
    try:
        point = point - system(J, linear_solver, rtol).solve(r).astype(point.dtype, copy=False)
        left = float(np.linalg.norm(problem.value(point)))
        if not left <= max(100 * rtol, 1e-6) * size:
            raise Stop(
                Status.LINEAR_SOLVER,
                f"|A x - b| is {left:.1e} where |b| is {size:.1e}: A is not linear in x, or "
                f"nearly singular",
            )
    except np.linalg.LinAlgError as error:
        stop = Stop(Status.SINGULAR, str(error))
    except ConvergenceError as error:
        stop = Stop(Status.LINEAR_SOLVER, str(error))
    except Stop as found:
        stop = found
    return make_result(
        x=problem.x.container(point),
        success=stop.status is Status.CONVERGED,
        status=int(stop.status),
        message=str(stop),
        **problem.counted,
    )


@takes(f=FUNCTION, **SOLVED)
def minimum(
    f: Callable[..., Any],
    x0: Any,
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
    The Jacobian operator is -H^-1 ∂(∇f)/∂θ with H the Hessian, of what no bound holds. The value at
    the minimum is ``f(x, *theta)``. What a solver is told by other ways than ``bounds``, as in a
    function that calls it with bounds of its own, linad does not know of.

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
    if bounds is None:

        def solve(x: Any, given: Any) -> Any:
            return solver(lambda x: f(x, *given), x, **options)

        loop = minimum_loop(f, solver, options)
        return solved("minimum", gradient, solve, x0, theta, linear_solver, rtol, loop)

    def solve_within(x: Any, given: Any) -> Any:
        from scipy.optimize import Bounds

        lower, upper, *rest = given
        limits = Bounds(as_vector(lower), as_vector(upper))
        return solver(lambda x: f(x, *rest), x, bounds=limits, **options)

    x0 = start_of(x0, theta, "minimum")
    given = (*sides_of("minimum", bounds, x0, of_vector=True), *theta)
    equations = stationary(gradient)
    return solved("minimum", equations, solve_within, x0, given, linear_solver, rtol)


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
    if any(_dtype_of(v).kind == "c" for v in tree.flatten(x0)[0]):
        raise DTypeError(
            "least_squares: x0 is complex; fit its real and imaginary parts, as two arrays"
        )
    told = {name: v for name, v in options.items() if name not in {"loss", "f_scale"}}
    robust = None if loss == "linear" else Loss(loss, options.get("f_scale", 1.0))
    loop = least_squares_loop(r, solver, told, robust, bounds is not None)

    def gradient(x: Any, *given: Any) -> Any:
        y, pull = vjp(lambda x: r(x, *given), x)
        if robust is not None:
            leaves, structure = tree.flatten(y)
            y = tree.unflatten(structure, [robust.influence(leaf) for leaf in leaves])
        return pull(y)[0]

    if bounds is None:

        def solve(x: Any, given: Any) -> Any:
            return solver(lambda x: r(x, *given), x, **options)

        return solved("least_squares", gradient, solve, x0, theta, linear_solver, rtol, loop)

    def solve_within(x: Any, given: Any) -> Any:
        lower, upper, *rest = given
        return solver(lambda x: r(x, *rest), x, bounds=(lower, upper), **options)

    x0 = start_of(x0, theta, "least_squares")
    given = (*sides_of("least_squares", bounds, x0, of_vector=False), *theta)
    equations = stationary(gradient)
    return solved("least_squares", equations, solve_within, x0, given, linear_solver, rtol, loop)
