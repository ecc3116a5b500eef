"""Minkowski's distance, (Σ |x_i - y_i|^p)^(1/p), in a traced p.

SciPy adds the distances for p = 1 without the power, whose derivative in p is then left out.
"""

from typing import Any

import numpy as np
import scipy.spatial

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.mirror import holds_traced, inexact, traced_form
from linad.scipy.twinforms import form_by_twin


@traced_form(scipy.spatial.minkowski_distance_p)
def minkowski_distance_p(x: Array, y: Array, p: Array = 2.0) -> Any:
    if not holds_traced(p) or still(p) != 1:
        return form_by_twin(scipy.spatial.minkowski_distance_p)(x, y, p)
    return np.sum(np.abs(inexact(y) - inexact(x)) ** p, axis=-1)


@traced_form(scipy.spatial.minkowski_distance)
def minkowski_distance(x: Array, y: Array, p: Array = 2.0) -> Any:
    if not holds_traced(p) or still(p) != 1:
        return form_by_twin(scipy.spatial.minkowski_distance)(x, y, p)
    return minkowski_distance_p(x, y, p) ** (1 / p)
