"""Functions of numbers that Numba compiles apart, for the language of kernels to write in place."""

import math
from typing import Any

import numpy as np
from numba.core import types

from linad.sweeps.cpu.native import clipped, select
from linad.sweeps.cpu.vector_math import FUNCTIONS

LONGEST = 0x10000
"""The greatest exponent that is worked off by multiplications."""

LEAST = -0x8000000000000000
LOG_2 = math.log(2.0)


def multiplied(a: Any, one: Any, count: Any) -> Any:
    """The product of this many factors ``a``; ``one`` is 1 in the type of ``a``."""
    found, square, left = one, a, count
    while left != 0:
        if left & 1:
            found = found * square
        left = left >> 1
        square = square * square
    return found


def power_of_real(a: Any, one: Any, n: Any) -> Any:
    """a^n of a floating-point number and an integer; ``one`` is 1 in the type of ``a``."""
    if abs(n) > LONGEST:
        return one * math.pow(a, float(n))
    found = multiplied(a, one, abs(n))
    return one / found if n < 0 else found


def power_of_integer(a: Any, n: Any) -> Any:
    """a^n of integers, an integer as in Numba: 1/a is 0, unless a is 1 or -1."""
    if n < 0 and a != 1 and a != -1:
        return 0 if a != 0 else LEAST
    return multiplied(a, 1, abs(n))


def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), as NumPy computes it: infinities are their own sums."""
    if a == b:
        return a + LOG_2
    d = a - b
    if d > 0:
        return a + math.log1p(math.exp(-d))
    if d <= 0:
        return b + math.log1p(math.exp(d))
    return d  # NaN


TYPES: dict[Any, Any] = {
    float: types.float64,
    int: types.int64,
    bool: types.boolean,
    np.uint64: types.uint64,
}
"""What Numba calls types of Python and NumPy."""

IN_PLACE: dict[Any, Any] = {
    math.hypot: FUNCTIONS["m_hypot"],
    np.cbrt: FUNCTIONS["m_cbrt"],
    np.logaddexp: logaddexp,
}
"""What kernels write for functions of floating-point numbers."""


def maximum(a: Any, b: Any) -> Any:
    return select((a > b) | (a != a), a, b)


def minimum(a: Any, b: Any) -> Any:
    return select((a < b) | (a != a), a, b)


def fmax(a: Any, b: Any) -> Any:
    return select((a > b) | (b != b), a, b)


def fmin(a: Any, b: Any) -> Any:
    return select((a < b) | (b != b), a, b)


OF_ONE_TYPE: dict[Any, Any] = {
    np.maximum: maximum,
    np.minimum: minimum,
    np.fmax: fmax,
    np.fmin: fmin,
    np.clip: clipped,
}
"""What stands for NumPy functions once their arguments have the type that holds them all."""
