"""Backtracking as a loop of a program: `linad.solve.linesearch.backtrack` on traced values."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.solve.linesearch import DECREASE, SHRINK


class Trial(NamedTuple):
    """A search along a direction."""

    alpha: Any
    value: Any
    found: Any  # what belongs to the value
    beta: Any  # the trial before, and its value; 0 for none
    last: Any
    finite: Any  # whether any trial was


def backtracked(
    phi: Callable[[Any], tuple[Any, Any]],
    phi0: Array,
    slope: Array,
    smallest: Array,
    noise: Any = 0.0,
) -> Trial:
    """Shorten a step from α = 1 until it brings enough decrease.

    Parameters
    ----------
    phi, phi0, slope, smallest, noise
        As of `linad.solve.linesearch.backtrack`.

    Returns
    -------
    Trial
        The last one. No step was good if its α is below ``smallest``.
    """

    def trial(alpha: Array, beta: Array, last: Array, finite: Array) -> Trial:
        value, found = phi(alpha)
        value = np.where(np.isfinite(value), value, np.inf)
        return Trial(alpha, value, found, beta, last, finite | np.isfinite(value))

    def goes_on(t: Trial) -> Any:
        return (t.alpha >= smallest) & ~(t.value <= phi0 + DECREASE * t.alpha * slope + noise)

    def shorter(t: Trial) -> Trial:
        known = np.isfinite(t.value)
        following = _minimiser(t.alpha, t.value, phi0, slope, t.beta, t.last)
        following = np.clip(following, SHRINK * t.alpha, 0.5 * t.alpha)
        alpha = np.where(known, following, SHRINK * t.alpha)
        beta, last = np.where(known, t.alpha, 0.0), np.where(known, t.value, 0.0)
        return trial(alpha, beta, last, t.finite)

    return while_loop(  # type: ignore[no-any-return]
        goes_on, shorter, trial(np.float64(1.0), 0.0, 0.0, np.False_)
    )


def _minimiser(
    alpha: Array, value: Array, phi0: Array, slope: Array, beta: Array, last: Array
) -> Any:
    """Where the parabola, or the cubic, through what is known has its minimum."""
    r, s = value - phi0 - slope * alpha, last - phi0 - slope * beta
    parabola = -slope * alpha**2 / (2.0 * r)
    first = beta == 0.0
    b0 = np.where(first, 0.5 * alpha, beta)
    a = (r / alpha**2 - s / b0**2) / (alpha - b0)
    b = (-b0 * r / alpha**2 + alpha * s / b0**2) / (alpha - b0)
    inside = b * b - 3.0 * a * slope
    flat = first | (a == 0.0) | (inside < 0.0)
    cubic = (-b + np.sqrt(np.where(flat, 1.0, inside))) / (3.0 * np.where(flat, 1.0, a))
    return np.where(flat, parabola, cubic)
