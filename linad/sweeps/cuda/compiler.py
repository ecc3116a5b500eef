"""Device kernels as PTX: numba-cuda as a compiler alone, without a GPU and without a driver.

A kernel's source is compiled as the entry of a grid. It cannot return anything: a status other
than zero goes to a word where whoever launched it looks afterwards.

Needs the package numba-cuda: ``pip install linad[cuda]``.
"""

import cmath
import functools
import importlib.util
import math
import re
import types as python_types
from typing import Any

import numpy as np

from linad.sweeps.cpu import complex_numbers, kernel_arrays, native, number_pairs, vector_math
from linad.sweeps.cpu.kernel_functions import OF_ONE_TYPE
from linad.sweeps.cuda.complex_functions import WRITTEN
from linad.sweeps.cuda.device_functions import (
    SPECIAL,
    complex_power,
    of_complex,
    of_real,
    special,
)
from linad.sweeps.cuda.digamma import psi
from linad.sweeps.cuda.grid_loops import HEAD, strided
from linad.sweeps.elementary_names import HOLOMORPHIC
from linad.sweeps.kernel_dtypes import NAMES

COMPUTE_CAPABILITY = (9, 0)
"""What kernels are compiled for: the H100, the H200 and what came after them."""

OF_REALS = tuple([name for name, symbol in HOLOMORPHIC.items() if name == symbol])
"""Functions that those of complex numbers, and digamma, call by NumPy's names."""

ROUNDING = ("floor", "ceil", "trunc", "rint", "sqrt", "copysign")
"""Functions of NumPy that kernels call by name."""


def entry_source(source: str) -> str:
    """The source of a kernel as the entry of a grid of threads."""
    text = strided(source).replace(
        HEAD,
        "def kernel(p, start, stop, status):\n"
        "    thread = cuda.grid(1)\n    threads = cuda.gridsize(1)",
        1,
    )
    text = re.sub(r"^( *)return 0$", r"\1return", text, flags=re.M)
    return re.sub(r"^( *)return (\d+)$", r"\1set_i8(status, 0, \2, -1)\n\1return", text, flags=re.M)


def check_packages() -> None:
    """Raise ImportError where numba-cuda is not installed."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise ImportError("PTX needs the numba-cuda package: pip install 'linad[cuda]'")


def ptx_of(source: str, capability: tuple[int, int] = COMPUTE_CAPABILITY) -> str:
    """Compile a kernel of a device program.

    Parameters
    ----------
    source : str
        Of a `linad.sweeps.instructions.KernelCall` for the target "CUDA".
    capability : tuple of int
        What it is for: the compute capability of a device.

    Returns
    -------
    str
        PTX.

    Raises
    ------
    ImportError
        If numba-cuda is not installed.
    """
    check_packages()
    return compiled(entry_source(source), {}, capability)


def compiled(source: str, names: dict[str, Any], capability: tuple[int, int]) -> str:
    """The source of an entry as PTX, with names of its own besides those of all kernels."""
    from numba import cuda
    from numba.core import types

    scope = dict(device_names(), cuda=cuda, **names)
    exec(source, scope)
    made, _ = cuda.compile(
        scope["kernel"],
        types.void(*[types.int64] * 4),
        cc=capability,
        output="ptx",
        abi="numba",
        device=False,
    )
    return made if isinstance(made, str) else made.decode()


@functools.cache
def device_names() -> dict[str, Any]:
    """What stands on a device for the names that kernels use."""
    from numba.core import types

    kinds = {name: native.DTYPES[name] for name in NAMES}
    names: dict[str, Any] = {f"to_{name}": kind for name, kind in kinds.items()}
    for name, kind in kinds.items():
        names[f"get_{name}"], names[f"set_{name}"] = _access(kind)
    names |= {name: array_maker(maker.kind) for name, maker in kernel_arrays.MAKERS.items()}
    names["math"] = math
    names["operand"], _ = _access(types.int64, word=True)
    names["number"], names["select"] = _number(), _select()
    names["accumulate"], names["accumulate_product"] = _combined("add"), _combined("mul")
    names["summed_product"] = _combined("mul")
    library = {f"m_{n}": _library(n, 1) for n in vector_math.UNARY}
    library |= {f"m_{n}": _library(n, 2) for n in vector_math.BINARY}
    numpy: Any = python_types.ModuleType("numpy_on_a_device")
    for name in ROUNDING:
        setattr(numpy, name, _library(name, 2 if name == "copysign" else 1))
    for name in OF_REALS:
        setattr(numpy, name, library[f"m_{name}"])
    numpy.isinf, numpy.isfinite = _of_plain(_is_infinite), _of_plain(_is_finite)
    numpy.isnan, numpy.arccos = _of_plain(_is_nan), of_complex(cmath.acos)
    numpy.inf, numpy.nan, numpy.pi, numpy.uint64 = np.inf, np.nan, np.pi, types.uint64
    names |= library | {"np": numpy}
    names |= {f"s_{n}": special(symbol) for n, symbol in SPECIAL.items()}
    stand_ins = {native.select: names["select"], np: numpy}
    stand_ins |= {vector_math.FUNCTIONS[name]: made for name, made in library.items()}
    names["s_psi"] = of_real(_inlined(psi, stand_ins))
    stand_ins[complex_numbers._power] = complex_power()
    for name, function in complex_numbers.LIBRARY.items():
        written = WRITTEN.get(name)
        used = getattr(cmath, name) if written is None else _inlined(written, stand_ins)
        names[f"z_{name}"] = stand_ins[function] = of_complex(used)
    helpers = {"clipped": native.clipped, **number_pairs.NAMES}
    helpers |= {n: f for n, f in complex_numbers.NAMES.items() if hasattr(f, "py_func")}
    for name, function in helpers.items():
        names[name] = _inlined(function, stand_ins)
    for ufunc, function in OF_ONE_TYPE.items():
        setattr(numpy, ufunc.__name__, _inlined(function, stand_ins))
    # Python's: those of numba-cuda are libdevice's, which leave NaN out.
    names["max"], names["min"] = _inlined(greater, stand_ins), _inlined(lesser, stand_ins)
    numpy.sign = _inlined(sign, stand_ins)
    return names


def greater(a: Any, b: Any) -> Any:
    """Python's `max`: the second where it is greater, which it is not if one is NaN."""
    return b if b > a else a


def lesser(a: Any, b: Any) -> Any:
    return b if b < a else a


def sign(x: Any) -> Any:
    return (x > 0) - (x < 0) if x == x else x


OF_NUMBERS = frozenset([greater, lesser, *OF_ONE_TYPE.values()])
"""What gives one of its arguments, whatever their types."""


def _is_nan(x: Any) -> Any:
    return x != x


def _is_infinite(x: Any) -> Any:
    return (x == x) & ((x - x) != (x - x))


def _is_finite(x: Any) -> Any:
    return (x - x) == (x - x)


def _of_plain(function: Any) -> Any:
    """A test of one number, compiled with whoever calls it."""
    from numba.core import types
    from numba.cuda.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.compile_internal(builder, function, signature, args)

    return intrinsic(lambda context, x: (types.boolean(x), generate))


def _inlined(function: Any, stand_ins: dict[Any, Any]) -> Any:
    """A helper of the CPU's kernels, compiled with the kernel that calls it.

    It is bound to what stands on the device for the names it uses. Its result is like its first
    argument, but for those that say something of a complex number, or that choose among several.
    """
    from numba.core import types
    from numba.core.types.misc import unliteral
    from numba.cuda.extending import intrinsic

    if function in stand_ins:
        return stand_ins[function]
    plain = getattr(function, "py_func", function)
    names = {}
    for name in plain.__code__.co_names:
        used = plain.__globals__.get(name)
        if used is None:
            continue
        if hasattr(used, "py_func") or isinstance(used, python_types.FunctionType):
            names[name] = _inlined(used, stand_ins)
        else:
            names[name] = stand_ins.get(used, used)
    bound = python_types.FunctionType(plain.__code__, {"__builtins__": __builtins__, **names})

    def signature_of(context: Any, *args: Any) -> Any:
        if function in OF_NUMBERS:  # which meet in the type that holds them all
            kind = context.unify_types(*map(unliteral, args))
            return kind(*[kind] * len(args))
        if function in (complex_numbers.is_finite, complex_numbers.is_infinite):
            return types.boolean(*args)
        return (args[0].underlying_float if function is complex_numbers.size else args[0])(*args)

    def made(*given: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return context.compile_internal(builder, bound, signature, values)

        return signature_of(*given), generate

    takes: Any = {
        1: lambda context, a: made(context, a),
        2: lambda context, a, b: made(context, a, b),
        3: lambda context, a, b, c: made(context, a, b, c),
        4: lambda context, a, b, c, d: made(context, a, b, c, d),
    }
    stand_ins[function] = intrinsic(takes[plain.__code__.co_argcount])
    return stand_ins[function]


def _library(name: str, arguments: int) -> Any:
    """A function of libdevice, for float64 or float32."""
    from numba.core import types
    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic

    wide, narrow = getattr(libdevice, name), getattr(libdevice, f"{name}f")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = narrow if signature.return_type is types.float32 else wide

        def unary(x: Any) -> Any:
            return function(x)

        def binary(x: Any, y: Any) -> Any:
            return function(x, y)

        called = unary if arguments == 1 else binary
        return context.compile_internal(builder, called, signature, args)

    if arguments == 1:
        return intrinsic(lambda context, x: (x(x), generate))
    return intrinsic(lambda context, x, y: (y(y, y), generate))


def _storage(kind: Any) -> Any:
    from llvmlite import ir
    from numba.core import types

    parts = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
    if kind is types.boolean:
        return ir.IntType(8)
    if kind in (types.int32, types.int64):
        return ir.IntType(32 if kind is types.int32 else 64)
    if isinstance(kind, types.Complex):
        return ir.LiteralStructType([parts[kind.underlying_float]] * 2)
    return parts[kind]


def _access(kind: Any, word: bool = False) -> tuple[Any, Any]:
    """Functions that read and write elements of a type in global memory, by address."""
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.extending import intrinsic

    stored = _storage(kind)

    def element(builder: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.PointerType(stored, 1))
        return builder.gep(pointer, [args[1]], inbounds=True)

    def load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(element(builder, args))
        value.align = kind.bitwidth // 16 if isinstance(kind, types.Complex) else None
        if kind is types.boolean:
            return builder.icmp_unsigned("!=", value, ir.Constant(stored, 0))
        return value

    def save(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.zext(args[2], stored) if kind is types.boolean else args[2]
        made = builder.store(value, element(builder, args))
        made.align = kind.bitwidth // 16 if isinstance(kind, types.Complex) else None
        return context.get_dummy_value()

    i8 = types.int64
    if word:
        return intrinsic(lambda context, a, i: (kind(i8, i8), load)), None
    return (
        intrinsic(lambda context, a, i, k: (kind(i8, i8, k), load)),
        intrinsic(lambda context, a, i, value, k: (types.void(i8, i8, kind, k), save)),
    )


def array_maker(kind: Any) -> Any:
    """A function that makes an array in C order of an address and lengths."""
    from numba.core import types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np import arrayobj

    known: Any = types  # the types of what is passed by *, as well

    def typed(context: Any, address: Any, *shape: Any) -> Any:
        return types.Array(kind, len(shape), "C")(address, known.StarArgTuple(shape)), generate

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        made = arrayobj.make_array(signature.return_type)(context, builder)
        word = ir.IntType(64)
        item = context.get_abi_sizeof(context.get_data_type(kind))
        lengths = [builder.extract_value(args[1], k) for k in range(signature.return_type.ndim)]
        strides = [ir.Constant(word, item)]
        for n in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], n))
        arrayobj.populate_array(
            made,
            data=builder.inttoptr(args[0], made.data.type),
            shape=lengths,
            strides=strides,
            itemsize=ir.Constant(word, item),
            meminfo=None,
        )
        return made._getvalue()

    return intrinsic(typed)


def _number() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return intrinsic(lambda context, bits: (types.float64(types.int64), generate))


def _each_part(builder: Any, function: Any, *values: Any) -> Any:
    """Apply a function to the real parts and to the imaginary parts."""
    made = values[0]
    for k in range(2):
        part = function(*[builder.extract_value(v, k) for v in values])
        made = builder.insert_value(made, part, k)
    return made


def _select() -> Any:
    from numba.core import types
    from numba.cuda.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        test, a, b = args
        if isinstance(signature.return_type, types.Complex):
            return _each_part(builder, lambda x, y: builder.select(test, x, y), a, b)
        return builder.select(test, a, b)

    def typed(context: Any, condition: Any, a: Any, b: Any) -> Any:
        kind = context.unify_types(a, b)
        return kind(types.boolean, kind, kind), generate

    return intrinsic(typed)


def _combined(operation: str) -> Any:
    """Addition or multiplication of two numbers of one type, in the order that is written."""
    from numba.cuda.extending import intrinsic

    def added(x: Any, y: Any) -> Any:
        return x + y

    def multiplied(x: Any, y: Any) -> Any:
        return x * y

    function = added if operation == "add" else multiplied

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.compile_internal(builder, function, signature, args)

    return intrinsic(lambda context, a, b: (a(a, b), generate))
