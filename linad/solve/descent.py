"""What `newton_cg` and `trust_region` share: a point on its way to a minimum, and its end.

The largest entry of the gradient tells a minimum where unknowns are of like sizes. Unless it is
asked for, a point is one only if Newton's step promises no more than f can tell, in whatever units;
else the search goes on by such steps (`linad.solve.scale_free`). So it does as soon as a step of
the method has taken more products with H than these take.

A gradient of zero is not a minimum. Before a point is called one, a few Lanczos steps from a
random vector look for negative curvature, vᵀH v < 0; if there is any, f comes down along v, and
the search goes on from there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import COUNT, FLAG, FUNCTION, TOLERANCE
from linad.solve.lost_labels import of_labels
from linad.solve.newton import largest
from linad.solve.objectives import Objective, refuse_limits
from linad.solve.problems import quiet
from linad.solve.scale_free import FEW, MANY, NewtonStep, newton_step
from linad.solve.status import REPORTED, Monitor, Status, Stop

LANCZOS = 12

DOUBT = 1e3
"""Multiple of the rounding error of f within which the gradient is asked."""

ENDS = (Status.CONVERGED, Status.STAGNATED)
"""Where a search may have ended since unknowns are of unlike sizes."""

COLUMNS = ("f", "g", "step")

DESCENDING = {
    "fun": FUNCTION,
    "jac": FUNCTION.optional,
    "hess": FUNCTION.optional,
    "hessp": FUNCTION.optional,
    "gtol": TOLERANCE.optional,
    "xtol": TOLERANCE.optional,
    "tol": TOLERANCE.optional,
    "maxiter": COUNT.optional,
    "check_minimum": FLAG,
    **REPORTED,
}
"""What the options of both may be."""


class Descent:
    """A point, with the quadratic model of f there.

    Attributes
    ----------
    x, f, g, H
        The point, the value, the gradient (n,) and the Hessian operator.
    noise : float
        Rounding error of f: differences below it say nothing.
    least : float
        The smallest length of a gradient by which a step was taken since f came down.
    leap : float
        The length of the last step that another method than the search's own has made, 0 if none.
    """

    def __init__(
        self,
        problem: Objective,
        gtol: float | None,
        xtol: float | None,
        maxiter: int | None,
        check_minimum: bool,
    ) -> None:
        self.problem, self.xtol, self.check_minimum = problem, xtol, check_minimum
        self.x = problem.x.start
        self.eps = problem.x.eps
        self.maxiter = max(200, 10 * self.x.size) if maxiter is None else maxiter
        self.nit = 0
        self.step, self.least, self.leap = np.nan, np.inf, 0.0
        self.reach = (1.0 + float(np.linalg.norm(self.x))) / self.eps
        self.f, self.g, self.H = problem.model(self.x)
        self.first, self.by_newton, self.struggled = self.f, False, False
        self.asked = gtol is not None
        self.gtol = gtol if gtol is not None else self.eps**0.75 * largest(self.g)

    @property
    def noise(self) -> float:
        """Rounding error of f."""
        return 10.0 * self.eps * abs(self.f)

    def better_by_gradient(self, x: Array, value: float, predicted: float) -> bool:
        """Whether a step too small for f to tell, or nearly, is for the better all the same.

        Rounding in f is often more than `noise`, where f is a sum of terms that cancel. Close to a
        minimum the gradient tells: a Newton step makes it much smaller.
        """
        doubt = DOUBT * self.noise
        if not (predicted <= doubt and abs(self.f - value) <= doubt):
            return False
        return self.gradient_falls(x, 0.5)

    def gradient_falls(self, x: Array, part: float = 1.0) -> bool:
        """Whether the gradient at ``x`` is less than a part of what it is, and of the least met so.

        The two programs that give a gradient, with the value and with the Hessian, round in ways of
        their own. A search that compared one with the other would go round at a minimum.
        """
        _, g = self.problem.value_and_gradient(x)
        size = float(np.linalg.norm(g))
        if not size < part * min(float(np.linalg.norm(self.g)), self.least):
            return False
        self.least = size
        return True

    def run(self, step: Callable[["Descent"], Any], monitor: Monitor) -> Any:
        """Take steps until something ends it. A step returns the new point."""
        try:
            if not np.isfinite(self.f):
                raise Stop(Status.NOT_FINITE, f"f(x0){of_labels(self.problem, self.x)}")
            while True:
                self._check_finite()
                with quiet():
                    self._move_to(self._chosen(step))
                monitor.report(self.fields, f=self.f, g=self.size, step=self.step)
                if self.xtol is not None and self.step <= self.xtol:
                    raise Stop(Status.CONVERGED, f"the last step was {self.step:.1e} of |x|")
        except Stop as stop:
            return monitor.finish(stop, self.fields())

    def _chosen(self, step: Callable[["Descent"], Any]) -> Any:
        """The next point, by the method's step or by Newton's."""
        x = self._by_newton() if self.by_newton else None
        if x is not None:
            return x
        try:
            return self._counted(step)
        except Stop as stop:
            x = self._by_newton() if stop.status in ENDS else None
            if x is None:
                raise
            self.by_newton = True
            return x

    def _next(self, step: Callable[["Descent"], Any]) -> Any:
        """A point by the method's step, or beside one that is stationary."""
        if self.size <= self.gtol:
            return self._leave_saddle(f"the largest |gradient| is {self.size:.1e}")
        if self.nit >= self.maxiter:
            raise Stop(
                Status.MAXITER,
                f"{self.maxiter} steps, largest |gradient| {self.size:.1e}; start nearer, "
                f"or divide unknowns of unlike sizes by typical ones",
            )
        return step(self)

    def _counted(self, step: Callable[["Descent"], Any]) -> Any:
        """A point by the method's step; Newton's follow one that took more products than they do.

        In exact arithmetic conjugate gradients need n at most.
        """
        before = self.problem.counts.njvp
        x = self._next(step)
        n = self.x.size
        if n <= MANY and self.problem.counts.njvp - before > n + LANCZOS:
            self.by_newton = self.struggled = True
        return x

    def _by_newton(self) -> Any:
        """A lower point that is found whatever the units of unknowns; None if there is none."""
        if not (self.x.size <= FEW or self.struggled) or not self.size or self.nit >= self.maxiter:
            return None
        if self.asked and self.size <= self.gtol:
            return None
        found = newton_step(self.H, self.g)
        if found is None:
            return None
        if found.promise <= self.tolerance:
            return self._last_steps(found) if self.struggled else None
        alpha = 1.0
        while alpha * found.promise > self.noise:
            x = self.at(found.p, alpha)
            value = self.problem.value(x)
            if self.f - value > max(self.noise, 1e-4 * alpha * found.promise):
                self.leap = float(np.linalg.norm(x - self.x))
                return x
            alpha *= 0.5
        return None

    def _last_steps(self, found: NewtonStep) -> Any:
        """A point that f hardly tells from this one, where the gradient does, in units of its own;
        else this one is the minimum, unless the gradient is to be smaller still."""
        x = self.at(found.p)
        _, g = self.problem.value_and_gradient(x)
        if np.linalg.norm(found.S * g) < 0.5 * np.linalg.norm(found.S * self.g):
            return x
        if self.asked and self.size > self.gtol:
            return None
        return self._leave_saddle(f"Newton's step promises {found.promise:.1e} of f = {self.f:.6g}")

    @property
    def tolerance(self) -> float:
        """What a step has to promise of f in order to be worth it."""
        return DOUBT * self.noise + self.eps**0.75 * max(self.first - self.f, 0.0)

    @property
    def size(self) -> float:
        """The largest entry of the gradient."""
        return largest(self.g)

    def fields(self) -> dict[str, Any]:
        """What a result says of the point."""
        problem = self.problem
        return {
            "x": problem.x.container(self.x),
            "fun": self.f,
            "jac": problem.x.container(self.g),
            "hess": self.H,
            "nit": self.nit,
            **problem.counted,
        }

    def at(self, p: Array, alpha: float = 1.0) -> Any:
        """x + alpha p."""
        return (self.x + alpha * p).astype(self.x.dtype, copy=False)

    def stuck(self, finite: bool = True) -> None:
        """End where no step brings f down."""
        if not finite:
            raise Stop(Status.NOT_FINITE, "f, at every step tried")
        words = f"f cannot be told from its neighbours; the largest |gradient| is {self.size:.1e}"
        if self.asked:
            raise Stop(Status.STAGNATED, f"{words}, gtol={self.gtol:.1e} was asked for")
        if self.size > np.sqrt(self.eps) * self.gtol / self.eps**0.75:
            raise Stop(Status.STAGNATED, words)
        raise Stop(Status.CONVERGED, f"to rounding: {words}")

    def _move_to(self, x: Array) -> None:
        length = float(np.linalg.norm(x - self.x))
        scale = max(float(np.linalg.norm(x)), float(np.linalg.norm(self.x)))
        self.step = length / scale if scale else 0.0
        before, noise = self.f, self.noise
        self.x = x
        self.f, self.g, self.H = self.problem.model(x)
        self.nit += 1
        if not before - self.f <= noise:
            self.least = np.inf
        if self.f == -np.inf or scale > self.reach:
            raise Stop(Status.UNBOUNDED, f"f is {self.f:.3g} at |x| = {scale:.1e}")

    def _check_finite(self) -> None:
        if not (np.isfinite(self.f) and np.isfinite(self.g).all()):
            raise Stop(Status.NOT_FINITE, "f or its gradient")

    def _leave_saddle(self, words: str) -> Any:
        """A better point beside a stationary one that is not a minimum; else the end."""
        if not self.check_minimum or not self.x.size:
            raise Stop(Status.CONVERGED, words)
        found = negative_curvature(self.H, self.x.size, self.eps)
        if found is None:
            raise Stop(Status.CONVERGED, words)
        curvature, v = found
        v = v.astype(self.x.dtype)
        length = max(1.0, float(np.linalg.norm(self.x)))
        while length > self.eps**0.5 * max(1.0, float(np.linalg.norm(self.x))) * 1e-2:
            for signed in (v, -v):
                x = self.at(signed, length)
                if self.problem.value(x) < self.f - self.noise:
                    return x
            length *= 0.1
        raise Stop(Status.INDEFINITE, f"a saddle point, with curvature {curvature:.1e}; {words}")


def forcing(size: float, first: float) -> float:
    """How far to solve the Newton system where the gradient is ``size``, at first ``first``."""
    return min(0.5, float(np.sqrt(size / first))) if first > 0 else 0.5


def negative_curvature(H: Any, n: int, eps: float) -> tuple[float, Any] | None:
    """A direction of negative curvature found by a few Lanczos steps; None where they see none.

    Parameters
    ----------
    H : operator (n, n)
        Symmetric.
    n : int
    eps : float
        Of the arithmetic.

    Returns
    -------
    curvature, v : float, ndarray (n,)
        vᵀH v, with v of length 1; or None.

    Notes
    -----
    At most 12 products. From a random vector, with full orthogonalisation; it finds negative
    eigenvalues that stand out, not each that there is.
    """
    rng = np.random.default_rng(0)
    basis = [rng.standard_normal(n)]
    basis[0] /= np.linalg.norm(basis[0])
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(LANCZOS, n)):
        w = np.asarray(H @ basis[-1].astype(H.dtype), float)
        if not np.isfinite(w).all():
            return None
        diagonal.append(float(basis[-1] @ w))
        for _ in range(2):
            for q in basis:
                w -= (q @ w) * q
        size = float(np.linalg.norm(w))
        if size <= 10 * eps * max(map(abs, diagonal)):
            break
        beside.append(size)
        basis.append(w / size)
    k = len(diagonal)
    T = np.diag(diagonal) + np.diag(beside[: k - 1], 1) + np.diag(beside[: k - 1], -1)
    values, vectors = np.linalg.eigh(T)
    if not values[0] < -np.sqrt(eps) * np.abs(values).max():
        return None
    return float(values[0]), np.stack(basis[:k], axis=1) @ vectors[:, 0]


def descent(
    name: str,
    fun: Any,
    x0: Any,
    args: Any,
    derivatives: tuple[Any, Any, Any],
    limits: tuple[Any, Any],
    tolerances: tuple[float | None, float | None, float | None],
    maxiter: int | None,
    check_minimum: bool,
) -> Descent:
    """Check what a minimiser was given, as `scipy.optimize.minimize` hands it on too."""
    refuse_limits(name, *limits)
    gtol, xtol, tol = tolerances
    problem = Objective(fun, x0, args, name, *derivatives)
    return Descent(problem, tol if gtol is None else gtol, xtol, maxiter, check_minimum)
