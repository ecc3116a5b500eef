"""scipy.special: Legendre functions on the sphere, differentiated in the angle.

Y_n^m(θ, φ) = P_n^m(θ) exp(i m φ), and by the ladder operators of the order

    dP_n^m/dθ = (√((n-m)(n+m+1)) P_n^(m+1) - √((n+m)(n-m+1)) P_n^(m-1)) / 2

which divides by nothing, at the poles neither. Beyond the poles SciPy's P are those of the angle
between 0 and π with the same cosine, so that the slope changes its sign there. Degree and order are
constants.

Source: DLMF 14.30; A. R. Edmonds, "Angular Momentum in Quantum Mechanics", 1957, chapter 2.
"""

from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.elementwise import NO_SLOPE, several


def _values(n: Array, m: Array, theta: Array) -> Any:
    """In the precision of the angle; SciPy's have one more axis, of derivatives."""
    n, m = np.asarray(n, np.int64), np.asarray(m, np.int64)
    made = sp.sph_legendre_p(n, m, np.asarray(theta, np.float64))[0]
    return made.astype(np.result_type(theta, np.float16))


def _slope(y: Array, n: Array, m: Array, theta: Array) -> Any:
    n, m = np.asarray(n, np.int64), np.asarray(m, np.int64)
    up = np.sqrt(np.maximum((n - m) * (n + m + 1), 0))
    down = np.sqrt(np.maximum((n + m) * (n - m + 1), 0))
    above = np.where(up > 0, sph_legendre_p(n, m + 1, theta), 0.0)
    below = np.where(down > 0, sph_legendre_p(n, m - 1, theta), 0.0)
    inward = np.where(np.sin(theta) < 0, -0.5, 0.5)
    return (inward * (up * above - down * below)).astype(y.dtype)


sph_legendre_p = several("sph_legendre_p", _values, n=NO_SLOPE, m=NO_SLOPE, theta=_slope)
