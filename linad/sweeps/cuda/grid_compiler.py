"""Kernels of users' that `numba.cuda.jit` made, as PTX: an entry of linad's that calls them.

The entry gets the address of its words, as linad's own kernels do, and makes arrays and numbers of
them. Numba would ask a GPU what it can do before it compiles a function for one. So such functions
are compiled with whoever calls them, for the capability that is asked for.
"""

import types as python_types
from collections.abc import Sequence
from typing import Any

from linad.core.cuda_kernels import is_cuda_kernel, python_function
from linad.sweeps.cpu import native
from linad.sweeps.cuda.compiler import COMPUTE_CAPABILITY, array_maker, check_packages, compiled
from linad.sweeps.cuda.grid_kernels import entry_source
from linad.sweeps.instructions import GridOperand
from linad.sweeps.kernel_dtypes import NAMES


def ptx_of_user(
    kernel: Any, described: Sequence[GridOperand], capability: tuple[int, int] = COMPUTE_CAPABILITY
) -> str:
    """Compile a user's kernel; else as `linad.sweeps.cuda.compiler.ptx_of`.

    Parameters
    ----------
    kernel : GridKernel
    described : sequence of GridOperand
    capability : tuple of int
    """
    check_packages()
    names = {f"array_{name}": array_maker(native.DTYPES[name]) for name in NAMES}
    names["function"] = _user_function(kernel.py_function, capability)
    return compiled(entry_source(described), names, capability)


def _user_function(function: python_types.FunctionType, capability: tuple[int, int]) -> Any:
    """A kernel, or a function of the device that it calls, compiled with its caller."""
    from numba import cuda
    from numba.core import types
    from numba.cuda.extending import intrinsic

    bound = _bound(function, capability)
    known: Any = types  # the types of what is passed by *, as well

    def typed(context: Any, *args: Any) -> Any:
        _, result = cuda.compile(bound, args, cc=capability, device=True, abi="numba")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            flat = [builder.extract_value(values[0], k) for k in range(len(args))]
            return context.compile_internal(builder, bound, result(*args), flat)

        return result(known.StarArgTuple(args)), generate

    return intrinsic(typed)


def _bound(
    function: python_types.FunctionType, capability: tuple[int, int]
) -> python_types.FunctionType:
    """A function, with the functions of the device that it calls compiled with it."""
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    inside = dict(zip(code.co_freevars, cells, strict=True))
    outside = {n: function.__globals__[n] for n in code.co_names if n in function.__globals__}
    made = {
        name: _user_function(python_function(value), capability)
        for name, value in (outside | inside).items()
        if is_cuda_kernel(value)
    }
    return python_types.FunctionType(
        code,
        {**function.__globals__, **made},
        function.__name__,
        function.__defaults__,
        tuple([python_types.CellType(made.get(n, inside[n])) for n in code.co_freevars]),
    )
