"""Arrays in the language of kernels: entries by their indices, and memory that a kernel asks for.

    u = array_f8(operand(p, 0), n, m)           at an address, in C order
    u[i, -1] += 2.0 * u[0, j] * u.shape[1]
    v = np.zeros((n, m), dtype=np.float64)      given back when the kernel ends
    s = grown(s, needed)                        the same entries, with room for more

An index below zero counts from the end, and none is checked, as in Numba's functions. Memory is
asked of Python's allocator, which any thread may call.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.np import numpy_support

from linad.sweeps.cpu.native import storage_of

INT64 = ir.IntType(64)
BYTES = ir.IntType(8).as_pointer()
ZERO = ir.Constant(INT64, 0)
ALLOCATE, FREE = "linad_allocate", "linad_free"
"""By what names machine code knows Python's allocator."""


class ArrayMaker(NamedTuple):
    """The function of kernels that makes an array of an address and lengths."""

    kind: Any


DTYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]
"""NumPy's short names of the dtypes that arrays have here."""

MAKERS = {f"array_{name}": ArrayMaker(numpy_support.from_dtype(np.dtype(name))) for name in DTYPES}
"""By the names that kernels call them by."""


def grown(stack: Any, needed: int) -> Any:
    """The stack, with room for ``needed`` values and twice as many as before; in kernels only."""
    raise NotImplementedError


class Array(NamedTuple):
    """An array in a kernel, in C order.

    Attributes
    ----------
    address : LLVM's value
        Of the first entry.
    shape : tuple of LLVM's values
    kind : Numba's type
        Of the entries.
    mark : tuple, optional
        What tells the optimiser from which other arrays it is apart.
    """

    address: Any
    shape: tuple[Any, ...]
    kind: Any
    mark: tuple[Any, Any] | None = None

    @property
    def itemsize(self) -> Any:
        return ir.Constant(INT64, numpy_support.as_dtype(self.kind).itemsize)

    def size(self, builder: Any) -> Any:
        return functools.reduce(builder.mul, self.shape)

    def load(self, builder: Any, indices: Sequence[Any]) -> Any:
        value = builder.load(self._entry(builder, indices))
        self._set_apart(value)
        if self.kind is types.boolean:
            return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
        return value

    def store(self, builder: Any, indices: Sequence[Any], value: Any) -> None:
        if self.kind is types.boolean:
            value = builder.zext(value, ir.IntType(8))
        self._set_apart(builder.store(value, self._entry(builder, indices)))

    def _set_apart(self, instruction: Any) -> None:
        if self.mark is not None:
            mine, others = self.mark
            instruction.set_metadata("alias.scope", mine)
            instruction.set_metadata("noalias", others)

    def _entry(self, builder: Any, indices: Sequence[Any]) -> Any:
        """The address of an entry, of indices that count from the beginning."""
        at = indices[0]
        for length, i in zip(self.shape[1:], indices[1:], strict=True):
            at = builder.add(builder.mul(at, length, flags=("nsw",)), i, flags=("nsw",))
        return builder.gep(self.address, [at], inbounds=True)


def array_at(builder: Any, address: Any, shape: Sequence[Any], kind: Any) -> Array:
    """The array at an address that is a number."""
    return Array(builder.inttoptr(address, storage_of(kind).as_pointer()), tuple(shape), kind)


def from_beginning(builder: Any, index: Any, length: Any) -> Any:
    """An index, of which one below zero counts from the end."""
    if isinstance(index, ir.Constant):
        return index if index.constant >= 0 else builder.add(index, length)
    return builder.select(builder.icmp_signed("<", index, ZERO), builder.add(index, length), index)


class Memory:
    """What a kernel has asked for, and gives back where it ends.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    leave_if : callable
        ``leave_if(test)`` ends the kernel if the test holds.
    """

    def __init__(self, builder: Any, leave_if: Callable[[Any], None]) -> None:
        self.builder, self.leave_if = builder, leave_if
        self.held: dict[Any, Any] = {}

    def zeros(self, name: tuple[Any, ...], shape: Sequence[Any], kind: Any) -> Array:
        """A new array of zeros, for a name."""
        for length in shape:
            self.leave_if(self.builder.icmp_signed("<", length, ZERO))
        array = self._new(shape, kind)
        size = self.builder.mul(array.size(self.builder), array.itemsize)
        cgutils.memset(self.builder, array.address, size, 0)
        self._hold(name, array)
        return array

    def grown(self, name: tuple[Any, ...], stack: Array, needed: Any) -> Array:
        """What a name stands for, with room for more."""
        builder = self.builder
        (size,) = stack.shape
        twice = builder.shl(size, ir.Constant(INT64, 1))
        length = builder.select(builder.icmp_signed(">", needed, twice), needed, twice)
        array = self._new((length,), stack.kind)
        cgutils.raw_memcpy(builder, array.address, stack.address, size, array.itemsize.constant)
        self._hold(name, array)
        return array

    def give_back(self) -> None:
        """Give back all that is held."""
        for block in self.held.values():
            self._free(block)

    def _free(self, block: Any) -> None:
        free = self._function(FREE, ir.VoidType(), BYTES)
        self.builder.call(free, [self.builder.load(block)])

    def _new(self, shape: Sequence[Any], kind: Any) -> Array:
        array = Array(None, tuple(shape), kind)
        size = self.builder.mul(array.size(self.builder), array.itemsize)
        block = self.builder.call(self._function(ALLOCATE, BYTES, INT64), [size])
        self.leave_if(self.builder.icmp_unsigned("==", block, ir.Constant(BYTES, None)))
        return array._replace(address=self.builder.bitcast(block, storage_of(kind).as_pointer()))

    def _hold(self, name: tuple[Any, ...], array: Array) -> None:
        """Give back what the name held before."""
        if name not in self.held:
            self.held[name] = cgutils.alloca_once(self.builder, BYTES)  # null at first
        block = self.held[name]
        self._free(block)
        self.builder.store(self.builder.bitcast(array.address, BYTES), block)

    def _function(self, name: str, result: Any, argument: Any) -> Any:
        kind = ir.FunctionType(result, [argument])
        return cgutils.get_or_insert_function(self.builder.module, kind, name)


def name_allocator() -> None:
    """Let machine code call Python's allocator."""
    for name, function in (
        (ALLOCATE, ctypes.pythonapi.PyMem_RawMalloc),
        (FREE, ctypes.pythonapi.PyMem_RawFree),
    ):
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
