"""Steps of `linad.solve.newton_cg` in programs."""

from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import linearize
from linad.control.deciding import while_loop
from linad.solve.compiled_descent import (
    CompiledDescent,
    DescentState,
    DescentTrial,
    dot,
    forcing,
    or_one,
    times,
)
from linad.solve.compiled_krylov import length
from linad.solve.compiled_linesearch import backtracked
from linad.solve.compiled_newton import largest
from linad.solve.descent import DOUBT


class LineSteps:
    """A direction by truncated conjugate gradients, and a search along it."""

    first: Any = ()

    def __call__(self, search: CompiledDescent, s: DescentState, first: Any) -> DescentTrial:
        _, H = linearize(search.gradient, s.x)
        size, unit = length(s.g), largest(s.g)
        # In units of the gradient, whose square may be out of range.
        p, curved = _truncated(H.pushforward, times(1.0 / unit, s.g), forcing(size, first))
        p = times(np.where(curved, 1.0, unit), p)
        lost = ~np.isfinite(length(p))
        downhill = dot(s.g, p) < 0
        p = np.where(downhill, p, -s.g)
        reach = or_one(length(s.x))
        p = times(np.where(curved, reach / or_one(length(p)), 1.0), p)
        long, slope = length(p), dot(s.g, p)

        def at(alpha: Any) -> Any:
            return s.x + times(alpha, p)

        def phi(alpha: Any) -> tuple[Any, Any]:
            return search.value(at(alpha)), ()

        noise, full = search.noise(s), at(np.float64(1.0))
        f, g = search.value(full), search.gradient(full)
        sure = ~curved & (-0.5 * slope <= DOUBT * noise)
        sure = sure & search.better_by_gradient(s, f, g, -0.5 * slope)
        smallest = np.minimum(1e-3 * search.eps * reach / or_one(long), 1e-3)
        found = backtracked(phi, s.f, slope, smallest, noise)
        down = found.alpha >= smallest
        alpha = _further(phi, found, curved & down, long, search.reach)
        x = at(np.where(sure, 1.0, np.where(down, alpha, 0.0)))
        f, g = search.value(x), search.gradient(x)
        # Within rounding of f the gradient can still tell whether the step is for the better.
        told = (s.f - f > noise) | (length(g) < length(s.g))
        accepted = sure | (down & told)
        lost = lost | ~(long > 0) | (~accepted & ~found.finite)
        return DescentTrial(x, f, g, (), accepted, ~accepted, lost)


class InnerCg(NamedTuple):
    """Truncated conjugate gradients."""

    p: Any
    r: Any
    d: Any
    rr: Any
    k: Any
    curved: Any
    done: Any


def _truncated(H: Any, g: Any, eta: Any) -> tuple[Any, Any]:
    """As `linad.solve.newton_cg.truncated_cg`, without a preconditioner."""
    eps = float(np.finfo(g.dtype).eps)
    goal = eta * length(g)

    def step(s: InnerCg) -> InnerCg:
        Hd = H(s.d)
        curvature = dot(s.d, Hd)
        bends = curvature > eps * length(s.d) * length(Hd)
        along = or_one(length(s.p)) / length(s.d)
        alpha = np.where(bends, s.rr / np.where(bends, curvature, 1.0), along)
        r = s.r + times(alpha, Hd)
        rr = dot(r, r)
        d = -r + times(rr / or_one(s.rr), s.d)
        done = ~bends | (np.sqrt(rr) <= goal)
        return InnerCg(s.p + times(alpha, s.d), r, d, rr, s.k + 1, ~bends, done)

    start = InnerCg(np.zeros_like(g), g, -g, dot(g, g), 0, np.False_, np.False_)
    most = 2 * g.shape[0] + 10
    s = while_loop(lambda s: ~s.done & (s.k < most), step, start)
    return s.p, s.curved


class Doubled(NamedTuple):
    """A step along a direction in which the model has no minimum."""

    alpha: Any
    value: Any
    goes_on: Any


def _further(phi: Any, found: Any, curved: Any, long: Any, reach: Any) -> Any:
    """How far f comes down along a direction, by doubling."""

    def doubled(s: Doubled) -> Doubled:
        alpha = 2.0 * s.alpha
        value, _ = phi(alpha)
        lower = value < s.value
        return Doubled(
            np.where(lower, alpha, s.alpha),
            np.where(lower, value, s.value),
            lower & (alpha * long < reach),
        )

    start = Doubled(found.alpha, found.value, curved & (found.alpha * long < reach))
    return while_loop(lambda s: s.goes_on, doubled, start).alpha
