"""Sparse matrices whose arrays are read where they are, at each product.

Over the entries d_e of A, at (r_e, c_e); entries at one place add up:

    A x        y_(r_e) += d_e x_(c_e)
    A^T x      y_(c_e) += d_e x_(r_e)

Nothing is made of the arrays of A and kept, so what their owner writes into them counts in the
next product, those of a derivative as well.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, unchanged
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relations import Relation


class StoredAs(NamedTuple):
    """How a sparse matrix is stored, as SciPy calls it, and its shape."""

    format: str
    shape: tuple[int, int]


def storage_of(A: Any) -> StoredAs:
    m, n = A.shape
    return StoredAs(A.format, (m, n))


def parts_of(A: Any) -> tuple[np.ndarray, ...]:
    """The arrays of numbers that a sparse matrix is made of, its entries first; none for lists,
    dictionaries and objects."""
    if A.dtype.kind == "O":
        return ()
    if A.format in ("csr", "csc", "bsr"):
        return A.data, A.indices, A.indptr
    if A.format == "coo":
        return A.data, *A.coords
    return (A.data, A.offsets) if A.format == "dia" else ()


def matrix_of(parts: tuple[Any, ...], storage: StoredAs) -> Any:
    """The sparse array that is made of these arrays, which it refers to."""
    data, *places = parts
    made = getattr(scipy.sparse, f"{storage.format}_array")
    if storage.format == "dia":
        return made((data, places[0]), shape=storage.shape)
    given = (data, tuple(places)) if storage.format == "coo" else (data, *places)
    return made(given, shape=storage.shape)


def _apply(x: Array, *parts: Any, storage: StoredAs, transposed: bool) -> Any:
    A = matrix_of(parts, storage)
    A = A.T if transposed else A
    if x.ndim == 1:
        return A @ x
    columns = x.reshape((size_of(x.shape[:-1]), x.shape[-1])).T
    return (A @ columns).T.reshape(x.shape[:-1] + A.shape[:1])


apply_stored = Primitive("apply_stored", _apply)
"""Multiply vectors (..., n) by a sparse matrix, or its transpose, of which these are the arrays."""


class StoredMatrix(JacobianOperator):
    """A sparse matrix on vectors (..., n), as it is when it is applied.

    Parameters
    ----------
    parts : sequence of array
        As `parts_of` gives them, kept by reference.
    storage : StoredAs
    transposed : bool
        Whether its transpose is meant.
    lead : tuple of int
        Axes in front of the vectors.
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("parts",)

    def __init__(
        self,
        parts: tuple[Any, ...],
        storage: StoredAs,
        transposed: bool,
        lead: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.parts, self.storage, self.transposed = tuple(parts), storage, transposed
        m, n = storage.shape[::-1] if transposed else storage.shape
        super().__init__((*lead, m), (*lead, n), dtype)

    def _applied(self, x: Array, transposed: bool) -> Array:
        return apply_stored(x, *self.parts, storage=self.storage, transposed=transposed)

    def pushforward(self, tangent: Array) -> Array:
        return self._applied(tangent, self.transposed)

    def pullback(self, cotangent: Array) -> Array:
        if self.parts[0].dtype.kind != "c":
            return self._applied(cotangent, not self.transposed)
        return np.conj(self._applied(np.conj(cotangent), not self.transposed))

    def matrix(self) -> Any:
        """The sparse array that is applied; what is made of it holds for its entries of now."""
        return self._made_of(settled(self.parts[0]))

    def relation(self) -> Relation:
        entries = np.ones(self.parts[0].shape, bool)
        return Relation.of_matrix(self._made_of(entries)).repeated(size_of(self.in_shape[:-1]))

    def relation_key(self) -> Any:
        places = [settled(a).copy() for a in self.parts[1:]]
        return self.storage, self.transposed, *places

    def _made_of(self, data: Array) -> Any:
        made = matrix_of((data, *map(settled, self.parts[1:])), self.storage)
        return (made.T if self.transposed else made).tocsr()


def settled(a: Array) -> Any:
    """An array as it is now. A program that reads it where it is compares it from here on."""
    while isinstance(a, Traced):
        trace = a._trace
        if trace.records:
            expected = {"expected": np.array(a.concrete)}
            trace.equations.append(Equation(unchanged, (a._node,), expected, ()))
        a = a._value
    return a


@apply_stored.jacobian(wrt=0)
def apply_stored_wrt_x(
    y: Array, x: Array, *parts: Array, storage: StoredAs, transposed: bool
) -> JacobianOperator:
    return StoredMatrix(parts, storage, transposed, x.shape[:-1], y.dtype)
