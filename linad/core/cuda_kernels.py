"""Which functions are kernels of `numba.cuda.jit`, as their types say."""

import types
from typing import Any

from linad.core.frames import defining_module


def is_cuda_kernel(function: Any) -> bool:
    """Whether `numba.cuda.jit` made a function, for a device or for Numba's simulator of one."""
    made_there = defining_module(type(function)).startswith(("numba.cuda", "numba_cuda"))
    return made_there and (hasattr(function, "py_func") or hasattr(function, "fn"))


def python_function(function: Any) -> types.FunctionType:
    """What Numba made a function, or a kernel, of; any other function itself."""
    simulated = is_cuda_kernel(function) and not hasattr(function, "py_func")
    found: types.FunctionType = getattr(function, "fn" if simulated else "py_func", function)
    return found
