"""The trust-region method as a loop of a program: what `minimum` is once compiled.

Steps and tests are those of `linad.solve.trust_region`, with a limit of unknowns up to which the
Hessian at the end may be factorised: there no pivot may be negative, or the point may be a saddle.
Whatever else goes wrong stops the program; then Python runs the solver itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import jacobian, linearize
from linad.control.deciding import while_loop
from linad.control.loops import scan
from linad.core import tree
from linad.solve.compiled_krylov import length
from linad.solve.compiled_newton import CONVERGED, IN_TROUBLE, RUNNING, Loop, largest, options_of
from linad.solve.descent import DOUBT
from linad.solve.trust_region import trust_region
from linad.sweeps.assurances import assured

OPTIONS = frozenset(
    {"gtol", "xtol", "maxiter", "initial_trust_radius", "max_trust_radius", "check_minimum"}
)
STATIONARY = 3
"""The gradient is as small as was asked for, and the Hessian not yet looked at."""


class TrustRegionState(NamedTuple):
    """A point on its way to a minimum."""

    x: Any
    f: Any
    g: Any
    radius: Any
    steps: Any
    status: Any


class Step(NamedTuple):
    """Conjugate gradients within the region."""

    p: Any
    Hp: Any
    r: Any
    d: Any
    rr: Any
    k: Any
    edge: Any
    done: Any


def minimum_loop(
    f: Callable[..., Any], solver: Any, options: dict[str, Any]
) -> Callable[[Any], Loop | None] | None:
    """What a minimiser with these options is in a program, if that is known; see
    `linad.solve.implicit.ImplicitEquation`."""
    chosen = options_of(solver, trust_region, OPTIONS, options)
    if chosen is None:
        return None

    def loop(equation: Any) -> Loop | None:
        if equation.kind_of_system("auto") != "dense" or equation.x0.dtype.kind != "f":
            return None

        def value(x: Any, theta: Any) -> Any:
            y = f(equation.x0.container(x), *equation.theta.container(theta))
            return np.reshape(tree.flatten(y)[0][0], ())

        def search(x0: Any, theta: Any) -> Any:
            descent = _Descent(
                lambda x: value(x, theta),
                lambda x: equation.residual(x, theta),
                equation.eps,
                **chosen,
            )
            return assured(*descent.run(x0))

        return search

    return loop


class _Descent:
    """See `linad.solve.descent.Descent` and `linad.solve.trust_region.TrustRegion`."""

    def __init__(
        self,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any],
        eps: float,
        gtol: float | None,
        xtol: float | None,
        maxiter: int | None,
        initial_trust_radius: float,
        max_trust_radius: float,
        check_minimum: bool,
    ) -> None:
        self.value, self.gradient, self.eps = value, gradient, eps
        self.gtol, self.xtol, self.maxiter = gtol, xtol, maxiter
        self.radius, self.largest = float(initial_trust_radius), float(max_trust_radius)
        self.check_minimum = check_minimum

    def run(self, x0: Any) -> tuple[Any, Any]:
        """The last point, and whether it is a minimum."""
        n = x0.shape[0]
        maxiter = max(200, 10 * n) if self.maxiter is None else self.maxiter
        f, g = self.value(x0).astype(float), self.gradient(x0)
        first = length(g)
        gtol = self.eps**0.75 * largest(g) if self.gtol is None else self.gtol
        reach = (1.0 + length(x0)) / self.eps
        begun = self._status(f, g, gtol, 0, maxiter)
        s = while_loop(
            lambda s: s.status == RUNNING,
            lambda s: self._trial(s, first, gtol, reach, maxiter),
            TrustRegionState(x0, f, g, self.radius, 0, begun),
        )
        found = s.status == CONVERGED
        if not self.check_minimum:
            return s.x, found | (s.status == STATIONARY)
        H = jacobian(self.gradient)(s.x)
        return s.x, found | ((s.status == STATIONARY) & _is_convex(H, self.eps))

    def _status(self, f: Any, g: Any, gtol: Any, steps: Any, maxiter: int) -> Any:
        going = np.where(steps < maxiter, RUNNING, IN_TROUBLE)
        found = np.where(largest(g) <= gtol, STATIONARY, going)
        return np.where(np.isfinite(f) & np.isfinite(length(g)), found, IN_TROUBLE)

    def _trial(
        self, s: TrustRegionState, first: Any, gtol: Any, reach: Any, maxiter: int
    ) -> TrustRegionState:
        """A step, if it is one for the better; else a smaller region."""
        _, H = linearize(self.gradient, s.x)
        p, predicted, edge = _steihaug(H.pushforward, s.g, s.radius, first)
        x = s.x + p
        f, g = self.value(x).astype(float), self.gradient(x)
        noise = 10.0 * self.eps * np.abs(s.f)
        apart = np.abs(s.f - f)
        long, before, after = length(p), length(s.g), length(g)
        doubt = DOUBT * noise
        by_gradient = ~edge & (predicted <= doubt) & (apart <= doubt) & (after < 0.5 * before)
        minute = ~by_gradient & (predicted <= noise) & (apart <= noise)
        ratio = np.where(np.isfinite(f), (s.f - f) / predicted, -1.0)
        plain = ~by_gradient & ~minute
        accepted = by_gradient | (minute & (after < before)) | (plain & (ratio > 1e-4))
        wider = np.where(edge & (ratio > 0.75), np.minimum(2.0 * s.radius, self.largest), s.radius)
        radius = np.where(plain, np.where(ratio < 0.25, 0.25 * long, wider), s.radius)
        steps = s.steps + accepted
        following = np.where(accepted, self._status(f, g, gtol, steps, maxiter), RUNNING)
        if self.xtol is not None:
            scale = np.maximum(length(x), length(s.x))
            near = accepted & (long <= self.xtol * scale) & (following != IN_TROUBLE)
            following = np.where(near, CONVERGED, following)
        stuck = (minute & ~accepted) | (
            plain & ~accepted & (radius <= self.eps**2 * _or_one(length(s.x)))
        )
        rounded = np.False_
        if self.gtol is None:
            rounded = largest(s.g) <= np.sqrt(self.eps) * gtol / self.eps**0.75
            rounded = rounded & np.isfinite(f)
        following = np.where(stuck, np.where(rounded, CONVERGED, IN_TROUBLE), following)
        lost = ~(predicted > 0) | ~np.isfinite(long) | (np.maximum(length(x), length(s.x)) > reach)
        following = np.where(lost | (f == -np.inf), IN_TROUBLE, following)
        return TrustRegionState(
            np.where(accepted, x, s.x),
            np.where(accepted, f, s.f),
            np.where(accepted, g, s.g),
            radius,
            steps,
            following,
        )


def _or_one(x: Any) -> Any:
    return np.where(x > 0, x, 1.0)


def _steihaug(H: Any, g: Any, radius: Any, first: Any) -> tuple[Any, Any, Any]:
    """As `linad.solve.trust_region.steihaug`."""
    size = length(g)
    eps = float(np.finfo(g.dtype).eps)
    share = np.where(first > 0, np.minimum(0.5, np.sqrt(size / _or_one(first))), 0.5)
    goal = share * size

    def step(s: Step) -> Step:
        Hd = H(s.d)
        curvature = _dot(s.d, Hd)
        flat = eps * length(s.d) * length(Hd)
        bends = curvature > flat
        alpha = s.rr / np.where(bends, curvature, 1.0)
        inside = bends & np.isfinite(alpha) & (length(s.p + _times(alpha, s.d)) < radius)
        alpha = np.where(inside, alpha, _to_edge(s.p, s.d, radius))
        p, Hp = s.p + _times(alpha, s.d), s.Hp + _times(alpha, Hd)
        r = s.r + _times(alpha, Hd)
        rr = _dot(r, r)
        d = -r + _times(rr / _or_one(s.rr), s.d)
        return Step(p, Hp, r, d, rr, s.k + 1, ~inside, ~inside | (np.sqrt(rr) <= goal))

    none = np.zeros_like(g)
    start = Step(none, none, g, -g, _dot(g, g), 0, np.False_, np.False_)
    most = 2 * g.shape[0] + 10
    s = while_loop(lambda s: ~s.done & (s.k < most), step, start)
    return s.p, -(_dot(g, s.p) + 0.5 * _dot(s.p, s.Hp)), s.edge


def _to_edge(p: Any, d: Any, radius: Any) -> Any:
    a, b, c = _dot(d, d), _dot(p, d), _dot(p, p) - radius * radius
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    return np.where(b > 0, -c / np.where(b > 0, b + root, 1.0), (root - b) / _or_one(a))


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b).astype(float)


def _times(alpha: Any, x: Any) -> Any:
    return alpha.astype(x.dtype) * x


def _is_convex(H: Any, eps: float) -> Any:
    """Whether no pivot of the Hessian, a little heavier on its diagonal, is negative."""
    n = H.shape[0]
    heavier = np.sqrt(eps) * np.max(np.abs(np.diagonal(H)))
    H = 0.5 * (H + H.T) + (heavier * np.eye(n)).astype(H.dtype)

    def pivot(carry: Any, j: Any) -> Any:
        A, least = carry
        row = A[j]
        d = row[j]
        A = A - row[:, None] * (row / np.where(d > 0, d, 1.0))
        return (A, np.minimum(least, d)), None

    (_, least), _ = scan(pivot, (H, H[0, 0]), np.arange(n))
    return least > 0
