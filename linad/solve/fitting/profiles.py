"""Profile intervals: how far a parameter can go before the best fit of the others is too bad.

    τ(θ) = ± sqrt((S(θ) - S) / s²)        S(θ) the least sum of squares with the parameter at θ

The interval ends where |τ| is the quantile that a linear model would have there.

Source: D. M. Bates, D. G. Watts, "Nonlinear regression analysis and its applications", 1988.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.patience import Patience
from linad.solve.fitting.parameters import as_given
from linad.solve.fitting.profile_sides import ProfileSide
from linad.solve.waiting import FEW

MOST = 40
"""Fits on one side of a parameter."""

CLOSE = 1e-6
"""Relative error of τ at an end."""

LEVEL_OUT = 4
"""How often in a row τ stays as it is to this error, up to four times as far out, before it is
taken to stay so for ever."""

BEFORE = 1e-3
"""How far before 0 a parameter is looked at that the first step out would lead beyond, in parts of
its best value."""

AGAIN = 10.0
"""Seconds until somebody who waits is told again."""

OVERSHOOT = 1.5
"""How many times as far as where τ would be t if it grew evenly the second fit is."""

ENOUGH = 3
"""Ends that tell how long others take: some take ten times as long as others."""

LOWER = 1e-3
"""Of a variance: by how much the cost of a better fit is lower than that of the fit itself."""


def profiles(fit: Any, chosen: Sequence[int], t: float) -> dict[str, tuple[float, float]]:
    """The intervals of parameters by name; a line tells whoever waits how far they are."""
    found: dict[str, tuple[float, float]] = {}
    met = Minima(fit, 2 * len(chosen))
    residual = fit.solve.residual
    silent, residual.silent = residual.silent, True  # a line of its own says it as well
    try:
        for i in chosen:
            found[fit.names[i]] = profile(fit, i, t, met)
    finally:
        residual.silent = silent
    cost, x = min(met.known, key=operator.itemgetter(0))
    if cost < fit.cost - LOWER * fit._scales[1]:
        warn_user(
            f"profile_intervals: the fit is not the best there is: {fit.measure} is "
            f"{fit.factor * cost:.6g} at {as_given(x, fit.parameters.form)}, "
            f"{fit.factor * fit.cost:.6g} at its own; fit from there"
        )
    return found


class Minima:
    """The minima that were met on the way, with their costs, and how far the way is."""

    def __init__(self, fit: Any, ends: int) -> None:
        self.fit, self.ends, self.found = fit, ends, 0
        self.known: list[tuple[float, Any]] = [(fit.cost, fit.found)]
        self.refits, self.patience = 0, Patience()

    def add(self, i: int, cost: float, x: Array) -> None:
        """One more, with parameter ``i`` held."""
        self.refits += 1
        if np.isfinite(cost):
            self.known.append((cost, x))
        seconds = self.patience.spent()
        if seconds is None:
            return
        residual = self.fit.solve.residual
        left = seconds * (self.ends / max(self.found, 1) - 1)
        rest = f"about {left:.0f} s to go" if self.found >= ENOUGH else ""
        hint = (
            f"{residual.called} is {residual.most} operations in Python at each run: compiled, "
            f"with linad.jit({residual.called}), they take a tenth of it where arrays are small"
            if residual.most > FEW
            else f"compiled, with linad.jit({residual.called}), a fit may take less, most where it "
            f"is many operations on small arrays"
        )
        words = ", ".join(part for part in (rest, hint if residual.pays_compiled else "") if part)
        self.patience.say(
            f"profile_intervals: {self.fit.names[i]}, refit {self.refits} after {seconds:.0f} s, "
            f"{self.found} of {self.ends} ends known{words and '; '}{words}"
        )
        self.patience.again(max(4 * seconds, AGAIN))


def profile(fit: Any, i: int, t: float, met: Minima) -> tuple[float, float]:
    """The interval of parameter ``i``: where τ is -t and t. The minima on the way are added to
    ``met``, with their costs."""
    if not fit.parameters.free[i]:
        value = float(fit.vector[i])
        return value, value
    ends = []
    for side in (-1.0, 1.0):
        ends.append(_end(fit, i, t, side, met))
        met.found += 1
    return ends[0], ends[1]


class _Bracket(NamedTuple):
    """Distances between which τ passes t, and τ there."""

    low: float
    tau_low: float
    high: float
    tau_high: float


def _end(fit: Any, i: int, t: float, side: float, met: Minima) -> float:
    """Where τ reaches t on one side; a bound, or an infinity, where it does not."""
    limit = float(fit.bounds[side > 0][i])
    if not np.isfinite(t):
        return limit
    profile = ProfileSide(fit, i, side, t, met)
    best, error = profile.best, float(fit._errors[i])
    known = np.isfinite(error) and error > 0
    room = abs(limit - best)
    first = min(t * (error if known else max(abs(best), 1.0)), room)
    low = _before_zero(profile, first)
    if low.tau < t:
        profile.start_from_last()
        found = _passed(profile, t, _Bracket(*low, first, t), room)
    else:
        found = _Bracket(0.0, 0.0, *low)
    if found.tau_high < t:
        return limit
    distance = _reached(profile, t, found, CLOSE * error if known else 0.0, room)
    if distance is None:
        warn_user(
            f"profile_intervals: {fit.measure} jumps beside {fit.names[i]} = {best:.6g}: that "
            f"end of its interval was not found, and is NaN; let the model be smooth in its "
            f"parameters, above all where it takes data by a comparison with one, t > start"
        )
        return np.nan
    return best + side * distance


class _Point(NamedTuple):
    """A distance, and τ there."""

    distance: float
    tau: float


def _before_zero(profile: ProfileSide, first: float) -> _Point:
    """Just before the parameter is 0, where the first step out would lead beyond: the model often
    is another there, V x / (K + x) with both negative, and may fit as well. Else the best value.
    """
    distance = (1.0 - BEFORE) * abs(profile.best)
    if profile.side * profile.best > 0 or not 0.01 * first < distance < first:
        return _Point(0.0, 0.0)
    return _Point(distance, profile.tau(distance))


def _passed(profile: ProfileSide, t: float, found: _Bracket, room: float) -> _Bracket:
    """Go out until τ has passed t; it has not at the end of the room, or at no distance."""
    low, tau_low, high, _ = found
    level = 0
    for k in range(MOST):
        high = profile.in_sight(high, t)
        tau_high = profile.tau(high)
        if not tau_high < t or high >= room:
            return _Bracket(low, tau_low, high, tau_high)
        level = level + 1 if high >= 4.0 * low > 0 and tau_high - tau_low <= CLOSE * t else 0
        low, tau_low = high, tau_high
        profile.start_from_last()
        if level == LEVEL_OUT:
            break
        further = high * t / tau_high if tau_high > 0 else np.inf
        if k == 0:  # most often it is but a little further
            high = min(high + OVERSHOOT * (further - high), 4.0 * high, room)
        else:
            high = min(max(1.1 * high, min(1.2 * further, 4.0 * high)), room)
    return _Bracket(low, tau_low, np.inf, tau_low)


def _reached(
    profile: ProfileSide, t: float, found: _Bracket, nearest: float, room: float
) -> float | None:
    """The distance at which τ is t, by the parabola through three distances, or where that leads
    out of the bracket by regula falsi; where an end of that stays, its weight is halved (the
    Illinois method). Beyond the room, the end of it.

    An outer end that stays may be a minimum of its own, met from far away: it is fitted again from
    inside. None if the distance is below the nearest that can be: τ jumps at the best value.

    Source: M. Dowell, P. Jarratt, "A modified regula falsi method for computing the root of an
    equation", BIT 11, 1971.
    """
    low, tau_low, high, tau_high = found
    over, under = tau_high - t, tau_low - t  # what is drawn through
    stayed = 0  # how often the outer end has
    for _ in range(MOST):
        if abs(tau_high - t) <= CLOSE * t:
            return high
        if abs(tau_low - t) <= CLOSE * t:
            return low
        middle, edge = profile.expected(), 0.02 * (high - low)
        if not low < middle < high and np.isfinite(over):
            middle = low - (high - low) * under / (over - under)
            middle = float(np.clip(middle, low + edge, high - edge))
        elif not low < middle < high:
            middle = 0.5 * (low + high)
        at = profile.tau(middle)
        if abs(at - t) <= CLOSE * t or high - low <= CLOSE**2 * high:
            return middle
        if at < t:
            low, tau_low, under = middle, at, at - t
            profile.start_from_last()
            stayed += 1
            if stayed > 1:
                over *= 0.5
            if stayed == 2 and np.isfinite(tau_high):
                tau_high = min(tau_high, profile.tau(high))
                over = tau_high - t
                if tau_high < t:
                    profile.start_from_last()
                    found = _passed(profile, t, _Bracket(high, tau_high, 1.1 * high, t), room)
                    if found.tau_high < t:
                        return room
                    low, tau_low, high, tau_high = found
                    over, under, stayed = tau_high - t, tau_low - t, 0
        else:
            high, tau_high, over = middle, at, at - t
            under *= 0.5 if stayed == 0 else 1.0
            stayed = 0
        if high <= nearest:
            return None
    return 0.5 * (low + high)
