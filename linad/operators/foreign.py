"""Operators that are not linad's: SciPy's LinearOperators, sparse arrays, matrices.

Applying one is a primitive, so it traces although SciPy itself cannot take a traced vector.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import aslinearoperator

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, is_inexact, size_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import dense_along
from linad.operators.relations import Relation
from linad.operators.stored_matrices import StoredMatrix, matrix_of, parts_of, storage_of
from linad.operators.unread_weights import keeping_zeros


def _apply(x: Array, *, op: Any, adjoint: bool) -> Any:
    """Apply SciPy's products, which take columns, to rows (..., n)."""
    if x.ndim == 1:
        return (op.rmatvec if adjoint else op.matvec)(x)
    columns = x.reshape((size_of(x.shape[:-1]), x.shape[-1])).T
    result = (op.rmatmat if adjoint else op.matmat)(columns).T
    return result.reshape(x.shape[:-1] + result.shape[-1:])


apply_operator = Primitive("apply_operator", _apply)
"""Apply a LinearOperator, or its adjoint, to vectors (..., n)."""


class Foreign(JacobianOperator):
    """A SciPy LinearOperator on vectors (..., n).

    Parameters
    ----------
    op : LinearOperator
        (m, n).
    adjoint : bool
        Whether its adjoint is meant.
    lead : tuple of int
        Axes in front of the vectors.
    """

    unknown = UNSTRUCTURED

    owns_result = False  # what SciPy's operator returns may be the vector it was given

    weighted_by = ("entries",)

    def __init__(self, op: Any, adjoint: bool = False, lead: Shape = ()) -> None:
        self.op, self.reverse = op, adjoint
        m, n = op.shape[::-1] if adjoint else op.shape
        dtype = np.dtype(op.dtype)
        # A matrix of integers maps floats as well.
        dtype = dtype if is_inexact(dtype) else np.dtype(float)
        super().__init__((*lead, m), (*lead, n), dtype)

    def _stored(self) -> Any:
        """The sparse array or matrix whose products are applied, or None."""
        matrix: Any = getattr(self.op, "A", None)
        return matrix if issparse(matrix) and matrix.shape == self.op.shape else None

    @property
    def entries(self) -> np.ndarray | None:
        """What is stored in the sparse array, or None."""
        matrix = self._stored()
        parts = () if matrix is None else parts_of(matrix)
        return parts[0] if parts else None

    @entries.setter
    def entries(self, data: np.ndarray) -> None:
        _, *places = parts_of(self.op.A)
        self.op = aslinearoperator(matrix_of((data, *places), storage_of(self.op.A)))

    def pushforward(self, tangent: Array) -> Array:
        return apply_operator(tangent, op=self.op, adjoint=self.reverse)

    def pullback(self, cotangent: Array) -> Array:
        return apply_operator(cotangent, op=self.op, adjoint=not self.reverse)

    def matrix(self) -> Any:
        """The sparse array that is applied, or None."""
        matrix = self._stored()
        if matrix is None:
            return None
        matrix = matrix.tocsr()
        # Without SciPy's notes of what it once found out of the indices: they may have changed.
        matrix = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        return matrix.conj().T.tocsr() if self.reverse else matrix

    def where_read(self, read: Array, reached: Array | None, traced: bool) -> Any:
        matrix = self.matrix()
        if matrix is None:
            return None
        lead = self.out_shape[:-1]
        stored = StoredMatrix(parts_of(matrix), storage_of(matrix), False, lead, self.dtype)
        return keeping_zeros(stored, read, reached, traced)

    def relation(self) -> Any:
        matrix = self.matrix()
        if matrix is None:
            return dense_along(self.out_shape, self.in_shape, (-1,))
        return Relation.of_matrix(matrix).repeated(size_of(self.in_shape[:-1]))

    def relation_key(self) -> Any:
        matrix = self.matrix()
        # Copies, since the matrix is the caller's to change.
        return None if matrix is None else (matrix.indptr.copy(), matrix.indices.copy())


@apply_operator.jacobian(wrt=0)
def apply_operator_wrt_x(y: Array, x: Array, *, op: Any, adjoint: bool) -> JacobianOperator:
    return Foreign(op, adjoint, x.shape[:-1])
