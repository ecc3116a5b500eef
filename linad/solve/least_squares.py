"""Nonlinear least squares: Gauss-Newton and Levenberg-Marquardt on Jacobian operators.

    minimise |r(x)|²/2        gradient J^H r        model |r + J p|²/2

Gauss-Newton takes the p that minimises the model and backtracks along it. Levenberg-Marquardt
damps it, (J^H J + λ D²) p = -J^H r, with D the largest norms of the columns met so far, which
makes it independent of the units of the unknowns. Where steps come to nothing because D is that
of a start from which columns have come down by powers of ten, it is that of each point alone from
there on; and no test of an end knows D. Unknowns that act by their square are damped by the
curvature of the cost beside the place where they vanish (`linad.solve.turned`). After a step with
gain ratio

    ρ = (|r(x)|² - |r(x + p)|²) / (|r|² - |r + J p|²)

λ is multiplied by max(1/3, 1 - (2ρ - 1)³) where ρ > 0, and else by ν = 2, 4, 8 ...

Where J is small enough to be dense a step follows the curve that keeps the residuals going
straight: p = v + a/2, with a the damped step for the second derivative of r along v, and a step
whose curve bends more than 3/4 of it is refused. A run that comes to no end, or ends where the
residuals no longer depend on an unknown, is begun again: for some steps from shorter ones, then
with D the norms at the point alone, and with other dampings; the lowest end counts.

Sources: J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978.
M. K. Transtrum, J. P. Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear
least-squares minimization", 2012. H. B. Nielsen, "Damping parameter in Marquardt's
method", Technical University of Denmark, 1999.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from linad.core.array_type import Array
from linad.core.options import COUNT, FUNCTION, POSITIVE, TOLERANCE, takes
from linad.solve.damped import DenseSteps, FreeSteps
from linad.solve.fits import Fit, as_accurate
from linad.solve.linesearch import NoDecrease, backtrack
from linad.solve.losses import LOSS, Loss
from linad.solve.newton import squared
from linad.solve.no_progress import why_stuck
from linad.solve.status import REPORTED, Callback, Monitor, Status, Stop
from linad.solve.step_systems import LINEAR_SOLVER, seen_through
from linad.solve.turned import damping_of_faded

COLUMNS = ("cost", "optimality", "step")

PATIENCE = 200
"""Steps after which a dense fit that has not ended is also tried from x0 in other ways."""

LEAST = 1e-30
"""The least damping, far below what D of larger columns can make of it."""

BENT = 0.75
"""Most that the curve of a step may add to it, relative to its length."""

OTHER_WAYS = ((1e3, True, 50), (1.0, False, None), (1e3, True, None), (1e5, False, None))
"""What a fit is tried with again: a factor on the first damping, whether D remembers, and for how
many steps at most. From shorter first steps a fit often arrives at once that has run down a valley
to infinity; the next way may take all that are left."""

REFUSED = 3
"""Refused steps after which unknowns that act by their square are damped by themselves."""

PROBE = 0.1
"""Part of a step at which the residuals are looked at for their curvature."""


FITTING = {
    "f": FUNCTION,
    "ftol": TOLERANCE.optional,
    "xtol": TOLERANCE.optional,
    "gtol": TOLERANCE.optional,
    "maxiter": COUNT,
    "linear_solver": LINEAR_SOLVER,
    **REPORTED,
}
"""What the options of both may be."""


@takes(**FITTING)
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
        precision). The third has no default: where the gradient has fallen to eps^1.5 of the first,
        the fit ends if the next step is small as well.
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
        ``grad``, ``optimality`` = its largest entry, ``rounding`` a mask of the unknowns, one
        after the other, whose columns of a dense Jacobian are rounding errors, ``turned`` of those
        that act by their square where the cost is least, ``saturated`` what
        stands for entries of a dense Jacobian that overflow, or do not exist, NaN for all others,
        ``kinks`` a mask of the residuals of which some do not exist,
        ``nit nfev njev njvp nvjp success status message``.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``f`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

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
    monitor = Monitor("gauss_newton", callback, disp, COLUMNS)
    return monitor.finish(fit.run(_gauss_step, monitor), fit.fields())


@takes(damping=POSITIVE, loss=LOSS, f_scale=POSITIVE, **FITTING)
def levenberg_marquardt(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    maxiter: int = 1000,
    damping: float = 1e-3,
    bounds: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    linear_solver: str = "auto",
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Minimise ``|f(x)|²`` by the Levenberg-Marquardt method.

    Parameters
    ----------
    f, x0, args, gtol, maxiter, linear_solver, callback, disp
        As for `gauss_newton`.
    ftol, xtol : float, optional
        As for `gauss_newton`, if given. By default a fit with a dense Jacobian goes on until the
        next step would change each unknown by less than 1e-8 of itself, or by 1e-8 of what its
        standard error leaves open: its parameters are good to six digits and more. Where rounding
        in ``f``, or a tolerance, hides such steps, it ends a hundredth of a standard error away.
    damping : float
        The first λ, relative to the scaled unknowns: small trusts the model.
    bounds : (lower, upper) or scipy.optimize.Bounds, optional
        Each a number for all unknowns, or a container like x0; infinite, or None, for no bound.
    loss : str or callable
        "linear", or one that lets outliers count for less, as in `scipy.optimize.least_squares`:
        "soft_l1", "huber", "cauchy", "arctan", or ``loss(z) -> (rho, rho', rho'')``.
    f_scale : float
        The size of a residual from which on a robust loss lets it count for less.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `gauss_newton`, and ``damping``, the last λ.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``f`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

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
    fit = Fit(
        "levenberg_marquardt",
        f,
        x0,
        args,
        (ftol, xtol, gtol),
        maxiter,
        linear_solver,
        bounds,
        None if loss == "linear" else Loss(loss, f_scale),
    )
    monitor = Monitor("levenberg_marquardt", callback, disp, COLUMNS)
    fit, stop = _tried(fit, damping, monitor)
    return monitor.finish(stop, fit.fields())


def _tried(fit: Fit, damping: float, monitor: Monitor) -> tuple[Fit, Stop]:
    """Run a fit, in other ways too where the first comes to no good end; the best of them."""
    start, limit = copy.copy(fit), fit.maxiter
    fit.lam, fit.first_lam, fit.maxiter = damping, damping, min(limit, PATIENCE)
    end = fit.run(_damped_step, monitor)
    taken = fit.nit
    for factor, memory, most in OTHER_WAYS if fit.factory.kind == "dense" else ():
        if not fit.is_doubtful(end) or taken >= limit:
            break
        other = copy.copy(start)
        other.lam, other.first_lam, other.memory = factor * damping, damping, memory
        other.taken, other.maxiter = taken, min(limit - taken, most or limit)
        stop = other.run(_damped_step, monitor)
        taken += other.nit
        if other.cost < fit.cost or (other.cost == fit.cost and not other.is_doubtful(stop)):
            fit, end = other, stop
    fit.taken = taken - fit.nit
    if end.status is Status.MAXITER and taken < limit:
        fit.maxiter = fit.nit + limit - taken
        end = fit.run(_damped_step, monitor)
    return fit, fit.out_of_steps() if end.status is Status.MAXITER else end


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


def _by_gradient(
    fit: Fit, p: Array, predicted: float, light: Array, rank: int | None = None
) -> float:
    """A step too small for the cost to tell: taken while the gradient goes down."""
    x = fit.at(p)
    r, J = fit.problem.linearize(x)
    if J is None:
        _stuck(fit, True, predicted, light, rank)
    norms = np.where(fit.steps.column_norms > 0, fit.steps.column_norms, 1.0)
    new, old = (float(np.linalg.norm(g / norms)) for g in (fit.slopes(x, r, J), fit.gradient))
    if not new < 0.9 * old:
        _stuck(fit, True, predicted, light, rank)
    fit.gain = 1.0
    return fit.move(x, (r, J))


def _stuck(
    fit: Fit, finite: bool, predicted: float, p: Array, rank: int | None = None
) -> NoReturn:
    """No step brings the cost down: say why. The next one would be ``p``, hardly damped."""
    if not finite:
        raise Stop(Status.NOT_FINITE, "in f, at every step tried; start elsewhere")
    if words := _rounded(fit, predicted, p):
        raise Stop(Status.CONVERGED, words)
    if fit.exact and predicted <= fit.insignificant:
        raise Stop(Status.CONVERGED, as_accurate(predicted, fit.cost))
    if fit.exact and fit.factory.kind == "dense" and (words := fit.turns(fit.ftol)):
        raise Stop(Status.CONVERGED, words)
    if rank is not None and rank < fit.x.size:
        raise Stop(
            Status.SINGULAR,
            f"of rank {rank} with {fit.x.size} columns, and its step brings the cost "
            f"{fit.cost:.6g} no further down; levenberg_marquardt may",
        )
    raise Stop(
        Status.STAGNATED,
        f"no step brings the cost {fit.cost:.6g} down; "
        f"{why_stuck(fit.problem, fit.x, fit.r, fit.J, p)}",
    )


def _rounded(fit: Fit, predicted: float, p: Array) -> str:
    """Whether a step that would be hardly damped is hidden by rounding: the words, or ""."""
    relative = fit.relative(p)
    if relative <= fit.xtol:
        return f"to rounding: the next step is {relative:.1e} of |x|"
    if predicted <= max(fit.ftol, 10 * fit.eps) * fit.cost:
        return f"to rounding: the model promises {predicted:.1e} of {fit.cost:.6g}"
    return ""


def _damped_step(fit: Fit) -> float:
    """Raise the damping until a step brings the cost down, then lower it."""
    norms = fit.look()
    fit.D = np.maximum(fit.D, norms) if fit.memory and fit.D is not None else norms
    D = np.where(fit.D > 0, fit.D, 1.0)
    finite = False
    fit.refused = 0
    began, own = fit.lam, np.zeros(fit.x.shape)
    while fit.lam <= 1e40:
        try:
            p = fit.steps.step(fit.lam, np.maximum(D, own / np.sqrt(fit.lam)))
        except np.linalg.LinAlgError:
            p = np.full(fit.x.shape, np.nan)
        if np.isfinite(p).all():
            trial = _trial_of(fit, p, D)
            finite = finite or trial.is_finite
            if trial.gain > 1e-4 and not trial.is_level:
                fit.lam = max(fit.lam * max(0.1, 1 - (2 * trial.gain - 1) ** 3), LEAST)
                fit.growth, fit.gain = 2.0, trial.gain
                return fit.move(trial.x, trial.found)
            if trial.is_level or fit.relative(p) <= fit.eps:
                light = fit.light_step()
                if _forgets(fit, norms, light):
                    D = np.where(norms > 0, norms, 1.0)
                    continue
                if trial.is_level:
                    return _by_gradient(fit, p, *light)
                _stuck(fit, finite, *light)
        fit.lam *= fit.growth
        fit.growth *= 2.0
        fit.refused += 1
        if fit.refused == REFUSED and fit.factory.kind == "dense" and not own.any():
            own = damping_of_faded(fit)
            if own.any():  # the others need not be damped for their sake
                fit.lam, fit.growth, fit.refused = began, 2.0, 0
    return _stuck(fit, finite, np.inf, np.full(fit.x.shape, np.inf))


class _Trial(NamedTuple):
    """A step that was tried.

    Attributes
    ----------
    x : array or None
        Where it leads; None if its curve bends too much.
    found : tuple or None
        The residuals and J there, if they were computed.
    gain : float
        How far the cost went down, relative to what the model had promised.
    is_finite : bool
        Whether the residuals were seen to be finite on the way.
    is_level : bool
        Whether both are within the rounding of the cost.
    """

    x: Any
    found: Any
    gain: float
    is_finite: bool
    is_level: bool


def _trial_of(fit: Fit, p: Array, D: Array) -> _Trial:
    predicted = fit.promise(p, fit.lam, D)
    first = fit.refused == 0
    minute = first and predicted <= fit.noise
    curved, smooth = (p, True) if minute else _along_the_curve(fit, p, D)
    if curved is None:
        return _Trial(None, None, -1.0, smooth, False)
    x = fit.at(curved)
    if fit.box is not None and not np.array_equal(x, fit.x + curved):
        predicted = fit.promise_of_cut(x - fit.x)
    found = fit.problem.linearize(x) if first else None
    cost = fit.cost_of(found[0] if found else fit.problem.value(x))
    gain = (fit.cost - cost) / predicted if predicted > 0 else -1.0
    level = bool(minute and abs(fit.cost - cost) <= fit.noise)
    return _Trial(x, found, gain, smooth or bool(np.isfinite(cost)), level)


def _forgets(fit: Fit, norms: Array, light: tuple[float, Any]) -> bool:
    """Whether steps are short by D alone, which is that of a place where columns were larger; then
    it is that of each point from here on."""
    if np.array_equal(fit.D, norms) or _rounded(fit, *light):
        return False
    fit.D, fit.lam, fit.growth, fit.memory = norms, fit.first_lam, 2.0, False
    return True


def _along_the_curve(fit: Fit, p: Array, D: Array) -> tuple[Any, bool]:
    """A dense step bent so that the residuals go straight, None where it bends too much; and
    whether the residuals on the way are seen to be finite."""
    steps = fit.steps.inner if isinstance(fit.steps, FreeSteps) else fit.steps
    if not isinstance(steps, DenseSteps) or fit.relative(p) < np.cbrt(fit.eps):
        return p, False  # over so short a way curvature is rounding
    probed = fit.problem.value((fit.x + PROBE * p).astype(fit.x.dtype, copy=False))
    change = (probed - fit.r) / PROBE
    if fit.weights is not None:
        change = fit.weights * change
    curvature = (2 / PROBE) * (change - fit.steps.along(p))
    if not np.isfinite(curvature).all():
        return None, False
    bend = fit.steps.bent(curvature)
    if np.linalg.norm(D * bend) > BENT * np.linalg.norm(D * p):
        return None, True
    return p + 0.5 * bend, True
