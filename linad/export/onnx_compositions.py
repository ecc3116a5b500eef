"""Forms written in NumPy: what a primitive is, of primitives that have forms.

They are functions of the operands, with the parameters as keywords, in the dtypes of NumPy.
None of them takes a Python decision on a value. Here are those of numbers and their parts; the
topics with more of them have a module each: `onnx_exponentials`, `onnx_trigonometry`,
`onnx_reductions`. Those that other targets compose as well are in `linad.rules.composed`.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.export.onnx_writer import composed
from linad.rules.composed import FORMS

for _name, _function in FORMS.items():
    composed(_name)(_function)


@composed("square")
def square(x: Any) -> Any:
    return x * x


@composed("tip")
def tip(x: Array) -> Any:
    return np.where(x == 0, x.dtype.type(1), x)


@composed("cube_of_tip")
def cube_of_tip(s: Any) -> Any:
    return s * np.sqrt(s)


@composed("cbrt")
def cbrt(x: Any) -> Any:
    # One step of Newton's takes off what the power rounds.
    size = np.abs(x)
    edge = (size == 0) | (size == np.inf)
    z = np.where(edge, 1.0, size)
    y = np.power(z, 1 / 3)
    y = y - (y - z / (y * y)) / 3
    return np.where(edge | (x != x), x, np.sign(x) * y)


@composed("signbit")
def signbit(x: Array) -> Any:
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.dtype.kind == "f" else x < 0


@composed("copysign")
def copysign(a: Array, b: Array) -> Any:
    return np.where(np.signbit(b), -np.abs(a), np.abs(a))


@composed("heaviside")
def heaviside(x: Any, at_zero: Any) -> Any:
    y = np.where(x > 0, 1.0, np.where(x == 0, at_zero, 0.0))
    return np.where(x != x, x, y)


@composed("isinf")
def isinf(x: Array) -> Any:
    return np.abs(x) == np.inf


@composed("isfinite")
def isfinite(x: Array) -> Any:
    return np.abs(x) < np.inf if x.dtype.kind == "f" else x == x


@composed("isposinf")
def isposinf(x: Any) -> Any:
    return x == np.inf


@composed("isneginf")
def isneginf(x: Any) -> Any:
    return x == -np.inf


@composed("isreal")
def isreal(x: Any) -> Any:
    return np.ones(np.shape(x), bool)


@composed("iscomplex")
def iscomplex(x: Any) -> Any:
    return np.zeros(np.shape(x), bool)


@composed("imag")
def imag(x: Any) -> Any:
    return np.zeros(x.shape, x.dtype)


@composed("fmax")
def fmax(a: Array, b: Array) -> Any:
    return np.where(a != a, b, np.where(b != b, a, np.maximum(a, b)))


@composed("fmin")
def fmin(a: Any, b: Any) -> Any:
    return np.where(a != a, b, np.where(b != b, a, np.minimum(a, b)))


@composed("fmax_reduce")
def fmax_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    missing = x != x
    y = np.max(np.where(missing, -np.inf, x), axis=axes)
    return np.where(np.all(missing, axis=axes), np.nan, y)


@composed("fmin_reduce")
def fmin_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    missing = x != x
    y = np.min(np.where(missing, np.inf, x), axis=axes)
    return np.where(np.all(missing, axis=axes), np.nan, y)


@composed("remainder")
def remainder(a: Array, b: Array) -> Any:
    y = np.fmod(a, b)
    return np.where(
        (y != 0) & ((y < 0) != (b < 0)), y + b, np.where(y == 0, np.copysign(0.0, b), y)
    )


@composed("floor_divide")
def floor_divide(a: Array, b: Array) -> Any:
    quotient = (a - remainder(a, b)) / b
    return np.where(b == 0, a / b, np.rint(quotient))


@composed("ldexp")
def ldexp(x: Any, i: Any) -> Any:
    # In two halves, each a power of two that the dtype holds.
    dtype = np.result_type(x)
    half = np.floor(np.asarray(i) / 2) if not hasattr(i, "_trace") else np.floor(i / 2)
    rest = i - half
    two = dtype.type(2)
    return x * np.power(two, _like(half, dtype)) * np.power(two, _like(rest, dtype))


def _like(x: Any, dtype: Any) -> Any:
    return np.astype(x, dtype) if x.dtype != dtype else x
