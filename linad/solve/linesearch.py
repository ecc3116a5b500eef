"""Backtracking along a direction until a function has come down enough.

Sufficient decrease (Armijo): φ(α) <= φ(0) + c α φ'(0), with φ'(0) < 0. After a trial that fails
the next α minimises the parabola through φ(0), φ'(0), φ(α), then the cubic that also passes the
trial before, kept within [α/10, α/2]. A trial that is not finite is answered by α/10.

Source: J. E. Dennis, R. B. Schnabel, "Numerical Methods for Unconstrained Optimization and
Nonlinear Equations", 1983, section 6.3.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

SHRINK = 0.1
DECREASE = 1e-4


class NoDecrease(Exception):
    """No step along the direction brings the function down; ``finite`` tells if any was finite."""

    def __init__(self, finite: bool) -> None:
        self.finite = finite
        super().__init__()


def backtrack(
    phi: Callable[[float], tuple[float, Any]],
    phi0: float,
    slope: float,
    smallest: float,
    noise: float = 0.0,
) -> tuple[float, float, Any]:
    """Shorten a step until it brings enough decrease.

    Parameters
    ----------
    phi : callable
        ``phi(alpha) -> (value, what belongs to it)``.
    phi0, slope : float
        φ(0), and φ'(0) < 0.
    smallest : float
        Below this α the search gives up.
    noise : float
        Rounding error of φ: an increase below it does not count.

    Returns
    -------
    alpha, value, what belongs to it

    Raises
    ------
    NoDecrease
        When α has become too small.
    """
    alpha, finite = 1.0, False
    before: tuple[float, float] | None = None
    while alpha >= smallest:
        value, found = phi(alpha)
        if value <= phi0 + DECREASE * alpha * slope + noise:
            return alpha, value, found
        if np.isfinite(value):
            finite = True
            following = _minimiser(alpha, value, phi0, slope, before)
            before = (alpha, value)
            alpha = float(np.clip(following, SHRINK * alpha, 0.5 * alpha))
        else:
            before = None
            alpha *= SHRINK
    raise NoDecrease(finite)


def _minimiser(
    alpha: float, value: float, phi0: float, slope: float, before: tuple[float, float] | None
) -> float:
    """Where the parabola, or the cubic, through what is known has its minimum."""
    parabola = -slope * alpha**2 / (2.0 * (value - phi0 - slope * alpha))
    if before is None:
        return parabola
    beta, last = before
    r, s = value - phi0 - slope * alpha, last - phi0 - slope * beta
    a = (r / alpha**2 - s / beta**2) / (alpha - beta)
    b = (-beta * r / alpha**2 + alpha * s / beta**2) / (alpha - beta)
    inside = b * b - 3.0 * a * slope
    if a == 0.0 or inside < 0.0:
        return parabola
    return float((-b + np.sqrt(inside)) / (3.0 * a))
