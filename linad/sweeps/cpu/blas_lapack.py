"""Routines of BLAS and LAPACK, called by address.

SciPy hands out the addresses of the library that it brings along. A Fortran routine takes
addresses only, so every call is one kernel: it reads the words of its instruction, all of them
addresses, and passes them on. Sizes and flags stand in a buffer of the program's.

    dgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    words: [address of dgemm, 13 addresses]

Fortran stores matrices column by column. A matrix stored row by row is its transpose there:
``C = A B`` is computed as ``C^T = B^T A^T``, and nothing is copied.

A stack of matrices is one instruction: a table says where the arrays of each entry of the
stack are.

Source: the reference BLAS and LAPACK; scipy.linalg.cython_blas and cython_lapack.
"""

import ctypes
import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Buffer, Place, constant_place, moved, new_place, transposed
from linad.sweeps.routines import Routine

LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
"""First letter of a routine, by the dtype it computes in."""

INTEGER = np.dtype(np.intc)


@functools.cache
def _capsules(module: str) -> dict[str, Any]:
    return importlib.import_module(module).__pyx_capi__  # type: ignore[no-any-return]


def names_in(module: str) -> list[str]:
    """Names of the functions that a Cython module hands out."""
    return list(_capsules(module))


def address_in(module: str, name: str) -> tuple[int, str]:
    """Address and C signature of a function that a Cython module hands out.

    Raises
    ------
    KeyError
        If it hands out no function of that name.
    """
    capsule = _capsules(module)[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    return api.PyCapsule_GetPointer(capsule, signature), signature.decode()


@functools.cache
def address_of_routine(name: str) -> int:
    """Address of a routine of BLAS or LAPACK."""
    if name in _capsules("scipy.linalg.cython_blas"):
        return address_in("scipy.linalg.cython_blas", name)[0]
    return address_in("scipy.linalg.cython_lapack", name)[0]


class CallParameters:
    """Numbers and flags that a call reads by address, one after the other in a constant."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.buffer = Buffer("constant", 0)

    def add(self, value: Any, dtype: Any) -> tuple[Buffer, int]:
        """Keep a number; return where."""
        raw = np.array(value, dtype).tobytes()
        offset = len(self._data)
        self._data += raw.ljust(-(-len(raw) // 16) * 16, b"\0")
        return self.buffer, offset

    def close(self) -> None:
        """Make the buffer, when everything is in it."""
        self.buffer.data = constant_place(np.frombuffer(bytes(self._data), np.uint8)).buffer.data
        self.buffer.size = len(self._data)


class OperandStack(NamedTuple):
    """An argument of which each entry of a stack has its own.

    Attributes
    ----------
    place : Place
        Where the first is, and all are.
    offsets : array of int64
        Where in the buffer each is, entry by entry of the stack.
    """

    place: Place
    offsets: np.ndarray


def invoke(
    lowering: Any,
    routine: str,
    *arguments: Any,
    info: int | None = None,
    only: tuple[Place, bool] | None = None,
    label: str | None = None,
) -> None:
    """Add an instruction that calls a routine.

    Parameters
    ----------
    lowering : Lowering
    routine : str
        Its name, with the letter of the dtype.
    *arguments
        In the routine's order. A letter is a flag, an integer a size, a NumPy number itself;
        a `Place` stands for the array that begins there, a `OperandStack` for one array for each
        call. With stacks the routine is called once for each entry.
    info : int, optional
        Position of the argument that tells of failure; if it is not zero, the sweep stops.
    only : tuple of Place and bool, optional
        Call it only where this truth value is that.
    label : str, optional
        What people read; the routine's name.
    """
    parameters = CallParameters()
    words: list[Any] = [address_of_routine(routine)]
    stacks: list[tuple[int, OperandStack]] = []
    for position, a in enumerate(arguments):
        if isinstance(a, OperandStack):
            words.append((a.place.buffer, 0))
            stacks.append((position, a))
        elif isinstance(a, Place):
            words.append((a.buffer, a.offset))
        elif isinstance(a, str):
            words.append(parameters.add(a.encode(), "S1"))
        else:
            words.append(parameters.add(a, INTEGER if type(a) is int else a.dtype))
    parameters.close()
    extent = 1
    if stacks:
        table = constant_place(np.stack([s.offsets for _, s in stacks], -1))
        extent = len(table.buffer.data)
        words.append((table.buffer, 0))
    if only is not None:
        words.append((only[0].buffer, only[0].offset))
    moving = tuple([k for k, _ in stacks])
    text = _call_source(len(arguments), moving, info, None if only is None else only[1])
    lowering.emit(text, extent, words, label or routine)


@functools.cache
def _call_source(count: int, moving: tuple[int, ...], info: int | None, only: bool | None) -> str:
    """Source of the kernel that passes ``count`` addresses on, those at ``moving`` by table."""
    lines = ["def kernel(p, start, stop):", f"    t = operand(p, {count + 1})" if moving else ""]
    if only is not None:
        lines.append(f"    if get_b1(operand(p, {count + 1 + bool(moving)}), 0, -1) != {only}:")
        lines.append("        return 0")
    lines += [f"    a{k} = operand(p, {k + 1})" for k in range(count)]
    lines.append("    for i in range(start, stop):")
    names = []
    for k in range(count):
        if k in moving:
            at = f"{len(moving)} * i + {moving.index(k)}"
            lines.append(f"        b{k} = a{k} + get_i8(t, {at}, -1)")
        names.append(f"b{k}" if k in moving else f"a{k}")
    lines.append(f"        call_by_address(operand(p, 0), ({', '.join(names)},))")
    if info is not None:
        lines.append(f"        if get_i4({names[info]}, 0, -1) != 0:")
        lines.append(f"            return {NO_RESULT}")
    lines.append("    return 0")
    return "\n".join([line for line in lines if line]) + "\n"


# Matrices as Fortran sees them.


class Layout(NamedTuple):
    """How the matrices of a place lie in memory.

    Attributes
    ----------
    columns : bool
        Whether stored column by column; else row by row.
    leading : int
        Entries from one column, or row, to the next.
    """

    columns: bool
    leading: int


def layout_of(place: Place) -> Layout | None:
    """How the last two axes lie in memory; None if that is nothing that Fortran knows."""
    (m, n), (s, t), item = place.shape[-2:], place.strides[-2:], place.dtype.itemsize
    if (n == 1 or t == item) and (m == 1 or (s >= n * item and s % item == 0)):
        return Layout(False, s // item if m > 1 else max(n, 1))
    if (m == 1 or s == item) and (n == 1 or (t >= m * item and t % item == 0)):
        return Layout(True, t // item if n > 1 else max(m, 1))
    return None


def step_of(place: Place) -> int | None:
    """Entries from one number of a vector to the next, None where Fortran cannot step so."""
    (n,), (s,), item = place.shape, place.strides, place.dtype.itemsize
    if n == 1:
        return 1
    return s // item if s and s % item == 0 else None


def base_of_vector(place: Place) -> Place:
    """The vector by its lowest address, which is what Fortran is told of one that runs down."""
    low, _ = place.extent
    return Place(place.buffer, low, place.shape, place.strides, place.dtype)


def fortran_place(shape: Shape, dtype: Any) -> Place:
    """New matrices, each stored column by column."""
    place = new_place((*shape[:-2], shape[-1], shape[-2]), dtype)
    return transposed(place)


def stacked(place: Place, core: int) -> Place | OperandStack:
    """What to hand to `invoke`: the place, or the table of the entries of a stack."""
    offsets = offsets_of(place, core)
    return place if len(offsets) == 1 else OperandStack(place, offsets)


def offsets_of(place: Place, core: int) -> np.ndarray:
    """Where, in bytes from the buffer's begin, each entry of a stack is, in C order."""
    lead = len(place.shape) - core
    shape, strides = place.shape[:lead], place.strides[:lead]
    firsts = Place(place.buffer, place.offset, shape, strides, place.dtype)
    return np.asarray(moved(firsts, None), np.int64).ravel()


def letter(dtype: Any) -> str | None:
    """First letter of the routines for a dtype, None if there are none."""
    return LETTERS.get(name_of_dtype(dtype) or "")


def usable(lowering: Any, eqn: Equation) -> bool:
    """Whether the routines know the dtypes of an equation."""
    known = all(name_of_dtype(lowering.place_of(a).dtype) is not None for a in eqn.inputs)
    return known and letter(eqn.outputs[0].dtype) is not None


def of_matrices(lower: Callable[[Any, Equation, Place], None]) -> Routine:
    """A routine with one result, which is handed the place of that where it has entries."""

    @functools.wraps(lower)
    def routine(lowering: Any, eqn: Equation) -> bool:
        if not usable(lowering, eqn):
            return False
        target = lowering.result(eqn.outputs[0])
        if size_of(target.shape):
            lower(lowering, eqn, target)
        return True

    return routine
