"""scipy.special: Bessel functions and their relatives, differentiated in the argument.

J_v' = (J_(v-1) - J_(v+1)) / 2         the same for Y and both Hankel functions
I_v' = (I_(v-1) + I_(v+1)) / 2         K_v' = -(K_(v-1) + K_(v+1)) / 2
j_n' = (n j_(n-1) - (n+1) j_(n+1)) / (2n + 1)     spherical, without division by x
Ai'' = x Ai                            and so for the second of each pair of results

The derivatives in the order have no closed form. Those of K and I are an integral and a series, see
`linad.rules.besselorders`, and primitives: their derivatives are the same of a higher order, and of
the orders beside it. Scaled functions take the derivative of
their factor along; where the factor is |Re z| or |Im z| it is not holomorphic, and complex
arguments are refused.

Source: DLMF chapters 9, 10, 11, 12.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.operators.slopes import SINGULAR
from linad.rules.besselorders import ive_in_order, kve_in_order
from linad.rules.elementwise import NO_SLOPE, Slope, levels_off, several, steep, unary
from linad.rules.kinks import side
from linad.rules.shaping import astype
from linad.rules.special import real_only, special, special_fan, ufunc_of

# Order n or v, argument x.

for _name in ("jv", "yv", "hankel1", "hankel2"):
    _f = ufunc_of(_name)
    special(_name, v=NO_SLOPE, x=lambda y, v, x, f=_f: 0.5 * (f(v - 1, x) - f(v + 1, x)))


def _kve_higher(y: Array, v: Array, x: Array, *, nth: int) -> Any:
    return kve_wrt_order(v, x, nth=nth + 1)


def _kve_beside(y: Array, v: Array, x: Array, *, nth: int) -> Any:
    return y - 0.5 * (kve_wrt_order(v - 1, x, nth=nth) + kve_wrt_order(v + 1, x, nth=nth))


kve_wrt_order: Primitive = several("kve_wrt_order", kve_in_order, v=_kve_higher, x=_kve_beside)


def _ive_higher(y: Array, v: Array, x: Array, *, nth: int) -> Any:
    return ive_wrt_order(v, x, nth=nth + 1)


def _ive_beside(y: Array, v: Array, x: Array, *, nth: int) -> Any:
    lower = ive_wrt_order(v, x, nth=nth - 1) if nth else 0.0
    return ive_wrt_order(v + 1, x, nth=nth) - y + (v * y + nth * lower) / x


ive_wrt_order: Primitive = several("ive_wrt_order", ive_in_order, v=_ive_higher, x=_ive_beside)


def _in_order(name: str, scaled: Primitive, scale: Slope) -> Slope:
    def slope(y: Array, v: Array, x: Array) -> Any:
        real_only(name, x)
        return scale(x) * scaled(v, x, nth=1)

    return slope


special(
    "iv",
    v=_in_order("iv", ive_wrt_order, np.exp),
    x=lambda y, v, x: 0.5 * (sp.iv(v - 1, x) + sp.iv(v + 1, x)),
)
special(
    "kv",
    v=_in_order("kv", kve_wrt_order, lambda x: np.exp(-x)),
    x=lambda y, v, x: -0.5 * (sp.kv(v - 1, x) + sp.kv(v + 1, x)),
)

# Of integer order: SciPy takes the whole part.


def _yn_slope(y: Array, n: Any, x: Array) -> Any:
    n = np.trunc(n)
    return 0.5 * (sp.yv(n - 1, x) - sp.yv(n + 1, x))


def _kn_slope(y: Array, n: Any, x: Array) -> Any:
    n = np.trunc(n)
    return -0.5 * (sp.kv(n - 1, x) + sp.kv(n + 1, x))


special("yn", n=NO_SLOPE, x=_yn_slope)
special("kn", n=NO_SLOPE, x=_kn_slope)

# Times exp(-|Im x|), which is 1 on the real line; exp(∓ix); exp(-|Re x|); exp(x).


def _jve_slope(name: str, plain: Any) -> Slope:
    def slope(y: Array, v: Any, x: Array) -> Any:
        real_only(name, x)
        return 0.5 * (plain(v - 1, x) - plain(v + 1, x))

    return slope


def _ive_slope(y: Array, v: Array, x: Array) -> Any:
    real_only("ive", x)
    return 0.5 * (sp.ive(v - 1, x) + sp.ive(v + 1, x)) - side(x) * y


special("jve", v=NO_SLOPE, x=_jve_slope("jve", sp.jv))
special("yve", v=NO_SLOPE, x=_jve_slope("yve", sp.yv))
special(
    "hankel1e",
    v=NO_SLOPE,
    x=lambda y, v, x: 0.5 * (sp.hankel1e(v - 1, x) - sp.hankel1e(v + 1, x)) - 1j * y,
)
special(
    "hankel2e",
    v=NO_SLOPE,
    x=lambda y, v, x: 0.5 * (sp.hankel2e(v - 1, x) - sp.hankel2e(v + 1, x)) + 1j * y,
)
special("ive", v=_in_order("ive", ive_wrt_order, lambda x: 1.0), x=_ive_slope)
special(
    "kve",
    v=_in_order("kve", kve_wrt_order, lambda x: 1.0),
    x=lambda y, v, x: y - 0.5 * (sp.kve(v - 1, x) + sp.kve(v + 1, x)),
)

# Orders 0 and 1.

special("j0", x=lambda y, x: -sp.j1(x))
special("j1", x=lambda y, x: 0.5 * (sp.j0(x) - sp.jv(2, x)))
special("y0", x=lambda y, x: -sp.y1(x))
special("y1", x=lambda y, x: sp.y0(x) - y / x)
_i0 = special("i0", x=lambda y, x: sp.i1(x))
special("i1", x=lambda y, x: 0.5 * (sp.i0(x) + sp.iv(2, x)))
levels_off(special("i0e", x=lambda y, x: sp.i1e(x) - side(x) * y), 0)
levels_off(special("i1e", x=lambda y, x: 0.5 * (sp.i0e(x) + sp.ive(2, x)) - side(x) * y), 0)


@implements(np.i0)
@gives(array)
def i0(x: Array) -> Any:
    if x.dtype.kind in "biu":  # scipy.special takes small ones in single precision
        x = astype(x, np.dtype(float))
    return astype(_i0(x), x.dtype) if x.dtype == np.float16 else _i0(x)


levels_off(special("k0", x=lambda y, x: -sp.k1(x)), 0)
levels_off(special("k1", x=lambda y, x: -sp.k0(x) - y / x), 0)
levels_off(special("k0e", x=lambda y, x: y - sp.k1e(x)), 0)
levels_off(special("k1e", x=lambda y, x: y - sp.k0e(x) - y / x), 0)

# Spherical. SciPy's functions are not ufuncs: they take plain arrays only.


def _spherical(letter: str, sign: int, upper: int) -> Primitive:
    name = f"spherical_{letter}n"

    def slope(y: Array, n: Any, x: Array) -> Any:
        n = np.trunc(n)  # as SciPy does
        below = primitive(n - (n != 0), x)
        d = sign * (n * below + upper * (n + 1) * primitive(n + 1, x)) / (2 * n + 1)
        return d.astype(y.dtype)

    primitive = several(name, getattr(sp, name), n=NO_SLOPE, x=slope)
    return steep(primitive, SINGULAR, 1)


spherical_jn = _spherical("j", 1, -1)
spherical_yn = _spherical("y", 1, -1)
spherical_in = _spherical("i", 1, 1)
spherical_kn = _spherical("k", -1, 1)

# sin(πx) / (πx) = j_0(πx): its derivative -π j_1(πx) has no division by x.
sinc = unary(
    "sinc", np.sinc, lambda y, x: (-math.pi * spherical_jn(1, math.pi * x)).astype(y.dtype)
)


@implements(np.sinc)
def _sinc(x: Array) -> Any:
    return sinc(x)



# Struve functions.


def _struve_source(v: Array, x: Array) -> Any:
    return (0.5 * x) ** v / (math.sqrt(math.pi) * sp.gamma(v + 1.5))


def _struve_slope(f: Any, sign: int) -> Slope:
    # f_(-1) = 2/π + sign f_1: no order below 0 is asked for where 0 or -1 is differentiated.
    def between(v: Array, x: Array) -> Any:
        return 0.5 * (f(v - 1, x) + sign * f(v + 1, x) + _struve_source(v, x))

    def slope(y: Array, v: Any, x: Array) -> Any:
        zero, minus = np.equal(v, 0), np.equal(v, -1)
        order = np.where(zero | minus, 1.0, v)
        found = between(order, x)
        found = np.where(minus, sign * found, found)
        return np.where(zero, 2 / math.pi + sign * f(1, x), found)

    return slope


special("struve", v=NO_SLOPE, x=_struve_slope(sp.struve, -1))
special("modstruve", v=NO_SLOPE, x=_struve_slope(sp.modstruve, 1))

# Airy functions and their derivatives.

special_fan("airy", x=lambda y, x: (y[1], x * y[0], y[3], x * y[2]))


def _airye_slopes(y: tuple[Any, ...], x: Array) -> Any:
    # Scaled by exp(±2/3 x^(3/2)) where x > 0.
    real_only("airye", x)
    a, da, b, db = y
    s = np.sqrt(np.maximum(x, 0))
    return da + s * a, x * a + s * da, db - s * b, x * b - s * db


special_fan("airye", x=_airye_slopes)

# Kelvin functions: f = ber + i bei and ker + i kei solve f'' = i f - f' / x.

special("ber", x=lambda y, x: sp.berp(x))
special("bei", x=lambda y, x: sp.beip(x))
special("ker", x=lambda y, x: sp.kerp(x))
special("kei", x=lambda y, x: sp.keip(x))


def _series(x: Array, coefficients: Any) -> Any:
    """Σ_k c_k x^(4k)."""
    fourth, total = x**4, 0.0
    for c in reversed(coefficients):
        total = total * fourth + c
    return total


# ber x = Σ (-1)^k (x/2)^(4k) / (2k)!², bei x = Σ (-1)^k (x/2)^(4k+2) / (2k+1)!².
_BER = [(-1) ** k * 4 * k / 16**k / math.factorial(2 * k) ** 2 for k in range(1, 9)]
_BEI = [(-1) ** k * (k + 0.5) / 16**k / math.factorial(2 * k + 1) ** 2 for k in range(8)]


def _per_x(y: Array, x: Array, near: Array, series: Callable[..., Any]) -> Any:
    """y / x, by its series near 0."""
    small = np.where(near, x, 0.0)
    return np.where(near, series(small), np.where(near, 0.0, y) / np.where(near, 1.0, x))


def _berp_per_x(y: Array, x: Array) -> Any:
    return _per_x(y, x, np.abs(x) < 1, lambda x: x * x * _series(x, _BER))


def _beip_per_x(y: Array, x: Array) -> Any:
    return _per_x(y, x, np.abs(x) < 1, lambda x: _series(x, _BEI))


def _kelvin_slopes(y: tuple[Any, ...], x: Array) -> Any:
    first = _berp_per_x(np.real(y[2]), x) + 1j * _beip_per_x(np.imag(y[2]), x)
    return y[2], y[3], 1j * y[0] - first, 1j * y[1] - y[3] / x


special("berp", x=lambda y, x: -sp.bei(x) - _berp_per_x(y, x))
special("beip", x=lambda y, x: sp.ber(x) - _beip_per_x(y, x))
special("kerp", x=lambda y, x: -sp.kei(x) - y / x)
special("keip", x=lambda y, x: sp.ker(x) - y / x)
special_fan("kelvin", x=_kelvin_slopes)

# Integrals from 0 (with t below: from x to infinity, or of the difference to the value at 0).

special_fan("itj0y0", x=lambda y, x: (sp.j0(x), sp.y0(x)))
special_fan("iti0k0", x=lambda y, x: (sp.i0(x), sp.k0(x)))
# (1 - J_0(x)) / x = Σ_k≥0 (-1)^k x^(2k+1) / (4^(k+1) (k+1)!²), without signs for I_0.
_SQUARES = [1 / 4 ** (k + 1) / math.factorial(k + 1) ** 2 for k in range(12)]


def _step_per_x(y: Array, x: Array, sign: int) -> Any:
    def series(x: Array) -> Any:
        total: Any = 0.0
        for c in reversed(_SQUARES):
            total = total * (sign * x * x) + c
        return x * total

    return _per_x(y, x, np.abs(x) < 1, series)


special_fan("it2j0y0", x=lambda y, x: (_step_per_x(1 - sp.j0(x), x, -1), -sp.y0(x) / x))
special_fan("it2i0k0", x=lambda y, x: (_step_per_x(sp.i0(x) - 1, x, 1), -sp.k0(x) / x))
special("itstruve0", x=lambda y, x: sp.struve(0, x))


# H_0(x) / x = (2/π) Σ (-1)^k x^(2k) / (2k+1)!!².
_ODD = [2 / math.pi / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(12)]


def _struve0_per_x(x: Array) -> Any:
    def series(x: Array) -> Any:
        total: Any = 0.0
        for c in reversed(_ODD):
            total = c - total * x * x
        return total

    return _per_x(sp.struve(0, x), x, np.abs(x) < 1, series)


special("it2struve0", x=lambda y, x: -_struve0_per_x(x))
special("itmodstruve0", x=lambda y, x: sp.modstruve(0, x))


def _itairy_slopes(y: tuple[Any, ...], x: Array) -> Any:
    right, left = sp.airy(x), sp.airy(-x)
    return right[0], right[2], left[0], left[2]


special_fan("itairy", x=_itairy_slopes)
