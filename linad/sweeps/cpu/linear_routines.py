"""Linear systems, inverses, determinants and factors, by LAPACK.

A X = B      P A = L U by GETRF, then X = U^-1 L^-1 P B
A = L L^H    POTRF
det A        sign and sum of logarithms of the diagonal of U, and of the exchanges

Right sides are stored row by row, so Fortran sees X^T, and solves X^T U^T L^T = (P B)^T from
the right: nothing is transposed. A matrix that several equations solve with, or its transpose,
is factorised once. One that came out of a Cholesky decomposition is triangular already, and
one that went into it may be factorised by it (`linad.sweeps.cpu.symmetric_systems`).

A singular matrix stops the sweep.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.sweeps.cpu.blas_lapack import (
    INTEGER,
    fortran_place,
    letter,
    of_matrices,
    offsets_of,
    stacked,
    usable,
)
from linad.sweeps.cpu.matrix_products import one
from linad.sweeps.cpu.routines import routine
from linad.sweeps.cpu.symmetric_systems import by_cholesky
from linad.sweeps.cpu.triangular_routines import by_triangle, check_diagonal
from linad.sweeps.data_movement import in_dtype
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, new_place, spread_over
from linad.sweeps.routines import Routine


class PivotedFactors(NamedTuple):
    """L and U of a stack of matrices, column by column, the exchanges, and what LAPACK said."""

    lu: Place
    pivots: Place
    info: Place


# Factors.


def root_of(lowering: Any, a: Any) -> tuple[Any, bool]:
    """The matrix that ``a`` is, and whether ``a`` is its transpose."""
    flipped = False
    while isinstance(a, Var):
        eqn = lowering.equation_of.get(a)
        if eqn is None or eqn.primitive.name != "transpose" or not isinstance(eqn.inputs[0], Var):
            break
        n = len(a.shape)
        if n < 2 or tuple(eqn.params["axes"]) != (*range(n - 2), n - 1, n - 2):
            break
        a, flipped = eqn.inputs[0], not flipped
    return a, flipped


def factorised(
    lowering: Any, a: Any, dtype: np.dtype[Any], check: bool
) -> tuple[PivotedFactors, bool]:
    """Factors of a matrix or of its transpose, and whether of its transpose.

    Parameters
    ----------
    lowering : Lowering
    a : Var or array
    dtype : numpy.dtype
        What to compute in.
    check : bool
        Whether a singular matrix stops the sweep.
    """
    root, flipped = root_of(lowering, a)
    key = (id(root), dtype)
    if key not in lowering.factors:
        factors, of = factorise(lowering, lowering.place_of(a), dtype, check), flipped
    else:
        factors, of, checked = lowering.factors[key]
        if check and not checked:
            _check_factors(lowering, factors)
        check = check or checked
    lowering.factors[key] = factors, of, check
    return factors, of != flipped


def _check_factors(lowering: Any, factors: PivotedFactors) -> None:
    """Stop where a matrix is singular, of which a determinant has asked before."""
    text = (
        "def kernel(p, start, stop):\n"
        "    f = operand(p, 0)\n"
        "    for b in range(start, stop):\n"
        "        if get_i4(f, b, -1) != 0:\n"
        f"            return {NO_RESULT}\n"
        "    return 0\n"
    )
    info = factors.info
    lowering.emit(text, size_of(info.shape), [(info.buffer, info.offset)], "check factors")


def factorise(lowering: Any, a: Place, dtype: np.dtype[Any], check: bool) -> PivotedFactors:
    """Factors of the matrices at a place."""
    lu = fortran_place(a.shape, dtype)
    lowering.copy(lu, a)
    pivots, info = new_place(a.shape[:-1], INTEGER), new_place(a.shape[:-2], INTEGER)
    n = a.shape[-1]
    parts = stacked(lu, 2), stacked(pivots, 1), stacked(info, 0)
    lowering.target.invoke(
        lowering,
        f"{letter(dtype)}getrf",
        n,
        n,
        parts[0],
        n,
        *parts[1:],
        info=5 if check else None,
        label="getrf",
    )
    return PivotedFactors(lu, pivots, info)


# Systems.


@routine("solve")
@of_matrices
def solve(lowering: Any, eqn: Equation, target: Place) -> None:
    a = eqn.inputs[0]
    lowering.copy(target, lowering.place_of(eqn.inputs[1]))
    triangle = triangle_of(lowering, a)
    found = lowering.more.get(eqn)
    if found is not None:
        root, flipped = root_of(lowering, a)
        by_cholesky(lowering, lowering.place_of(root), flipped, target, found)
    elif triangle is not None:
        matrix = in_dtype(lowering, lowering.place_of(a), target.dtype)
        check_diagonal(lowering, matrix)
        by_triangle(lowering, matrix, target, lower=triangle == "lower", unit=False)
    else:
        by_factors(lowering, a, target)


def triangle_of(lowering: Any, a: Any) -> str | None:
    """Which triangle a matrix is, where the program shows it."""
    upper = False
    while isinstance(a, Var):
        a, flipped = root_of(lowering, a)
        upper ^= flipped
        eqn = lowering.equation_of.get(a)
        if eqn is None:
            return None
        if eqn.primitive.name == "cholesky":
            return "upper" if upper else "lower"
        if eqn.primitive.name not in ("conjugate", "copy", "negative"):
            return None
        a = eqn.inputs[0]
    return None


def by_factors(lowering: Any, a: Any, x: Place) -> None:
    """Solve with the matrix ``a``, in place of the right sides ``x`` in C order."""
    factors, flipped = factorised(lowering, a, x.dtype, check=True)
    n, k = x.shape[-2:]
    batch = x.shape[:-2]
    lu, pivots = factors.lu, factors.pivots
    first = letter(x.dtype)
    if k == 1:
        single = size_of(lu.shape[:-2]) == 1
        info = new_place(() if single else batch, INTEGER)
        parts = [p if single else stacked(spread_over(p, batch, c), c) for p, c in _cores(factors)]
        lowering.target.invoke(
            lowering,
            f"{first}getrs",
            "T" if flipped else "N",
            n,
            size_of(batch) if single else 1,
            parts[0],
            n,
            parts[1],
            x if single else stacked(x, 2),
            n,
            info if single else stacked(info, 0),
            label="getrs",
        )
        return
    # X^T U^T L^T = (P B)^T, and for the transpose X^T P^T L U = B^T.
    lu_part, x_part = stacked(spread_over(lu, batch, 2), 2), stacked(x, 2)
    if not flipped:
        exchange(lowering, x, pivots, backward=False)
    passes = [("U", "N", "N"), ("L", "N", "U")] if flipped else [("L", "T", "U"), ("U", "T", "N")]
    for triangle, turned, diagonal in passes:
        lowering.target.invoke(
            lowering,
            f"{first}trsm",
            "R",
            triangle,
            turned,
            diagonal,
            k,
            n,
            one(x.dtype),
            lu_part,
            n,
            x_part,
            k,
            label="trsm",
        )
    if flipped:
        exchange(lowering, x, pivots, backward=True)


def _cores(factors: PivotedFactors) -> list[tuple[Place, int]]:
    return [(factors.lu, 2), (factors.pivots, 1)]


def exchange(lowering: Any, x: Place, pivots: Place, backward: bool) -> None:
    """Exchange rows of ``x``, in C order, as GETRF did."""
    batch, (n, k) = x.shape[:-2], x.shape[-2:]
    d = name_of_dtype(x.dtype)
    order = "range(n - 1, -1, -1)" if backward else "range(n)"
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    e = operand(p, 1)\n"
        "    n = operand(p, 2)\n    k = operand(p, 3)\n    t = operand(p, 4)\n"
        "    for b in range(start, stop):\n"
        f"        for i in {order}:\n"
        "            j = get_i4(e + get_i8(t, b, -1), i, -1) - 1\n"
        "            if j != i:\n"
        "                first = (b * n + i) * k\n                second = (b * n + j) * k\n"
        "                for c in range(k):\n"
        f"                    held = get_{d}(x, first + c, 0)\n"
        f"                    set_{d}(x, first + c, get_{d}(x, second + c, 0), 0)\n"
        f"                    set_{d}(x, second + c, held, 0)\n"
        "    return 0\n"
    )
    table = constant_place(offsets_of(spread_over(pivots, batch, 1), 1)).buffer
    words = [(x.buffer, x.offset), (pivots.buffer, 0), n, k, (table, 0)]
    lowering.emit(text, size_of(batch), words, "exchange")


# Inverses and determinants.


def inverse_by(solve: Callable[[Any, Any, Place], None]) -> Routine:
    """The inverse, by what solves with a matrix in place of the right sides."""

    @of_matrices
    def invert(lowering: Any, eqn: Equation, target: Place) -> None:
        lowering.fill(target, 0)
        lowering.fill(diagonal_of(target), 1)
        solve(lowering, eqn.inputs[0], target)

    return invert


routine("inv")(inverse_by(by_factors))


def diagonal_of(place: Place) -> Place:
    """The diagonals of the last two axes."""
    *shape, n, _ = place.shape
    *strides, s, t = place.strides
    return Place(place.buffer, place.offset, (*shape, n), (*strides, s + t), place.dtype)


@routine("det", "slogdet")
def determinant(lowering: Any, eqn: Equation) -> bool:
    if not usable(lowering, eqn):
        return False
    shape, dtype = lowering.place_of(eqn.inputs[0]).shape, eqn.outputs[0].dtype
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(shape[:-2]):
        return True
    if not shape[-1]:
        lowering.fill(targets[0], 1)
        if len(targets) == 2:
            lowering.fill(targets[1], 0)
        return True
    factors, _ = factorised(lowering, eqn.inputs[0], dtype, check=False)
    words: list[Any] = [(p.buffer, p.offset) for p in (*factors, *targets)]
    words.insert(3, shape[-1])
    text = _determinant_source(name_of_dtype(dtype) or "", len(targets) == 2)
    lowering.emit(text, size_of(shape[:-2]), words, eqn.primitive.name)
    return True


def _determinant_source(d: str, parts: bool) -> str:
    real = d if d[0] == "f" else f"f{int(d[1:]) // 2}"
    lines = [
        "def kernel(p, start, stop):",
        *[f"    {x} = operand(p, {k})" for k, x in enumerate(["q", "e", "f", "n", "y", "l"])],
        "    for b in range(start, stop):",
        f"        sign = to_{d}(1)",
        f"        total = to_{real}(0)",
        "        if get_i4(f, b, -1) > 0:",
        f"            sign = to_{d}(0)",
        f"            total = to_{real}(-np.inf)",
        "        else:",
        "            for i in range(n):",
        "                if get_i4(e, b * n + i, -1) != i + 1:",
        "                    sign = -sign",
        f"                u = get_{d}(q, (b * n + i) * n + i, -1)",
        f"                size = {'abs' if d == real else 'z_size'}(u)",
        "                sign = select(u < 0, -sign, sign)"
        if d == real
        else "                sign = sign * complex(u.real / size, u.imag / size)",
        f"                total = to_{real}(total + m_log(size))",
    ]
    if parts:
        lines += [f"        set_{d}(y, b, sign, 0)", f"        set_{real}(l, b, total, 1)"]
    else:
        lines.append(f"        set_{d}(y, b, to_{d}(sign * m_exp(total)), 0)")
    text = "\n".join([*lines, "    return 0"]) + "\n"
    return text if parts else text.replace("    l = operand(p, 5)\n", "")


# Factors as results.


@routine("cholesky")
@of_matrices
def cholesky(lowering: Any, eqn: Equation, target: Place) -> None:
    lowering.copy(target, lowering.place_of(eqn.inputs[0]))
    n = target.shape[-1]
    info = new_place(target.shape[:-2], INTEGER)
    # Fortran's upper triangle is what lies in the lower one, row by row.
    name, parts = f"{letter(target.dtype)}potrf", (stacked(target, 2), stacked(info, 0))
    lowering.target.invoke(lowering, name, "U", n, parts[0], n, parts[1], info=4, label="potrf")
    d = name_of_dtype(target.dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    n = operand(p, 1)\n"
        "    for r in range(start, stop):\n"
        "        for j in range(r % n + 1, n):\n"
        f"            set_{d}(q, r * n + j, to_{d}(0), 0)\n"
        "    return 0\n"
    )
    rows = size_of(target.shape[:-1])
    lowering.emit(text, rows, [(target.buffer, target.offset), n], "lower triangle")


@routine("lu")
def lu(lowering: Any, eqn: Equation) -> bool:
    if not usable(lowering, eqn):
        return False
    matrix, exchanges = eqn.outputs
    targets = [lowering.result(v) for v in eqn.outputs]
    if not size_of(matrix.shape):
        return True
    factors = factorise(lowering, lowering.place_of(eqn.inputs[0]), matrix.dtype, check=True)
    lowering.copy(targets[0], factors.lu)
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    y = operand(p, 1)\n"
        "    for i in range(start, stop):\n"
        "        set_i4(y, i, to_i4(get_i4(x, i, -1) - 1), 0)\n"
        "    return 0\n"
    )
    words = [(factors.pivots.buffer, 0), (targets[1].buffer, targets[1].offset)]
    lowering.emit(text, size_of(exchanges.shape), words, "exchanges")
    return True
