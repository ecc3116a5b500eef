"""Points on the arc between two points of a sphere."""

from typing import Any

import numpy as np
import scipy.spatial

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import as_array, still
from linad.scipy.mirror import bound_form, holds_traced
from linad.scipy.twinforms import form_by_twin


@bound_form(scipy.spatial.geometric_slerp)
def geometric_slerp(start: Array, end: Array, t: Any, tol: Any) -> Any:
    ends = still(as_array(start)), still(as_array(end))
    if holds_traced((start, end)) and np.array_equal(*ends):
        raise UnsupportedError(
            "geometric_slerp: where start and end are one point, which arc leads from one to the "
            "other is not determined, and there is no derivative in them; pass "
            "linad.stop_gradient of both, or points that differ"
        )
    return form_by_twin(scipy.spatial.geometric_slerp)(start, end, t, tol)


geometric_slerp.is_twin = True  # type: ignore[attr-defined]
