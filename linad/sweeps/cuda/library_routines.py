"""Products, systems, factors, spectra and transforms, by the libraries of CUDA.

Products and triangular systems are those of the CPU (`linad.sweeps.cpu.matrix_products`,
`linad.sweeps.cpu.linear_routines`): the routines are the same, and so are their arguments. A system
with many right sides is solved column by column, on a transposed copy: exchanging rows in place is
nothing for a grid of threads.
"""

from typing import Any

import numpy as np

from linad.core.shapes import normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.cpu import linear_routines, matrix_products, triangular_routines
from linad.sweeps.cpu.blas_lapack import INTEGER, fortran_place, letter, of_matrices, stacked
from linad.sweeps.cpu.linear_routines import factorised
from linad.sweeps.data_movement import in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place, spread_over, transposed
from linad.sweeps.routines import Routine, Routines

BLAS = Routines(dict.fromkeys(("matmul", "matvec", "dot"), matrix_products.matmul))
SOLVER = Routines(
    {
        "solve_triangular": triangular_routines.solve_triangular,
        "det": linear_routines.determinant,
        "slogdet": linear_routines.determinant,
        "cholesky": linear_routines.cholesky,
        "lu": linear_routines.lu,
    }
)
FFT = Routines()

BY_LIBRARY: dict[str, dict[str, Routine]] = {"cublas": BLAS, "cusolver": SOLVER, "cufft": FFT}
"""What there is where a library is installed; cuSOLVER needs cuBLAS itself."""


@SOLVER.lowers("solve")
@of_matrices
def solve(lowering: Any, eqn: Equation, target: Place) -> None:
    a, right = eqn.inputs[0], lowering.place_of(eqn.inputs[1])
    triangle = linear_routines.triangle_of(lowering, a)
    if triangle is None:
        _by_factors(lowering, a, right, target)
        return
    lowering.copy(target, right)
    matrix = in_dtype(lowering, lowering.place_of(a), target.dtype)
    triangular_routines.check_diagonal(lowering, matrix)
    triangular_routines.by_triangle(lowering, matrix, target, lower=triangle == "lower", unit=False)


def _by_factors(lowering: Any, a: Any, b: Place, target: Place) -> None:
    """target = a^-1 b by GETRF and GETRS."""
    factors, flipped = factorised(lowering, a, target.dtype, check=True)
    batch, (n, k) = target.shape[:-2], target.shape[-2:]
    x = fortran_place(target.shape, target.dtype)
    lowering.copy(x, b)
    info = new_place(batch, INTEGER)
    lowering.target.invoke(
        lowering,
        f"{letter(target.dtype)}getrs",
        "T" if flipped else "N",
        n,
        k,
        stacked(spread_over(factors.lu, batch, 2), 2),
        n,
        stacked(spread_over(factors.pivots, batch, 1), 1),
        stacked(x, 2),
        n,
        stacked(info, 0),
        label="getrs",
    )
    lowering.copy(target, x)


SOLVER["inv"] = linear_routines.inverse_by(
    lambda lowering, a, x: _by_factors(lowering, a, x, x)
)


@SOLVER.lowers("eigh")
def eigh(lowering: Any, eqn: Equation) -> bool:
    """A V = V diag(w)"""
    values, vectors = eqn.outputs
    given = lowering.place_of(eqn.inputs[0])
    if letter(vectors.dtype) is None or name_of_dtype(given.dtype) is None:
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(vectors.shape):
        return True
    n = vectors.shape[-1]
    a, info = fortran_place(vectors.shape, vectors.dtype), new_place(vectors.shape[:-2], INTEGER)
    lowering.copy(a, given)
    lowering.target.invoke(
        lowering,
        f"{letter(vectors.dtype)}evd",
        eqn.params["UPLO"],
        n,
        stacked(a, 2),
        n,
        stacked(targets[0], 1),
        stacked(info, 0),
        info=5,
        label="syevd",
    )
    lowering.copy(targets[1], a)
    return True


@SOLVER.lowers("svd")
def svd(lowering: Any, eqn: Equation) -> bool:
    """A = U diag(s) V^H. Of a wide matrix that of its transpose: A^T = conj(V) diag(s) U^T."""
    u, s, vh = eqn.outputs
    given = lowering.place_of(eqn.inputs[0])
    if letter(u.dtype) is None or name_of_dtype(given.dtype) is None:
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(given.shape):
        return not (size_of(u.shape) or size_of(vh.shape))
    m, n = given.shape[-2:]
    batch = given.shape[:-2]
    wide = m < n
    if wide:
        given, m, n = transposed(given), n, m
    a = fortran_place((*batch, m, n), u.dtype)
    lowering.copy(a, given)
    left, right = fortran_place((*batch, m, n), u.dtype), fortran_place((*batch, n, n), u.dtype)
    info = new_place(batch, INTEGER)
    lowering.target.invoke(
        lowering,
        f"{letter(u.dtype)}gesvd",
        m,
        n,
        stacked(a, 2),
        m,
        stacked(targets[1], 1),
        stacked(left, 2),
        m,
        stacked(right, 2),
        n,
        stacked(info, 0),
        info=9,
        label="gesvd",
    )
    first, last = (transposed(right), transposed(left)) if wide else (left, right)
    lowering.copy(targets[0], first)
    lowering.copy(targets[2], last)
    return True


@SOLVER.lowers("qr")
def qr(lowering: Any, eqn: Equation) -> bool:
    """A = Q R, of the reduced kind: GEQRF leaves R above reflections, of which ORGQR makes Q."""
    q, r = eqn.outputs
    given = lowering.place_of(eqn.inputs[0])
    first = letter(q.dtype)
    if first is None or name_of_dtype(given.dtype) is None or not size_of(given.shape):
        return False
    targets = [lowering.result(v) for v in eqn.outputs]
    *batch, m, n = given.shape
    k = min(m, n)
    a = fortran_place(given.shape, q.dtype)
    lowering.copy(a, given)
    tau, info = new_place((*batch, k), q.dtype), new_place(tuple(batch), INTEGER)
    stack = stacked(a, 2), m, stacked(tau, 1), stacked(info, 0)
    lowering.target.invoke(lowering, f"{first}geqrf", m, n, *stack, info=5, label="geqrf")
    lowering.copy(targets[1], _first_of(a, -2, k))
    _clear_below(lowering, targets[1])
    lowering.target.invoke(lowering, f"{first}orgqr", m, k, k, *stack, info=6, label="orgqr")
    lowering.copy(targets[0], _first_of(a, -1, k))
    return True


def _first_of(place: Place, axis: int, count: int) -> Place:
    """The first entries along an axis, a given number of them."""
    shape = list(place.shape)
    shape[axis] = count
    return Place(place.buffer, place.offset, tuple(shape), place.strides, place.dtype)


def _clear_below(lowering: Any, place: Place) -> None:
    """Set what is below the diagonal of matrices in C order to zero."""
    d = name_of_dtype(place.dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    m = operand(p, 1)\n    n = operand(p, 2)\n"
        "    for i in range(start, stop):\n"
        "        if i % n < i // n % m:\n"
        f"            set_{d}(q, i, to_{d}(0), 0)\n"
        "    return 0\n"
    )
    words = [(place.buffer, place.offset), *place.shape[-2:]]
    lowering.emit(text, size_of(place.shape), words, "clear")


# Transforms: cuFFT takes arrays in C order, over their last axes, and multiplies by nothing.

MOST_AXES = 3


@FFT.lowers("fourier")
def fourier(lowering: Any, eqn: Equation) -> bool:
    """Y = c F X over some axes."""
    out, x = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    axes = tuple(sorted(normalize_axis(a, len(out.shape), "fft") for a in eqn.params["axes"]))
    first = letter(out.dtype)
    if first is None or out.dtype.kind != "c" or not 0 < len(axes) <= MOST_AXES:
        return False
    target = lowering.result(out)
    if not size_of(out.shape):
        return True
    order = [*[d for d in range(len(out.shape)) if d not in axes], *axes]
    lengths = tuple(out.shape[d] for d in axes)
    work = new_place(tuple(out.shape[d] for d in order), out.dtype)
    lowering.copy(work, _permuted(x, order))
    batch = size_of(out.shape) // size_of(lengths)
    inverse = bool(eqn.params["inverse"])
    arguments = lengths, batch, work, work, inverse
    lowering.target.invoke(lowering, f"{first}fft", *arguments, label="fft")
    _multiply(lowering, work, _factor(eqn.params["norm"], inverse, size_of(lengths)))
    lowering.copy(_permuted(target, order), work)
    return True


@FFT.lowers("rfft")
def rfft(lowering: Any, eqn: Equation) -> bool:
    """The half of F X that is not the conjugate of the other, of a real X."""
    out, x = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    real = np.dtype(f"f{out.dtype.itemsize // 2}")
    first, axis = letter(real), normalize_axis(eqn.params["axis"], len(out.shape), "rfft")
    if first is None or name_of_dtype(x.dtype) is None or x.dtype.kind == "c":
        return False
    n = x.shape[axis]
    target = lowering.result(out)
    if not size_of(out.shape):
        return True
    order = [*[d for d in range(len(out.shape)) if d != axis], axis]
    given = new_place(tuple(x.shape[d] for d in order), real)
    made = new_place(tuple(out.shape[d] for d in order), out.dtype)
    lowering.copy(given, _permuted(x, order))
    arguments = (n,), size_of(x.shape) // n, given, made
    lowering.target.invoke(lowering, f"{first}rfft", *arguments, label="rfft")
    _multiply(lowering, made, _factor(eqn.params["norm"], False, n))
    lowering.copy(_permuted(target, order), made)
    return True


@FFT.lowers("irfft")
def irfft(lowering: Any, eqn: Equation) -> bool:
    """The real X of which the half of F X is given. Imaginary parts without meaning are zero for
    NumPy; cuFFT would take them."""
    out, x = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    first, n = letter(out.dtype), int(eqn.params["n"])
    axis = normalize_axis(eqn.params["axis"], len(out.shape), "irfft")
    whole = np.dtype(f"c{2 * out.dtype.itemsize}")
    d = name_of_dtype(whole)
    if first is None or out.dtype.kind != "f" or x.shape[axis] != n // 2 + 1 or d is None:
        return False
    target = lowering.result(out)
    if not size_of(out.shape):
        return True
    order = [*[k for k in range(len(out.shape)) if k != axis], axis]
    given = new_place(tuple(x.shape[k] for k in order), whole)
    made = new_place(tuple(out.shape[k] for k in order), out.dtype)
    lowering.copy(given, _permuted(x, order))
    batch = size_of(out.shape) // n
    # The first entry is a sum, and so is the last of an even number.
    last = f"        set_{d}(q, i * m + m - 1, to_{d}(get_{d}(q, i * m + m - 1, 0).real), 0)\n"
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    m = operand(p, 1)\n"
        "    for i in range(start, stop):\n"
        f"        set_{d}(q, i * m, to_{d}(get_{d}(q, i * m, 0).real), 0)\n"
        f"{last if n % 2 == 0 else ''}"
        "    return 0\n"
    )
    words = [(given.buffer, given.offset), n // 2 + 1]
    lowering.emit(text, batch, words, "real parts")
    lowering.target.invoke(lowering, f"{first}irfft", (n,), batch, given, made, label="irfft")
    _multiply(lowering, made, _factor(eqn.params["norm"], True, n))
    lowering.copy(_permuted(target, order), made)
    return True


def _permuted(place: Place, order: list[int]) -> Place:
    shape, strides = ([values[d] for d in order] for values in (place.shape, place.strides))
    return Place(place.buffer, place.offset, tuple(shape), tuple(strides), place.dtype)


def _factor(norm: str, inverse: bool, n: int) -> float:
    """What NumPy multiplies a transform of n numbers by."""
    if norm == "ortho":
        return 1 / float(np.sqrt(n))
    return 1 / n if inverse == (norm == "backward") else 1.0


def _multiply(lowering: Any, place: Place, factor: float) -> None:
    """Multiply an array in C order by a number."""
    if factor == 1:
        return
    d = name_of_dtype(place.dtype) or ""
    real = d if d[0] == "f" else f"f{int(d[1:]) // 2}"
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n"
        f"    f = to_{real}(number(operand(p, 1)))\n"
        "    for i in range(start, stop):\n"
        f"        set_{d}(q, i, get_{d}(q, i, 0) * f, 0)\n"
        "    return 0\n"
    )
    bits = int(np.float64(factor).view(np.int64))
    lowering.emit(text, size_of(place.shape), [(place.buffer, place.offset), bits], "multiply")
