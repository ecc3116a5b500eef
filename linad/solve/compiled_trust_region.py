"""Steps of `linad.solve.trust_region` in programs."""

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


class RegionSteps:
    """See `linad.solve.trust_region.TrustRegion`; it keeps the radius."""

    def __init__(self, initial_trust_radius: float, max_trust_radius: float) -> None:
        self.first, self.largest = float(initial_trust_radius), float(max_trust_radius)

    def __call__(self, search: CompiledDescent, s: DescentState, first: Any) -> DescentTrial:
        """A step, if it is one for the better; else a smaller region."""
        before = s.own
        _, H = linearize(search.gradient, s.x)
        p, predicted, edge = _steihaug(H.pushforward, s.g, before, first)
        x = s.x + p
        f, g = search.value(x), search.gradient(x)
        noise, long = search.noise(s), length(p)
        by_gradient = ~edge & search.better_by_gradient(s, f, g, predicted)
        minute = ~by_gradient & (predicted <= noise) & (np.abs(s.f - f) <= noise)
        ratio = np.where(np.isfinite(f), (s.f - f) / predicted, -1.0)
        plain = ~by_gradient & ~minute
        down = minute & (length(g) < length(s.g))
        accepted = by_gradient | down | (plain & (ratio > 1e-4))
        wider = np.where(edge & (ratio > 0.75), np.minimum(2.0 * before, self.largest), before)
        radius = np.where(plain, np.where(ratio < 0.25, 0.25 * long, wider), before)
        tiny = radius <= search.eps**2 * or_one(length(s.x))
        stuck = ~accepted & (minute | (plain & tiny))
        lost = ~(predicted > 0) | ~np.isfinite(long)
        return DescentTrial(x, f, g, radius, accepted, stuck, lost)


class InnerRegion(NamedTuple):
    """Conjugate gradients within the region."""

    p: Any
    Hp: Any
    r: Any
    d: Any
    rr: Any
    k: Any
    edge: Any
    done: Any


def _steihaug(H: Any, g: Any, radius: Any, first: Any) -> tuple[Any, Any, Any]:
    """As `linad.solve.trust_region.steihaug`."""
    size = length(g)
    eps = float(np.finfo(g.dtype).eps)
    goal = forcing(size, first) * size

    def step(s: InnerRegion) -> InnerRegion:
        Hd = H(s.d)
        curvature = dot(s.d, Hd)
        flat = eps * length(s.d) * length(Hd)
        bends = curvature > flat
        alpha = s.rr / np.where(bends, curvature, 1.0)
        inside = bends & np.isfinite(alpha) & (length(s.p + times(alpha, s.d)) < radius)
        alpha = np.where(inside, alpha, _to_edge(s.p, s.d, radius))
        p, Hp = s.p + times(alpha, s.d), s.Hp + times(alpha, Hd)
        r = s.r + times(alpha, Hd)
        rr = dot(r, r)
        d = -r + times(rr / or_one(s.rr), s.d)
        return InnerRegion(p, Hp, r, d, rr, s.k + 1, ~inside, ~inside | (np.sqrt(rr) <= goal))

    none = np.zeros_like(g)
    start = InnerRegion(none, none, g, -g, dot(g, g), 0, np.False_, np.False_)
    most = 2 * g.shape[0] + 10
    s = while_loop(lambda s: ~s.done & (s.k < most), step, start)
    return s.p, -(dot(g, s.p) + 0.5 * dot(s.p, s.Hp)), s.edge


def _to_edge(p: Any, d: Any, radius: Any) -> Any:
    a, b, c = dot(d, d), dot(p, d), dot(p, p) - radius * radius
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    return np.where(b > 0, -c / np.where(b > 0, b + root, 1.0), (root - b) / or_one(a))
