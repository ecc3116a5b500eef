"""Nonlinear least squares: Gauss-Newton and Levenberg-Marquardt on Jacobian operators.

    minimise |r(x)|²/2        gradient J^H r        model |r + J p|²/2

Gauss-Newton takes the p that minimises the model and backtracks along it. Levenberg-Marquardt
damps it, (J^H J + λ D²) p = -J^H r, with D the largest norms of the columns met so far, which
makes it independent of the units of the unknowns. After a step with gain ratio

    ρ = (|r(x)|² - |r(x + p)|²) / (|r|² - |r + J p|²)

λ is multiplied by max(1/3, 1 - (2ρ - 1)³) where ρ > 0, and else by ν = 2, 4, 8 ...

Sources: J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978.
H. B. Nielsen, "Damping parameter in Marquardt's method", Technical University of Denmark, 1999.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.options import COUNT, FLAG, FUNCTION, POSITIVE, TOLERANCE, takes
from linad.core.shapes import name_of
from linad.errors import DTypeError, ShapeError
from linad.solve.damped import Factory
from linad.solve.linesearch import NoDecrease, backtrack
from linad.solve.newton import largest, squared
from linad.solve.problems import Residual, quiet
from linad.solve.status import Callback, Monitor, Status, Stop
from linad.solve.step_systems import LINEAR_SOLVER, seen_through

COLUMNS = ("cost", "optimality", "step")


@takes(
    f=FUNCTION,
    ftol=TOLERANCE.optional,
    xtol=TOLERANCE.optional,
    gtol=TOLERANCE.optional,
    maxiter=COUNT,
    linear_solver=LINEAR_SOLVER,
    callback=FUNCTION.optional,
    disp=FLAG,
)
def gauss_newton(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    maxiter: int = 100,
    linear_solver: str = "auto",
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Minimise ``|f(x)|²`` by the Gauss-Newton method with a line search.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` in plain NumPy: residuals, an array or a container of arrays; real or
        complex, of a real x.
    x0 : array or container of arrays
        Where to start.
    args : tuple
        Further arguments of ``f``.
    ftol, xtol, gtol : float, optional
        Relative change of the cost, relative step, and largest ``|gradient|`` to stop at, as in
        `scipy.optimize.least_squares`. Default 1e-8 for the first two (3e-4 in single
        precision), and for the third eps^1.5 of the first.
    maxiter : int
        Most steps.
    linear_solver : str
        "dense", "sparse", "krylov" (LSMR, nothing formed) or "auto".
    callback, disp
        As for `newton`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` like x0, ``fun`` = f(x), ``cost`` = ``|f|²/2``, ``jac`` the Jacobian operator,
        ``grad``, ``optimality`` = its largest entry,
        ``nit nfev njev njvp nvjp success status message``.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0 or what ``f`` returns cannot be meant. Everything else ends with a status.

    Notes
    -----
    Converges fast where the residuals are small at the solution. Where the columns of the
    Jacobian are dependent the shortest step is taken; `levenberg_marquardt` is the safer choice.

    Examples
    --------
    >>> import numpy as np, linad
    >>> t = np.linspace(0.0, 1.0, 6)
    >>> found = linad.solve.gauss_newton(lambda p: p[0] * np.exp(-p[1] * t) - np.exp(-2 * t),
    ...                                  np.array([0.5, 1.0]))
    >>> found.x.round(8)
    array([1., 2.])
    """
    f = seen_through(f, linear_solver, x0)
    fit = Fit("gauss_newton", f, x0, args, (ftol, xtol, gtol), maxiter, linear_solver)
    return fit.run(_gauss_step, Monitor("gauss_newton", callback, disp, COLUMNS))


@takes(
    f=FUNCTION,
    ftol=TOLERANCE.optional,
    xtol=TOLERANCE.optional,
    gtol=TOLERANCE.optional,
    maxiter=COUNT,
    damping=POSITIVE,
    linear_solver=LINEAR_SOLVER,
    callback=FUNCTION.optional,
    disp=FLAG,
)
def levenberg_marquardt(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    maxiter: int = 500,
    damping: float = 1e-3,
    linear_solver: str = "auto",
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Minimise ``|f(x)|²`` by the Levenberg-Marquardt method.

    Parameters
    ----------
    f, x0, args, ftol, xtol, gtol, maxiter, linear_solver, callback, disp
        As for `gauss_newton`.
    damping : float
        The first λ, relative to the scaled unknowns: small trusts the model.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As of `gauss_newton`, and ``damping``, the last λ.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0 or what ``f`` returns cannot be meant. Everything else ends with a status.

    Notes
    -----
    A step costs one linearization of ``f`` and one damped solve, and a run of ``f`` and a solve
    for each step refused. Sparse normal equations with a block diagonal part, as those of
    bundle adjustment, are solved by their Schur complement; linad finds it in the pattern.

    Examples
    --------
    >>> import numpy as np, linad
    >>> rosenbrock = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    >>> linad.solve.levenberg_marquardt(rosenbrock, np.array([-1.2, 1.0])).x.round(8)
    array([1., 1.])
    """
    f = seen_through(f, linear_solver, x0)
    fit = Fit("levenberg_marquardt", f, x0, args, (ftol, xtol, gtol), maxiter, linear_solver)
    fit.lam = damping
    return fit.run(_damped_step, Monitor("levenberg_marquardt", callback, disp, COLUMNS))


class _Parts:
    """Complex residuals of real unknowns, as their real and imaginary parts."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.structure: Any = None
        self.split: list[bool] = []

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def __call__(self, x: Any, *args: Any) -> Any:
        leaves, structure = tree.flatten(self.f(x, *args))
        split = [np.iscomplexobj(y) for y in leaves]
        if not any(split):
            self.split = []
            return tree.unflatten(structure, leaves)
        self.structure, self.split = structure, split
        pairs = [
            (np.real(y), np.imag(y)) if s else (y,) for y, s in zip(leaves, split, strict=True)
        ]
        return [part for pair in pairs for part in pair]

    def joined(self, fun: Any) -> Any:
        """The residuals as ``f`` returned them."""
        if not self.split:
            return fun
        parts = iter(fun)
        leaves = [next(parts) + 1j * next(parts) if s else next(parts) for s in self.split]
        return tree.unflatten(self.structure, leaves)


class Fit:
    """A point on its way to a least-squares solution: what both methods share."""

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        x0: Any,
        args: Any,
        tolerances: tuple[float | None, float | None, float | None],
        maxiter: int,
        linear_solver: str,
    ) -> None:
        self.problem = problem = Residual(f, x0, args, name)
        if problem.x.dtype.kind == "c":
            raise DTypeError(
                f"{name}: x0 is complex; fit its real and imaginary parts, as two arrays"
            )
        problem.f = self.parts = _Parts(f)
        self.maxiter = maxiter
        self.eps = problem.x.eps
        default = 1e-8 if self.eps < 1e-10 else 3e-4
        ftol, xtol, gtol = tolerances
        self.ftol = default if ftol is None else ftol
        self.xtol = default if xtol is None else xtol
        self.x = problem.x.start
        self.reach = (1.0 + float(np.linalg.norm(self.x))) / self.eps
        self.lam, self.growth = 0.0, 2.0
        self.D: Any = None
        self.nit = 0
        self.step = self.gain = np.nan
        self.factory = Factory(linear_solver)
        self.r, self.J = problem.linearize(self.x)
        if not self.r.size:
            raise ShapeError(f"{name}: {name_of(f)} returned no numbers")
        self.cost = 0.5 * squared(self.r)
        self.gradient: Any = np.full(self.x.shape, np.nan)
        self.steps: Any = None
        self.gtol = gtol

    def run(self, step: Callable[["Fit"], float], monitor: Monitor) -> Any:
        """Take steps until something ends it."""
        before = self.cost
        try:
            if not np.isfinite(self.cost):
                raise Stop(Status.NOT_FINITE, "in f(x0)")
            while True:
                self._prepare()
                if self.nit:
                    monitor.report(
                        self.fields, cost=self.cost, optimality=self.optimality, step=self.step
                    )
                    self._check(before, self.step)
                if self.nit >= self.maxiter:
                    raise Stop(Status.MAXITER, f"{self.maxiter} steps, cost {self.cost:.6g}")
                before = self.cost
                self.step = step(self)
                self.nit += 1
        except Stop as stop:
            return monitor.finish(stop, self.fields())

    def _prepare(self) -> None:
        """The model at the point."""
        try:
            self.steps = self.factory(self.J, self.r)
        except np.linalg.LinAlgError as error:
            raise Stop(Status.NOT_FINITE, f"in the Jacobian ({error})") from error
        self.gradient = self.steps.gradient
        if not np.isfinite(self.gradient).all():
            raise Stop(Status.NOT_FINITE, "in the gradient")
        if self.gtol is None:
            self.gtol = self.eps**1.5 * self.optimality
        if self.optimality <= self.gtol:
            raise Stop(Status.CONVERGED, f"the largest |gradient| is {self.optimality:.1e}")

    @property
    def noise(self) -> float:
        """Rounding error of the cost; residuals are often small differences of large numbers."""
        return 1e3 * self.eps * self.cost

    @property
    def optimality(self) -> float:
        """The largest entry of the gradient."""
        return largest(self.gradient)

    def fields(self) -> dict[str, Any]:
        """What a result says of the point."""
        problem = self.problem
        found = {
            "x": problem.x.container(self.x),
            "fun": self.parts.joined(problem.result(self.r)),
            "cost": self.cost,
            "jac": self.J.bare,
            "grad": problem.x.container(self.gradient),
            "optimality": self.optimality,
            "nit": self.nit,
            **problem.counted,
        }
        if self.lam:
            found["damping"] = self.lam
        return found

    def _check(self, before: float, step: float) -> None:
        change = before - self.cost
        if self.gain < 0.25:  # the model is poor: a small step says nothing
            return
        if self.ftol and change <= self.ftol * before and self._settled(self.ftol):
            raise Stop(Status.CONVERGED, f"the cost, {self.cost:.6g}, changed by {change:.1e}")
        if step <= self.xtol and self._settled(self.xtol):
            raise Stop(Status.CONVERGED, f"the last step was {step:.1e} of |x|")

    def _settled(self, tolerance: float) -> bool:
        """Whether the next step, hardly damped, would be no more than a tolerance allows.

        The last one may have been short because it was shortened, or because an unknown that
        is large, and of no account, makes |x| large.
        """
        norms = np.asarray(self.steps.column_norms, float)
        promise, p = _light_step(self, np.where(norms > 0, norms, 1.0))
        return (
            promise <= 10 * tolerance * self.cost + self.noise or self.relative(p) <= 10 * tolerance
        )

    def relative(self, p: Any) -> float:
        """The length of a step relative to x, each unknown weighted by its column of J."""
        norms = np.asarray(self.steps.column_norms, float)
        with quiet():
            length, scale = float(np.linalg.norm(norms * p)), float(np.linalg.norm(norms * self.x))
        return length / scale if scale else np.inf

    def move(self, x: Any, found: Any) -> float:
        """Go to a point, linearized there already or not; the relative length of the step."""
        length = float(np.linalg.norm(x - self.x))
        scale = max(float(np.linalg.norm(x)), float(np.linalg.norm(self.x)))
        self.x = x
        self.r, self.J = found or self.problem.linearize(x)
        self.cost = 0.5 * squared(self.r)
        if scale > self.reach:
            words = f"the cost, {self.cost:.6g}, comes down as |x| = {scale:.1e} grows"
            raise Stop(Status.UNBOUNDED, words)
        return length / scale if scale else 0.0

    def at(self, p: Any, alpha: float = 1.0) -> Any:
        """x + alpha p."""
        return (self.x + alpha * p).astype(self.x.dtype, copy=False)


def _gauss_step(fit: Fit) -> float:
    """The step of Gauss and Newton, shortened until the cost comes down."""
    p, rank = fit.steps.gauss()
    if not np.isfinite(p).all():
        raise Stop(Status.SINGULAR, "the Gauss-Newton step is not finite")
    slope = float(np.vdot(fit.gradient, p).real)
    predicted = -0.5 * slope
    if not predicted > fit.eps**2 * fit.cost:
        raise Stop(Status.CONVERGED, "the linear model cannot be improved")

    if predicted <= fit.noise:
        return _by_gradient(fit, p, predicted, p, rank)

    def phi(alpha: float) -> tuple[float, Any]:
        x = fit.at(p, alpha)
        if alpha == 1.0:
            found = fit.problem.linearize(x)
            return 0.5 * squared(found[0]), found
        return 0.5 * squared(fit.problem.value(x)), None

    try:
        alpha, cost, found = backtrack(phi, fit.cost, slope, 1e-10)
    except NoDecrease as none:
        _stuck(fit, none.finite, predicted, p, rank)
    fit.gain = (fit.cost - cost) / (predicted * alpha * (2 - alpha))
    return fit.move(fit.at(p, alpha), found)


def _by_gradient(fit: Fit, p: Any, predicted: float, light: Any, rank: int | None = None) -> float:
    """A step too small for the cost to tell: taken while the gradient goes down."""
    x = fit.at(p)
    r, J = fit.problem.linearize(x)
    norms = np.where(fit.steps.column_norms > 0, fit.steps.column_norms, 1.0)
    new, old = (float(np.linalg.norm(g / norms)) for g in (J.H @ r, fit.gradient))
    if not new < 0.9 * old:
        _stuck(fit, True, predicted, light, rank)
    fit.gain = 1.0
    return fit.move(x, (r, J))


def _stuck(fit: Fit, finite: bool, predicted: float, p: Any, rank: int | None = None) -> None:
    """No step brings the cost down: say why. The next one would be ``p``, hardly damped."""
    if not finite:
        raise Stop(Status.NOT_FINITE, "in f, at every step tried")
    relative = fit.relative(p)
    if relative <= fit.xtol:
        raise Stop(Status.CONVERGED, f"to rounding: the next step is {relative:.1e} of |x|")
    if predicted <= max(fit.ftol, 10 * fit.eps) * fit.cost:
        raise Stop(
            Status.CONVERGED, f"to rounding: the model promises {predicted:.1e} of {fit.cost:.6g}"
        )
    if rank is not None and rank < fit.x.size:
        raise Stop(
            Status.SINGULAR,
            f"of rank {rank} with {fit.x.size} columns, and its step brings the cost "
            f"{fit.cost:.6g} no further down; levenberg_marquardt may",
        )
    raise Stop(Status.STAGNATED, f"no step brings the cost {fit.cost:.6g} down")


def _damped_step(fit: Fit) -> float:
    """Raise the damping until a step brings the cost down, then lower it."""
    norms = np.asarray(fit.steps.column_norms, float)
    fit.D = norms if fit.D is None else np.maximum(fit.D, norms)
    D = np.where(fit.D > 0, fit.D, 1.0)
    finite, first = False, True
    while True:
        try:
            p = fit.steps.step(fit.lam, D)
        except np.linalg.LinAlgError:
            p = np.full(fit.x.shape, np.nan)
        if np.isfinite(p).all():
            predicted = _promise(fit, p, fit.lam, D)
            x = fit.at(p)
            found = fit.problem.linearize(x) if first else None
            cost = 0.5 * squared(found[0] if found else fit.problem.value(x))
            finite = finite or np.isfinite(cost)
            if first and predicted <= fit.noise and abs(fit.cost - cost) <= fit.noise:
                return _by_gradient(fit, p, *_light_step(fit, D))
            gain = (fit.cost - cost) / predicted if predicted > 0 else -1.0
            if gain > 1e-4:
                fit.lam = max(fit.lam * max(0.1, 1 - (2 * gain - 1) ** 3), 1e-15)
                fit.growth, fit.gain = 2.0, gain
                return fit.move(x, found)
            if np.linalg.norm(p) <= fit.eps * np.linalg.norm(fit.x):
                _stuck(fit, finite, *_light_step(fit, D))
        fit.lam *= fit.growth
        fit.growth *= 2.0
        first = False
        if fit.lam > 1e40:
            _stuck(fit, finite, np.inf, np.full(fit.x.shape, np.inf))


def _promise(fit: Fit, p: Any, lam: float, D: Any) -> float:
    """|r|²/2 - |r + J p|²/2 = |J p|²/2 + λ |D p|²: both terms positive, no cancellation."""
    return 0.5 * fit.steps.product(p) + lam * float(np.linalg.norm(D * p)) ** 2


def _light_step(fit: Fit, D: Any) -> tuple[float, Any]:
    """What a step with hardly any damping promises, little only where the cost is lowest; and the
    step."""
    try:
        p = fit.steps.step(1e-8, D)
    except np.linalg.LinAlgError:
        p = np.full(fit.x.shape, np.inf)
    return (_promise(fit, p, 1e-8, D) if np.isfinite(p).all() else np.inf), p
