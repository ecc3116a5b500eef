"""Elementary functions that loops over arrays can vectorise.

The most frequent ones are inlined (`linad.sweeps.cpu.elementary_code`). For the others glibc has a
vector library, libmvec, whose functions take two, four or eight numbers at once; LLVM as Numba
ships it knows none. A call to the scalar function that carries the attribute
``vector-function-abi-variant`` tells LLVM which of them stand for it; the vectoriser does the
rest. Errors are at most 4 units in the last place, against 1 of the scalar functions. Where there
is no libmvec scalar functions are called, and for `linad.config(vector_math=False)` they always
are.

Source: "Vector Function Application Binary Interface Specification for x86-64", 2015; LLVM
Language Reference, "vector-function-abi-variant".
"""

import functools
import platform
import sys
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from linad.sweeps.cpu import elementary_code
from linad.sweeps.cpu.written_numbers import Written
from linad.sweeps.elementary_names import ELEMENTARY

UNARY = [*ELEMENTARY.values()]
BINARY = ["pow", "atan2", "hypot", "fmod", "nextafter"]

NO_MEMORY = "memory(none)" if llvm.llvm_version_info[0] >= 16 else "readnone"
"""How LLVM is told that a function reads and writes nothing; renamed in version 16."""

LANES = {"x86_64": {64: (("b", 2), ("d", 4), ("e", 8)), 32: (("b", 4), ("d", 8), ("e", 16))}}
"""Vector lengths of each instruction set, by the width of a number in bits."""

SCALAR_LIBRARY = "libm.so.6"
VECTOR_LIBRARY = "libmvec.so.1"


@functools.cache
def libraries_loaded() -> bool:
    """Load glibc's vector functions; whether there are any."""
    if not sys.platform.startswith("linux") or platform.machine() not in LANES:
        return False
    try:
        llvm.load_library_permanently(SCALAR_LIBRARY)
        llvm.load_library_permanently(VECTOR_LIBRARY)
    except RuntimeError:
        return False
    return True


@functools.cache
def vector_variants(symbol: str, bits: int, arguments: int) -> tuple[tuple[int, str], ...]:
    """The vector functions that stand for a scalar one: (lanes, symbol) of each there is."""
    if not libraries_loaded():
        return ()
    found = []
    for isa, lanes in LANES[platform.machine()][bits]:
        vector = f"_ZGV{isa}N{lanes}{'v' * arguments}_{symbol}"
        if llvm.address_of_symbol(vector):
            found.append((lanes, vector))
    return tuple(found)


def _declare(module: Any, name: str, kind: Any, arguments: int) -> Any:
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [kind] * arguments), name)
        function.attributes.add("nounwind")
        # llvmlite lists the attributes it knows; these two are newer than its list.
        for attribute in ("willreturn", NO_MEMORY):
            set.add(function.attributes, attribute)
    return function


def _keep(module: Any, functions: list[Any]) -> None:
    """Keep declarations that only the vectoriser will use."""
    byte = ir.IntType(8).as_pointer()
    kept = getattr(module, "_linad_kept", [])
    kept += [f for f in functions if f not in kept]
    module._linad_kept = kept
    name = "llvm.compiler.used"
    if name in module.globals:
        del module.globals[name]
        module.scope._useset.discard(name)
    pointers = [f.bitcast(byte) for f in kept]
    array = ir.ArrayType(byte, len(pointers))
    used = ir.GlobalVariable(module, array, name)
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(array, pointers)


def _call(builder: Any, name: str, bits: int, args: Any, vector: bool) -> Any:
    kind = ir.DoubleType() if bits == 64 else ir.FloatType()
    symbol = name if bits == 64 else name + "f"
    module = builder.module
    call = builder.call(_declare(module, symbol, kind, len(args)), args)
    wide = vector_variants(symbol, bits, len(args)) if vector else ()
    if wide:
        _keep(
            module,
            [_declare(module, v, ir.VectorType(kind, lanes), len(args)) for lanes, v in wide],
        )
        v = "v" * len(args)
        table = ",".join(f"_ZGV_LLVM_N{lanes}{v}_{symbol}({found})" for lanes, found in wide)
        set.add(call.attributes, f'"vector-function-abi-variant"="{table}"')
    return call


def _function(name: str, arguments: int, vector: bool) -> Any:
    """A function of numbers of one type, float32 or float64, for use inside kernels."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, name, signature.return_type.bitwidth, args, vector)

    if arguments == 1:
        return intrinsic(lambda context, x: (x(x), generate))
    return intrinsic(lambda context, x, y: (x(x, x), generate))


# Inlined functions.

RANGES = {
    **dict.fromkeys(("sin", "cos", "tan"), elementary_code.is_far),
    **dict.fromkeys(("log", "log2", "log10"), elementary_code.is_edge),
}
"""Inlined functions that are right in a range, and the test whether a number is out of it."""

INLINED = ("exp", "exp2", "expm1", "tanh", "log1p", "erf", *RANGES)

BIT = ir.IntType(1)


def _inlined(name: str) -> Any:
    """A function by its polynomials, which takes down whether a number was out of its range."""
    write = getattr(elementary_code, name)
    test = RANGES.get(name)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = Written(builder, args[0])
        if name == "erf" and x.width == 64 and vector_variants("erf", 64, 1):
            return _call(builder, "erf", 64, args, vector=True)  # is faster
        if test is not None:
            noted = _noted(builder)
            builder.store(builder.or_(builder.load(noted), test(x)), noted)
        return write(x).value

    return intrinsic(lambda context, x: (x(x), generate))


def _noted(builder: Any) -> Any:
    """The variable of a kernel, false at first, that says whether a number was out of range."""
    function = builder.function
    if not hasattr(function, "linad_noted"):
        function.linad_noted = cgutils.alloca_once(builder, BIT)  # zero at entry
    return function.linad_noted


@intrinsic
def again(context: Any, at: Any, start: Any, stop: Any) -> Any:
    """Where a number was out of range call the function that the words at an address point to.

    At ``at`` is the address of the function's address. It is given the three arguments, and its
    status is returned; zero where all numbers were in range.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 3).as_pointer()

        def loaded(address: Any) -> Any:
            return builder.load(builder.inttoptr(address, word.as_pointer()))

        out_of_range = builder.load(_noted(builder))
        before = builder.block
        with builder.if_then(out_of_range, likely=False):
            function = builder.inttoptr(loaded(loaded(args[0])), kind)
            called = builder.call(function, args)
            after = builder.block
        status = builder.phi(word)
        status.add_incoming(ir.Constant(word, 0), before)
        status.add_incoming(called, after)
        return status

    return types.int64(types.int64, types.int64, types.int64), generate


def _everywhere(name: str) -> Any:
    """A function that is right for every number, and the inlined one in its range."""
    write = getattr(elementary_code, name)
    of_any = getattr(elementary_code, f"{name}_of_any", None)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = Written(builder, args[0])
        if of_any is not None:
            return of_any(x).value
        with builder.if_else(elementary_code.is_far(x), likely=False) as (far, near):
            with far:
                by_library = _call(builder, name, x.width, args, vector=False)
                after_far = builder.block
            with near:
                inlined = write(x).value
                after_near = builder.block
        result = builder.phi(x.value.type)
        result.add_incoming(by_library, after_far)
        result.add_incoming(inlined, after_near)
        return result

    return intrinsic(lambda context, x: (x(x), generate))


_LIBRARY = {
    prefix: {
        name: _function(name, arguments, vector)
        for names, arguments in [(UNARY, 1), (BINARY, 2)]
        for name in names
    }
    for prefix, vector in [("v", True), ("m", False)]
}
_INLINED = _LIBRARY["v"] | {name: _inlined(name) for name in INLINED}

FUNCTIONS = {
    **{f"v_{name}": function for name, function in _INLINED.items()},
    **{f"w_{name}": function for name, function in _INLINED.items()},
    **{f"w_{name}": _everywhere(name) for name in RANGES},
    **{f"l_{name}": _LIBRARY["v"][name] for name in RANGES},
    **{f"m_{name}": function for name, function in _LIBRARY["m"].items()},
    "again": again,
}
"""By the names that kernels use. ``v_sin`` vectorises, and where a number is out of its range,
`again` has something else done; ``w_sin`` is the same function, right everywhere; ``l_sin`` is
right everywhere and vectorises by libmvec; ``m_sin`` is the scalar function.
`linad.sweeps.cpu.range_guards` says which is used where."""
