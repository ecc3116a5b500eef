"""A search along a direction for a step that satisfies the strong Wolfe conditions, as a loop of a
program.

    φ(α) <= φ(0) + μ α φ'(0)        |φ'(α)| <= η |φ'(0)|

An interval that holds such an α is found, and made smaller by cubic and quadratic interpolation.
SciPy's L-BFGS-B searches in the same way. Until a point of low enough φ with a rising slope is met
ψ(α) = φ(α) - μ α φ'(0) takes the place of φ, where that makes the interval safe.

Source: J. J. Moré, D. J. Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM
Transactions on Mathematical Software 20, 1994.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import while_loop

DECREASE, CURVATURE, NARROW = 1e-3, 0.9, 0.1
"""μ, η, and the relative width of an interval at which the search ends."""

NEAREST, FURTHEST = 1.1, 4.0
"""How far a step is extended while there is no interval, at least and at most."""

SHARE = 0.66
"""Part of an interval that a step may leave, and to which two steps must shrink it."""

HIGHEST = 1e10
"""The largest step."""


class End(NamedTuple):
    """A step, with the value and the slope there."""

    alpha: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    """A search on its way."""

    best: End  # the best end of the interval
    other: End
    trial: End
    found: Any  # what belongs to the trial
    between: Any  # whether the interval holds a good step
    early: Any  # whether ψ may take the place of φ
    low: Any  # of the interval, or of the extension
    high: Any
    width: Any
    before: Any  # the width before
    evaluations: Any
    done: Any
    sound: Any


def searched(
    phi: Callable[[Any], tuple[Any, Any, Any]], value: Any, slope: Any, alpha: Any, most: int
) -> Search:
    """Find a step along a direction.

    Parameters
    ----------
    phi : callable
        ``phi(alpha) -> (value, slope, what belongs to them)``.
    value, slope : Tracer
        φ(0), and φ'(0) < 0.
    alpha : Tracer
        The first trial.
    most : int
        Evaluations.

    Returns
    -------
    Search
        ``trial`` is the step, and ``found`` what belongs to it, if ``sound``. As with SciPy a
        step that only the width of the interval has ended is sound too.
    """

    def judged(s: Search) -> Search:
        alpha, v, d = s.trial
        low_enough = v <= value + DECREASE * alpha * slope
        good = low_enough & (np.abs(d) <= -CURVATURE * slope)
        outside = s.between & ((alpha <= s.low) | (alpha >= s.high))
        narrow = s.between & (s.high - s.low <= NARROW * s.high)
        top = (alpha == HIGHEST) & low_enough & (d <= DECREASE * slope)
        finite = np.isfinite(v) & np.isfinite(d)
        evaluations = s.evaluations + 1
        ended = (good | outside | narrow | top) & finite
        return s._replace(
            early=s.early & ~(low_enough & (d >= 0.0)),
            evaluations=evaluations,
            done=ended | ~finite | (evaluations >= most),
            sound=ended,
        )

    def step(s: Search) -> Search:
        s, alpha = _narrowed(s, value, DECREASE * slope)
        v, d, found = phi(alpha)
        return judged(s._replace(trial=End(alpha, v, d), found=found))

    zero = End(np.zeros_like(alpha), value, slope)
    v, d, found = phi(alpha)
    start = Search(
        zero,
        zero,
        End(alpha, v, d),
        found,
        np.False_,
        np.True_,
        np.zeros_like(alpha),
        alpha + FURTHEST * alpha,
        HIGHEST,
        2.0 * HIGHEST,
        0,
        np.False_,
        np.False_,
    )
    return while_loop(lambda s: ~s.done, step, judged(start))  # type: ignore[no-any-return]


def _narrowed(s: Search, value: Any, rate: Any) -> tuple[Search, Any]:
    """The interval after a trial, and the next step; ``rate`` is μ φ'(0)."""
    t = s.trial
    by_psi = s.early & (t.value <= s.best.value) & (t.value > value + t.alpha * rate)
    tilt = np.where(by_psi, rate, 0.0)
    best, other, tried = (_tilted(e, -tilt) for e in (s.best, s.other, t))
    best, other, between, alpha = _next(best, other, tried, s.between, s.low, s.high)
    best, other = _tilted(best, tilt), _tilted(other, tilt)
    apart = np.abs(other.alpha - best.alpha)
    slow = between & (apart >= SHARE * s.before)
    alpha = np.where(slow, best.alpha + 0.5 * (other.alpha - best.alpha), alpha)
    gone = alpha - best.alpha
    low = np.where(between, np.minimum(best.alpha, other.alpha), alpha + NEAREST * gone)
    high = np.where(between, np.maximum(best.alpha, other.alpha), alpha + FURTHEST * gone)
    alpha = np.clip(alpha, 0.0, HIGHEST)
    spent = (alpha <= low) | (alpha >= high) | (high - low <= NARROW * high)
    alpha = np.where(between & spent, best.alpha, alpha)
    narrowed = s._replace(
        best=best,
        other=other,
        between=between,
        low=low,
        high=high,
        width=np.where(between, apart, s.width),
        before=np.where(between, s.width, s.before),
    )
    return narrowed, alpha


def _tilted(e: End, rate: Any) -> End:
    return End(e.alpha, e.value + rate * e.alpha, e.slope + rate)


def _next(
    best: End, other: End, t: End, between: Any, low: Any, high: Any
) -> tuple[End, End, Any, Any]:
    """The ends of the interval after a trial, whether there is one, and the next step."""
    higher = t.value > best.value
    turned = t.slope * np.sign(best.slope) < 0.0
    flatter = np.abs(t.slope) < np.abs(best.slope)
    gone = t.alpha - best.alpha
    secant = t.alpha - _ratio(t.slope, t.slope - best.slope) * gone
    # 1. A higher value: the minimum lies between. Towards the cubic's, which is the nearer one.
    cubic, _ = _cubic(best, t)
    chord = _ratio(best.value - t.value, gone)
    quadratic = best.alpha + 0.5 * _ratio(best.slope, chord + best.slope) * gone
    near = np.abs(cubic - best.alpha) < np.abs(quadratic - best.alpha)
    first = np.where(near, cubic, cubic + 0.5 * (quadratic - cubic))
    # 2. Slopes of opposite signs: it lies between. The step that goes further from the trial.
    back, ahead = _cubic(t, best)
    second = np.where(np.abs(back - t.alpha) > np.abs(secant - t.alpha), back, secant)
    # 3. A slope of the same sign, and flatter: the cubic may have no minimum ahead.
    limit = np.where(gone > 0, high, low)
    reached = np.where(ahead, back, limit)
    closer = np.abs(reached - t.alpha) < np.abs(secant - t.alpha)
    inside = np.where(closer, reached, secant)
    most = t.alpha + SHARE * (other.alpha - t.alpha)
    inside = np.where(gone > 0, np.minimum(most, inside), np.maximum(most, inside))
    third = np.where(between, inside, np.clip(np.where(closer, secant, reached), low, high))
    # 4. A slope that is not flatter: on to the other end, or as far as may be.
    fourth = np.where(between, _cubic(t, other)[0], limit)
    alpha = np.where(flatter, third, fourth)
    alpha = np.where(higher, first, np.where(turned, second, alpha))
    replaced = _chosen(higher, t, _chosen(turned, best, other))
    return _chosen(higher, best, t), replaced, between | higher | turned, alpha


def _chosen(which: Any, a: End, b: End) -> End:
    return End(*[np.where(which, x, y) for x, y in zip(a, b, strict=True)])


def _ratio(a: Any, b: Any) -> Any:
    return a / np.where(b != 0, b, 1.0)


def _cubic(a: End, b: End) -> tuple[Any, Any]:
    """Where the cubic through two ends has its minimum, and whether that is not beyond a, seen
    from b."""
    far = b.alpha - a.alpha
    theta = 3.0 * _ratio(a.value - b.value, far) + a.slope + b.slope
    size = np.maximum(np.abs(theta), np.maximum(np.abs(a.slope), np.abs(b.slope)))
    size = np.where(size > 0, size, 1.0)
    inside = (theta / size) ** 2 - (a.slope / size) * (b.slope / size)
    gamma = size * np.sqrt(np.maximum(inside, 0.0))
    gamma = np.where(far < 0, -gamma, gamma)
    r = _ratio(gamma - a.slope + theta, 2.0 * gamma - a.slope + b.slope)
    return a.alpha + r * far, (r < 0) & (gamma != 0)
