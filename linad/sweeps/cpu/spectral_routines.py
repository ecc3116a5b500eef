"""Eigenvalues, singular values and QR decompositions, by NumPy's own code, called by address.

A V = V Λ    A Hermitian, or general
A = U S V^H
A = Q R

These are generalized ufuncs (`linad.sweeps.cpu.numpy_loops`) around NumPy's LAPACK, so what comes
out is what NumPy gives, bit by bit. As in NumPy, single precision is computed in double.

Where LAPACK does not converge, or refuses a matrix with NaN, the loops leave NaN for all of its
results. Then the sweep stops, and what runs in its place raises LinAlgError, or has the NaN.

The eigenvalues of general matrices come out complex, and NumPy before 2.5 makes them real where all
those of a stack of real matrices are. A program has one dtype: where this is not it, its guard
fails.

Source: ``numpy/linalg/umath_linalg.cpp`` and ``numpy/linalg/_linalg.py``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.sweeps.along_axis import words_of
from linad.sweeps.cpu.numpy_loops import NumpyLoop, Operand, call_loop, loop_of
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.instructions import GUARD_FAILED, NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place

MODULE = "numpy.linalg._umath_linalg"
BECOME_REAL = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"
"""Whether NumPy makes eigenvalues real that are."""


def _loop(name: str, signature: str, dtype: np.dtype[Any], types: str) -> NumpyLoop | None:
    """A loop; in ``types`` C stands for the dtype of matrices, and R for that of real numbers."""
    real = np.zeros((), dtype).real.dtype
    return loop_of(MODULE, name, signature, types.replace("C", dtype.char).replace("R", real.char))


def _double(out: Var) -> np.dtype[Any] | None:
    """What NumPy computes a result in; None for what it has no matrices of."""
    return np.result_type(out.dtype, np.float64) if out.dtype.char in "fdFD" else None


def _operand(lowering: Any, eqn: Equation, dtype: np.dtype[Any]) -> Place:
    return contiguous(lowering, in_dtype(lowering, lowering.place_of(eqn.inputs[0]), dtype))


def _call(
    lowering: Any,
    loop: NumpyLoop,
    places: Sequence[Place],
    cores: Sequence[int],
    lengths: Shape,
    label: str,
) -> None:
    """Call a loop once for a stack; places in order C, of which the last few axes are ``cores``."""
    places = list(places)
    outer = size_of(places[0].shape[: len(places[0].shape) - cores[0]])
    apart = [
        size_of(p.shape[len(p.shape) - core :]) * p.dtype.itemsize
        for p, core in zip(places, cores, strict=True)
    ]
    along = [
        s for p, core in zip(places, cores, strict=True) for s in p.strides[len(p.shape) - core :]
    ]
    operands = [Operand(p) for p in places]
    call_loop(lowering, loop, operands, (outer, *lengths), (*apart, *along), label)


def _numbers(place: Place) -> int:
    """How many numbers of double precision an entry is: a complex one is two."""
    return place.dtype.itemsize // 8


def _working(target: Place, dtype: np.dtype[Any]) -> Place:
    """Where a loop puts a result: where it is wanted, if in this dtype."""
    return target if target.dtype == dtype else new_place(target.shape, dtype)


def _stop_at_nan(lowering: Any, values: Place, label: str) -> None:
    """Stop where the first of the values of a matrix is NaN, as all are that LAPACK gave up."""
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    n = operand(p, 1)\n"
        "    for b in range(start, stop):\n"
        "        t = get_f8(x, b * n, -1)\n"
        "        if t != t:\n"
        f"            return {NO_RESULT}\n"
        "    return 0\n"
    )
    words = [*words_of(values), values.shape[-1] * _numbers(values)]
    lowering.emit(text, size_of(values.shape[:-1]), words, f"{label} done")


def _decompose(
    lowering: Any, eqn: Equation, loop: NumpyLoop | None, cores: Sequence[int], lengths: Shape
) -> bool:
    """Values, and vectors."""
    if loop is None:
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(targets[0].shape):
        return True
    label, doubles = eqn.primitive.name, [np.result_type(t.dtype, np.float64) for t in targets]
    made = [_working(t, dtype) for t, dtype in zip(targets, doubles, strict=True)]
    a = _operand(lowering, eqn, doubles[-1])
    _call(lowering, loop, [a, *made], cores, lengths, label)
    _stop_at_nan(lowering, made[-2], label)
    _hand_out(lowering, targets, made)
    return True


def _hand_out(lowering: Any, targets: Sequence[Place], made: Sequence[Place]) -> None:
    """Copy what was computed to where it is wanted, if it is not there."""
    for target, place in zip(targets, made, strict=True):
        if place is not target:
            lowering.copy(target, place)


@routine("eigh")
def eigh(lowering: Any, eqn: Equation) -> bool:
    dtype = _double(eqn.outputs[1])
    if dtype is None:
        return False
    name = "eigh_lo" if eqn.params["UPLO"] == "L" else "eigh_up"
    loop = _loop(name, "(m,m)->(m),(m,m)", dtype, "C->RC")
    return _decompose(lowering, eqn, loop, (2, 1, 2), eqn.inputs[0].shape[-1:])


@routine("eig")
def eig(lowering: Any, eqn: Equation) -> bool:
    return _general(lowering, eqn, "(m,m)->(m),(m,m)", (2, 1, 2))


@routine("eigvals")
def eigvals(lowering: Any, eqn: Equation) -> bool:
    return _general(lowering, eqn, "(m,m)->(m)", (2, 1))


def _general(lowering: Any, eqn: Equation, signature: str, cores: Sequence[int]) -> bool:
    """Eigenvalues of general matrices, and vectors."""
    if _double(eqn.outputs[0]) is None:
        return False
    label = eqn.primitive.name
    dtype = np.result_type(eqn.inputs[0].dtype, np.float64)
    types = dtype.char + "->" + "D" * len(eqn.outputs)
    loop = loop_of(MODULE, label, signature, types)
    if loop is None:
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(targets[0].shape):
        return True
    a = _operand(lowering, eqn, dtype)
    _stop_at_infinity(lowering, a, label)
    made = [_working(t, np.dtype(complex)) for t in targets]
    _call(lowering, loop, [a, *made], cores, a.shape[-1:], label)
    _stop_at_nan(lowering, made[0], label)
    real = targets[0].dtype.kind == "f"
    if BECOME_REAL and dtype.kind == "f" and any([lowering.reads.any(v) for v in eqn.outputs]):
        _check_imaginary(lowering, made[0], real)
    _hand_out(lowering, targets, [_real_parts(z) for z in made] if real else made)
    return True


def _stop_at_infinity(lowering: Any, a: Place, label: str) -> None:
    """Stop where an entry is infinite or NaN, which NumPy refuses."""
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n"
        "    for i in range(start, stop):\n"
        "        t = get_f8(x, i, -1)\n"
        "        if t - t != 0:\n"
        f"            return {NO_RESULT}\n"
        "    return 0\n"
    )
    lowering.emit(text, size_of(a.shape) * _numbers(a), words_of(a), f"{label} of finite numbers")


def _check_imaginary(lowering: Any, values: Place, real: bool) -> None:
    """Whether values are real, all of them, is as it was."""
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    real = operand(p, 2)\n"
        "    found = 1\n"
        "    for i in range(operand(p, 1)):\n"
        "        if get_f8(x, 2 * i + 1, -1) != 0:\n"
        "            found = 0\n"
        "    if found != real:\n"
        f"        return {GUARD_FAILED}\n"
        "    return 0\n"
    )
    lowering.emit(text, 1, [*words_of(values), size_of(values.shape), int(real)], "real or complex")


def _real_parts(z: Place) -> Place:
    return Place(z.buffer, z.offset, z.shape, z.strides, np.dtype(float))


@routine("eigen_conditions")
def eigen_conditions(lowering: Any, eqn: Equation) -> bool:
    """1 / |cos| of the angles between right and left eigenvectors, the rows of the inverse."""
    out = eqn.outputs[0]
    dtype = _double(out)
    if dtype is None:
        return False
    dtype = np.result_type(eqn.inputs[0].dtype, dtype)
    loop = _loop("inv", "(m,m)->(m,m)", dtype, "C->C")
    if loop is None:
        return False
    target = lowering.result(out)
    if not size_of(out.shape):
        return True
    v, left = _operand(lowering, eqn, dtype), new_place(eqn.inputs[0].shape, dtype)
    _call(lowering, loop, [v, left], (2, 2), v.shape[-1:], "inv")
    d = name_of_dtype(target.dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    v = operand(p, 0)\n    u = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n    c = operand(p, 4)\n"
        "    for i in range(start, stop):\n"
        "        a = 0.0\n        b = 0.0\n"
        "        for j in range(n):\n"
        "            for k in range(c):\n"
        "                s = get_f8(u, (i * n + j) * c + k, -1)\n"
        "                t = get_f8(v, ((i // n * n + j) * n + i % n) * c + k, -1)\n"
        "                a = a + s * s\n                b = b + t * t\n"
        "        a = np.sqrt(a) * np.sqrt(b)\n"
        f"        set_{d}(y, i, to_{d}(select(a == a, a, np.inf)), 0)  # NaN of singular ones\n"
        "    return 0\n"
    )
    words = [*words_of(v, left, target), v.shape[-1], _numbers(v)]
    lowering.emit(text, size_of(out.shape), words, "eigen_conditions")
    return True


@routine("svd")
def svd(lowering: Any, eqn: Equation) -> bool:
    dtype = _double(eqn.outputs[0])
    if dtype is None:
        return False
    loop = _loop("svd_s", "(m,n)->(m,p),(p),(p,n)", dtype, "C->CRC")
    m, n = eqn.inputs[0].shape[-2:]
    return _decompose(lowering, eqn, loop, (2, 2, 1, 2), (m, n, min(m, n)))


@routine("left_rest")
def left_rest(lowering: Any, eqn: Equation) -> bool:
    """The left singular vectors of matrices with more rows than columns that U has no room for."""
    out, shape = eqn.outputs[0], eqn.inputs[0].shape
    dtype = _double(out)
    *batch, m, n = shape
    if dtype is None or not (size_of(shape) and m > n):
        return False
    loop = _loop("svd_f", "(m,n)->(m,m),(p),(n,n)", dtype, "C->CRC")
    if loop is None:
        return False
    target, real = lowering.result(out), np.dtype(np.float64)
    u, s = new_place((*batch, m, m), dtype), new_place((*batch, n), real)
    places = [_operand(lowering, eqn, dtype), u, s, new_place((*batch, n, n), dtype)]
    _call(lowering, loop, places, (2, 2, 1, 2), (m, n, n), "left_rest")
    _stop_at_nan(lowering, s, "left_rest")
    lowering.copy(target, _last_columns(u, n))
    return True


def _last_columns(place: Place, first: int) -> Place:
    """Matrices without their first columns."""
    *shape, n = place.shape
    offset = place.offset + first * place.strides[-1]
    return Place(place.buffer, offset, (*shape, n - first), place.strides, place.dtype)


@routine("qr")
def qr(lowering: Any, eqn: Equation) -> bool:
    """A = Q R: R above the reflections that Q is the product of, in the place of A."""
    q, r = eqn.outputs
    dtype = _double(q)
    if dtype is None:
        return False
    factorise = _loop("qr_r_raw", "(m,n)->(p)", dtype, "C->C")
    multiply = _loop("qr_reduced", "(m,n),(k)->(m,k)", dtype, "CC->C")
    if factorise is None or multiply is None:
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(q.shape):
        return True
    given = lowering.place_of(eqn.inputs[0])
    a = new_place(given.shape, dtype)
    lowering.copy(a, given)
    *batch, m, n = a.shape
    k = min(m, n)
    tau = new_place((*batch, k), dtype)
    _call(lowering, factorise, [a, tau], (2, 1), (m, n, k), "qr")
    _upper_rows(lowering, a, targets[1])
    if lowering.reads.any(q):
        made = _working(targets[0], dtype)
        _call(lowering, multiply, [a, tau, made], (2, 1, 2), (m, n, k), "qr")
        _hand_out(lowering, targets[:1], [made])
    return True


@routine("qr_rest")
def qr_rest(lowering: Any, eqn: Equation) -> bool:
    """The columns of Q, of matrices with more rows than columns, that the reduced Q is without."""
    out, given = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    dtype = _double(out)
    *batch, m, n = given.shape
    if dtype is None or not (size_of(given.shape) and m > n):
        return False
    factorise = _loop("qr_r_raw", "(m,n)->(p)", dtype, "C->C")
    multiply = _loop("qr_complete", "(m,n),(n)->(m,m)", dtype, "CC->C")
    if factorise is None or multiply is None:
        return False
    target = lowering.result(out)
    a, tau = new_place(given.shape, dtype), new_place((*batch, n), dtype)
    q = new_place((*batch, m, m), dtype)
    lowering.copy(a, given)
    _call(lowering, factorise, [a, tau], (2, 1), (m, n, n), "qr_rest")
    _call(lowering, multiply, [a, tau, q], (2, 1, 2), (m, n), "qr_rest")
    lowering.copy(target, _last_columns(q, n))
    return True


def _upper_rows(lowering: Any, a: Place, r: Place) -> None:
    """The first rows of matrices in C order, with zeros below the diagonal."""
    d, given = name_of_dtype(r.dtype), name_of_dtype(a.dtype)
    m, (k, n) = a.shape[-2], r.shape[-2:]
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    y = operand(p, 1)\n"
        "    m = operand(p, 2)\n    k = operand(p, 3)\n    n = operand(p, 4)\n"
        "    for i in range(start, stop):\n"
        "        for j in range(n):\n"
        f"            t = to_{d}(get_{given}(x, (i // k * m + i % k) * n + j, -1))\n"
        f"            set_{d}(y, i * n + j, select(j < i % k, to_{d}(0), t), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, size_of(r.shape[:-1]), [*words_of(a, r), m, k, n], "upper triangle")
