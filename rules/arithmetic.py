"""Arithmetic, entry by entry.

y = a b        dy = b da + a db
y = a / b      dy = da / b - (y / b) db
y = a^b        dy = b a^(b-1) da + y log(a) db
y = a mod b    dy = da - floor(a / b) db            where a / b is not an integer

Conventions. The slope of a^b in a is 0 where b is 0, also at a = 0; in b it is 0 at a = 0,
b >= 0, and at a = inf, b < 0, and NaN where a is negative (a real power of it exists for
integers b only).
Remainders are differentiated as if a / b were no integer. Rounding to floating point is
not seen: `nextafter` has slope 1 in its first argument.
"""

import math
import operator
from typing import Any

import numpy as np

from linad.arrays.roots import power_of_root, root_scaled, square_of_root
from linad.core.array_type import Array
from linad.core.dispatch import OPERATORS, implements
from linad.core.primitive import Primitive, Traced
from linad.core.tape import Var
from linad.operators.base import JacobianOperator
from linad.operators.slopes import FACTOR, POLE, POWER, QUOTIENT, SlopeRule, reaches_infinity
from linad.operators.structured import Diagonal, Identity, Zero
from linad.rules.elementwise import (
    binary,
    constant,
    copied,
    levels_off,
    register,
    shape_of,
    steep,
    unary,
)

add = binary("add", np.add, None, None)
subtract = binary("subtract", np.subtract, None, lambda y, a, b: -1)
add.captures_args = subtract.captures_args = False
multiply = binary("multiply", np.multiply, lambda y, a, b: b, lambda y, a, b: a)
multiply.of_equal = SlopeRule("multiply_wrt_both", 0, lambda y, a, b: a + a)
# y's type makes 1 / b as precise as y where b is an integer, and 1 / 0 infinite.
divide = binary(
    "divide", np.true_divide, lambda y, a, b: y.dtype.type(1) / b, lambda y, a, b: -y / b
)
levels_off(divide, 1)
steep(multiply, FACTOR, 0, 1)
steep(divide, FACTOR, 0)
steep(divide, QUOTIENT, 1)
OPERATORS[np.multiply] = multiply


def product(a: Array, b: Array) -> Any:
    """a b; of two roots of one value, without the roots; the square of a multiple of one, too."""
    if isinstance(a, Traced) and a._square is not None:
        square = square_of_root(a, b)
        return root_scaled(multiply(a, b), a, b, 1) if square is None else square
    if isinstance(b, Traced) and b._square is not None:
        return root_scaled(multiply(a, b), b, a, 1)
    return multiply(a, b)


register(np.multiply, product)
for _primitive, _operator in (
    (add, operator.add),
    (subtract, operator.sub),
    (multiply, operator.mul),
    (divide, operator.truediv),
):
    _primitive.on_numbers = _operator
negative = unary("negative", np.negative, lambda y, x: -1)
positive = unary("positive", np.positive, lambda y, x: 1)
reciprocal = levels_off(unary("reciprocal", np.reciprocal, lambda y, x: -y * y), 0)
steep(reciprocal, POLE, 0)


def _twice(x: Array) -> Any:
    """2 x: of a plain array the sum, which NumPy gives in half the time of a number's multiple."""
    return x + x if type(x) is np.ndarray and x.dtype.kind == "f" else 2 * x


square = unary("square", np.square, lambda y, x: _twice(x))


def squared(x: Array) -> Any:
    """x²; of a root without the root."""
    if isinstance(x, Traced) and x._square is not None:
        y = power_of_root(x, 2)
        if y is not None:
            return y
    return square(x)


register(np.square, squared)


def _power_slope_a(y: Array, a: Array, b: Any) -> Any:
    if not hasattr(b, "shape"):  # a Python number: the usual x**2
        if b == 2:
            return _twice(a)
        if abs(b) == math.inf:
            return power_slope(y, a, np.float64(b))
        return b * a ** (b - 1) if b else 0
    return power_slope(y, a, b)


def power_slope(y: Array, a: Array, b: Array) -> Any:
    """b a^(b-1). Where b is 0 it is 0, and its own slope in b is 1 / a: the exponent has to be -1.

    Only at a = 0, where 0 * a**-1 is NaN, another one stands in, with all slopes 0. It is 0 as
    well where b is infinite and the power is not: there b itself is left out.
    """
    if reaches_infinity(b):
        b = np.where(np.isinf(b) & np.isfinite(y), 0, b)
    zero = b == 0
    if not isinstance(zero, Traced) and not np.count_nonzero(zero):
        return b * a ** (b - 1)
    at_zero = zero & (np.abs(a) < np.finfo(y.dtype).tiny)
    return b * a ** np.where(at_zero, 2, b - 1)


def _power_slope_b(y: Array, a: Array, b: Array) -> Any:
    base = y.dtype.type(1) * a
    still = base == 0
    if reaches_infinity(base):
        still = still | ((base == np.inf) & (y == 0))
    return y * np.log(np.where(still, 1, base))


def _raised(a: Any, b: Any) -> Any:
    """a^b by the operator, not np.power: it squares where b is 2.

    A complex number of Python's raises itself to a float64, which is a float, and is Python's.
    """
    y = a**b
    return np.complex128(y) if type(y) is complex else y


power = levels_off(binary("power", _raised, _power_slope_a, _power_slope_b), 0, 1)
steep(power, POWER, 0)
power.partial = "of no negative powers"
OPERATORS[np.power] = power


def _power(a: Array, b: Array) -> Any:
    """np.power, of which ``a ** b`` is not quite the same.

    Squares of truth values have the dtype of 2, not that of a byte. And of a number, too, the
    power 1/2 is a root. Powers of a root are told without it.
    """
    if isinstance(a, Traced) and a._square is not None:
        y = power_of_root(a, b)
        if y is not None:
            return y
    if getattr(a, "dtype", None) == np.bool_ and type(b) is int:
        a = np.astype(a, int)
    elif _is_half(b) and not shape_of(a) and not np.ndim(b) and a.dtype.kind != "c":
        dtype = np.result_type(a.dtype, b)
        return np.sqrt(a if a.dtype == dtype else np.astype(a, dtype))
    return power(a, b)


def _is_half(b: Array) -> bool:
    """Whether an exponent is the one number 1/2, for which NumPy's powers are roots."""
    if isinstance(b, Traced) or np.size(b) != 1:
        return False
    return bool(np.result_type(b).kind == "f" and np.all(np.equal(b, 0.5)))


register(np.power, _power)


def _of_whole_numbers(a: Any, b: Any) -> bool:
    """NumPy refuses negative whole powers of whole numbers."""
    kinds = [getattr(x, "dtype", np.result_type(type(x))).kind for x in (a, b)]
    if not set(kinds) <= set("iu"):
        return False
    return kinds[1] == "i" and (isinstance(b, Var) or bool(np.any(np.less(b, 0))))


power.stumbles = _of_whole_numbers


def float_power(a: Array, b: Array) -> Any:
    """In double precision, and of an array without roots: at -inf the power 1/2 is inf, not NaN."""
    if _is_half(b) and shape_of(a):
        b = np.full(np.broadcast_shapes(shape_of(a), shape_of(b)), 0.5)
    return power(_double(a), _double(b))


def _double(a: Array) -> Any:
    if not hasattr(a, "dtype"):
        return a if isinstance(a, complex) else float(a)
    return a.astype(complex if a.dtype.kind == "c" else float)


register(np.float_power, float_power)

# Remainders.

floor_divide = constant("floor_divide", np.floor_divide)
remainder = binary(
    "remainder", np.remainder, None, lambda y, a, b: -np.floor_divide(y.dtype.type(1) * a, b)
)
# (a - y) / b is the integer trunc(a / b), which rounding in a / b could miss by one.
fmod = binary("fmod", np.fmod, None, lambda y, a, b: np.rint((y - a) / b))


def divmod_(a: Array, b: Array) -> Any:
    return floor_divide(a, b), remainder(a, b)


register(np.divmod, divmod_)

# Parts of a number.

trunc = constant("trunc", np.trunc)
fraction = unary("fraction", lambda x: np.modf(x)[0], lambda y, x: 1)
exponent = Primitive("exponent", lambda x: np.frexp(x)[1], constant=True)


def modf(x: Array) -> Any:
    if x.dtype.kind in "biu":  # of these both are floats
        x = np.astype(x, np.modf(np.empty(0, x.dtype))[0].dtype)
    return fraction(x), trunc(x)


def frexp(x: Array) -> Any:
    """x = m 2^e with 1/2 <= |m| < 1: dm = 2^-e dx."""
    e = exponent(x)
    return ldexp(x, -e), e


register(np.modf, modf)
register(np.frexp, frexp)

ldexp = Primitive("ldexp", np.ldexp)
register(np.ldexp, ldexp)


@ldexp.jacobian(wrt=0)
def ldexp_wrt_x(y: Array, x: Array, i: Array) -> JacobianOperator:
    slope = Diagonal(np.ldexp(y.dtype.type(1), i), y.shape, y.dtype)
    return slope if x.shape == y.shape else slope @ copied(y, x)


spacing = constant("spacing", np.spacing)
nextafter = Primitive("nextafter", np.nextafter)
nextafter.zero_slope_args = frozenset({1})
register(np.nextafter, nextafter)


@nextafter.jacobian(wrt=0)
def nextafter_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
    return copied(y, a)


@nextafter.jacobian(wrt=1)
def nextafter_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
    return Zero(y.shape, b.shape, y.dtype)


# x plus a multiple of the period that is constant between jumps.
unwrap_ = Primitive("unwrap", lambda p, **keywords: np.unwrap(p, **keywords))


@unwrap_.jacobian(wrt=0)
def unwrap_wrt_p(y: Array, p: Array, **keywords: Any) -> JacobianOperator:
    return Identity(y.shape, y.dtype)


@implements(np.unwrap)
def unwrap(p: Array, discont: Any = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    return unwrap_(p, discont=discont, axis=axis, period=period)
