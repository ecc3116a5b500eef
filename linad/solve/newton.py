"""Newton's method for F(x) = 0, with exact Jacobians.

    J(x) p = -F(x)        x <- x + α p

α is found by backtracking on φ(α) = |F(x + α p)|²/2, whose slope at 0 is Re F^H J p: -|F|² for
an exact step. Where J is singular p is the shortest least-squares solution; if it does not make
the linear model smaller either, x is a stationary point of |F| and no root is near.

Convergence. A step p of an exact method leaves an error of about |p|²/|x| in x, relative to
|x|: (|p|/|x|)²; one that solves its system to a relative residual η leaves η |p|/|x|. The larger
of the two is compared with ``xtol``. Holds for real and, as F is holomorphic, complex unknowns.

Source: J. E. Dennis, R. B. Schnabel, "Numerical Methods for Unconstrained Optimization and
Nonlinear Equations", 1983, chapters 6 and 7.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import lsmr

from linad.core.array_type import Array
from linad.core.options import COUNT, FUNCTION, TOLERANCE, takes
from linad.errors import ConvergenceError, NotHolomorphicError, SingularError
from linad.solve.compiled_equations import equations
from linad.solve.linesearch import NoDecrease, backtrack
from linad.solve.lost_labels import of_labels
from linad.solve.problems import Equations, quiet
from linad.solve.status import REPORTED, Callback, Monitor, Status, Stop
from linad.solve.step_systems import LINEAR_SOLVER, KeptFactors, system

BACKWARD = 8.0
"""Units in the last place of x within which it is an exact root of F: nothing is left to gain."""

REUSED = 1e-2
"""Relative residual to reach with factors of another point. GMRES mostly gets much further."""

Direction = Callable[["RootSearch"], tuple[Any, float]]

ROOTS = {
    "f": FUNCTION,
    "xtol": TOLERANCE.optional,
    "ftol": TOLERANCE.optional,
    "maxiter": COUNT,
    **REPORTED,
}
"""What the options of the root finders may be."""


@takes(linear_solver=LINEAR_SOLVER, **ROOTS)
def newton(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    xtol: float | None = None,
    ftol: float | None = None,
    maxiter: int = 50,
    linear_solver: str = "auto",
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Find a root of ``f`` by Newton's method with a line search.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` in plain NumPy; returns as many numbers as ``x`` has, in an array or a
        container of arrays.
    x0 : array or container of arrays
        Where to start. Floats of either precision; complex numbers for a holomorphic ``f``.
    args : tuple
        Further arguments of ``f``.
    xtol : float, optional
        Estimated relative error of ``x`` to stop at. Default 8 eps of x0's dtype, unless
        ``ftol`` is given.
    ftol : float, optional
        Largest ``|F_i|`` to stop at. By default only a residual that is zero to any precision,
        eps^1.5 times the first, ends the search.
    maxiter : int
        Most steps.
    linear_solver : str
        "dense", "sparse", "krylov", or "auto": what size and pattern of the Jacobian suggest.
    callback : callable, optional
        ``callback(intermediate_result)`` after each step; raise StopIteration to stop.
    disp : bool
        Whether to print a line for each step.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` like x0, ``fun`` = f(x), ``jac`` the Jacobian operator there, ``nit nfev njev njvp
        nvjp success status message``; see `linad.solve.status.Status`.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``f`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

    Notes
    -----
    A full step costs one linearization of ``f`` and one factorisation of its Jacobian. Where ``f``
    is what `linad.jit` returned, and the Jacobian sparse, residual and entries are one compiled
    program.

    Examples
    --------
    >>> import numpy as np, linad
    >>> found = linad.solve.newton(lambda x: x**2 - 2.0, np.array([1.0]))
    >>> found.x, found.success
    (array([1.41421356]), True)
    """
    problem = equations(f, x0, args, "newton", linear_solver)
    search = RootSearch(problem, xtol, ftol, maxiter)
    return search.run(Exact(linear_solver), Monitor("newton", callback, disp, ("F", "step")))


class Exact:
    """Newton directions, each solved to the last digits that matter."""

    def __init__(self, linear_solver: str) -> None:
        self.linear_solver = linear_solver
        self.kept = KeptFactors()

    def __call__(self, search: "RootSearch") -> tuple[Any, float]:
        J, rtol = search.J, max(1e-10, 10 * search.eps)
        try:
            p, reached = self.kept.solve(
                J, -search.r, REUSED, lambda: system(J, self.linear_solver, rtol)
            )
        except SingularError:
            return least_squares_step(search), np.inf
        return p, max(reached, search.eps) if reached else 0.0


class RootSearch:
    """A point on its way to a root: what the root finders share.

    Attributes
    ----------
    x, r, size : ndarray, ndarray, float
        The point, F(x), and the largest ``|F_i|``.
    J : Counted
        The Jacobian operator at x.
    """

    def __init__(
        self, problem: Equations, xtol: float | None, ftol: float | None, maxiter: int
    ) -> None:
        name = problem.name
        self.problem, self.maxiter = problem, maxiter
        self.eps = problem.x.eps
        self.xtol = xtol if xtol is not None else (8 * self.eps if ftol is None else None)
        self.ftol = ftol
        self.x = problem.x.start
        self.nit = 0
        self.r, self.J = problem.linearize(self.x)
        if self.x.dtype.kind == "c" and not self.J.clinear:
            raise NotHolomorphicError(
                f"{name}: F is not holomorphic at x0, so it has no complex Jacobian; solve for "
                f"real and imaginary parts, as two arrays"
            )
        self.size = largest(self.r)
        self.first = self.size
        self.step = np.nan
        self.worst = np.inf
        self.own = np.inf  # the largest step of an unknown, relative to that unknown

    def run(self, direction: Direction, monitor: Monitor) -> Any:
        """Take steps until something ends it."""
        try:
            if not np.isfinite(self.size):
                raise Stop(Status.NOT_FINITE, f"in f(x0){of_labels(self.problem, self.x)}")
            while True:
                self._check_residual()
                if self.nit >= self.maxiter:
                    raise Stop(
                        Status.MAXITER,
                        f"{self.maxiter} steps, the largest |F_i| is {self.size:.1e}",
                    )
                self._advance(direction)
                monitor.report(self.fields, F=self.size, step=self.step)
                self._check_step()
        except Stop as stop:
            return monitor.finish(stop, self.fields())

    def fields(self) -> dict[str, Any]:
        """What a result says of the point."""
        problem = self.problem
        return {
            "x": problem.x.container(self.x),
            "fun": problem.result(self.r),
            "jac": problem.operator(self.x, self.J),
            "nit": self.nit,
            **problem.counted,
        }

    def _check_residual(self) -> None:
        reached = self.size <= (self.eps**1.5 * self.first if self.ftol is None else self.ftol)
        if reached:
            raise Stop(Status.CONVERGED, f"the largest |F_i| is {self.size:.1e}")

    def _check_step(self) -> None:
        if self.xtol is not None and self.error <= self.xtol and not self._falls_row_by_row():
            raise Stop(
                Status.CONVERGED,
                f"the last step was {self.step:.1e} of |x|, the largest |F_i| is {self.size:.1e}",
            )

    def _falls_row_by_row(self) -> bool:
        """Whether an equation is still far from holding, and the last step has brought it closer.

        Beside an unknown of 1e15 the error of one of 1 is nothing to |x|; to its equation it is.
        """
        if self.own <= 10 * np.sqrt(max(self.eps, self.xtol or 0.0)):
            return False
        signs = np.random.default_rng(0).choice([-1.0, 1.0], self.x.size)
        with quiet():
            rows = np.abs(self.J @ (signs * self.x).astype(self.x.dtype))
            held = np.abs(self.r) <= 1e3 * max(self.eps, self.xtol or 0.0) * rows
            worst = float(np.max(np.where(held, 0.0, np.abs(self.r) / rows), initial=0.0))
        before, self.worst = self.worst, worst
        return 0.0 < worst < 0.5 * before

    def _advance(self, direction: Direction) -> None:
        """One step, shortened until it brings |F| down."""
        try:
            p, eta = direction(self)
        except (SingularError, ConvergenceError) as error:
            singular = isinstance(error, SingularError)
            raise Stop(Status.SINGULAR if singular else Status.LINEAR_SOLVER, str(error)) from error
        p = p.astype(self.x.dtype, copy=False)
        if not np.isfinite(p).all():
            raise Stop(Status.NOT_FINITE, "in the Newton step")
        half = 0.5 * squared(self.r)
        slope = -2.0 * half if eta == 0.0 else float(np.vdot(self.r, self.J @ p).real)
        scale = length(self.x)
        relative = length(p) / scale if scale else np.inf
        if not slope < -1e-10 * half:
            raise Stop(
                Status.SINGULAR,
                f"the point is stationary for |F|, and no root: the largest |F_i| is "
                f"{self.size:.1e}; try another x0",
            )
        within = 0.0 < relative < np.inf
        smallest = min(1e-3, self.eps / relative) if within else 1e-12
        try:
            alpha, _, found = backtrack(self._trial(p), half, slope, smallest)
        except NoDecrease as none:
            self._stuck(none, relative, eta)
        x = self.x + p if alpha == 1.0 else self.x + alpha * p
        self.x = x.astype(self.x.dtype, copy=False)
        self.r, self.J = found or self.problem.linearize(self.x)
        self.size = largest(self.r)
        self.nit += 1
        scale = max(length(self.x), scale)
        if not np.isfinite(scale):
            raise Stop(Status.NOT_FINITE, "in |x|, which grows without end")
        with quiet():
            own = np.abs(alpha * p) / np.abs(self.x)
        self.own = float(np.max(np.where(np.isnan(own), 0.0, own), initial=0.0))
        self.step = alpha * length(p) / scale if scale else 0.0
        self.error = self.step * max(self.step, eta) if alpha == 1.0 else np.inf

    def _trial(self, p: Array) -> Callable[[float], tuple[float, Any]]:
        """|F|²/2 along ``p``. The full step, nearly always taken, comes with its Jacobian."""

        def phi(alpha: float) -> tuple[float, Any]:
            if alpha == 1.0:
                r, J = self.problem.linearize((self.x + p).astype(self.x.dtype, copy=False))
                return 0.5 * squared(r), (r, J)
            x = (self.x + alpha * p).astype(self.x.dtype, copy=False)
            return 0.5 * squared(self.problem.value(x)), None

        return phi

    def _stuck(self, none: NoDecrease, relative: float, eta: float) -> None:
        """No step brings |F| down: say why."""
        if not none.finite:
            raise Stop(Status.NOT_FINITE, "in f, at every step tried") from none
        if self.xtol is not None and self.size <= BACKWARD * self._rounding():
            raise Stop(
                Status.CONVERGED,
                f"to rounding: the largest |F_i| is {self.size:.1e}, and rounding in x alone "
                f"makes that much",
            ) from none
        # So close that rounding in f decides: the step is smaller than what xtol asks for.
        if self.xtol is not None and relative * max(relative, eta) <= self.xtol:
            raise Stop(
                Status.CONVERGED,
                f"to rounding: the largest |F_i| is {self.size:.1e}, the next step {relative:.1e} "
                f"of |x|",
            ) from none
        goal = "" if self.ftol is None else f", ftol={self.ftol:.1e} was asked for"
        raise Stop(
            Status.STAGNATED,
            f"no step along the direction brings |F| down; the largest |F_i| is "
            f"{self.size:.1e}{goal}",
        ) from none

    def _rounding(self) -> float:
        """How far F moves when the entries of x change in their last digit, up or down."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], self.x.size)
        with quiet():
            return self.eps * largest(self.J @ (signs * self.x).astype(self.x.dtype))


def least_squares_step(search: RootSearch) -> Any:
    """The shortest p with the smallest |F + J p|: where J has no inverse."""
    if search.J.shape[0] <= 1000:
        matrix = search.J.todense()
        if not np.isfinite(matrix).all():
            raise Stop(Status.NOT_FINITE, "in the Jacobian")
        return -np.linalg.lstsq(matrix, search.r, rcond=None)[0]
    return -lsmr(search.J, search.r, atol=1e-12, btol=1e-12)[0]


def largest(r: Array) -> float:
    """The largest |r_i|; NaN where there is one."""
    return float(np.max(np.abs(r), initial=0.0))


def squared(r: Array) -> float:
    """|r|², infinite rather than NaN or out of range.

    Not by BLAS, whose threads cost more than they bring for vectors of this length.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.einsum("i,i->", r.conj(), r).real)
    return total if np.isfinite(total) else np.inf


def length(x: Array) -> float:
    """|x|."""
    return float(np.sqrt(squared(x)))
