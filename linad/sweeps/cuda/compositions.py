"""Functions that NumPy computes on the host, made of those that have kernels on a device.

Those of all targets are in `linad.sweeps.composed_forms`.
"""

import functools
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.rules.composed import FORMS
from linad.sweeps.composed_forms import composed
from linad.sweeps.expansions import ON_GRIDS

composes = functools.partial(composed, ON_GRIDS)
"""Enter a form for these primitives; a decorator."""

for _name in ("isclose", "allclose", "rel_entr", "kl_div", "huber"):
    composes(_name)(FORMS[_name])


@composes("log_ndtr")
def log_ndtr(x: Array) -> Any:
    """log Φ(x), by erfcx where Φ is too small to take its logarithm.

    Source: DLMF 7.2, with Φ(x) = erfc(-x/√2) / 2.
    """
    if x.dtype.kind != "f":
        return None
    t = x * np.sqrt(0.5).astype(x.dtype)
    low = np.log(0.5 * scipy.special.erfcx(-np.minimum(t, 0))) - t * t
    return np.where(x < -1, low, np.log1p(-0.5 * scipy.special.erfc(np.maximum(t, -1))))


# Vectors and matrices.


@composes("adjugate")
def adjugate(a: Array) -> Any:
    """det(A) A^-1; where there is no inverse the program stops, and NumPy has another form."""
    if not a.size:
        return None
    return np.linalg.det(a)[..., None, None] * np.linalg.inv(a)
