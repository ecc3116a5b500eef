"""Discrete Fourier transforms, by NumPy's own code, called by address.

y_k = c Σ_j x_j exp(-2πi jk/n)

NumPy's transforms of one axis are generalized ufuncs (`linad.sweeps.cpu.numpy_loops`) of x and c,
and the direction is their data. What comes out is what NumPy gives, bit by bit. Transforms over
several axes go over the last one first, as NumPy's do.

Source: ``numpy/fft/_pocketfft_umath.cpp``.
"""

from typing import Any

import numpy as np

from linad.core.shapes import normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import split
from linad.sweeps.cpu.numpy_loops import NumpyLoop, Operand, call_loop, loop_of
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.places import Place, constant_place, new_place

MODULE = "numpy.fft._pocketfft_umath"

SIGNATURES = {"ifft": "(m),()->(n)", "irfft": "(m),()->(n)"}
"""Of the transforms whose signature is not ``(n),()->(m)``."""


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
    signature = SIGNATURES.get(name, "(n),()->(m)")
    loop = loop_of(MODULE, name, signature, f"{given.char}{real.char}->{made.char}")
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
    lowering: Any, loop: NumpyLoop, x: Place, y: Place, axis: int, factor: Any, label: str
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
    lengths = outer * inner // calls, n, m
    steps = between[0], 0, between[1], inner * read, inner * made
    operands = [
        Operand(x, n * inner * read),
        Operand(constant_place(np.asarray(factor))),
        Operand(y, m * inner * made),
    ]
    call_loop(lowering, loop, operands, lengths, steps, label, calls)


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
