"""Functions of `scipy.special` and of complex numbers that a device computes.

libdevice has some of SciPy's functions under other names; numba-cuda has most of those of complex
numbers, as Python's `cmath`, and `linad.sweeps.cuda.complex_functions` the others. All are computed
in double precision, as on the CPU, whatever the dtype.

Source: NVIDIA, "Libdevice User's Guide".
"""

import cmath
from typing import Any

SPECIAL = {
    "erfinv": "erfinv",
    "erfcinv": "erfcinv",
    "erfcx": "erfcx",
    "exp10": "exp10",
    "gamma": "tgamma",
    "gammaln": "lgamma",
    "i0": "cyl_bessel_i0",
    "i1": "cyl_bessel_i1",
    "j0": "j0",
    "j1": "j1",
    "ndtr": "normcdf",
    "ndtri": "normcdfinv",
    "y0": "y0",
    "y1": "y1",
}
"""SciPy functions, and what libdevice calls each."""

HERE = frozenset({*SPECIAL, "psi"})
"""SciPy functions that there are; one is linad's own."""


def special(symbol: str) -> Any:
    """A function of libdevice, of float32 or float64; numba-cuda does not know all of them."""
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.extending import intrinsic

    double = ir.DoubleType()

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.module.globals.get(f"__nv_{symbol}")
        if function is None:
            kind = ir.FunctionType(double, [double])
            function = ir.Function(builder.module, kind, f"__nv_{symbol}")
        if signature.return_type is not types.float32:
            return builder.call(function, args)
        wide = builder.call(function, [builder.fpext(args[0], double)])
        return builder.fptrunc(wide, ir.FloatType())

    return intrinsic(lambda context, x: (x(x), generate))


def of_real(function: Any) -> Any:
    """A function of float64, as one that takes float32 as well."""
    from numba.core import types

    return _of_both(function, types.float32, types.float64)


def of_complex(function: Any) -> Any:
    """A function of complex128, as one that takes complex64 as well."""
    from numba.core import types

    return _of_both(function, types.complex64, types.complex128)


def _of_both(function: Any, narrow: Any, wide: Any) -> Any:
    from numba.cuda.extending import intrinsic

    def single(x: Any) -> Any:
        return narrow(function(wide(x)))

    def double(x: Any) -> Any:
        return function(x)

    generate = _by_precision(single, double, narrow)
    return intrinsic(lambda context, x: (x(x), generate))


def _by_precision(single: Any, double: Any, narrow: Any) -> Any:
    """What compiles the one function where the result is narrow, and else the other."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        chosen = single if signature.return_type is narrow else double
        return context.compile_internal(builder, chosen, signature, args)

    return generate


def complex_power() -> Any:
    """a^b = exp(b log a), for what `linad.sweeps.cpu.complex_numbers.power` leaves to it."""
    from numba.core import types
    from numba.cuda.extending import intrinsic

    def single(a: Any, b: Any) -> Any:
        return types.complex64(cmath.exp(types.complex128(b) * cmath.log(types.complex128(a))))

    def double(a: Any, b: Any) -> Any:
        return cmath.exp(b * cmath.log(a))

    generate = _by_precision(single, double, types.complex64)
    return intrinsic(lambda context, a, b: (a(a, a), generate))
