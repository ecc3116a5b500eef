"""Residuals that do not change with an unknown, and whose derivative overflows on the way.

1 / (1 + exp(u)) is 0 from u = 710 on: its slope is -1/w² times that of w = exp(u), which is
0 times infinity. So are those of (x/k)^h at x = 0. What is computed does not change there, and has
the slope 0; that it does not is looked at, for a derivative of NaN may have another cause.

All columns of a Jacobian are pushed at once, so that NaN of one unknown is NaN of all: other terms
of such a residual may change with the others. Their slopes are differences, where those to both
sides agree.
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


def replacements(matrix: Array, x: Array, r: Array, value: Callable[[Any], Any]) -> Any:
    """What stands for entries of a Jacobian that overflow, NaN for all others.

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
    constant = np.zeros(matrix.shape, bool)
    for j in np.flatnonzero(bad.any(axis=0)):
        h = AROUND * (abs(x[j]) or 1.0)
        step = np.zeros_like(x)
        step[j] = h
        ahead, behind = value(x + step), value(x - step)
        with np.errstate(all="ignore"):  # they need not be finite
            slopes = (ahead - r) / h, (r - behind) / h
            alike = np.abs(slopes[0] - slopes[1]) <= ALIKE * np.abs(slopes[0])
        constant[:, j] = (ahead == r) & (behind == r)
        found[:, j] = np.where(alike, (slopes[0] + slopes[1]) / 2, np.nan)
    saturated = (bad & constant).any(axis=1, keepdims=True)
    return np.where(bad & saturated, found, np.nan)


def without_overflow(matrix: Array, replaced: Array) -> Any:
    """A Jacobian with what stands for its entries that overflow."""
    return np.where(np.isnan(replaced), matrix, replaced) if replaced.size else matrix
