"""Results that compiled code makes: the whole of a short call between two lines of Python.

`numpy.empty` costs a tenth of a microsecond a result, as much as a small program. By the address
of what it calls, in NumPy's table of C functions, an array costs half of that. For a number none is
made: the program writes it to memory in front of its header, where the plan has words that look
like an array. The table is part of NumPy's stable binary interface. Objects are counted with the
interpreter's lock held, so there are no results of this kind in builds without one.
"""

import ctypes
import sys
import sysconfig
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from linad.operators.provided import OTHER
from linad.sweeps.cpu.engine import IN_ROWS, patch, run_instructions
from linad.sweeps.cpu.native import (
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    HEADER,
    INT64,
    TUPLE_ITEMS,
    set_word,
    word,
)
from linad.sweeps.cpu.own_functions import callable_on_objects
from linad.sweeps.instructions import PYTHON_ERROR
from linad.sweeps.places import Result

NEW_FROM_DESCR, SCALAR = 94, 60
"""Where `PyArray_NewFromDescr` and `PyArray_Scalar` stand in NumPy's table."""

BYTES_OF_A_NUMBER = 16
"""In front of a program's header, for each of its results."""


def _table() -> Any:
    """NumPy's C functions, or None where results are made in Python."""
    module = sys.modules.get("numpy._core._multiarray_umath")
    capsule = getattr(module, "_ARRAY_API", None)
    locked = not sysconfig.get_config_var("Py_GIL_DISABLED")
    if capsule is None or not locked or sys.implementation.name != "cpython":
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


TABLE = _table()


@intrinsic
def call_c(context: Any, function: Any, arguments: Any) -> Any:
    """Call the C function at an address, which returns an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        passed = cgutils.unpack_tuple(builder, args[1], len(arguments))
        kind = ir.FunctionType(INT64, [a.type for a in passed])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), passed)

    return types.int64(types.int64, arguments), generate


@intrinsic
def half(context: Any, number: Any) -> Any:
    """The number as a C ``int``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.trunc(args[0], ir.IntType(32))

    return types.int32(types.int64), generate


# A plan is words: addresses of functions and objects, the numbers of arrays, then memory that
# looks like a tuple of them to `patch`, then each result: dtype, whether it is a number, whether it
# lies in order F, its shape; of a number, what looks like an array without axes.
NEW, TO_NUMBER, TUPLE, HOLD, DROP, KIND, NOTHING, INPUTS, OUTPUTS, TOGETHER = range(0, 80, 8)

ARRAY = ARRAY_FLAGS + 8
"""Bytes of what looks like an array without axes."""

OTHER_WAY = -1
"""Returned in place of an object's address for other arguments, and where a kernel stopped."""


def room_for(p):
    """A tuple for several results, 0 for one; -1 after an error.

    It comes before anything is noted in the plan: a collection of garbage may run other calls.
    """
    m = word(p + OUTPUTS)
    if m == 1:
        return 0
    several = call_c(word(p + TUPLE), (m,))
    return several if several != 0 else -1


def place_of(p, k):
    """Where the address of argument ``k`` goes."""
    return p + TOGETHER + TUPLE_ITEMS + 8 * k


def made(h, p, several):
    """Make results, check and patch, run: the result, the tuple of several, 0 after an error.

    The arguments have been noted. A sweep may call Python, to compile the twin of a kernel, and
    then another thread may come by here: what stands in the plan is the caller's own until `patch`
    has read it, and no longer.
    """
    n, m = word(p + INPUTS), word(p + OUTPUTS)
    together = p + TOGETHER
    items = together + TUPLE_ITEMS
    set_word(together + HEADER, n + m)
    first = items + 8 * (n + m)
    at, count, alone, status = first, 0, 0, 0
    while status == 0 and count < m:
        if word(at + 8):
            array = at + 32
            set_word(array + ARRAY_DATA, _place_of_number(h, count))
            at += 32 + ARRAY
        else:
            ndim = word(at + 24)
            call_c(word(p + HOLD), (word(at),))  # the next call takes a reference of the dtype
            array = call_c(
                word(p + NEW),
                (word(p + KIND), word(at), half(ndim), at + 32, 0, 0, half(word(at + 16)), 0),
            )
            if array == 0:
                status = PYTHON_ERROR
            elif m == 1:
                alone = array
            else:
                set_word(several + TUPLE_ITEMS + 8 * count, array)
            at += 32 + 8 * ndim
        set_word(items + 8 * (n + count), array)
        count += 1
    if status == 0:
        status = patch(h, together)
    if status == 0:
        status = run_instructions(word(h + 16), word(h + 24))
    at = first
    for k in range(m):
        if status == 0 and word(at + 8):
            number = call_c(word(p + TO_NUMBER), (_place_of_number(h, k), word(at), 0))
            if number == 0:
                status = PYTHON_ERROR
            elif m == 1:
                alone = number
            else:
                set_word(several + TUPLE_ITEMS + 8 * k, number)
        at += 32 + (ARRAY if word(at + 8) else 8 * word(at + 24))
    result = alone if m == 1 else several
    if status == 0:
        return result
    if result != 0:
        call_c(word(p + DROP), (result,))
    return 0 if status == PYTHON_ERROR else OTHER_WAY


def _place_of_number(h, k):
    """Where a program with its header at ``h`` writes result ``k``, if that is a number."""
    return h - BYTES_OF_A_NUMBER * (k + 1)


def _call(header, plan, args):
    """The result, or a tuple of several, or `OTHER`."""
    p = word(plan + ARRAY_DATA)
    n = word(p + INPUTS)
    result = OTHER_WAY
    if word(args + HEADER) == n:
        several = room_for(p)
        if several == -1:
            return 0
        for k in range(n):
            set_word(place_of(p, k), word(args + TUPLE_ITEMS + 8 * k))
        result = made(word(header + ARRAY_DATA), p, several)
    if result == OTHER_WAY:
        call_c(word(p + HOLD), (word(p + NOTHING),))
        return word(p + NOTHING)
    return result


enter_making = callable_on_objects(_call, gives="object")
"""``enter_making(header, plan, arrays)``: the result of a short program, a tuple of several
results, or `OTHER` for other arguments and where a kernel stopped. Holds the interpreter's lock."""


def address_of_c(function: Any) -> int:
    """Where one of Python's C functions is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def plan_of(inputs: int, results: Sequence[Result], numbers: Sequence[bool]) -> Any:
    """What `enter_making` has to know of a program.

    Parameters
    ----------
    inputs : int
        How many arrays it takes.
    results : list of Result
        The dtypes have to outlive the plan.
    numbers : list of bool
        Which of the results are numbers: scalars of NumPy, and no arrays.
    """
    python = ctypes.pythonapi
    functions = [python.PyTuple_New, python.Py_IncRef, python.Py_DecRef]
    words = [TABLE[NEW_FROM_DESCR], TABLE[SCALAR]]
    words += [address_of_c(f) for f in functions]
    words += [id(np.ndarray), id(OTHER), inputs, len(results)]
    words += [0] * (TUPLE_ITEMS // 8 + inputs + len(results))
    for (shape, dtype, order), number in zip(results, numbers, strict=True):
        words += [id(dtype), int(number), int(order == "F"), len(shape), *shape]
        words += number_of(dtype).tolist() if number else []
    return np.array(words, np.int64)


def number_of(dtype: np.dtype) -> np.ndarray:
    """Words like a NumPy array's without axes, but for the address of its entry."""
    words = np.zeros(ARRAY // 8, np.int64)
    words[HEADER // 8 - 1] = id(np.ndarray)
    words[ARRAY_DTYPE // 8] = id(dtype)
    words[ARRAY_FLAGS // 8] = IN_ROWS
    return words
