"""Functions of scipy.special in loops, called by address.

`scipy.special.cython_special` hands out C functions of doubles. A kernel calls them by a
symbol; the symbol is given its address before a kernel is compiled or read from disk, so
kernels with such calls are kept on disk like all others. Single precision is computed in
double.

Fused functions come in several versions; the one that takes and gives doubles alone is found
by its C signature. Where SciPy has none, the function stays with NumPy.
"""

import functools
import re
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.extending import intrinsic

from linad.sweeps.cpu.blas_lapack import address_in, names_in
from linad.sweeps.special_names import ARITY

MODULE = "scipy.special.cython_special"


@functools.cache
def address(name: str) -> int | None:
    """Address of the function of doubles, None where SciPy has none."""
    wanted = f"double ({'double, ' * ARITY[name]}int __pyx_skip_dispatch)"
    pattern = re.compile(rf"(__pyx_fuse_\d+(_\d+)*)?_?{name}")
    for known in names_in(MODULE):
        if pattern.fullmatch(known):
            found, signature = address_in(MODULE, known)
            if signature == wanted:
                return found
    return None


def symbol(name: str) -> str:
    return f"linad_special_{name}"


def register(source: str) -> None:
    """Give the symbols that the source of a kernel calls their addresses."""
    for name in set(re.findall(r"\bs_(\w+)\(", source)):
        found = address(name)
        assert found is not None, f"scipy.special.{name} was planned, and is not there"
        llvm.add_symbol(symbol(name), found)


def _function(name: str) -> Any:
    double, flag = ir.DoubleType(), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        single = signature.return_type.bitwidth == 32
        if single:
            args = [builder.fpext(a, double) for a in args]
        function = builder.module.globals.get(symbol(name))
        if function is None:
            kind = ir.FunctionType(double, [double] * len(args) + [flag])
            function = ir.Function(builder.module, kind, symbol(name))
        y = builder.call(function, [*args, ir.Constant(flag, 0)])
        return builder.fptrunc(y, ir.FloatType()) if single else y

    takes = {
        1: lambda context, a: (a(a), generate),
        2: lambda context, a, b: (a(a, a), generate),
        3: lambda context, a, b, c: (a(a, a, a), generate),
        4: lambda context, a, b, c, d: (a(a, a, a, a), generate),
    }
    return intrinsic(takes[ARITY[name]])


NAMES = {f"s_{name}": _function(name) for name in ARITY}
"""What rows may call."""
