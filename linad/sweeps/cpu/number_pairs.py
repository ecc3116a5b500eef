"""Operations on two numbers that take more than an expression, with NumPy's conventions.

Quotients and remainders go down, not towards zero; division of integers by zero gives zero;
shifts by more than the width of an integer shift everything out. ``zero`` and ``one`` are
passed in the type that is computed in, because a literal would widen a float32.

Source: the documentation of `numpy.floor_divide`, `numpy.remainder`, `numpy.left_shift`.
"""

from typing import Any

import numpy as np
from numba import njit

from linad.sweeps.cpu.native import select
from linad.sweeps.cpu.vector_math import FUNCTIONS

fmod = FUNCTIONS["m_fmod"]
FUNCTION = njit(error_model="numpy")


@FUNCTION
def remainder(a: Any, b: Any, zero: Any) -> Any:
    """a - b floor(a / b), with the sign of b."""
    rest = fmod(a, b)
    if b == 0:
        return rest  # NaN
    if rest == 0:
        return np.copysign(zero, b)
    if (b < 0) != (rest < 0):
        rest = rest + b
    return rest


@FUNCTION
def floor_divide(a: Any, b: Any, zero: Any, one: Any) -> Any:
    """floor(a / b), right also where the quotient is rounded up to an integer."""
    if b == 0:
        return a / b
    rest = fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        quotient = quotient - one
    if quotient == 0:
        return np.copysign(zero, a / b)
    floor = np.floor(quotient)
    if quotient - floor > 0.5:
        floor = floor + one
    return floor


@FUNCTION
def divisor(b: Any) -> Any:
    """The divisor, where the processor can divide by it; else 1.

    The least integer has no negative: dividing it by -1 is a fault.
    """
    return select((b == 0) | (b == -1), 1, b)


@FUNCTION
def integer_floor_divide(a: Any, b: Any) -> Any:
    return select(b == 0, 0, select(b == -1, -a, a // divisor(b)))


@FUNCTION
def integer_remainder(a: Any, b: Any) -> Any:
    return select((b == 0) | (b == -1), 0, a % divisor(b))


@FUNCTION
def integer_fmod(a: Any, b: Any) -> Any:
    """The remainder with the sign of ``a``."""
    rest = integer_remainder(a, b)
    return select((rest != 0) & ((a < 0) != (b < 0)), rest - b, rest)


@FUNCTION
def left_shift(a: Any, n: Any, bits: Any) -> Any:
    return select((n < 0) | (n >= bits), 0, a << select((n < 0) | (n >= bits), 0, n))


@FUNCTION
def right_shift(a: Any, n: Any, bits: Any) -> Any:
    return a >> select((n < 0) | (n >= bits), bits - 1, n)


NAMES = {
    "remainder": remainder,
    "floor_divide": floor_divide,
    "integer_floor_divide": integer_floor_divide,
    "integer_remainder": integer_remainder,
    "integer_fmod": integer_fmod,
    "left_shift": left_shift,
    "right_shift": right_shift,
}
"""What rows may call."""
