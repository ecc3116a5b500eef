"""The C functions behind NumPy's generalized ufuncs, called by address.

A generalized ufunc holds functions that loop over vectors or matrices, one for each combination
of dtypes, and C programs may read where they are:

    loop(addresses of operands and results; lengths; steps in bytes; data)

Lengths are the number of repetitions, and then each dimension of the signature once. Steps are from
one repetition to the next, of each operand, and then along each dimension of each operand. What
comes out is what NumPy gives, bit by bit. Where a ufunc is not as expected there is no loop, and
NumPy is called.

Source: NumPy's C interface, ``ufuncobject.h``; "Generalized universal function API".
"""

import ctypes
import functools
import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.sweeps.places import Place, constant_place, new_place

WORD = np.dtype(np.int64)


class _Ufunc(ctypes.Structure):
    """The beginning of NumPy's ``PyUFuncObject``."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


class NumpyLoop(NamedTuple):
    """Addresses of a loop, and of the data that it takes, or 0."""

    function: int
    data: int


class Operand(NamedTuple):
    """What a loop reads or writes, and how many bytes on it is in the next call of the loop."""

    place: Place
    between: int = 0


@functools.cache
def loop_of(module: str, name: str, signature: str, types: str) -> NumpyLoop | None:
    """The loop of a ufunc for dtypes, as ``dd->D``; None where there is none.

    Parameters
    ----------
    module, name : str
        Where the ufunc is.
    signature : str
        What its dimensions have to be, as ``(n),()->(m)``.
    types : str
    """
    try:
        ufunc = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None
    if type(ufunc) is not np.ufunc or types not in ufunc.types:
        return None
    if (ufunc.signature or "").replace(" ", "") != signature:  # some are written with blanks
        return None
    inside = _Ufunc.from_address(id(ufunc))
    known = inside.nin, inside.nout, inside.nargs, inside.ntypes
    if known != (ufunc.nin, ufunc.nout, ufunc.nargs, len(ufunc.types)):
        return None
    k = ufunc.types.index(types)
    function, data = inside.functions[k], inside.data[k] if inside.data else 0
    return NumpyLoop(function, data or 0) if function else None


def call_loop(
    lowering: Any,
    loop: NumpyLoop,
    operands: Sequence[Operand],
    lengths: Sequence[int],
    steps: Sequence[int],
    label: str,
    calls: int = 1,
) -> None:
    """Add the instruction that calls a loop, perhaps several times."""
    count = len(operands)
    fixed = [constant_place(np.array(c, WORD)) for c in (lengths, steps)]
    places = [new_place((count,), WORD), *fixed, *[o.place for o in operands]]
    words: list[Any] = [*loop, calls, *[(p.buffer, p.offset) for p in places]]
    words += [o.between for o in operands]
    lowering.emit(_source(count), 1, words, label)


@functools.cache
def _source(count: int) -> str:
    """Source of the kernel that tells a loop where ``count`` operands are."""
    lines = [
        "def kernel(p, start, stop):",
        "    w = operand(p, 3)",
        "    n = operand(p, 4)",
        "    s = operand(p, 5)",
        "    for k in range(operand(p, 2)):",
    ]
    for i in range(count):
        at, between = f"operand(p, {6 + i})", f"operand(p, {6 + count + i})"
        lines.append(f"        set_i8(w, {i}, {at} + k * {between}, 0)")
    lines.append("        call_by_address(operand(p, 0), (w, n, s, operand(p, 1),))")
    lines.append("    return 0")
    return "\n".join(lines) + "\n"
