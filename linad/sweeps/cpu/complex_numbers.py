"""Complex numbers in kernels, with NumPy's conventions for infinities and NaN.

a / b        Smith's algorithm: scaled by the larger part of b, so that nothing overflows early
a ** n       repeated multiplication for small integers n; exp(n log a) otherwise
exp, log ... the functions of the C library, in double precision, as NumPy takes them

Sources: R. L. Smith, "Algorithm 116: Complex division", Communications of the ACM 5, 1962;
C11, annex G; the documentation of NumPy's ufuncs.
"""

import platform
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from linad.sweeps.cpu.vector_math import FUNCTIONS
from linad.sweeps.elementary_names import HOLOMORPHIC

FUNCTION = njit(error_model="numpy")
INTEGER = types.int64

LIBM = sys.platform in ("linux", "darwin") and platform.machine() in (
    "x86_64",
    "aarch64",
    "arm64",
)
"""Whether C passes a complex number in two registers, as the calls here do."""

_hypot, _log, _exp, _expm1 = (FUNCTIONS[f"m_{n}"] for n in ("hypot", "log", "exp", "expm1"))
_sin, _cos, _atan2 = (FUNCTIONS[f"m_{n}"] for n in ("sin", "cos", "atan2"))

# Arithmetic.


@FUNCTION
def divide(a: Any, b: Any, one: Any) -> Any:
    """a / b; ``one`` is 1 as a real number of the type that is computed in."""
    if abs(b.real) >= abs(b.imag):
        if b.real == 0 and b.imag == 0:
            zero = abs(b.real)
            return complex(a.real / zero, a.imag / zero)
        ratio = b.imag / b.real
        scale = one / (b.real + b.imag * ratio)
        return complex((a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale)
    ratio = b.real / b.imag
    scale = one / (b.imag + b.real * ratio)
    return complex((a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale)


@FUNCTION
def reciprocal(a: Any, one: Any) -> Any:
    if abs(a.imag) <= abs(a.real):
        ratio = a.imag / a.real
        size = a.real + a.imag * ratio
        return complex(one / size, -ratio / size)
    ratio = a.real / a.imag
    size = a.real * ratio + a.imag
    return complex(ratio / size, -one / size)


@FUNCTION
def size(a: Any) -> Any:
    """|a| without overflow; infinite where a part is, even beside NaN."""
    return _hypot(a.real, a.imag)


@FUNCTION
def sign(a: Any, zero: Any, one: Any) -> Any:
    """a / |a|; 0 of 0."""
    length = size(a)
    if np.isinf(length):
        if np.isinf(a.real):
            if np.isinf(a.imag):
                return complex(zero / zero, zero / zero)
            return complex(np.copysign(one, a.real), zero)
        return complex(zero, np.copysign(one, a.imag))
    if length == 0:
        return complex(zero, zero)
    if length != length:
        return complex(length, length)
    return complex(a.real / length, a.imag / length)


@FUNCTION
def scale(a: Any, factor: Any) -> Any:
    """A complex number times a real one, part by part."""
    return complex(a.real * factor, a.imag * factor)


@FUNCTION
def is_finite(a: Any) -> Any:
    return np.isfinite(a.real) & np.isfinite(a.imag)


@FUNCTION
def is_infinite(a: Any) -> Any:
    return np.isinf(a.real) | np.isinf(a.imag)


# Functions of the C library.


def _function(name: str, arguments: int) -> Any:
    """``c<name>`` of complex numbers; those of single precision are widened for it."""
    double = ir.DoubleType()
    pair = ir.LiteralStructType([double, double])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = []
        for a in args:
            parts += [builder.extract_value(a, k) for k in range(2)]
        single = signature.return_type is types.complex64
        if single:
            parts = [builder.fpext(x, double) for x in parts]
        kind = ir.FunctionType(pair, [double] * len(parts))
        function = builder.module.globals.get(f"c{name}")
        if function is None:
            function = ir.Function(builder.module, kind, f"c{name}")
        y = builder.call(function, parts)
        if not single:
            return y
        narrow = ir.LiteralStructType([ir.FloatType()] * 2)
        result = ir.Constant(narrow, ir.Undefined)
        for k in range(2):
            part = builder.fptrunc(builder.extract_value(y, k), ir.FloatType())
            result = builder.insert_value(result, part, k)
        return result

    if arguments == 1:
        return intrinsic(lambda context, x: (x(x), generate))
    return intrinsic(lambda context, x, y: (x(x, x), generate))


LIBRARY = {name: _function(name, 1) for name in ("sqrt", *HOLOMORPHIC.values())}
_power = _function("pow", 2)


@FUNCTION
def power(a: Any, b: Any, one: Any) -> Any:
    if b.real == 0 and b.imag == 0:
        return complex(one, one * 0)
    if a.real == 0 and a.imag == 0:
        if b.real > 0:
            return a - a
        return complex((one - one) / (one - one), (one - one) / (one - one))
    if b.imag == 0 and b.real == 1:
        return a
    if b.imag == 0 and b.real == 2:
        return a * a
    if b.imag == 0 and b.real == 3:
        return a * (a * a)
    if b.imag == 0 and abs(b.real) < 100 and b.real == np.trunc(b.real):
        n = abs(INTEGER(b.real))
        result, factor = complex(one, one * 0), a
        while True:
            if n & 1:
                result = result * factor
            n >>= 1
            if n == 0:
                break
            factor = factor * factor
        return reciprocal(result, one) if b.real < 0 else result
    return _power(a, b)


@FUNCTION
def expm1(a: Any) -> Any:
    """exp a - 1 = expm1(x) cos y - 2 sin^2(y/2) + i exp(x) sin y."""
    half = _sin(a.imag / 2)
    return complex(_expm1(a.real) * _cos(a.imag) - 2 * half * half, _exp(a.real) * _sin(a.imag))


@FUNCTION
def log1p(a: Any) -> Any:
    return complex(_log(_hypot(a.real + 1, a.imag)), _atan2(a.imag, a.real + 1))


NAMES = {
    "z_divide": divide,
    "z_reciprocal": reciprocal,
    "z_size": size,
    "z_sign": sign,
    "z_scale": scale,
    "z_is_finite": is_finite,
    "z_is_infinite": is_infinite,
    "z_power": power,
    "z_expm1": expm1,
    "z_log1p": log1p,
    **{f"z_{name}": function for name, function in LIBRARY.items()},
}
"""What rows may call."""
