"""The phase of a chirp whose frequency stays what it is at first, in its frequencies.

    logarithmic   2π f0 t r(t log(f1/f0) / t1)    r(v) = (e^v - 1) / v
    hyperbolic    2π f0 t log(1 + w) / w          w = t (f0 - f1) / (f1 t1)

For f0 = f1 SciPy takes 2π f0 t, which depends neither on f1 nor on t1.
"""

import math
from typing import Any

import numpy as np
import scipy.signal
import scipy.special as sp
from scipy.signal import _waveforms

from linad.rules.shaping import still
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import function_twin, stands_for


def _chirp_phase(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", vertex_zero: Any = True
) -> Any:
    logarithmic = method in ("logarithmic", "log", "lo")
    steady = holds_traced((f0, f1)) and still(f0) == still(f1) != 0
    if not steady or not (logarithmic or method in ("hyperbolic", "hyp")):
        return function_twin(_waveforms._chirp_phase)(t, f0, t1, f1, method, vertex_zero)
    t = inexact(t)
    ratio: Any = 0.0
    if logarithmic:
        ratio = sp.exprel(t / t1 * np.log(f1 / f0))
    else:
        w = t * (f0 - f1) / (f1 * t1)
        for k in range(12, 0, -1):
            ratio = 1 / k - w * ratio
    return 2 * math.pi * f0 * t * ratio


stands_for(_waveforms._chirp_phase, _chirp_phase)

chirp = form_by_twin(scipy.signal.chirp)
