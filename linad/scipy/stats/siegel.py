"""Siegel's line through points: the median of medians of slopes.

    slope    med_j med_{i: x_i ≠ x_j} (y_i - y_j) / (x_i - x_j)

SciPy has it compiled, or divides 0 by 0 and leaves the result out, which has no derivative.

Source: A. Siegel, "Robust regression using repeated medians", Biometrika 69, 1982.
"""

from typing import Any

import numpy as np
import scipy.stats

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.shaping import astype, still
from linad.scipy.implicit_solutions import plain
from linad.scipy.mirror import bound_form, inexact


@bound_form(scipy.stats.siegelslopes)
def siegelslopes(y: Array, x: Array | None, method: str) -> Any:
    y = inexact(y)
    x = np.arange(y.size, dtype=float) if x is None else inexact(x)
    if y.ndim != 1 or x.shape != y.shape:
        raise ShapeError(f"siegelslopes: expected y and x of one axis, got {y.shape}, {x.shape}")
    found = scipy.stats.siegelslopes(plain(y), plain(x), method)
    result, y = type(found), astype(y, np.result_type(found.slope))  # single since SciPy 1.18
    slopes, intercepts = [], []
    for j in range(x.shape[0]):
        others = np.flatnonzero(still(x) != still(x)[j])
        dx, dy = x[others] - x[j], y[others] - y[j]
        slopes.append(np.median(dy / dx))
        intercepts.append(np.median((y[j] * x[others] - y[others] * x[j]) / dx))
    slope = np.median(np.stack(slopes))
    if method == "hierarchical":
        return result(slope, np.median(y - slope * x))
    return result(slope, np.median(np.stack(intercepts)))
