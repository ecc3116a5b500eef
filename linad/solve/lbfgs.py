"""L-BFGS-B, SciPy's, with linad's gradients, for containers of arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.core.options import COUNT, FUNCTION, POSITIVE_COUNT, TOLERANCE, takes
from linad.errors import LinadError, OptionError
from linad.solve.bounded_solutions import sides_of
from linad.solve.labels import refuse_bounds_in_other_order
from linad.solve.lost_labels import of_labels
from linad.solve.newton import largest
from linad.solve.objectives import Objective, refuse_limits
from linad.solve.status import REPORTED, Callback, Monitor, Status, Stop

COLUMNS = ("f", "g")


@takes(
    fun=FUNCTION,
    jac=FUNCTION.optional,
    ftol=TOLERANCE,
    gtol=TOLERANCE,
    tol=TOLERANCE.optional,
    maxcor=POSITIVE_COUNT,
    maxiter=COUNT,
    maxfun=COUNT,
    maxls=POSITIVE_COUNT,
    **REPORTED,
)
def lbfgs(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    jac: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callback = None,
    ftol: float = 2.2e-9,
    gtol: float = 1e-5,
    tol: float | None = None,
    maxcor: int = 10,
    maxiter: int = 15000,
    maxfun: int = 15000,
    maxls: int = 20,
    disp: bool = False,
    hess: None = None,
    hessp: None = None,
) -> Any:
    """Minimise ``fun`` by SciPy's L-BFGS-B.

    Also usable as ``scipy.optimize.minimize(fun, x0, method=linad.solve.lbfgs)``.

    Parameters
    ----------
    fun, x0, args, jac, callback, disp
        As for `newton_cg`. SciPy works in double precision, whatever the dtype of x0.
    bounds : optional
        As in `scipy.optimize.minimize`, for x as one vector (leaves one after the other); or a
        pair ``(lower, upper)`` of containers like x0, with infinities where there is none.
    constraints
        Refused.
    ftol, gtol, maxcor, maxiter, maxfun, maxls
        As in `scipy.optimize.minimize(method="L-BFGS-B")`; ``gtol`` is absolute. Where ``ftol``
        ends it, and the gradient is hardly smaller than at first, or the Hessian promises much
        more than ``ftol`` allows, it is not a success.
    tol : float, optional
        Sets ``ftol`` and ``gtol``.
    hess, hessp
        Refused: the method has no use for them.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` like x0, ``fun``, ``jac`` the gradient, ``hess_inv`` the approximation, ``nit nfev
        njev njvp nvjp success status message``.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``fun`` returns, has a shape, dtype or structure that does not fit.

    Notes
    -----
    A trial where ``fun`` is infinite or NaN is answered by a shorter step.

    Examples
    --------
    >>> import numpy as np, linad
    >>> f = lambda p: np.sum((p["a"] - 3.0) ** 2) + (p["b"] + 1.0) ** 2
    >>> found = linad.solve.lbfgs(f, {"a": np.zeros(2), "b": 0.0})
    >>> found.x["a"].round(6), found.x["b"].round(6)
    (array([3., 3.]), np.float64(-1.0))
    """
    from scipy.optimize import minimize

    refuse_limits("lbfgs", None, constraints)
    if hess is not None or hessp is not None:
        raise OptionError("lbfgs: hess and hessp must be None: it uses gradients only")
    problem = Objective(fun, x0, args, "lbfgs", jac)
    monitor = Monitor("lbfgs", callback, disp, COLUMNS)
    limits = None if bounds is None else _bounds(bounds, problem)
    if tol is not None:
        ftol = gtol = tol
    start = problem.x.start.astype(float)
    if not start.size or (limits is not None and (limits.lb == limits.ub).all()):
        return monitor.finish(
            Stop(Status.CONVERGED, "there is nothing to vary"), _only(problem, limits)
        )
    path = Path(problem, monitor)
    try:
        found = minimize(
            path.value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            callback=path.go,
            options={
                "ftol": ftol,
                "gtol": gtol,
                "maxcor": maxcor,
                "maxiter": maxiter,
                "maxfun": maxfun,
                "maxls": maxls,
            },
        )
    except Stop as stop:
        fields = {"x": problem.x.container(problem.x.start), "fun": np.nan, "nit": 0}
        return monitor.finish(stop, {**fields, **problem.counted})
    end = path.stopped or _why(found)
    if end.status is Status.CONVERGED:
        end = _doubt(problem, found, limits, path.first, ftol, gtol) or end
    return monitor.finish(end, _scipys_fields(problem, found))


def _scipys_fields(problem: Objective, found: Any) -> dict[str, Any]:
    """The fields of the result, of SciPy's."""
    dtype = problem.x.dtype
    fields = {
        "x": problem.x.container(found.x.astype(dtype)),
        "fun": found.fun,
        "jac": problem.x.container(np.asarray(found.jac).astype(dtype)),
        "hess_inv": found.hess_inv,
        "nit": found.nit,
    }
    return fields | problem.counted


def _only(problem: Objective, limits: Any) -> dict[str, Any]:
    """The fields of the result where the bounds leave one point."""
    start = problem.x.start.astype(float)
    only = start if limits is None else np.clip(start, limits.lb, limits.ub)
    only = only.astype(problem.x.dtype)
    value, g = problem.value_and_gradient(only)
    fields = {"x": problem.x.container(only), "fun": value, "nit": 0}
    fields["jac"] = problem.x.container(g)
    return {**fields, **problem.counted}


STALLED = 1e-2
"""Of the first gradient: with more of it left a small change of f is not a sign of a minimum."""

BACK = 0.1
"""Of a step to where f is not finite: what the next one is."""


class Path:
    """What the search is told of f, and the last point that it has accepted.

    Where f or its gradient is not finite, at x + p, the search is told of a parabola along p, which
    has f and slope of the last point x, and its minimum at x + β p, β = `BACK`:

        φ(1) = f + D (1/2β - 1)        φ'(1) = D (1/β - 1)        D = -g^T p > 0

    It is so high that the step is refused, and any interpolation goes back to its minimum.
    """

    def __init__(self, problem: Objective, monitor: Monitor) -> None:
        self.problem, self.monitor, self.nit = problem, monitor, 0
        self.stopped: Stop | None = None  # by the callback
        self.x: Any = None
        self.f, self.first = np.nan, np.nan
        self.g: Any = None
        self._tried: Any = None  # the gradient at the last trial

    def value_and_gradient(self, x: Array) -> tuple[float, Any]:
        """f and its gradient for SciPy."""
        value, g = self.problem.value_and_gradient(x.astype(self.problem.x.dtype))
        g = g.astype(float)
        finite = np.isfinite(value) and np.isfinite(g).all()
        if self.x is None:
            if not (finite or value == -np.inf):
                of_value = f"f(x0){of_labels(self.problem, x)}"
                raise Stop(
                    Status.NOT_FINITE, of_value if not np.isfinite(value) else "its gradient"
                )
            self.x, self.f, self.g, self.first = x.copy(), value, g, largest(g)
        elif not finite and value != -np.inf:
            p = x - self.x
            descent, square = -float(self.g @ p), float(p @ p)
            value = self.f + descent * (0.5 / BACK - 1.0)
            g = (descent * (1.0 / BACK - 1.0) / square) * p
        self._tried = g
        return value, g

    def go(self, intermediate_result: Any) -> None:
        """A step was accepted: the last trial. SciPy's callback, which it calls by that name."""
        result = intermediate_result
        self.nit += 1
        self.x, self.f, self.g = result.x.copy(), float(result.fun), self._tried

        def fields() -> dict[str, Any]:
            x = self.problem.x.container(self.x.astype(self.problem.x.dtype))
            return {"x": x, "fun": result.fun, "nit": self.nit, **self.problem.counted}

        try:
            self.monitor.report(fields, f=result.fun, g=largest(self.g))
        except Stop as stop:
            self.stopped = stop.kept()
            raise StopIteration from None


MUCH = 100.0
"""Times what ftol allows, and f can tell: where it can still come down by more, its small change is
not a sign."""

CURVED = 1e-8
"""Of a product with the Hessian: less negative curvature may be rounding."""

NO_LOWER = (
    "along its last direction no lower f was found, though the gradient promises one; f may jump, "
    "be rounded or have a kink there (linad.check_derivatives compares it with its derivatives), "
    "or change by so much that unknowns of one size are needed; start elsewhere, or scale them"
)
"""What SciPy's "ABNORMAL" means."""

PRODUCTS = 20
"""Products with the Hessian that are spent on it, at most."""


def _doubt(
    problem: Objective, found: Any, limits: Any, first: float, ftol: float, gtol: float
) -> Stop | None:
    """Why the end that SciPy calls a success is not one; "" if it is."""
    g = _inwards(found.x, np.asarray(found.jac, float), limits)
    if g > max(gtol, STALLED * first):
        return Stop(
            Status.STAGNATED,
            f"f changed by less than ftol allows, and the largest |gradient| is {g:.1e} still",
        )
    if g > gtol and problem.jac is None:
        x = found.x.astype(problem.x.dtype)
        more, step = _promised(problem, x, limits)
        told = max(ftol * max(abs(found.fun), 1.0), problem.x.eps * abs(found.fun))
        if more > MUCH * told and not _lost_in_rounding(problem, x, step, more, limits):
            far = f"promises {more:.1e} more" if np.isfinite(more) else "is indefinite"
            return Stop(
                Status.STAGNATED,
                f"f changed by less than ftol allows, and its Hessian {far}; {_remedy(limits)}",
            )
    return None


def _remedy(limits: Any) -> str:
    """What to do where a search has ended too soon: other methods go on that have no bounds."""
    if limits is None or not (np.isfinite(limits.lb).any() or np.isfinite(limits.ub).any()):
        return "linad.solve.trust_region goes on, or scale the unknowns alike"
    return "scale the unknowns alike, start elsewhere, or narrow the bounds"


def _promised(problem: Objective, x: Array, limits: Any) -> tuple[float, Any]:
    """By how much f comes down in its quadratic model, at least, and where; 0 where there is none.

    Conjugate gradients from 0, of which each step brings the model down, by rr^2 / 2 d^T H d;
    without end where a direction of negative curvature is met.
    """
    H: Any = None
    with Attempt(LinadError):  # not every function has a second derivative
        _, g, H = problem.model(x)
    if H is None or not np.isfinite(g).all():
        return 0.0, np.zeros_like(x)
    free = np.ones(g.shape, bool)
    if limits is not None:
        free = np.where(g > 0, x > limits.lb, x < limits.ub)
    r = np.where(free, -g, 0.0)
    d, total, step = r, 0.0, np.zeros_like(r)
    for _ in range(min(PRODUCTS, r.size)):
        rr = float(r @ r)
        Hd = np.where(free, H @ d, 0.0)
        curvature = float(d @ Hd)
        if curvature < -CURVED * float(np.linalg.norm(d) * np.linalg.norm(Hd)):
            return np.inf, d
        if not rr > 0 or not curvature > 0:
            break
        total += 0.5 * rr * rr / curvature
        step = step + rr / curvature * d
        r = r - rr / curvature * Hd
        d = r + float(r @ r) / rr * d
    return total, step


def _lost_in_rounding(
    problem: Objective, x: Array, step: Array, promised: float, limits: Any
) -> bool:
    """Whether f, perhaps a sum of terms that cancel, is too rough to come down as promised: a step
    of the model makes the gradient much smaller, as it should, and f does not notice.
    """
    if not np.isfinite(promised):
        return False
    f, g = problem.value_and_gradient(x)
    there = x + step if limits is None else np.clip(x + step, limits.lb, limits.ub)
    nearer, h = problem.value_and_gradient(there.astype(x.dtype))
    moved = step != 0
    smaller = np.linalg.norm(h[moved]) < 0.5 * np.linalg.norm(g[moved])
    return bool(smaller and f - nearer < 0.5 * promised)


def _inwards(x: Array, g: Array, limits: Any) -> float:
    """The largest entry of the gradient, without what points out of the bounds."""
    return largest(g if limits is None else x - np.clip(x - g, limits.lb, limits.ub))


def _why(found: Any) -> Stop:
    """SciPy's end, in linad's statuses."""
    if not np.isfinite(found.fun):
        unbounded = found.fun == -np.inf
        return Stop(Status.UNBOUNDED if unbounded else Status.NOT_FINITE, f"f is {found.fun}")
    if found.status == 0:
        return Stop(Status.CONVERGED, str(found.message))
    if found.status == 1:
        return Stop(Status.MAXITER, str(found.message))
    words = str(found.message).rstrip(": ")
    return Stop(Status.STAGNATED, NO_LOWER if words == "ABNORMAL" else words)


def _bounds(bounds: Any, problem: Objective) -> Any:
    """Bounds for SciPy, from its own forms or from a pair of containers like x0."""
    from scipy.optimize import Bounds

    refuse_bounds_in_other_order("lbfgs", bounds, problem.x.given)
    sides = sides_of("lbfgs", bounds, problem.x.container(problem.x.start), of_vector=True)
    lower, upper = [tree.vector(side).astype(float) for side in sides]
    wrong = ~(lower <= upper)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise OptionError(
            f"lbfgs: bounds must have a lower end below an upper one, got "
            f"{lower[k]:g} and {upper[k]:g} for unknown {k}"
        )
    return Bounds(lower, upper)
