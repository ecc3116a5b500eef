"""Elementary functions that loops over arrays can vectorise.

LLVM as Numba ships it knows no vector library. glibc has one, libmvec, whose functions take
two, four or eight numbers at once. A call to the scalar function that carries the attribute
``vector-function-abi-variant`` tells LLVM which of them stand for it; the vectoriser does the
rest. Errors are at most 4 units in the last place, against 1 of the scalar functions. Where
there is no libmvec, or `linad.config(vector_math=False)`, scalar functions are called.

Source: "Vector Function Application Binary Interface Specification for x86-64", 2015; LLVM
Language Reference, "vector-function-abi-variant".
"""

import functools
import platform
import sys
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.extending import intrinsic

UNARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "cbrt",
    "erf",
    "erfc",
]
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
def variants(symbol: str, bits: int, arguments: int) -> tuple[tuple[int, str], ...]:
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
    wide = variants(symbol, bits, len(args)) if vector else ()
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


FUNCTIONS = {
    f"{prefix}_{name}": _function(name, arguments, vector)
    for prefix, vector in [("v", True), ("m", False)]
    for names, arguments in [(UNARY, 1), (BINARY, 2)]
    for name in names
}
"""``v_sin`` vectorises, ``m_sin`` is the scalar function; and so on."""
