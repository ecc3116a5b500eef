"""Which functions are kernels of `numba.cuda.jit`, as their types say."""

import types
from typing import Any


def is_cuda_kernel(function: Any) -> bool:
    """Whether `numba.cuda.jit` made a function, for a device or for Numba's simulator of one."""
    made_there = type(function).__module__.startswith(("numba.cuda", "numba_cuda"))
    return made_there and (hasattr(function, "py_func") or hasattr(function, "fn"))


def python_function(kernel: Any) -> types.FunctionType:
    """What a kernel was made of; the simulator calls it otherwise."""
    found: types.FunctionType = getattr(kernel, "py_func", None) or kernel.fn
    return found
