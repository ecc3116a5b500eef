"""A matrix that systems are solved with.

    a x = b     a^H x = b

It is factorised once, when first needed, and the factors serve all seeds of all applications. A
small matrix, a stack of matrices and a traced matrix (inside a higher derivative) have no
factors: there each application is one call of `numpy.linalg.solve`, with all seeds as columns of
one right side.
"""

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from linad.core import former_names
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, matrix_transpose, size_of
from linad.operators.factors import double, solved_by_lu

SMALL = 32
"""Up to this size a new factorisation costs no more than the call of one that is kept."""


class SystemMatrix:
    """A square matrix, or a stack of them, to solve with.

    Parameters
    ----------
    a : array (..., n, n)
        Kept by reference.
    """

    def __init__(self, a: Array) -> None:
        self.a = a
        self._factors: Any = None

    def solve(self, b: Array, adjoint: bool = False) -> Any:
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
            self._factors = _lu_factor(a)
        columns, shape = _fold(b, len(lead))
        lu, pivots = self._factors
        x = solved_by_lu(lu, pivots, columns, adjoint)
        x = _unfold(x, lead, shape)
        return x.astype(np.result_type(a, b), copy=False)


def _lu_factor(a: Array) -> tuple[Any, Any]:
    """The LU factors of a matrix as `scipy.linalg.lu_solve` takes them.

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is singular.
    """
    a = a.astype(double(a.dtype), copy=False)
    (getrf,) = get_lapack_funcs(("getrf",), (a,))
    lu, pivots, info = getrf(a)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return lu, pivots


def _fold(b: Array, lead: int) -> tuple[Any, Shape]:
    """Move ``lead`` leading axes of b (*lead, ..., n, k) behind k: columns (..., n, K)."""
    if not lead:
        return b, b.shape
    moved = b.transpose((*range(lead, b.ndim - 1), *range(lead), b.ndim - 1))
    kept = moved.shape[: b.ndim - lead - 1]
    return moved.reshape((*kept, size_of(moved.shape[len(kept) :]))), moved.shape


def _unfold(x: Array, lead: Shape, shape: Shape) -> Any:
    """Undo `_fold`; batch axes may have been broadcast meanwhile."""
    if not lead:
        return x
    k = len(lead)
    x = x.reshape(x.shape[:-1] + shape[-k - 1 :])
    first = x.ndim - k - 1
    return x.transpose((*range(first, first + k), *range(first), x.ndim - 1))


def __getattr__(name: str) -> Any:
    return former_names.class_from(__name__, name)
