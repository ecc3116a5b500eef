"""The C functions behind NumPy's argsort, called by address.

A dtype holds functions that sort the numbers of entries, of which C programs may read where they
are:

    sort(address of n entries, address of n numbers, n, an array that those of numbers do not read)
    sort(address of n entries, n, the same)

The numbers are in some order before. What comes out is what NumPy finds, equal entries included, of
which an unstable sort promises nothing. Where there is no such function, NumPy is called.

Source: NumPy's C interface, ``PyDataType_GetArrFuncs`` and ``PyArray_ArrFuncs`` in
``ndarraytypes.h``, which are the same in all of NumPy 2.
"""

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.sweeps.along_axis import words_of
from linad.sweeps.cpu.kept_orders import PROBES, if_nearly_sorted, if_still_sorted
from linad.sweeps.data_movement import contiguous
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place
from linad.sweeps.searching import INTEGER

GET_FUNCTIONS = 365
"""Place of ``PyDataType_GetArrFuncs`` in the table of NumPy's C interface."""

FIRST = 36
"""Functions of a dtype before those that sort numbers of entries; before these are those that sort
entries."""

KINDS = {"quicksort": 0, "stable": 2}
"""Which of these is which."""

NUMBER_OF_KINDS = 3
"""Functions of either sort, that of heaps included."""


@functools.cache
def address_of(dtype: np.dtype[Any], kind: str) -> int | None:
    """Where the function is that sorts numbers of entries; None if there is none."""
    functions = _functions_of(dtype)
    address = functions and functions[FIRST + KINDS[kind]]
    return address if address and _sorts(address, dtype, kind) else None


@functools.cache
def address_for_integers() -> int | None:
    """Where the function is that sorts 64-bit integers; None if there is none."""
    functions = _functions_of(INTEGER)
    address = functions and functions[FIRST - NUMBER_OF_KINDS]
    return address if address and _sorts_integers(address) else None


def _functions_of(dtype: np.dtype[Any]) -> Any:
    """The addresses of the functions of a dtype; None if they are not known."""
    if np.lib.NumpyVersion(np.__version__) >= "3.0.0" or dtype.kind not in "biufc":
        return None
    try:
        interface = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    except (ImportError, AttributeError):
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(interface, None), _POINTERS)
    functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[GET_FUNCTIONS])(dtype)
    return ctypes.cast(functions, _POINTERS)


_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_SORT = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_ssize_t, ctypes.c_void_p)


def _sorts(address: int, dtype: np.dtype[Any], kind: Any) -> bool:
    """Whether a function finds what NumPy finds, in lines with equal entries."""
    for n in (5, 60, 700):
        x = (np.arange(n) * 7 % 11).astype(dtype)
        found = np.arange(n)
        _SORT(address)(x.ctypes.data, found.ctypes.data, n, None)
        if not np.array_equal(found, np.argsort(x, kind=kind)):
            return False
    return True


_SORT_ENTRIES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


def _sorts_integers(address: int) -> bool:
    for n in (5, 60, 700):
        x = np.arange(n) * 7 % 11 - 4
        wanted = np.sort(x)
        _SORT_ENTRIES(address)(x.ctypes.data, n, None)
        if not np.array_equal(x, wanted):
            return False
    return True


def _source(check: str, first: bool) -> str:
    """The kernel that sorts lines; ``first`` if they are in no order before."""
    numbers = "        for k in range(n):\n            set_i8(y, at + k, k, 0)\n"
    return (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n    size = operand(p, 4)\n    m = 1\n"
        "    for t in range(start, stop):\n"
        "        at = t * n * m\n"
        f"{check}{numbers if first else ''}"
        "        call_by_address(operand(p, 0), (x + at * size, y + at * 8, n, 0,))\n"
        "    return 0\n"
    )


def numpys_order(
    lowering: Any, x: Place, axis: int, kind: str, order: Place | None = None
) -> Place | None:
    """Add what sorts along an axis as NumPy does, as `linad.sweeps.target` says."""
    address, d = address_of(x.dtype, kind), name_of_dtype(x.dtype)
    if address is None:
        return None
    lines = contiguous(lowering, _with_last(x, axis))
    n = lines.shape[-1]
    kept = order is None and n > 1 and d is not None
    found = new_place(lines.shape, INTEGER, "kept" if kept else "arena")
    if order is not None:
        lowering.copy(found, _with_last(order, axis))
    check = if_still_sorted(d, kind == "stable") if kept and d is not None else ""
    words = [address, *words_of(lines, found), n, x.dtype.itemsize]
    integers = address_for_integers()
    if check and kind == "stable" and x.dtype.kind in "if" and n >= PROBES and integers:
        check += if_nearly_sorted(d or "")
        scratch = new_place((n,), x.dtype), new_place((n,), INTEGER)
        words += [integers, *words_of(*scratch)]
    lowering.emit(_source(check, order is None), size_of(lines.shape[:-1]), words, "sort")
    return _with_last(found, axis, back=True)


def _with_last(x: Place, axis: int, back: bool = False) -> Place:
    """An array with an axis as the last one; or with the last one in its place."""
    axes = [*range(axis), *range(axis + 1, len(x.shape)), axis]
    if back:
        axes = np.argsort(axes).tolist()
    shape, strides = [tuple([lengths[k] for k in axes]) for lengths in (x.shape, x.strides)]
    return Place(x.buffer, x.offset, shape, strides, x.dtype)
