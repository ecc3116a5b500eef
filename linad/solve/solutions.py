"""Solutions of equations that are differentiated through: roots, fixed points, linear systems.

Each returns the solution itself, an ordinary value of a traced program. Its derivative comes
from the equation that the solution satisfies, `linad.solve.implicit`:

    root            g(x, θ) = 0
    fixed point     x - g(x, θ) = 0
    linear system   A(θ) x - b = 0

Minima are solutions too, of another equation: `linad.solve.minimal_solutions`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.control.captured import with_captured
from linad.core import tree
from linad.core.array_type import Array
from linad.core.former_names import class_from
from linad.core.options import FUNCTION, takes
from linad.core.shapes import name_of
from linad.errors import ConvergenceError, TreeError
from linad.solve.compiled_newton import loop_of
from linad.solve.compiled_systems import linear_loop
from linad.solve.implicit import solved
from linad.solve.newton import newton
from linad.solve.problems import Equations, Unknown, as_point
from linad.solve.searches import SolutionSearch
from linad.solve.solution_options import DERIVED, SOLVED, Solver, opened
from linad.solve.status import Status, Stop, make_result
from linad.solve.step_systems import seen_through, system


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)


@takes(g=FUNCTION, **SOLVED)
def root(
    g: Callable[..., Any],
    x0: Array,
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
    one factorisation for all sweeps, and one solve per sweep.

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
    search = SolutionSearch(solver, g, options)
    loop = loop_of(solver, options)
    return solved("root", g, search, x0, theta, linear_solver, rtol, loop)


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
    apart = _Apart(g)
    search = SolutionSearch(solver, apart, options)
    loop = loop_of(solver, options)
    return solved("fixed_point", apart, search, x0, theta, linear_solver, rtol, loop)


class _Apart:
    """x - g(x, θ), which is zero at a fixed point."""

    def __init__(self, g: Callable[..., Any]) -> None:
        self.g = g

    def __call__(self, x: Any, *theta: Any) -> Any:
        return difference(x, self.g(x, *theta), f"fixed_point: {name_of(self.g)}")


def difference(a: Array, b: Array, what: str) -> Any:
    """a - b, leaf by leaf."""
    leaves, structure = tree.flatten(a)
    others = tree.flatten_like(b, structure, what)
    return tree.unflatten(structure, [x - y for x, y in zip(leaves, others, strict=True)])


@takes(A=FUNCTION, **DERIVED)
def linear(
    A: Callable[..., Any],
    b: Array,
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
    equations = _LinearEquations(A, linear_solver, rtol)
    leaves, structure = tree.flatten(b)
    zeros = tree.unflatten(structure, [np.zeros(np.shape(v), _dtype_of(v)) for v in leaves])
    given = (b, *theta)
    search = equations.search
    return solved("linear", equations, search, zeros, given, linear_solver, rtol, linear_loop)


class _LinearEquations:
    """A(θ) x - b, and how its root is found."""

    def __init__(self, A: Callable[..., Any], linear_solver: str, rtol: float | None) -> None:
        self.A, self.linear_solver, self.rtol = A, linear_solver, rtol

    def __call__(self, x: Array, b: Array, *theta: Any) -> Any:
        return difference(self.A(x, *theta), b, f"linear: {name_of(self.A)}")

    def search(self, x: Array, given: Any) -> Any:
        """Its root, as a result; of b and θ."""
        b, *theta = given
        rtol = self.rtol or max(1e-10, 100 * Unknown(x, "linear").eps)
        return solve_linear_function(self.A, x, b, tuple(theta), self.linear_solver, rtol)


def _dtype_of(value: Array) -> Any:
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return dtype if dtype.kind in "fc" else np.dtype(float)


def solve_linear_function(
    A: Any, x: Array, b: Array, theta: tuple[Any, ...], linear_solver: str, rtol: float
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
        stop = found.kept()
    return make_result(
        x=problem.x.container(point),
        success=stop.status is Status.CONVERGED,
        status=int(stop.status),
        message=str(stop),
        **problem.counted,
    )
