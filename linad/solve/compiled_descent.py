"""Minima by second derivatives as loops of a program: what the methods of
`linad.solve.descent.Descent` share.

Steps and tests are those of the solvers, with a limit of unknowns up to which the Hessian at the
end may be factorised: there no pivot may be negative, or the point may be a saddle, and Newton's
step may promise no more than f can tell. Whatever else goes wrong stops the program; then Python
runs the solver itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from linad.api.derivatives import jacobian
from linad.control.deciding import while_loop
from linad.control.loops import scan
from linad.solve.compiled_krylov import length
from linad.solve.compiled_newton import CONVERGED, IN_TROUBLE, RUNNING, largest
from linad.solve.descent import DOUBT
from linad.solve.scale_free import FEW, FLAT

STATIONARY = 3
"""The gradient is as small as was asked for, and the Hessian not yet looked at."""


class DescentState(NamedTuple):
    """A point on its way to a minimum."""

    x: Any
    f: Any
    g: Any
    own: Any  # what the method keeps
    steps: Any
    status: Any


class DescentTrial(NamedTuple):
    """What a method proposes."""

    x: Any
    f: Any
    g: Any
    own: Any
    accepted: Any
    stuck: Any  # whether f cannot be told from its neighbours
    lost: Any  # whether a product with the Hessian was not finite


class DescentMethod(Protocol):
    """How steps are found."""

    first: Any
    """What it keeps at first."""

    def __call__(self, search: "CompiledDescent", s: DescentState, first: Any) -> DescentTrial:
        """A step from a point, in a descent whose first gradient had the length ``first``."""
        ...


class CompiledDescent:
    """See `linad.solve.descent.Descent`."""

    def __init__(
        self,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any],
        eps: float,
        method: DescentMethod,
        gtol: float | None,
        xtol: float | None,
        maxiter: int | None,
        check_minimum: bool,
    ) -> None:
        self._value, self.gradient, self.eps, self.method = value, gradient, eps, method
        self.gtol, self.xtol, self.maxiter = gtol, xtol, maxiter
        self.check_minimum = check_minimum

    def value(self, x: Any) -> Any:
        """f, in double precision."""
        return self._value(x).astype(float)

    def run(self, x0: Any) -> tuple[Any, Any]:
        """The last point, and whether it is a minimum."""
        n = x0.shape[0]
        maxiter = max(200, 10 * n) if self.maxiter is None else self.maxiter
        f, g = self.value(x0), self.gradient(x0)
        first = length(g)
        gtol = self.eps**0.75 * largest(g) if self.gtol is None else self.gtol
        self.reach = (1.0 + length(x0)) / self.eps
        begun = self._status(f, g, gtol, 0, maxiter)
        s = while_loop(
            lambda s: s.status == RUNNING,
            lambda s: self._after(s, self.method(self, s, first), gtol, maxiter),
            DescentState(x0, f, g, self.method.first, 0, begun),
        )
        found, stationary = s.status == CONVERGED, s.status == STATIONARY
        if not self.check_minimum and (self.gtol is not None or n > FEW):
            return s.x, found | stationary
        H = jacobian(self.gradient)(s.x)
        convex = _is_convex(H, self.eps) if self.check_minimum else True
        lowest = True
        if self.gtol is None and n <= FEW:
            told = DOUBT * self.noise(s) + self.eps**0.75 * np.maximum(f - s.f, 0.0)
            lowest = _promised(H, s.g, self.eps) <= told
        return s.x, (found | (stationary & convex)) & lowest

    def noise(self, s: DescentState) -> Any:
        """Rounding error of f."""
        return 10.0 * self.eps * np.abs(s.f)

    def better_by_gradient(self, s: DescentState, f: Any, g: Any, predicted: Any) -> Any:
        """See `linad.solve.descent.Descent.better_by_gradient`."""
        doubt = DOUBT * self.noise(s)
        in_doubt = (predicted <= doubt) & (np.abs(s.f - f) <= doubt)
        return in_doubt & (length(g) < 0.5 * length(s.g))

    def _status(self, f: Any, g: Any, gtol: Any, steps: Any, maxiter: int) -> Any:
        going = np.where(steps < maxiter, RUNNING, IN_TROUBLE)
        found = np.where(largest(g) <= gtol, STATIONARY, going)
        return np.where(np.isfinite(f) & np.isfinite(length(g)), found, IN_TROUBLE)

    def _after(self, s: DescentState, t: DescentTrial, gtol: Any, maxiter: int) -> DescentState:
        """The next state: where a step is for the better, there."""
        steps = s.steps + t.accepted
        following = np.where(t.accepted, self._status(t.f, t.g, gtol, steps, maxiter), RUNNING)
        scale = np.maximum(length(t.x), length(s.x))
        if self.xtol is not None:
            near = t.accepted & (length(t.x - s.x) <= self.xtol * scale)
            near = near & (following != IN_TROUBLE)
            following = np.where(near, CONVERGED, following)
        rounded = np.False_
        if self.gtol is None:
            rounded = largest(s.g) <= np.sqrt(self.eps) * gtol / self.eps**0.75
            rounded = rounded & np.isfinite(t.f)
        following = np.where(t.stuck, np.where(rounded, CONVERGED, IN_TROUBLE), following)
        lost = t.lost | (scale > self.reach) | (t.f == -np.inf)
        following = np.where(lost, IN_TROUBLE, following)
        return DescentState(
            np.where(t.accepted, t.x, s.x),
            np.where(t.accepted, t.f, s.f),
            np.where(t.accepted, t.g, s.g),
            t.own,
            steps,
            following,
        )


def or_one(x: Any) -> Any:
    return np.where(x > 0, x, 1.0)


def dot(a: Any, b: Any) -> Any:
    return np.sum(a * b).astype(float)


def times(alpha: Any, x: Any) -> Any:
    return alpha.astype(x.dtype) * x


def forcing(size: Any, first: Any) -> Any:
    """As `linad.solve.descent.forcing`."""
    return np.where(first > 0, np.minimum(0.5, np.sqrt(size / or_one(first))), 0.5)


def _promised(H: Any, g: Any, eps: float) -> Any:
    """By how much f comes down in its model, whatever the units of the unknowns: g^T H^-1 g / 2 by
    elimination; of what is flat, none. Where H is not definite it may be too little."""
    n = H.shape[0]
    d = np.abs(np.diagonal(H))
    S = 1.0 / np.sqrt(np.where(d > 0, d, 1.0))
    flat = FLAT * n * eps

    def eliminated(carry: Any, j: Any) -> Any:
        A, b, total = carry
        row, known = A[j], b[j]
        pivot = np.where(np.abs(row[j]) > flat, row[j], np.inf)
        A = A - row[:, None] * (row / pivot)
        b = b - row * (known / pivot)
        return (A, b, total + known * known / np.abs(pivot)), None

    A, b = 0.5 * (H + H.T) * S[:, None] * S, S * g
    (_, _, total), _ = scan(eliminated, (A, b, 0.0 * b[0]), np.arange(n))
    return 0.5 * total.astype(float)


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
