"""Quantiles of probability 0 and 1: the ends of the support, and how they move.

x(q) = loc + scale z,   F(z) = q         dx/dq = scale / f(z)       one-sided, where F ends

At an end where the density f is neither 0 nor infinite, Newton's method from the end, with the
formulas that hold inside, carries the derivatives in q and in shapes, on which the end may depend.
Where f is infinite the end does not move with q, and where it is 0 the slope in q is infinite.
"""

from typing import Any

import numpy as np

from linad.api.derivatives import jvp
from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.mirror import holds_traced


def at_ends(
    distribution: Any, lower: bool, q: Array, shapes: list[Any], loc: Array, scale: Array, at: Array
) -> Any:
    """Quantiles where ``at``, as far as derivatives go; elsewhere anything.

    Parameters
    ----------
    distribution : Continuous
    lower : bool
        Whether q is F, and not 1 - F.
    q, loc, scale : array
    shapes : list of array
    at : array of bool
        Where q is 0 or 1 and the end is finite.
    """
    steady = [still(s) for s in shapes]
    low, high = distribution._ends(*steady)
    is_low = (still(q) == 0) == lower
    start = np.where(at, np.where(is_low, low, high), distribution._standard_point(*steady))
    wanted = np.where(at, q, 0.5)
    sign = 1.0 if lower else -1.0

    def log_density(z: Any, *shapes: Any) -> Any:
        return distribution._logpdf(z, *shapes)

    def reached(z: Any, *shapes: Any) -> Any:
        return distribution._cdf(z, *shapes) if lower else distribution._sf(z, *shapes)

    with np.errstate(all="ignore"):
        log_f, rise = jvp(lambda z: log_density(z, *steady), (start,), (np.ones_like(start),))
        F, f = jvp(lambda z: reached(z, *steady), (start,), (np.ones_like(start),))
        density = np.exp(log_f)
        regular = (density > 0) & np.isfinite(density) & (np.abs(F - still(wanted)) < 1e-9)
        regular = regular & (np.abs(sign * f - density) < 1e-6 * density)
        z: Any = start
        for _ in range(2):
            gap = reached(z, *shapes) - wanted
            slope = np.where(regular, np.exp(log_density(z, *shapes)), 1.0)
            z = start + _without_value(z - sign * gap / slope)
        others = start + _moving(distribution, shapes, is_low)
        if holds_traced(q):
            others = others + _along(_without_value(wanted), sign, density, rise)
    return loc + scale * np.where(regular, z, others)


def _along(u: Any, sign: float, density: Array, rise: Array) -> Any:
    """z less its end, by q less its: u / f - u² (log f)' / 2 f², or a root, or a power above 1."""
    finite = (density > 0) & np.isfinite(density) & np.isfinite(rise)
    f = np.where(finite, density, 1.0)
    series = sign * u / f - 0.5 * u * u * np.where(finite, rise, 0.0) / f**2
    pole = np.isposinf(density)
    power = np.where(pole, u, 1.0) ** 1.5
    root = np.sqrt(np.where(finite | pole, 1.0, u))
    return np.where(finite, series, sign * np.where(pole, power, root))


def _moving(distribution: Any, shapes: list[Any], is_low: Array) -> Any:
    """The ends as they depend on shapes, without their values."""
    if not holds_traced(shapes):
        return 0.0
    ends = [np.where(np.isfinite(end), end, 0.0) for end in distribution.moving_ends(*shapes)]
    return _without_value(np.where(is_low, *ends))


def _without_value(y: Any) -> Any:
    """0, with the derivative of ``y``."""
    return y - still(y)
