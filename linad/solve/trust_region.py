"""Trust-region minimisation with Steihaug's conjugate gradients.

    minimise  m(p) = f + gᵀp + pᵀH p / 2    subject to  |p| <= Δ

Conjugate gradients run until the residual is small, until they would leave the region, or until
they meet curvature <= 0; in the last two cases the step ends on the boundary. The radius Δ
follows the ratio of the actual to the predicted decrease: a quarter of |p| below 1/4, twice Δ
above 3/4 on the boundary.

Sources: T. Steihaug, "The conjugate gradient method and trust regions in large scale
optimization", SIAM Journal on Numerical Analysis 20, 1983. A. R. Conn, N. I. M. Gould,
P. L. Toint, "Trust-Region Methods", 2000, section 17.4 (rounding).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import POSITIVE, takes
from linad.errors import OptionError
from linad.solve.descent import COLUMNS, DESCENDING, Descent, descent, forcing
from linad.solve.status import Callback, Monitor, Status, Stop


@takes(initial_trust_radius=POSITIVE, max_trust_radius=POSITIVE, **DESCENDING)
def trust_region(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: None = None,
    constraints: Any = (),
    callback: Callback = None,
    gtol: float | None = None,
    xtol: float | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
    initial_trust_radius: float = 1.0,
    max_trust_radius: float = np.inf,
    check_minimum: bool = True,
    disp: bool = False,
) -> Any:
    """Minimise ``fun`` by a trust-region method with Hessian products.

    Also usable as ``scipy.optimize.minimize(fun, x0, method=linad.solve.trust_region)``.

    Parameters
    ----------
    fun, x0, args, jac, hess, hessp, bounds, constraints, callback
        As for `newton_cg`.
    gtol, xtol, tol, maxiter, check_minimum, disp
        As for `newton_cg`.
    initial_trust_radius, max_trust_radius : float
        The first and the largest Δ.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `newton_cg`.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``fun`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

    Notes
    -----
    As `newton_cg`, and one run of ``fun`` for each step tried. It makes good use of negative
    curvature, so it is the safer one far from a minimum.

    Examples
    --------
    >>> import numpy as np, linad
    >>> f = lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2     # (0, 0) is a saddle point
    >>> abs(linad.solve.trust_region(f, np.array([0.0, 0.0])).x.round(8))
    array([1., 0.])
    """
    if not initial_trust_radius <= max_trust_radius:
        raise OptionError(
            f"trust_region: expected initial_trust_radius <= max_trust_radius, got "
            f"{initial_trust_radius!r} and {max_trust_radius!r}"
        )
    search = descent(
        "trust_region",
        fun,
        x0,
        args,
        (jac, hess, hessp),
        (bounds, constraints),
        (gtol, xtol, tol),
        maxiter,
        check_minimum,
    )
    region = TrustRegion(initial_trust_radius, max_trust_radius, float(np.linalg.norm(search.g)))
    return search.run(region.step, Monitor("trust_region", callback, disp, COLUMNS))


HELD_BACK = 20
"""Steps that end at the edge of a region, one after the other, before others are tried."""


class TrustRegion:
    """The radius, and the steps within it."""

    def __init__(self, radius: float, largest: float, first: float) -> None:
        self.radius, self.largest, self.first = radius, largest, first
        self.held_back = 0

    def _note(self, search: Descent, edge: bool) -> None:
        """Go on by Newton's steps, which know no units, where the region holds one step after the
        other back: where unknowns are of unlike sizes it is as small as the smallest asks for."""
        self.held_back = self.held_back + 1 if edge else 0
        if self.held_back >= HELD_BACK:
            self.held_back, search.by_newton = 0, True

    def step(self, search: Descent) -> Any:
        """The next point; the region shrinks until the model can be trusted."""
        finite = False
        if search.leap:  # which says more of how far to go here than the radius before it
            self.radius = min(max(self.radius, search.leap), self.largest)
            search.leap = 0.0
        while True:
            p, predicted, edge = steihaug(search.H, search.g, self.radius, self.first)
            length = float(np.linalg.norm(p))
            if not np.isfinite(length) or not predicted > 0:
                raise Stop(Status.NOT_FINITE, "in a product with the Hessian")
            x = search.at(p)
            value = search.problem.value(x)
            finite = finite or bool(np.isfinite(value))
            if not edge and search.better_by_gradient(x, value, predicted):
                return x
            if predicted <= search.noise and abs(search.f - value) <= search.noise:
                # Within rounding of f. The gradient can tell whether the step is for the better.
                if not search.gradient_falls(x):
                    search.stuck()
                return x
            ratio = (search.f - value) / predicted if np.isfinite(value) else -1.0
            if value == -np.inf:
                ratio = 1.0
            if ratio < 0.25:
                self.radius = 0.25 * length
            elif ratio > 0.75 and edge:
                self.radius = min(2.0 * self.radius, self.largest)
            if ratio > 1e-4:
                self._note(search, edge)
                return x
            if self.radius <= search.eps**2 * (float(np.linalg.norm(search.x)) or 1.0):
                search.stuck(finite)


def steihaug(H: Any, g: Array, radius: float, first: float) -> tuple[Any, float, bool]:
    """The step in a region, how much lower the model is there, and whether it ends on the edge."""
    size = float(np.linalg.norm(g))
    goal = forcing(size, first) * size
    eps = float(np.finfo(g.dtype).eps)
    p, Hp = np.zeros_like(g), np.zeros_like(g)
    r = g.copy()
    d = -r
    rr = float(r @ r)
    for _ in range(2 * g.size + 10):
        Hd = H @ d
        if not np.isfinite(Hd).all():  # as at a kink, of which the model has the slope alone
            Hd = np.zeros_like(d)
        curvature = float(d @ Hd)
        flat = eps * float(np.linalg.norm(d) * np.linalg.norm(Hd))
        alpha = rr / curvature if curvature > flat else np.nan
        if not np.isfinite(alpha) or np.linalg.norm(p + alpha * d) >= radius:
            alpha = _to_edge(p, d, radius)
            p, Hp = p + alpha * d, Hp + alpha * Hd
            return p, -float(g @ p + 0.5 * (p @ Hp)), True
        p, Hp = p + alpha * d, Hp + alpha * Hd
        r = r + alpha * Hd
        before, rr = rr, float(r @ r)
        if np.sqrt(rr) <= goal:
            break
        d = -r + (rr / before) * d
    return p, -float(g @ p + 0.5 * (p @ Hp)), False


def _to_edge(p: Array, d: Array, radius: float) -> float:
    """The α > 0 with |p + α d| = radius, by the form of the root that does not cancel."""
    a, b, c = float(d @ d), float(p @ d), float(p @ p) - radius**2
    root = np.sqrt(max(b * b - a * c, 0.0))
    return -c / (b + root) if b > 0 else (root - b) / a
