"""The inverse of a matrix as an operator: a linear solve an application.

    A x = b     x = A^-1 b      adjoint: x -> A^-H x

The matrix is factorised once, when first needed, and the factors serve all seeds of all
applications. A small matrix, a stack of matrices and a traced matrix (inside a higher
derivative) have no factors: there each application is one call of `numpy.linalg.solve`,
with all seeds as columns of one right side.
"""

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs, lu_solve

from linad.core.primitive import Traced
from linad.core.shapes import Shape, matrix_transpose, size_of, sum_to_shape
from linad.operators.base import JacobianOperator
from linad.operators.structured import align

SMALL = 32
"""Up to this size a new factorisation costs no more than the call of one that is kept."""


class Matrix:
    """A square matrix, or a stack of them, to solve with.

    Parameters
    ----------
    a : array (..., n, n)
        Kept by reference.
    """

    def __init__(self, a: Any) -> None:
        self.a = a
        self._factors: Any = None

    def solve(self, b: Any, adjoint: bool = False) -> Any:
        """Return x with ``a x = b`` (or ``a^H x = b``) for b (*more, ..., n, k)."""
        a = self.a
        lead = b.shape[: max(b.ndim - a.ndim, 0)]
        traced = isinstance(a, Traced) or isinstance(b, Traced)
        if traced or a.ndim > 2 or a.shape[-1] <= SMALL:
            if adjoint:
                a = matrix_transpose(np.conj(a))
            columns, shape = _fold(b, len(lead))
            return _unfold(np.linalg.solve(a, columns), lead, shape)
        if self._factors is None:
            self._factors = lu_factor(a)
        columns, shape = _fold(b, len(lead))
        x = lu_solve(self._factors, columns, trans=2 if adjoint else 0, check_finite=False)
        x = _unfold(x, lead, shape)
        return x.astype(np.result_type(a, b), copy=False)


def lu_factor(a: Any) -> tuple[Any, Any]:
    """The LU factors of a matrix as `scipy.linalg.lu_solve` takes them.

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is singular.
    """
    # As in NumPy, single precision is solved in double.
    a = a.astype(np.promote_types(a.dtype, np.float64), copy=False)
    (getrf,) = get_lapack_funcs(("getrf",), (a,))
    lu, pivots, info = getrf(a)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return lu, pivots


def _fold(b: Any, lead: int) -> tuple[Any, Shape]:
    """Move ``lead`` leading axes of b (*lead, ..., n, k) behind k: columns (..., n, K)."""
    if not lead:
        return b, b.shape
    moved = b.transpose((*range(lead, b.ndim - 1), *range(lead), b.ndim - 1))
    kept = moved.shape[: b.ndim - lead - 1]
    return moved.reshape((*kept, size_of(moved.shape[len(kept) :]))), moved.shape


def _unfold(x: Any, lead: Shape, shape: Shape) -> Any:
    """Undo `_fold`; batch axes may have been broadcast meanwhile."""
    if not lead:
        return x
    k = len(lead)
    x = x.reshape(x.shape[:-1] + shape[-k - 1 :])
    first = x.ndim - k - 1
    return x.transpose((*range(first, first + k), *range(first), x.ndim - 1))


class Solve(JacobianOperator):
    """x = A^-1 b, column by column.

    Parameters
    ----------
    matrix : Matrix or array (..., n, n)
        A, kept by reference; operators given the same `Matrix` share its factors.
    out_shape, in_shape : tuple of int
        Both (..., n, k); batch axes broadcast.
    dtype : numpy.dtype

    Raises
    ------
    numpy.linalg.LinAlgError
        When applied with a matrix that is singular.

    Notes
    -----
    The first application costs 2/3 n^3 operations for the factors, each one 2 n^2 k. A
    matrix with n <= 32, and each matrix of a stack, is factorised at every application.
    """

    fresh = True

    def __init__(self, matrix: Any, out_shape: Shape, in_shape: Shape, dtype: Any) -> None:
        self.matrix = matrix if isinstance(matrix, Matrix) else Matrix(matrix)
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return self.matrix.solve(align(tangent, len(self.in_shape), len(self.out_shape)))

    def pullback(self, cotangent: Any) -> Any:
        x = self.matrix.solve(cotangent, adjoint=True)
        return sum_to_shape(x, self.in_shape, len(self.out_shape))
