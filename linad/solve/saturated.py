"""Residuals that are constant where they stand, and whose derivative overflows on the way.

1 / (1 + exp(u)) is 0 from u = 710 on: its slope is -1/w² times that of w = exp(u), which is
0 times infinity. So are those of (x/k)^h at x = 0. What is computed does not change there, and has
the slope 0; that it does not is looked at, for a derivative of NaN may have another cause.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array

AROUND = 1e-6
"""Relative change of an unknown under which a constant residual must be the same to the last bit:
a slope that this hides is nothing to a fit."""


def without_saturated(
    matrix: Array, x: Array, r: Array, value: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """A Jacobian with zeros for the rows of residuals that are constant; and which these are.

    Parameters
    ----------
    matrix : ndarray (m, n)
    x, r : ndarray (n,), ndarray (m,)
        The point, and the residuals there.
    value : callable
        The residuals elsewhere; called twice for each unknown if a row is not finite.
    """
    constant = ~np.isfinite(matrix).all(axis=1) & np.isfinite(r)
    for j in range(x.size):
        for sign in (-1.0, 1.0):
            if not constant.any():
                return matrix, constant
            there = x.copy()
            there[j] += sign * AROUND * (abs(x[j]) or 1.0)
            constant &= value(there) == r
    return np.where(constant[:, None], 0, matrix), constant
