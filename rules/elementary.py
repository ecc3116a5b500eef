"""Exponentials, logarithms, trigonometric and hyperbolic functions, entry by entry.

y = f(x)      dy = f'(x) dx      f' written with y where that is cheaper

Angles are in radians unless the name says otherwise. Slopes hold for complex arguments
where NumPy has the function for them; the roots are split, sqrt(1 - x) sqrt(1 + x), so that
they stay on the principal branch and lose no digits near 1, and the sign of a zero imaginary
part, which tells the side of a cut, is kept. Where a slope is infinite
(sqrt at 0, arcsin at 1) it is inf, as IEEE arithmetic gives it; hypot has slope 0 at the
origin, like |x|; arctan2 has NaN there.

Source: NIST Digital Library of Mathematical Functions, chapter 4.
"""

import math
from typing import Any

import numpy as np

from linad.arrays.roots import rooted
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.operators.slopes import POLE, reaches_infinity
from linad.rules.elementwise import binary, levels_off, register, steep, unary
from linad.rules.kinks import cube_of_tip, tip
from linad.rules.shaping import replaced

LN2, LN10 = math.log(2), math.log(10)
DEGREE = math.pi / 180

# Exponentials, logarithms, roots.

exp = levels_off(unary("exp", np.exp, lambda y, x: y), 0)
exp2 = levels_off(unary("exp2", np.exp2, lambda y, x: LN2 * y), 0)
expm1 = levels_off(unary("expm1", np.expm1, lambda y, x: y + 1), 0)
log = steep(unary("log", np.log, lambda y, x: 1 / x), POLE, 0)
log2 = steep(unary("log2", np.log2, lambda y, x: (1 / LN2) / x), POLE, 0)
log10 = steep(unary("log10", np.log10, lambda y, x: (1 / LN10) / x), POLE, 0)
log1p = steep(unary("log1p", np.log1p, lambda y, x: 1 / (1 + x)), POLE, 0)
sqrt = unary("sqrt", np.sqrt, lambda y, x: 0.5 / y)


def square_root(x: Array) -> Any:
    """The square root; where it may be 0, or differentiated again, its square is known without it.

    The slope at 0 is infinite, and that of the square 1: no product of the two tells.
    """
    if not isinstance(x, Traced):
        return sqrt(x)
    y = x._trace.apply(sqrt, (x,), {})
    value = y._value
    if isinstance(value, Traced) or y._trace.records:
        again = True
    elif type(value) is np.float64:
        again = not value
    else:
        again = np.count_nonzero(value) < value.size
    return rooted(y, _of_no_root, x) if again and y.dtype.kind == "f" else y


def _of_no_root(x: Array) -> Any:
    """sqrt(x)², which is x where there is a root."""
    return np.where(x >= 0, x, np.nan)


register(np.sqrt, square_root)
cbrt = unary("cbrt", np.cbrt, lambda y, x: 1 / (3 * y * y))


def _finite(y: Array) -> Any:
    """log(e^a + e^b), with -inf (both terms 0) replaced: then e^(a - y) is 0, not NaN."""
    return replaced(y, y == -np.inf, 0)


logaddexp = binary(
    "logaddexp",
    np.logaddexp,
    lambda y, a, b: np.exp(a - _finite(y)),
    lambda y, a, b: np.exp(b - _finite(y)),
)
levels_off(logaddexp, 0, 1)
logaddexp2 = binary(
    "logaddexp2",
    np.logaddexp2,
    lambda y, a, b: np.exp2(a - _finite(y)),
    lambda y, a, b: np.exp2(b - _finite(y)),
)
levels_off(logaddexp2, 0, 1)


def _below(x: Array) -> Any:
    """1 - x; of a complex x on the real axis, with the imaginary part -0 where x has +0."""
    return -(x - 1) if x.dtype.kind == "c" else 1 - x


def _above(x: Array) -> Any:
    """1 + x; 1 is 1 + 0j to NumPy, and would turn an imaginary part -0 into +0."""
    return x - -1 if x.dtype.kind == "c" else 1 + x


def _half_circle(x: Array) -> Any:
    return np.sqrt(_below(x)) * np.sqrt(_above(x))


# Trigonometric.

sin = unary("sin", np.sin, lambda y, x: np.cos(x))
cos = unary("cos", np.cos, lambda y, x: -np.sin(x))
tan = unary("tan", np.tan, lambda y, x: 1 + y * y)
arcsin = unary("arcsin", np.arcsin, lambda y, x: 1 / _half_circle(x))
arccos = unary("arccos", np.arccos, lambda y, x: -1 / _half_circle(x))
arctan = levels_off(unary("arctan", np.arctan, lambda y, x: 1 / (1 + x * x)), 0)
rad2deg = unary("rad2deg", np.rad2deg, lambda y, x: 1 / DEGREE)
degrees = unary("degrees", np.degrees, lambda y, x: 1 / DEGREE)
deg2rad = unary("deg2rad", np.deg2rad, lambda y, x: DEGREE)
radians = unary("radians", np.radians, lambda y, x: DEGREE)


def _hypot_slope(y: Array, a: Array) -> Any:
    return a / tip(y)


hypot = binary(
    "hypot", np.hypot, lambda y, a, b: _hypot_slope(y, a), lambda y, a, b: _hypot_slope(y, b)
)


def hypotenuse(a: Array, b: Array) -> Any:
    """hypot; where it is differentiated again, its square is known without it."""
    y = hypot(a, b)
    if isinstance(y, Traced) and (isinstance(y._value, Traced) or y._trace.records):
        return rooted(y, _sum_of_two_squares, a, b, cube=cube_of_tip)
    return y


def _sum_of_two_squares(a: Array, b: Array) -> Any:
    return a * a + b * b


register(np.hypot, hypotenuse)


def _per_square(x: Array, a: Array, b: Array) -> Any:
    """x / (a^2 + b^2), the square not formed: it might overflow. Far out it is 0."""
    h = np.hypot(a, b)
    if reaches_infinity(h):
        x = np.where(h == np.inf, 0, x)
    return x / h / h


arctan2 = binary(
    "arctan2",
    np.arctan2,
    lambda y, a, b: _per_square(b, a, b),
    lambda y, a, b: -_per_square(a, a, b),
)
levels_off(arctan2, 0, 1)

# Hyperbolic.

sinh = unary("sinh", np.sinh, lambda y, x: np.cosh(x))
cosh = unary("cosh", np.cosh, lambda y, x: np.sinh(x))
tanh = levels_off(unary("tanh", np.tanh, lambda y, x: 1 - y * y), 0)
arcsinh = unary("arcsinh", np.arcsinh, lambda y, x: 1 / np.sqrt(_above(x * x)))
arccosh = unary("arccosh", np.arccosh, lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(_above(x))))
arctanh = steep(unary("arctanh", np.arctanh, lambda y, x: 1 / ((1 - x) * (1 + x))), POLE, 0)
