"""Triangular systems, T X = B, by TRSV and TRSM of BLAS.

A zero on the diagonal stops the sweep.
"""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.blas_lapack import (
    letter,
    of_matrices,
    offsets_of,
    stacked,
)
from linad.sweeps.cpu.matrix_products import known_layout, one
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import in_dtype
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, spread_over


@routine("solve_triangular")
@of_matrices
def solve_triangular(lowering: Any, eqn: Equation, target: Place) -> None:
    a = in_dtype(lowering, lowering.place_of(eqn.inputs[0]), target.dtype)
    lowering.copy(target, lowering.place_of(eqn.inputs[1]))
    if not eqn.params["unit"]:
        check_diagonal(lowering, a)
    by_triangle(lowering, a, target, eqn.params["lower"], eqn.params["unit"])


def by_triangle(lowering: Any, a: Place, x: Place, lower: bool, unit: bool) -> None:
    """Solve with a triangle of ``a``, in place of the right sides ``x`` in C order."""
    a, layout = known_layout(lowering, a)
    n, k = x.shape[-2:]
    batch = x.shape[:-2]
    first, diagonal = letter(x.dtype), "U" if unit else "N"
    # Fortran sees the transpose of what is stored row by row, and so the other triangle.
    triangle = "L" if lower == layout.columns else "U"
    single = size_of(a.shape[:-2]) == 1
    a_part = stacked(spread_over(a, batch, 2), 2) if not single else a
    if k == 1 and (not single or size_of(batch) == 1):
        turned = "N" if layout.columns else "T"
        lowering.target.invoke(
            lowering,
            f"{first}trsv",
            triangle,
            turned,
            diagonal,
            n,
            a_part,
            layout.leading,
            stacked(x, 2),
            1,
            label="trsv",
        )
        return
    # One matrix and a stack of columns: Fortran sees the columns of one right side.
    columns = k == 1
    rows = n if columns else k
    lowering.target.invoke(
        lowering,
        f"{first}trsm",
        "L" if columns else "R",
        triangle,
        "N" if columns == layout.columns else "T",
        diagonal,
        rows,
        size_of(batch) if columns else n,
        one(x.dtype),
        a_part,
        layout.leading,
        x if columns else stacked(x, 2),
        rows,
        label="trsm",
    )


def check_diagonal(lowering: Any, a: Place) -> None:
    """Stop where a number on the diagonal is zero."""
    d, item, n = name_of_dtype(a.dtype), a.dtype.itemsize, a.shape[-1]
    batch = a.shape[:-2]
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    n = operand(p, 1)\n    s = operand(p, 2)\n"
        "    t = operand(p, 3)\n"
        "    for b in range(start, stop):\n"
        "        for i in range(n):\n"
        f"            if get_{d}(q + get_i8(t, b, -1), i * s, -1) == 0:\n"
        f"                return {NO_RESULT}\n"
        "    return 0\n"
    )
    step = (a.strides[-1] + a.strides[-2]) // item
    words = [(a.buffer, 0), n, step, (constant_place(offsets_of(a, 2)).buffer, 0)]
    lowering.emit(text, size_of(batch), words, "check diagonal")
