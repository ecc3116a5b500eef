"""Columns of a Jacobian that are rounding errors.

Where the residuals do not depend on an unknown, its column should be zero; what is computed is
the difference of equal terms, 1e-16 of them. So it is with the angle of an ellipse as long as both
axes are equal. The step of Gauss and Newton divides by that: it throws the unknown 1e15 away.

A column that is as small as rounding beside the others may also be one that belongs to an unknown
with another unit. The two are told apart by going so far along it that the residuals should move
visibly, though little: an error does not tell how far.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array

VISIBLE = 1e-6
"""A change of the residuals to look for, relative to the largest that an unknown makes."""


def suspects(sizes: Array, x: Array, eps: float) -> Any:
    """Columns whose entries may be rounding errors of the others, but are not zero.

    Parameters
    ----------
    sizes : array (n,)
        The norms of the columns.
    x : array (n,)
        The unknowns, each of which is taken to be of its own size, and to change by 1 at least.
    eps : float
    """
    most = (sizes * np.abs(x)).max()
    return (sizes > 0) & (sizes * np.maximum(np.abs(x), 1.0) <= eps**0.75 * most)


def without_rounding(
    matrix: Array, x: Array, r: Array, value: Callable[[Any], Any], eps: float
) -> tuple[Any, Any]:
    """A Jacobian with zeros in place of columns that are rounding errors; and which these are.

    Parameters
    ----------
    matrix : ndarray (m, n)
    x : ndarray (n,)
    r : ndarray (m,)
        The residuals at x.
    value : callable
        The residuals elsewhere; called once for each suspect.
    eps : float
    """
    sizes = np.linalg.norm(matrix, axis=0)
    wrong = np.zeros(x.shape, bool)
    if not x.size or not np.isfinite(sizes).all():
        return matrix, wrong
    most = (sizes * np.abs(x)).max()
    for j in np.flatnonzero(suspects(sizes, x, eps)):
        far = x.copy()
        far[j] += VISIBLE * most / sizes[j]
        promised = (far[j] - x[j]) * matrix[:, j]
        off = np.linalg.norm(value(far) - r - promised)
        wrong[j] = not off <= 0.5 * np.linalg.norm(promised)
    return (np.where(wrong, 0, matrix) if wrong.any() else matrix), wrong
