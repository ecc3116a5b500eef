"""Which entries of a result depend on which entries of an argument, without any values.

A relation is the pattern of a matrix. It is kept in the form that is cheapest to compose:

    Gather      y_i reads one x_j, or nothing: slices, broadcasts, permutations, diagonals
    Relation    a list of j for each i (compressed rows)
    Prefix      y_i reads all x_j with j <= i along an axis: running sums, triangles
    Product     one after the other: a dense block is "all to one" and "one to all"

They are applied to sets of columns, `linad.operators.dependency_sets`; which x_j any y_i of a
mask reads, `read_by` says.
"""

from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from linad.core.array_type import Array
from linad.core.shapes import Shape

if TYPE_CHECKING:
    from linad.operators.dependency_sets import DependencySets


def index_dtype(*largest: int) -> Any:
    """int32 where all of these numbers fit: SciPy's solvers take no other."""
    return np.int32 if max(largest, default=0) < 2**31 - 1 else np.int64


class Gather:
    """y_i reads x_j with j = source_i; nothing where source_i is -1.

    Parameters
    ----------
    source : ndarray of int (m,)
    n : int
        Number of entries of x.
    """

    def __init__(self, source: np.ndarray, n: int) -> None:
        self.source, self.n = source, n

    def after(self, sets: "DependencySets") -> "DependencySets":
        return sets.taken(self.source)

    def read_by(self, mask: np.ndarray) -> np.ndarray:
        found = np.zeros(self.n + 1, bool)  # the last is for those that read nothing
        found[self.source[mask]] = True
        return found[:-1]

    @cached_property
    def T(self) -> "Gather | Relation":
        source, m = self.source, self.source.size
        used = np.flatnonzero(source >= 0)
        counts = np.bincount(source[used], minlength=self.n)
        if counts.max(initial=0) <= 1:
            back = np.full(self.n, -1, index_dtype(m, self.n))
            back[source[used]] = used
            return Gather(back, m)
        order = used[np.argsort(source[used], kind="stable")]
        return Relation(np.concatenate([[0], np.cumsum(counts)]), order, m)


class Relation:
    """y_i reads x_j for j in ``indices[indptr[i] : indptr[i + 1]]``, increasing.

    Parameters
    ----------
    indptr, indices : ndarray of int
        Compressed rows, without duplicates.
    n : int
        Number of entries of x.
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, n: int) -> None:
        dtype = index_dtype(len(indices), n)
        self.indptr = indptr.astype(dtype, copy=False)
        self.indices = indices.astype(dtype, copy=False)
        self.n = n

    @classmethod
    def of_pairs(cls, rows: Array, columns: Array, shape: tuple[int, int]) -> "Relation":
        """The relation of pairs (i, j), in any order, some twice perhaps."""
        pairs = np.broadcast_arrays(rows, columns)
        i, j = [np.ravel(p) for p in pairs]
        ones = np.ones(i.size, bool)
        return cls.of_matrix(csr_array((ones, (i, j)), shape=shape))

    @classmethod
    def of_matrix(cls, matrix: Any) -> "Relation":
        """The stored entries of a CSR array."""
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return cls(matrix.indptr, matrix.indices, matrix.shape[1])

    def repeated(self, count: int) -> "Relation":
        """The same relation in each of ``count`` vectors, one after the other."""
        if count == 1:
            return self
        lead = np.arange(count)[:, None]
        rows, columns = lead * self.m + self.rows, lead * self.n + self.indices
        return Relation.of_pairs(rows, columns, (count * self.m, count * self.n))

    @classmethod
    def uniform(cls, columns: np.ndarray, n: int) -> "Relation":
        """Rows of equal length, one a row of ``columns`` (m, k)."""
        m, k = columns.shape
        return cls(np.arange(m + 1) * k, np.sort(columns, axis=1).ravel(), n)

    @property
    def m(self) -> int:
        """Number of entries of y."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        return len(self.indices)

    @cached_property
    def counts(self) -> np.ndarray:
        """Length of each row."""
        return np.diff(self.indptr)

    @cached_property
    def matrix(self) -> Any:
        """The same as a CSR array of bool."""
        matrix = csr_array(
            (np.ones(self.nnz, bool), self.indices, self.indptr), shape=(self.m, self.n)
        )
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each stored entry."""
        return np.repeat(np.arange(self.m, dtype=self.indices.dtype), self.counts)

    @cached_property
    def T(self) -> "Relation":
        return Relation.of_matrix(self.matrix.T.tocsr())

    def after(self, sets: "DependencySets") -> "DependencySets":
        return sets.combined(self)

    def read_by(self, mask: np.ndarray) -> np.ndarray:
        found = np.zeros(self.n, bool)
        found[self.indices[np.repeat(mask, self.counts)]] = True
        return found

    def places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of some rows (0 for -1), and where their entries are stored, in order."""
        if self.single:
            kept = rows >= 0
            return kept.astype(self.indptr.dtype), rows[kept]
        counts = np.append(self.counts, 0)[rows]  # -1 is the last
        starts = np.append(self.indptr[:-1], 0)[rows]
        before = np.cumsum(counts) - counts
        return counts, np.repeat(starts - before, counts) + np.arange(int(counts.sum()))

    def taken(self, source: np.ndarray) -> "Relation":
        """The rows ``source``; an empty one for -1."""
        counts, places = self.places(source)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Relation(indptr, self.indices[places], self.n)

    @cached_property
    def keys(self) -> np.ndarray:
        """The entries as numbers, increasing: where they are in the matrix in C order."""
        return self.rows.astype(np.int64) * self.n + self.indices

    @cached_property
    def single(self) -> bool:
        """Whether each row has one entry."""
        return self.nnz == self.m and bool((self.counts == 1).all())

    def merged(self, other: "Relation") -> "tuple[Relation, np.ndarray, np.ndarray]":
        """The union, and where in it the entries of either are."""
        mine, theirs = [
            csr_array((np.full(r.nnz, mark), r.indices, r.indptr), shape=(r.m, r.n))
            for r, mark in ((self, np.int8(1)), (other, np.int8(2)))
        ]
        both = mine + theirs
        found = Relation(both.indptr, both.indices, self.n)
        return found, np.flatnonzero(both.data & 1), np.flatnonzero(both.data & 2)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Relation)
            and self.n == other.n
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    __hash__ = None  # type: ignore[assignment]


class Prefix:
    """y_i reads x_j for all j <= i along one axis, or j >= i.

    Parameters
    ----------
    shape : tuple of int
        Of x and y.
    axis : int
    backward : bool
        Whether it is j >= i.
    """

    def __init__(self, shape: Shape, axis: int, backward: bool = False) -> None:
        self.shape, self.axis, self.backward = shape, axis % len(shape), backward

    @property
    def T(self) -> "Prefix":
        return Prefix(self.shape, self.axis, not self.backward)

    def after(self, sets: "DependencySets") -> "DependencySets":
        return sets.accumulated(self.shape, self.axis, self.backward)

    def read_by(self, mask: np.ndarray) -> np.ndarray:
        way = slice(None, None, 1 if self.backward else -1)
        along = (*[slice(None)] * self.axis, way)
        found = np.logical_or.accumulate(mask.reshape(self.shape)[along], axis=self.axis)
        return found[along].ravel()


class Product:
    """Relations one after the other; the last is applied first."""

    def __init__(self, *factors: Any) -> None:
        self.factors = factors

    @property
    def T(self) -> "Product":
        return Product(*[f.T for f in reversed(self.factors)])

    def after(self, sets: "DependencySets") -> "DependencySets":
        return reduce(lambda found, factor: factor.after(found), reversed(self.factors), sets)

    def read_by(self, mask: np.ndarray) -> np.ndarray:
        return reduce(lambda found, factor: factor.read_by(found), self.factors, mask)


def dense(shape: tuple[int, int]) -> Product:
    """All of y on all of x: what one number would do that each x enters and each y reads."""
    m, n = shape
    return Product(Gather(np.zeros(m, np.int32), 1), Relation(np.array([0, n]), np.arange(n), n))
