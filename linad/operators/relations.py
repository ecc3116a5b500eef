"""Which entries of a result depend on which entries of an argument, without any values.

A relation is the pattern of a matrix. It is kept in the form that is cheapest to compose:

    Gather      y_i reads one x_j, or nothing: slices, broadcasts, permutations, diagonals
    Relation    a list of j for each i (compressed rows)
    Prefix      y_i reads all x_j with j <= i along an axis: running sums, triangles
    Product     one after the other: a dense block is "all to one" and "one to all"

`Sets` is what a relation is applied to: for each entry of an array, the columns it depends on.
Entries that depend on the same columns share one list, so a dense block costs a row, and a
broadcast nothing. What is to be written out in spite of that is counted first, and refused above
a limit: `check_size`.
"""

from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from linad.core.settings import settings
from linad.core.shapes import Shape, size_of
from linad.errors import DensifyError

ALWAYS = 2**22
"""Pairs that may be written out on the way to a pattern, whatever its own limit."""

FEW = 8
"""Part of all entries, the reciprocal: fewer than that are written one by one."""

FULL = 2**16
"""Pairs from which it pays to look for entries that depend on everything."""


def check_size(count: int, least: int = 0) -> None:
    """Raise DensifyError before so many pairs are written out, if they are above the limit."""
    limit = settings().densify_limit
    if count > max(limit, least):
        raise DensifyError(
            f"its pattern has {count} entries, more than the limit of {limit}; apply the operator "
            f"(J @ v, J.T @ w), or raise the limit with linad.config(densify_limit=...)"
        )


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

    def after(self, sets: "Sets") -> "Sets":
        return sets.taken(self.source)

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
    def of_pairs(cls, rows: Any, columns: Any, shape: tuple[int, int]) -> "Relation":
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

    def after(self, sets: "Sets") -> "Sets":
        table = sets.table
        source = sets.source
        if source is None:
            product = _product(self, table)
        else:
            named = source[self.indices]
            kept = named >= 0
            rows = self.rows if kept.all() else self.rows[kept]
            product = _product(Relation.of_pairs(rows, named[kept], (self.m, table.m)), table)
        product.sort_indices()
        return Sets(None, Relation.of_matrix(product))

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


def _product(left: Relation, right: Relation) -> Any:
    """The matrix product of two relations, by blocks of rows where it may be too large to hold."""
    most = max(settings().densify_limit, ALWAYS)
    work = np.cumsum(right.counts.astype(np.int64)[left.indices])  # pairs met, entry by entry
    if not len(work) or work[-1] <= most:
        return left.matrix @ right.matrix
    before = np.append(0, work)[left.indptr]  # each row
    blocks, start, count = [], 0, 0
    while start < left.m:
        stop = max(start + 1, int(np.searchsorted(before, before[start] + most, "right")) - 1)
        blocks.append(left.matrix[start:stop] @ right.matrix)
        count += blocks[-1].nnz
        check_size(count, ALWAYS)
        start = stop
    return vstack(blocks, format="csr")


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

    def after(self, sets: "Sets") -> "Sets":
        # Column j is in the set of y_i from the first x along the axis that has it.
        relation = sets.relation
        length, inner = self.shape[self.axis], size_of(self.shape[self.axis + 1 :])
        row, column = relation.rows.astype(np.int64), relation.indices
        place = row // inner % length
        first = row - place * inner  # the row at the start of the lane
        place = length - 1 - place if self.backward else place
        order = np.lexsort((place, column, first))
        first, column, place = first[order], column[order], place[order]
        new = np.ones(len(first), bool)
        new[1:] = (np.diff(first) != 0) | (np.diff(column) != 0)
        first, column, place = first[new], column[new], place[new]
        repeats = length - place
        ends = np.cumsum(repeats)
        total = int(ends[-1]) if len(ends) else 0
        check_size(total, ALWAYS)
        step = np.arange(total) - np.repeat(ends - repeats, repeats) + np.repeat(place, repeats)
        step = length - 1 - step if self.backward else step
        rows = np.repeat(first, repeats) + step * inner
        return Sets(
            None, Relation.of_pairs(rows, np.repeat(column, repeats), (relation.m, relation.n))
        )


class Product:
    """Relations one after the other; the last is applied first."""

    def __init__(self, *factors: Any) -> None:
        self.factors = factors

    @property
    def T(self) -> "Product":
        return Product(*[f.T for f in reversed(self.factors)])

    def after(self, sets: "Sets") -> "Sets":
        return reduce(lambda found, factor: factor.after(found), reversed(self.factors), sets)


class Sets:
    """For each entry of an array the columns it depends on: rows ``source`` of a table.

    Parameters
    ----------
    source : ndarray of int (m,), or None
        Row of the table for each entry, -1 for no column; None: each its own.
    table : Relation
    """

    def __init__(self, source: np.ndarray | None, table: Relation) -> None:
        self.source, self.table = source, table

    @classmethod
    def identity(cls, n: int) -> "Sets":
        """Each entry depends on the column of its own number."""
        return cls(None, Relation(np.arange(n + 1), np.arange(n), n))

    @classmethod
    def empty(cls, m: int, n: int) -> "Sets":
        return cls(np.full(m, -1, np.int32), Relation(np.zeros(1), np.zeros(0), n))

    @classmethod
    def alike(cls, m: int, parts: "list[Sets]", n: int) -> "Sets":
        """m entries, each dependent on all that any entry of the parts depends on."""
        columns = [part.union() for part in parts]
        all_of_them = np.unique(np.concatenate(columns)) if columns else np.zeros(0, int)
        table = Relation(np.array([0, len(all_of_them)]), all_of_them, n)
        return cls(np.zeros(m, np.int32), table)

    @property
    def m(self) -> int:
        return self.table.m if self.source is None else len(self.source)

    @cached_property
    def relation(self) -> Relation:
        """The sets written out."""
        if self.source is None:
            return self.table
        check_size(self.nnz, ALWAYS)
        return self.table.taken(self.source)

    @property
    def nnz(self) -> int:
        """Number of pairs when written out."""
        if self.source is None:
            return self.table.nnz
        return int(np.append(self.table.counts, 0)[self.source].sum(dtype=np.int64))

    @cached_property
    def uses(self) -> np.ndarray:
        """How many entries have each list of the table."""
        if self.source is None:
            return np.ones(self.table.m, np.int64)
        return np.bincount(self.source[self.source >= 0], minlength=self.table.m)

    @property
    def longest(self) -> tuple[int, int]:
        """Most columns of an entry, and most entries of a column."""
        counts = self.table.counts
        often = np.bincount(self.table.indices, np.repeat(self.uses, counts))
        return int(counts[self.uses > 0].max(initial=0)), int(often.max(initial=0))

    @cached_property
    def full(self) -> np.ndarray:
        """Which entries depend on all columns."""
        found = self.table.counts == self.table.n
        return found if self.source is None else np.append(found, False)[self.source]

    def union(self) -> np.ndarray:
        """The columns that any entry depends on, increasing."""
        table = self.table
        if self.source is not None:
            used = np.zeros(table.m + 1, bool)
            used[self.source] = True
            if not used[:-1].all():
                table = table.taken(np.flatnonzero(used[:-1]))
        found = np.zeros(table.n, bool)
        found[table.indices] = True
        return np.flatnonzero(found)

    def taken(self, source: np.ndarray) -> "Sets":
        if self.source is None:
            return Sets(source, self.table)
        return Sets(np.append(self.source, -1)[source], self.table)  # -1 is the last

    def part(self, rows: slice) -> "Sets":
        """The sets of consecutive entries."""
        start, stop, _ = rows.indices(self.m)
        if (start, stop) == (0, self.m):
            return self
        if self.source is not None:
            return Sets(self.source[rows], self.table)
        return Sets(np.arange(start, stop), self.table)

    def __or__(self, other: "Sets") -> "Sets":
        if other is self or (self.source is other.source and self.table is other.table):
            return self
        for one, few in ((self, other), (other, self)):
            if (found := one._beside_few(few)) is not None:
                return found
        if self.nnz + other.nnz > FULL:
            full = self.full | other.full
            if full.any():
                return self._beside_full(other, full)
        a, b = self.table.m + 1, other.table.m + 1
        if self.source is not None and other.source is not None and a * b <= self.m:
            # Few different sets meet: unite those, not those of all entries.
            pairs, source = np.unique((self.source + 1) * b + other.source + 1, return_inverse=True)
            left, right = np.divmod(pairs, b)
            table = self.table.taken(left - 1).matrix + other.table.taken(right - 1).matrix
            return Sets(source, Relation.of_matrix(table))
        return Sets(None, Relation.of_matrix(self.relation.matrix + other.relation.matrix))

    def _beside_few(self, other: "Sets") -> "Sets | None":
        """The union where few entries of the other depend on anything: an entry that is written.

        Lists that nothing uses any more stay in the table, as long as they do not outgrow the sets.
        """
        if other.source is None or self.source is None or self.table.m > self.m:
            return None
        rows = np.flatnonzero(other.source >= 0)
        size = self.table.nnz
        if len(rows) * FEW > self.m or (size > self.m and size > self.m + self.nnz):
            return None
        met = other.table.taken(other.source[rows]).matrix
        if (self.source[rows] >= 0).any():
            met = met + self.table.taken(self.source[rows]).matrix
        lists, added = self.table, Relation.of_matrix(met)
        indptr = np.concatenate([lists.indptr, lists.nnz + added.indptr[1:]])
        source = self.source.copy()
        source[rows] = np.arange(lists.m, lists.m + len(rows))
        return Sets(
            source, Relation(indptr, np.concatenate([lists.indices, added.indices]), lists.n)
        )

    def _beside_full(self, other: "Sets", full: np.ndarray) -> "Sets":
        """The union where some entries depend on everything: these need one list together."""
        if self.full.all():
            return self
        if other.full.all():
            return other
        rest = np.flatnonzero(~full)
        both = self.taken(rest) | other.taken(rest)
        n = self.table.n
        everything = Sets(np.zeros(1, np.int32), Relation(np.array([0, n]), np.arange(n), n))
        place = np.full(self.m, len(rest))
        place[rest] = np.arange(len(rest))
        return Sets.stacked([both, everything]).taken(place)

    @staticmethod
    def stacked(parts: "list[Sets]") -> "Sets":
        """The sets of several arrays, one after the other."""
        if len(parts) == 1:
            return parts[0]
        tables: list[Relation] = []
        sources, rows = [], 0
        for part in parts:
            source = np.arange(part.m) if part.source is None else part.source
            if tables and part.table is tables[-1]:
                shift = rows - part.table.m
            else:
                tables.append(part.table)
                shift, rows = rows, rows + part.table.m
            sources.append(np.where(source < 0, -1, source + shift))
        starts = np.cumsum([0] + [t.nnz for t in tables])
        indptr = np.concatenate(
            [[0], *[t.indptr[1:] + s for t, s in zip(tables, starts, strict=False)]]
        )
        indices = np.concatenate([t.indices for t in tables])
        return Sets(np.concatenate(sources), Relation(indptr, indices, tables[0].n))


def dense(shape: tuple[int, int]) -> Product:
    """All of y on all of x: what one number would do that each x enters and each y reads."""
    m, n = shape
    return Product(Gather(np.zeros(m, np.int32), 1), Relation(np.array([0, n]), np.arange(n), n))
