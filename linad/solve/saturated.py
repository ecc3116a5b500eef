"""Residuals without a derivative: that overflows on the way, or does not exist, at a kink.

1 / (1 + exp(u)) is 0 from u = 710 on: its slope is -1/w² times that of w = exp(u), which is
0 times infinity. So are those of (x/k)^h at x = 0. What is computed does not change there, and has
the slope 0; that it does not is looked at, for a derivative of NaN may have another cause.

All columns of a Jacobian are pushed at once, so that NaN of one unknown is NaN of all: other terms
of such a residual may change with the others. Their slopes are differences, where those to both
sides agree.

a sqrt(max(h - b, 0)) has no slope in b where b is one of the h, and sqrt(x² + b²) none at 0. Where
few residuals are at such a kink a step leads away from it: theirs is the smaller slope of both
sides, or 0 where one goes up and the other down. It is between the two, and so one of Clarke's
generalized Jacobians. A point at which a fit ends must not be a kink.

Source: F. H. Clarke, "Optimization and nonsmooth analysis", 1983.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array

AROUND = 1e-6
"""Relative change of an unknown under which a residual must be the same to the last bit: a slope
that this hides is nothing to a fit."""

ALIKE = 1e-3
"""Relative difference of the slopes to both sides of a point, from which on it may be a kink."""


def replacements(matrix: Array, x: Array, r: Array, value: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What stands for entries of a Jacobian that overflow or do not exist, NaN for all others; and
    the mask of residuals that are at a kink.

    Parameters
    ----------
    matrix : ndarray (m, n)
    x, r : ndarray (n,), ndarray (m,)
        The point, and the residuals there.
    value : callable
        The residuals elsewhere; called twice for each unknown whose column is not finite.
    """
    found = np.full(matrix.shape, np.nan, matrix.dtype)
    bad = ~np.isfinite(matrix) & np.isfinite(r)[:, None]
    constant, kinked = np.zeros(matrix.shape, bool), np.zeros(matrix.shape, bool)
    for j in np.flatnonzero(bad.any(axis=0)):
        h = AROUND * (abs(x[j]) or 1.0)
        step = np.zeros_like(x)
        step[j] = h
        ahead, behind = value(x + step), value(x - step)
        with np.errstate(all="ignore"):  # they need not be finite
            slopes = (ahead - r) / h, (r - behind) / h
            alike = np.abs(slopes[0] - slopes[1]) <= ALIKE * np.abs(slopes[0])
            least = np.where(np.abs(slopes[0]) < np.abs(slopes[1]), *slopes)
            least = np.where(slopes[0] * slopes[1] > 0, least, 0.0)
        constant[:, j] = (ahead == r) & (behind == r)
        kinked[:, j] = bad[:, j] & ~alike & np.isfinite(slopes).all(axis=0)
        least = np.where(kinked[:, j], least, np.nan)
        found[:, j] = np.where(alike, (slopes[0] + slopes[1]) / 2, least)
    kinks = kinked.any(axis=1) & ~(bad & np.isnan(found)).any(axis=1)
    if 2 * np.count_nonzero(kinks) >= len(kinks):
        kinks[:] = False
    found[kinked & ~kinks[:, None]] = np.nan
    replaced = kinks | (bad & constant).any(axis=1)
    return np.where(bad & replaced[:, None], found, np.nan), kinks


def without_overflow(matrix: Array, replaced: Array) -> Any:
    """A Jacobian with what stands for its entries that overflow."""
    return np.where(np.isnan(replaced), matrix, replaced) if replaced.size else matrix


def without_saturated(
    matrix: Array, x: Array, value: Array, elsewhere: Callable[[Any], Any]
) -> Any:
    """A Jacobian with what stands for its entries that overflow or are 0 times infinity, but not
    for those at kinks; the arguments as of `replacements`."""
    found, kinks = replacements(matrix, x, value, elsewhere)
    return without_overflow(matrix, np.where(kinks[:, None], np.nan, found))


def words_of_kinks(kinks: Array) -> str:
    """That a fit stays where residuals have no derivative: it is not known to be a minimum."""
    bad = np.flatnonzero(kinks)
    return (
        f"in the derivatives of {bad.size} of {len(kinks)} residuals, first that of index {bad[0]}"
        f": their slopes to both sides differ, and no step leads away from there; start elsewhere"
    )
