"""For each entry of an array the columns it depends on: what relations are applied to.

Entries that depend on the same columns share one list, so a dense block costs a row, and a
broadcast nothing. What is to be written out in spite of that is counted first, and refused above
a limit: `check_size`.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import vstack

from linad.core.settings import settings
from linad.core.shapes import Shape, size_of
from linad.errors import DensifyError
from linad.operators.relations import Relation

ALWAYS = 2**22
"""Pairs that may be written out on the way to a pattern, whatever its own limit."""

FEW = 8
"""Part of all entries, the reciprocal: fewer than that are written one by one."""

FULL = 2**16
"""Pairs from which it pays to look for entries that depend on everything."""


def check_size(count: int, least: int = 0) -> None:
    """Raise DensifyError if this number of pairs, about to be written out, is above the limit."""
    limit = settings().densify_limit
    if count > max(limit, least):
        raise DensifyError(
            f"its pattern has {count} entries, more than the limit of {limit}; apply the operator "
            f"(J @ v, J.T @ w), or raise the limit with linad.config(densify_limit=...)"
        )


class DependencySets:
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
    def identity(cls, n: int) -> "DependencySets":
        """Each entry depends on the column of its own number."""
        return cls(None, Relation(np.arange(n + 1), np.arange(n), n))

    @classmethod
    def empty(cls, m: int, n: int) -> "DependencySets":
        return cls(np.full(m, -1, np.int32), Relation(np.zeros(1), np.zeros(0), n))

    @classmethod
    def alike(cls, m: int, parts: "list[DependencySets]", n: int) -> "DependencySets":
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

    def taken(self, source: np.ndarray) -> "DependencySets":
        if self.source is None:
            return DependencySets(source, self.table)
        return DependencySets(np.append(self.source, -1)[source], self.table)  # -1 is the last

    def combined(self, relation: Relation) -> "DependencySets":
        """The sets of entries that read several of these: all that any of them depends on."""
        table = self.table
        source = self.source
        if source is None:
            product = _product(relation, table)
        else:
            named = source[relation.indices]
            kept = named >= 0
            rows = relation.rows if kept.all() else relation.rows[kept]
            product = _product(Relation.of_pairs(rows, named[kept], (relation.m, table.m)), table)
        product.sort_indices()
        return DependencySets(None, Relation.of_matrix(product))

    def accumulated(self, shape: Shape, axis: int, backward: bool) -> "DependencySets":
        """The sets of running sums along an axis of an array, or of sums from the other end."""
        # Column j is in the set of y_i from the first x along the axis that has it.
        relation = self.relation
        length, inner = shape[axis], size_of(shape[axis + 1 :])
        row, column = relation.rows.astype(np.int64), relation.indices
        place = row // inner % length
        first = row - place * inner  # the row at the start of the lane
        place = length - 1 - place if backward else place
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
        step = length - 1 - step if backward else step
        rows = np.repeat(first, repeats) + step * inner
        return DependencySets(
            None, Relation.of_pairs(rows, np.repeat(column, repeats), (relation.m, relation.n))
        )

    def part(self, rows: slice) -> "DependencySets":
        """The sets of consecutive entries."""
        start, stop, _ = rows.indices(self.m)
        if (start, stop) == (0, self.m):
            return self
        if self.source is not None:
            return DependencySets(self.source[rows], self.table)
        return DependencySets(np.arange(start, stop), self.table)

    def __or__(self, other: "DependencySets") -> "DependencySets":
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
            return DependencySets(source, Relation.of_matrix(table))
        return DependencySets(
            None, Relation.of_matrix(self.relation.matrix + other.relation.matrix)
        )

    def _beside_few(self, other: "DependencySets") -> "DependencySets | None":
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
        return DependencySets(
            source, Relation(indptr, np.concatenate([lists.indices, added.indices]), lists.n)
        )

    def _beside_full(self, other: "DependencySets", full: np.ndarray) -> "DependencySets":
        """The union where some entries depend on everything: these need one list together."""
        if self.full.all():
            return self
        if other.full.all():
            return other
        rest = np.flatnonzero(~full)
        both = self.taken(rest) | other.taken(rest)
        n = self.table.n
        everything = DependencySets(
            np.zeros(1, np.int32), Relation(np.array([0, n]), np.arange(n), n)
        )
        place = np.full(self.m, len(rest))
        place[rest] = np.arange(len(rest))
        return DependencySets.stacked([both, everything]).taken(place)

    @staticmethod
    def stacked(parts: "list[DependencySets]") -> "DependencySets":
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
        return DependencySets(np.concatenate(sources), Relation(indptr, indices, tables[0].n))


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
