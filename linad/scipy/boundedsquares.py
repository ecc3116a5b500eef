"""Least squares with bounds, of traced matrices: `nnls` and `lsq_linear`.

    minimize |A x - b|^2    with    l <= x <= u

Unknowns at a bound stay there under small changes, where the slope at the bound is not zero; the
others solve the least squares of their own columns. SciPy finds which are which.

Source: C. Lawson, R. Hanson, "Solving Least Squares Problems", 1974, chapter 23.
"""

from typing import Any

import numpy as np
import scipy.optimize

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.boxes import sides_of_pair
from linad.scipy.implicit_solutions import plain, with_derivative
from linad.scipy.mirror import check_real, holds_traced, inexact, traced_form
from linad.scipy.refusedparts import refuse_parts


def _moved(A: Array, b: Array, found: Array, free: Array, resting: Any) -> Any:
    """The solution with its derivative: of entries that are free, and of those at bounds."""
    where = np.flatnonzero(free)
    if not where.size:
        return resting + 0.0 * np.sum(b)
    at_rest = np.where(free, 0.0, resting)
    columns = A[:, where]
    part = np.linalg.lstsq(columns, b - A @ at_rest, rcond=None)[0]
    embed = np.eye(found.size, dtype=found.dtype)[:, where]
    return np.where(free, found, resting) + embed @ (part - still(part))


@traced_form(scipy.optimize.nnls)
def nnls(A: Array, b: Array, **options: Any) -> Any:
    check_real("nnls", A=A, b=b)
    found, _ = scipy.optimize.nnls(plain(A), plain(b), **options)
    A, b = inexact(A), inexact(b).reshape(-1)
    x = _moved(A, b, found, found > 0, found)
    return x, np.linalg.norm(A @ x - b)


def _ends(A: Array, b: Array, x: Array, low: Array, high: Array, told: Array) -> Any:
    """The bound that each unknown rests at: -1, 1, or 0 for none.

    Methods that stay within the bounds end beside one, and may tell of none. An unknown rests there
    if the minimum along its own axis lies beyond.
    """
    slope, bend = A.T @ (A @ x - b), np.sum(A * A, axis=0)
    with np.errstate(invalid="ignore"):  # 0 times infinity, of a column of zeros
        below, above = slope > bend * (x - low), -slope > bend * (high - x)
    return np.where(told == 0, above * 1 - below * 1, told)


@traced_form(scipy.optimize.lsq_linear)
def lsq_linear(A: Array, b: Array, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    check_real("lsq_linear", A=A, b=b)
    sides = sides_of_pair(bounds)
    result = scipy.optimize.lsq_linear(plain(A), plain(b), plain(bounds), **options)
    A, b, x = inexact(A), inexact(b).reshape(-1), result.x
    low, high = [np.broadcast_to(side, x.shape) for side in sides]
    ends = _ends(plain(A), plain(b), x, plain(low), plain(high), result.active_mask)
    free, resting = ends == 0, x
    if holds_traced(sides):
        resting = with_derivative(x, np.where(free, 0.0, np.where(ends < 0, low, high)))
    result.x = _moved(A, b, x, free, resting)
    result.fun = A @ result.x - b
    result.cost = 0.5 * np.dot(result.fun, result.fun)
    refuse_parts(result, "lsq_linear", {"unbounded_sol": "np.linalg.lstsq(A, b) traces"})
    return result
