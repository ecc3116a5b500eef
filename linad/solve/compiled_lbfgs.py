"""L-BFGS as a loop of a program: what `linad.solve.lbfgs` is without bounds.

    d = -H g        H <- V^T H V + ρ s s^T,  V = I - ρ y s^T,  ρ = 1 / s^T y

for the latest steps s and changes y of the gradient, the oldest first, from H = I s^T y / y^T y of
the newest. Then a search along d (`linad.solve.compiled_wolfe`). Steps and tests are those of
SciPy's L-BFGS-B, in double precision, and the numbers agree to rounding. Where a search comes to no
end the program stops; then SciPy runs.

Source: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of
Computation 35, 1980.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import while_loop
from linad.control.loops import counted_scan
from linad.solve.compiled_krylov import length
from linad.solve.compiled_newton import CONVERGED, IN_TROUBLE, RUNNING, largest
from linad.solve.compiled_wolfe import searched
from linad.solve.lbfgs import STALLED

EPS = float(np.finfo(float).eps)


class Pairs(NamedTuple):
    """The latest steps and changes of the gradient, the newest first."""

    s: Any  # (most, n)
    y: Any
    rho: Any  # (most,)
    scale: Any  # of the newest, s^T y / y^T y
    count: Any


class LbfgsState(NamedTuple):
    """A point on its way to a minimum."""

    x: Any
    f: Any
    g: Any
    pairs: Pairs
    steps: Any
    evaluations: Any
    status: Any


class Lbfgs:
    """See `linad.solve.lbfgs`.

    Parameters
    ----------
    value_and_gradient : callable
        Of points in double precision, and returns such.
    ftol, gtol, maxcor, maxiter, maxfun, maxls
        As the solver takes them.
    """

    def __init__(
        self,
        value_and_gradient: Callable[[Any], tuple[Any, Any]],
        ftol: float,
        gtol: float,
        maxcor: int,
        maxiter: int,
        maxfun: int,
        maxls: int,
    ) -> None:
        self.value_and_gradient = value_and_gradient
        self.ftol, self.gtol, self.most = ftol, gtol, maxcor
        self.maxiter, self.maxfun, self.maxls = maxiter, maxfun, maxls

    def run(self, x0: Any) -> tuple[Any, Any]:
        """The last point, and whether it is a minimum."""
        f, g = self.value_and_gradient(x0)
        first = largest(g)
        none = np.zeros((self.most, x0.shape[0]))
        pairs = Pairs(none, none, np.zeros(self.most), 1.0, 0)
        going = np.where(self.maxiter > 0, RUNNING, IN_TROUBLE)
        status = np.where(first <= self.gtol, CONVERGED, going)
        status = np.where(np.isfinite(f) & np.isfinite(first), status, IN_TROUBLE)
        start = LbfgsState(x0, f, g, pairs, 0, 1, status)
        s = while_loop(lambda s: s.status == RUNNING, self._step, start)
        stalled = largest(s.g) > np.maximum(self.gtol, STALLED * first)
        return s.x, (s.status == CONVERGED) & ~stalled

    def _step(self, s: LbfgsState) -> LbfgsState:
        d = -_product(s.pairs, s.g)
        slope, long = np.sum(s.g * d), length(d)
        alpha = np.where(s.steps == 0, np.minimum(1.0 / long, 1e10), 1.0)

        def phi(alpha: Any) -> tuple[Any, Any, Any]:
            x = s.x + alpha * d
            f, g = self.value_and_gradient(x)
            return f, np.sum(g * d), (x, g)

        found = searched(phi, s.f, slope, alpha, self.maxls)
        (x, g), f = found.found, found.trial.value
        steps, evaluations = s.steps + 1, s.evaluations + found.evaluations
        small = largest(g) <= self.gtol
        scale = np.maximum(np.maximum(np.abs(s.f), np.abs(f)), 1.0)
        flat = s.f - f <= self.ftol * scale
        within = (steps < self.maxiter) & (evaluations <= self.maxfun)
        status = np.where(small | flat, CONVERGED, np.where(within, RUNNING, IN_TROUBLE))
        sound = found.sound & (slope < 0) & np.isfinite(long) & np.isfinite(largest(g))
        pairs = _with_pair(s.pairs, x - s.x, g - s.g, -found.trial.alpha * slope)
        return LbfgsState(x, f, g, pairs, steps, evaluations, np.where(sound, status, IN_TROUBLE))


def _with_pair(pairs: Pairs, s: Any, y: Any, decrease: Any) -> Pairs:
    """With one pair more, unless its curvature is lost in rounding; the oldest goes."""
    curvature, square = np.sum(s * y), np.sum(y * y)
    kept = curvature > EPS * decrease
    rho = 1.0 / np.where(kept, curvature, 1.0)
    return Pairs(
        np.where(kept, np.concatenate([s[None], pairs.s[:-1]]), pairs.s),
        np.where(kept, np.concatenate([y[None], pairs.y[:-1]]), pairs.y),
        np.where(kept, np.concatenate([rho[None], pairs.rho[:-1]]), pairs.rho),
        np.where(kept, curvature / np.where(kept, square, 1.0), pairs.scale),
        np.where(kept, np.minimum(pairs.count + 1, pairs.rho.shape[0]), pairs.count),
    )


def _product(pairs: Pairs, g: Any) -> Any:
    """H g."""

    def before(q: Any, row: Any) -> tuple[Any, Any]:
        s, y, rho = row
        a = rho * np.sum(s * q)
        return q - a * y, a

    def after(z: Any, row: Any) -> tuple[Any, Any]:
        s, y, rho, a = row
        return z + (a - rho * np.sum(y * z)) * s, None

    rows = pairs.s, pairs.y, pairs.rho
    q, a = counted_scan(before, g, rows, pairs.count)
    return counted_scan(after, pairs.scale * q, (*rows, a), pairs.count, reverse=True)[0]
