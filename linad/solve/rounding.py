"""Columns of a Jacobian that are rounding errors.

Where the residuals do not depend on an unknown, its column should be zero; what is computed is
the difference of equal terms, 1e-16 of them. So it is with the angle of an ellipse as long as both
axes are equal. The step of Gauss and Newton divides by that: it throws the unknown 1e15 away.

A column that is as small as rounding beside the others may also be one that belongs to an unknown
with another unit. The two are told apart by going so far along it that the residuals should move
visibly, though little: an error does not tell how far.

Where the residuals are linear in the unknown, A sin(2π t) at whole t, they do move as told, though
all of it is rounding in t. So the column is also looked at where data and unknowns are changed in
their last digits: an error is another one there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array

VISIBLE = 1e-6
"""A change of the residuals to look for, relative to the largest that an unknown makes."""


FAINT = 1e-9
"""Columns that may be rounding errors of data, relative to the largest: these may be thousands of
times what is computed of them, as times of a calendar beside a period."""

SAME = 0.1
"""How much of itself a column changes with last digits, at most, if it is more than rounding."""


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
    matrix: Array,
    x: Array,
    r: Array,
    value: Callable[[Any], Any],
    eps: float,
    shaken: Callable[[], Any] | None = None,
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
    shaken : callable, optional
        The residuals and their matrix with last digits changed, or None where there are none;
        called once if there are suspects.
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
    least = FAINT * max(most, np.linalg.norm(r))
    faint = ~wrong & (sizes > 0) & (sizes * np.maximum(np.abs(x), 1.0) <= least)
    if shaken is not None and faint.any():
        wrong |= faint & _changes(matrix, r, shaken())
    return (np.where(wrong, 0, matrix) if wrong.any() else matrix), wrong


def _changes(matrix: Array, r: Array, shaken: Any) -> Any:
    """Which columns are other ones where last digits are, though the residuals are the same."""
    none = np.zeros(matrix.shape[1], bool)
    if shaken is None or shaken[0].shape != r.shape or shaken[1].shape != matrix.shape:
        return none
    there, columns = shaken
    sizes = np.linalg.norm(matrix, axis=0)
    off = np.linalg.norm(there - r)
    if not np.isfinite(columns).all() or not off <= VISIBLE * max(np.linalg.norm(r), sizes.max()):
        return none
    changes = np.linalg.norm(columns - matrix, axis=0) > SAME * sizes
    # One that is gone was cut off: by a label that is no longer met, say.
    return changes & (np.linalg.norm(columns, axis=0) > SAME * sizes)
