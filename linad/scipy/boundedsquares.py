"""Least squares with bounds, of traced matrices: `nnls` and `lsq_linear`.

    minimize |A x - b|^2    with    l <= x <= u

Unknowns at a bound stay there under small changes, where the slope at the bound is not zero; the
others solve the least squares of their own columns. SciPy finds which are which.

Source: C. Lawson, R. Hanson, "Solving Least Squares Problems", 1974, chapter 23.
"""

from typing import Any

import numpy as np
import scipy.optimize

from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import plain
from linad.scipy.mirror import check_real, holds_traced, inexact, traced_form


def _moved(A: Any, b: Any, found: Any, free: Any) -> Any:
    """The solution with its derivative, of which the entries that are free can move."""
    where = np.flatnonzero(free)
    if not where.size:
        return found + 0.0 * np.sum(b)
    at_rest = np.where(free, 0.0, found)
    columns = A[:, where]
    part = np.linalg.lstsq(columns, b - A @ at_rest, rcond=None)[0]
    embed = np.eye(found.size, dtype=found.dtype)[:, where]
    return found + embed @ (part - still(part))


@traced_form(scipy.optimize.nnls)
def nnls(A: Any, b: Any, **options: Any) -> Any:
    check_real("nnls", A=A, b=b)
    found, _ = scipy.optimize.nnls(plain(A), plain(b), **options)
    A, b = inexact(A), inexact(b).reshape(-1)
    x = _moved(A, b, found, found > 0)
    return x, np.linalg.norm(A @ x - b)


@traced_form(scipy.optimize.lsq_linear)
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    check_real("lsq_linear", A=A, b=b)
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if holds_traced((low, high)):
        raise UnsupportedError("lsq_linear: bounds must be plain numbers")
    result = scipy.optimize.lsq_linear(plain(A), plain(b), bounds, **options)
    A, b, x = inexact(A), inexact(b).reshape(-1), result.x
    result.x = _moved(A, b, x, result.active_mask == 0)
    result.fun = A @ result.x - b
    result.cost = 0.5 * np.dot(result.fun, result.fun)
    return result
