"""Profile intervals: how far a parameter can go before the best fit of the others is too bad.

    τ(θ) = ± sqrt((S(θ) - S) / s²)        S(θ) the least sum of squares with the parameter at θ

The interval ends where |τ| is the quantile that a linear model would have there.

Source: D. M. Bates, D. G. Watts, "Nonlinear regression analysis and its applications", 1988.
"""

import operator
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.callers import warn_user
from linad.core.patience import SECONDS, say
from linad.core.settings import settings
from linad.errors import ShapeError

MOST = 40
"""Fits on one side of a parameter."""

CLOSE = 1e-6
"""Relative error of τ at an end."""

LOWER = 1e-3
"""Of a variance: by how much the cost of a better fit is lower than that of the fit itself."""


def profiles(fit: Any, chosen: Sequence[int], t: float) -> dict[str, tuple[float, float]]:
    """The intervals of parameters by name; a line tells whoever waits how far they are."""
    found: dict[str, tuple[float, float]] = {}
    met: list[tuple[float, Any]] = [(fit.cost, fit.found)]
    begun = time.perf_counter()
    for i in chosen:
        found[fit.names[i]] = profile(fit, i, t, met)
        seconds, rest = time.perf_counter() - begun, len(chosen) - len(found)
        if rest and seconds >= SECONDS and settings().progress:
            say(
                f"profile_intervals: {len(found)} of {len(chosen)} parameters in {seconds:.0f} s, "
                f"about {seconds * rest / len(found):.0f} s to go"
            )
    cost, x = min(met, key=operator.itemgetter(0))
    if cost < fit.cost - LOWER * fit._scales[1]:
        warn_user(
            f"profile_intervals: the fit is not the best there is: chi-square is {2 * cost:.6g} at "
            f"{x}, {fit.chi_square:.6g} at its own; fit from there"
        )
    return found


def profile(fit: Any, i: int, t: float, met: list[tuple[float, Any]]) -> tuple[float, float]:
    """The interval of parameter ``i``: where τ is -t and t. The minima on the way are added to
    ``met``, with their costs."""
    if not fit.parameters.free[i]:
        value = float(fit.vector[i])
        return value, value
    return _end(fit, i, t, -1.0, met), _end(fit, i, t, 1.0, met)


def _end(fit: Any, i: int, t: float, side: float, met: list[tuple[float, Any]]) -> float:
    """Where τ reaches t on one side; a bound, or an infinity, where it does not."""
    best, error = float(fit.vector[i]), float(fit._errors[i])
    limit = float(fit.bounds[side > 0][i])
    if not np.isfinite(t):
        return limit
    if not (np.isfinite(error) and error > 0):
        error = max(abs(best), 1.0)
    held = ~fit.parameters.free
    held[i] = True
    scale, start = fit._scales[1], fit.vector.copy()

    def tau(distance: float) -> float:
        """τ at a distance from the best value; the fit starts where the last one ended."""
        start[i] = best + side * distance
        try:
            found = fit.solve(start, held)
        except ShapeError:
            return np.inf  # an integration that ends early: the model has no values there
        if np.isfinite(found.cost):
            start[:] = tree.vector(found.x)
            met.append((float(found.cost), found.x))
        return float(np.sqrt(max(found.cost - fit.cost, 0.0) * 2.0 / scale)) if scale > 0 else 0.0

    room = abs(limit - best)
    low, tau_low = 0.0, 0.0
    high = min(t * error, room)
    for _ in range(MOST):  # go out until the end is passed
        tau_high = tau(high)
        if not tau_high < t:
            break
        if high >= room:
            return limit
        low, tau_low = high, tau_high
        further = high * t / tau_high if tau_high > 0 else np.inf
        high = min(max(1.1 * high, min(1.2 * further, 4.0 * high)), room)
    else:
        return side * np.inf
    for _ in range(MOST):  # regula falsi, halved where it would stay on one side
        if abs(tau_high - t) <= CLOSE * t:
            return best + side * high
        if not np.isfinite(tau_high):
            middle = 0.5 * (low + high)
        else:
            middle = low + (high - low) * (t - tau_low) / (tau_high - tau_low)
            middle = float(np.clip(middle, low + 0.02 * (high - low), high - 0.02 * (high - low)))
        at = tau(middle)
        if abs(at - t) <= CLOSE * t or high - low <= CLOSE**2 * high:
            return best + side * middle
        if at < t:
            low, tau_low = middle, at
        else:
            high, tau_high = middle, at
    return best + side * 0.5 * (low + high)
