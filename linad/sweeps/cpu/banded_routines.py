"""Banded systems, A X = B of the diagonals of A, by GTSV and GBSV of LAPACK.

Both overwrite the bands and the right sides, which Fortran reads column by column; GBSV wants l
rows more above the bands, for what the exchanges of rows bring there. A singular matrix stops the
sweep.
"""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.blas_lapack import INTEGER, fortran_place, letter, of_matrices
from linad.sweeps.cpu.routines import routine
from linad.sweeps.places import Place, new_place


@routine("solve_banded")
@of_matrices
def solve_banded(lowering: Any, eqn: Equation, target: Place) -> None:
    ab, b = [lowering.place_of(a) for a in eqn.inputs]
    *more, n, k = target.shape
    columns = target if k == 1 else fortran_place(target.shape, target.dtype)
    lowering.copy(columns, b)
    lower, upper = map(int, eqn.params["l_and_u"])
    count = size_of(more) * k
    if lower == upper == 1 < n:
        _tridiagonal(lowering, ab, columns, count)
    else:
        _banded(lowering, ab, columns, count, lower, upper)
    if columns is not target:
        lowering.copy(target, columns)


def _tridiagonal(lowering: Any, ab: Place, b: Place, count: int) -> None:
    """Solve for ``count`` columns of n entries, in their place, by the three diagonals."""
    n = ab.shape[1]
    held, info = new_place(ab.shape, b.dtype), new_place((), INTEGER)
    lowering.copy(held, ab)
    bands = [_from(held, entry) for entry in (2 * n, n, 1)]
    name = f"{letter(b.dtype)}gtsv"
    lowering.target.invoke(lowering, name, n, count, *bands, b, n, info, info=7, label="gtsv")


def _banded(lowering: Any, ab: Place, b: Place, count: int, lower: int, upper: int) -> None:
    """The same by all bands."""
    n, rows = ab.shape[1], 2 * lower + upper + 1
    held, info = fortran_place((rows, n), b.dtype), new_place((), INTEGER)
    below = _from(held, lower)
    lowering.copy(Place(below.buffer, below.offset, ab.shape, held.strides, held.dtype), ab)
    name, sizes = f"{letter(b.dtype)}gbsv", (n, lower, upper, count)
    parts = held, rows, new_place((n,), INTEGER), b, n, info
    lowering.target.invoke(lowering, name, *sizes, *parts, info=9, label="gbsv")


def _from(place: Place, entry: int) -> Place:
    """What begins at an entry of memory."""
    offset = place.offset + entry * place.dtype.itemsize
    return Place(place.buffer, offset, place.shape, place.strides, place.dtype)
