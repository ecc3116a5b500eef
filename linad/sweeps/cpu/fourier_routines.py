"""Discrete Fourier transforms, by NumPy's own code, called by address.

y_k = c Σ_j x_j exp(-2πi jk/n)

NumPy's transforms of one axis are generalized ufuncs. A ufunc holds the C functions that loop over
vectors, one for each dtype, and C programs may read where they are:

    loop(addresses of x, c and y; lengths; steps in bytes; direction)

What comes out is what NumPy gives, bit by bit. Transforms over several axes go over the last one
first, as NumPy's do. Where a ufunc is not as expected, NumPy is called.

Source: NumPy's C interface, ``ufuncobject.h``, and ``numpy/fft/_pocketfft_umath.cpp``.
"""

import ctypes
import functools
import importlib
from typing import Any, NamedTuple

import numpy as np

from linad.core.shapes import normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import split, words_of
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.places import Place, constant_place, new_place

MODULE = "numpy.fft._pocketfft_umath"

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


class TransformLoop(NamedTuple):
    """Addresses of a loop over vectors, and of the direction that it takes, or 0."""

    function: int
    data: int


@functools.cache
def loop_of(name: str, types: str) -> TransformLoop | None:
    """The loop of one of NumPy's transforms for dtypes, as ``dd->D``; None where there is none."""
    try:
        ufunc = getattr(importlib.import_module(MODULE), name)
    except (ImportError, AttributeError):
        return None
    if type(ufunc) is not np.ufunc or types not in ufunc.types:
        return None
    inside = _Ufunc.from_address(id(ufunc))
    known = inside.nin, inside.nout, inside.nargs, inside.ntypes
    if known != (2, 1, 3, len(ufunc.types)):
        return None
    k = ufunc.types.index(types)
    function, data = inside.functions[k], inside.data[k] if inside.data else 0
    return TransformLoop(function, data or 0) if function else None


def _lower(
    lowering: Any, eqn: Equation, name: str, axes: tuple[int, ...], n: int | None = None
) -> bool:
    """Transform along axes, one after the other; of ``n`` entries, or of as many as there are.

    Where c is the integer 1, NumPy transforms in double precision, whatever the array's is.
    """
    out, place = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    given, made = place.dtype, out.dtype
    real = np.zeros((), made).real.dtype
    if real.char not in "fd" or place.dtype.char.lower() != real.char:
        return False
    inverse, norm = name.startswith("i"), eqn.params["norm"]
    if norm == ("forward" if inverse else "backward"):
        real, given, made = [np.result_type(d, np.float64) for d in (real, given, made)]
    loop = loop_of(name, f"{given.char}{real.char}->{made.char}")
    if loop is None:
        return False
    y = lowering.result(out)
    if not size_of(out.shape):
        return True
    for axis in axes:
        at = normalize_axis(axis, len(out.shape), eqn.primitive.name)
        factor = _factor(norm, n or place.shape[at], inverse, real)
        x = contiguous(lowering, in_dtype(lowering, place, given))
        result = y if made == out.dtype else new_place(out.shape, made)
        _emit(lowering, loop, x, result, at, factor, eqn.primitive.name)
        if result is not y:
            lowering.copy(y, result)
        place = y
    return True


def _factor(norm: str, n: int, inverse: bool, real: np.dtype[Any]) -> Any:
    """c, in a precision."""
    if norm == ("forward" if inverse else "backward"):
        return np.ones((), real)
    length = real.type(n)
    return np.reciprocal(np.sqrt(length) if norm == "ortho" else length)


def _emit(
    lowering: Any, loop: TransformLoop, x: Place, y: Place, axis: int, factor: Any, label: str
) -> None:
    """Add the instruction that transforms x along an axis to y; both in order C, perhaps the same.

    Vectors that are next to each other are one call: those of the other axes together, or, if the
    axis is not the last one, those that lie behind it.
    """
    outer, n, inner = split(x.shape, axis)
    m = y.shape[axis]
    read, made = x.dtype.itemsize, y.dtype.itemsize
    calls = outer if inner > 1 else 1
    between = (read, made) if inner > 1 else (n * read, m * made)
    lengths = np.array([outer * inner // calls, n, m])
    steps = np.array([between[0], 0, between[1], inner * read, inner * made])
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 2)\n    y = operand(p, 4)\n"
        "    w = operand(p, 5)\n    n = operand(p, 6)\n    s = operand(p, 7)\n"
        "    for k in range(operand(p, 8)):\n"
        "        set_i8(w, 0, x + k * operand(p, 9), 0)\n"
        "        set_i8(w, 1, operand(p, 3), 0)\n"
        "        set_i8(w, 2, y + k * operand(p, 10), 0)\n"
        "        call_by_address(operand(p, 0), (w, n, s, operand(p, 1),))\n"
        "    return 0\n"
    )
    numbers = [constant_place(np.asarray(c)) for c in (factor, lengths, steps)]
    places = [x, numbers[0], y, new_place((3,), WORD), *numbers[1:]]
    words: list[Any] = [*loop, *words_of(*places), calls, n * inner * read, m * inner * made]
    lowering.emit(text, 1, words, label)


@routine("fourier")
def fourier(lowering: Any, eqn: Equation) -> bool:
    name = "ifft" if eqn.params["inverse"] else "fft"
    return _lower(lowering, eqn, name, tuple(reversed(eqn.params["axes"])))


@routine("rfft")
def rfft(lowering: Any, eqn: Equation) -> bool:
    axis = eqn.params["axis"]
    parity = "odd" if eqn.inputs[0].shape[axis] % 2 else "even"
    return _lower(lowering, eqn, f"rfft_n_{parity}", (axis,))


@routine("irfft")
def irfft(lowering: Any, eqn: Equation) -> bool:
    return _lower(lowering, eqn, "irfft", (eqn.params["axis"],), eqn.params["n"])
