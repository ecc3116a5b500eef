"""Run the sources of kernels in Python, instead of compiling them.

A kernel takes 20 to 50 ms to compile and 1 ms to run here, so a sweep over hundreds of programs
can afford everything between a tape and its instructions: what is fused, where values live, what
each loop reads and writes. What it leaves out is what LLVM makes of a source; each name that a
source may use is compiled in tests/sweeps, and all kernels of the sweep by ``tox -e full``.

The names of `linad.sweeps.cpu.kernel_cache.NAMESPACE` have counterparts here that do the same to
NumPy's numbers, at the same addresses. A kernel becomes a C function by ctypes, so programs call
it like any other.
"""

import contextlib
import ctypes
import functools
import types
from unittest import mock

import numba
import numpy as np
import scipy.special

from linad.core.primitive import Primitive
from linad.kernels import in_python as generated
from linad.sweeps.cpu import (
    atomic,
    complex_numbers as complexes,
    kernel_arrays,
    kernel_cache as cache,
    loop_hints,
    native,
    special_functions as special,
    vector_math as vecmath,
)
from linad.sweeps.special_names import ARITY

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
RENAMED |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}


@functools.lru_cache(64)
def _buffer(size):
    return ctypes.c_char * size


def elements(address, count, dtype):
    """The array of ``count`` elements at an address."""
    memory = _buffer(int(count) * dtype.itemsize).from_address(int(address))
    return np.frombuffer(memory, dtype)


def word(address):
    return ctypes.c_int64.from_address(int(address)).value


def operand(operands, k):
    return word(operands + 8 * k)


def number(bits):
    return np.int64(bits).view(np.float64)


def select(condition, a, b):
    return a if condition else b


def _array(dtype):
    def array(address, *shape):
        return elements(address, np.prod(shape, dtype=int), dtype).reshape(shape)

    return array


def set_word(address, value):
    ctypes.c_int64.from_address(int(address)).value = int(value)


def replace_shared_word(address, expected, value):
    found = word(address) == expected
    if found:
        set_word(address, value)
    return found


def call_kernel(kernel, operands, start, stop):
    return FUNCTION(int(kernel))(int(operands), int(start), int(stop))


def call_by_address(function, arguments):
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))
    kind(int(function))(*[int(a) for a in arguments])


def _getter(dtype):
    item = dtype.itemsize
    return lambda address, i, k: elements(address + int(i) * item, 1, dtype)[0]


def _setter(dtype):
    def set_(address, i, value, k):
        elements(address + int(i) * dtype.itemsize, 1, dtype)[0] = value

    return set_


def _library(name):
    """A function of the C library, as NumPy or SciPy has it."""
    name = RENAMED.get(name, name)
    return getattr(np, name) if hasattr(np, name) else getattr(scipy.special, name)


def _special(name):
    """A function of scipy.special, computed in double precision."""

    def function(*args):
        kind = np.result_type(*args).type
        return kind(Primitive.registry[name].impl(*[np.float64(a) for a in args]))

    return function


def complex_of(real, imag):
    """``complex(a, b)`` in the precision of its parts, as Numba has it."""
    narrow = all(isinstance(part, np.float32) for part in (real, imag))
    return (np.complex64 if narrow else np.complex128)(complex(real, imag))


COUNTERPARTS = {
    native.operand: operand,
    native.number: number,
    native.select: select,
    native.word: word,
    native.set_word: set_word,
    atomic.set_shared_word: set_word,
    atomic.replace_shared_word: replace_shared_word,
    native.call_kernel: call_kernel,
    native.call_by_address: call_by_address,
    native.accumulate: np.add,
    native.accumulate_product: np.multiply,
    native.summed_product: np.multiply,
    kernel_arrays.grown: generated.grown,
    loop_hints.any_order: generated.any_order,
    loop_hints.whole_vectors: generated.any_order,
    **{kernel_arrays.MAKERS[f"array_{d}"]: _array(np.dtype(d)) for d in kernel_arrays.DTYPES},
    **{native.GETTERS[f"get_{d}"]: _getter(np.dtype(d)) for d in native.DTYPES},
    **{native.SETTERS[f"set_{d}"]: _setter(np.dtype(d)) for d in native.DTYPES},
    **{
        function: _library(name.partition("_")[2])
        for name, function in vecmath.FUNCTIONS.items()
        if function is not vecmath.again
    },
    vecmath.again: lambda at, start, stop: 0,  # NumPy's functions have no range
    **{complexes.LIBRARY[name]: _library(name) for name in complexes.LIBRARY},
    complexes._power: np.power,
    **{special.NAMES[f"s_{name}"]: _special(name) for name in ARITY},
}
"""What stands for each function that only Numba can call."""


def in_python(value):
    """What stands for a name of a kernel's."""
    if isinstance(value, types.ModuleType | types.BuiltinFunctionType):
        return value
    with contextlib.suppress(TypeError):  # not hashable
        if value in COUNTERPARTS:
            return COUNTERPARTS[value]
    if isinstance(value, numba.types.Type):
        return np.dtype(str(value)).type
    if hasattr(value, "py_func"):
        return _rebound(value.py_func)
    return value


@functools.cache
def _rebound(function):
    """A function that Numba would compile, with counterparts for the names it uses."""
    names = {
        name: in_python(function.__globals__[name])
        for name in function.__code__.co_names
        if name in function.__globals__
    }
    return types.FunctionType(function.__code__, {**names, "complex": complex_of})


@functools.cache
def names_in_python():
    """What stands for the names that the source of a kernel may use."""
    return {name: in_python(value) for name, value in cache.NAMESPACE.items()}


@functools.cache
def _compiled(source):
    """Many programs have the same kernels."""
    return compile(source, "<kernel>", "exec")


class Kernel:
    """A source as a C function; what it raises is kept, since nothing passes through C."""

    def __init__(self, source, raised):
        scope = names_in_python() | {"complex": complex_of}
        exec(_compiled(source), scope)
        self.function, self.raised = scope["kernel"], raised
        self.kept = FUNCTION(self.run)
        self.address = ctypes.cast(self.kept, ctypes.c_void_p).value

    def run(self, operands, start, stop):
        try:
            with np.errstate(all="ignore"):
                return int(self.function(operands, start, stop))
        except Exception as problem:
            self.raised.append(problem)
            return 0


KEPT = []
"""All kernels: a program may be called after the test that made it."""


@contextlib.contextmanager
def kernels_in_python():
    """Within, kernels run in Python."""
    raised = []

    def load(source, fast):
        KEPT.append(Kernel(source, raised))
        return KEPT[-1].address

    with mock.patch.object(cache, "_load", load), mock.patch.object(cache, "_kernels", {}):
        yield
    if raised:
        raise raised[0]
