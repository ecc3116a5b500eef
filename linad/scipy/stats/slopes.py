"""Siegel's line through points: the median of medians of slopes, which SciPy has compiled.

    slope    med_j med_{i: x_i ≠ x_j} (y_i - y_j) / (x_i - x_j)

Source: A. Siegel, "Robust regression using repeated medians", Biometrika 69, 1982.
"""

from typing import Any

import numpy as np
import scipy.stats
from scipy.stats import _stats_pythran

from linad.rules.shaping import still
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import stands_for


def _repeated_medians(y: Any, x: Any, method: str) -> tuple[Any, Any]:
    slopes, intercepts = [], []
    for j in range(x.shape[0]):
        others = np.flatnonzero(still(x) != still(x)[j])
        dx, dy = x[others] - x[j], y[others] - y[j]
        slopes.append(np.median(dy / dx))
        intercepts.append(np.median((y[j] * x[others] - y[others] * x[j]) / dx))
    slope = np.median(np.stack(slopes))
    if method == "hierarchical":
        return slope, np.median(y - slope * x)
    return slope, np.median(np.stack(intercepts))


stands_for(_stats_pythran.siegelslopes, _repeated_medians)

siegelslopes = form_by_twin(scipy.stats.siegelslopes)
