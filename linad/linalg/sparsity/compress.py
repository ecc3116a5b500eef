"""Values of a sparse matrix from few seeds: colours in, entries out.

A plan is made for a pattern once. It says which columns (or rows) go together, and where in the
results of the sweeps each entry is found; it serves every operator of that pattern.
"""

import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.settings import settings
from linad.errors import OptionError, TracerError
from linad.linalg.sparsity.colouring import colour_columns, colour_stars
from linad.operators.base import JacobianOperator
from linad.operators.relations import Relation, index_dtype

CACHE_BYTES = 2**20
"""Seeds and results that go through together: what stays in a processor's cache between steps."""


class Seeds:
    """Seeds of one direction, and the entries read from their results.

    Parameters
    ----------
    adjoint : bool
        Whether rows are seeded, and pulled back, instead of columns.
    groups : ndarray of int
        The seed of each column (row), -1 for none.
    take : ndarray of int
        Where the entries are in the results, counted in C order.
    put : ndarray of int, or None
        Which entries of the matrix they are; None: all.
    """

    def __init__(
        self, adjoint: bool, groups: np.ndarray, take: np.ndarray, put: np.ndarray | None
    ) -> None:
        self.adjoint, self.groups, self.take, self.put = adjoint, groups, take, put
        self.count = int(groups.max(initial=-1)) + 1
        self._members = np.flatnonzero(groups >= 0)
        order = np.argsort(groups[self._members], kind="stable")
        self._members = self._members[order]
        self._bounds = np.searchsorted(groups[self._members], np.arange(self.count + 1))

    def entries(self, op: JacobianOperator) -> Any:
        """Sweep the seeds through an operator and read the entries; traced where it is.

        Raises
        ------
        TracerError
            If it is traced, and the seeds are too many to go through together.
        """
        m, n = op.shape
        dtype, step = self._seeded_dtype(op), self.together(op)
        if self.count <= step:
            return np.take(self._sweep(op, 0, self.count, dtype), self.take)
        # Block by block: all results together may be far more than the entries that are read.
        order, sorted_take = self._in_order
        length = m + n - len(self.groups)
        found = np.empty(len(self.take), op.dtype)
        for start in range(0, self.count, step):
            stop = min(start + step, self.count)
            a, b = np.searchsorted(sorted_take, [start * length, stop * length])
            if a < b:
                results = self._sweep(op, start, stop, dtype).ravel()
                refuse_traced(results, op)
                found[order[a:b]] = results[sorted_take[a:b] - start * length]
        return found

    def together(self, op: JacobianOperator) -> int:
        """How many seeds go through an operator at once."""
        width = self._seeded_dtype(op).itemsize * (sum(op.shape) + 1)
        return max(1, min(settings().block_bytes, CACHE_BYTES) // width)

    def _seeded_dtype(self, op: JacobianOperator) -> Any:
        return op.out_dtype if self.adjoint else op.in_dtype

    @cached_property
    def _in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries as the sweeps bring them: which they are, and where they are found."""
        order = np.argsort(self.take, kind="stable")
        return order, self.take[order]

    def _sweep(self, op: JacobianOperator, start: int, stop: int, dtype: np.dtype[Any]) -> Any:
        members = self._members[self._bounds[start] : self._bounds[stop]]
        seeds = np.zeros((stop - start, len(self.groups)), dtype)
        seeds[self.groups[members] - start, members] = 1
        results = op._apply_rows(seeds, self.adjoint)
        return results.conj() if self.adjoint and results.dtype.kind == "c" else results


class SeedPlan:
    """How to fill a pattern: the seeds of one or both directions."""

    def __init__(self, pattern: Relation, parts: list[Seeds]) -> None:
        self.pattern, self.parts = pattern, parts

    @property
    def count(self) -> int:
        """Number of seeds."""
        return sum([part.count for part in self.parts])

    def matrix(self, op: JacobianOperator) -> Any:
        """The matrix of an operator of this pattern, as a CSR array."""
        data = self.entries(op)
        refuse_traced(data, op)
        return stored(self.pattern, data)

    def entries(self, op: JacobianOperator) -> Any:
        """The entries of the pattern in an operator's matrix."""
        found = [part.entries(op) for part in self.parts]
        if len(found) == 1 and self.parts[0].put is None:
            return found[0].astype(op.dtype, copy=False)
        return np.concatenate(found).astype(op.dtype, copy=False)[self._order]

    @cached_property
    def _order(self) -> np.ndarray:
        """Where each entry is among those that the parts read, one part after the other."""
        return np.argsort(np.concatenate([part.put for part in self.parts]))


def stored(pattern: Relation, data: Array) -> Any:
    """A CSR array with an entry, zero perhaps, wherever the pattern has one."""
    matrix = copy.copy(pattern.matrix)  # an eighth of the time that SciPy's checks take
    # Copies, since the caller may change the matrix in place.
    matrix.data, matrix.indices = data, pattern.indices.copy()
    matrix.indptr = pattern.indptr.copy()
    return matrix


def refilled(out: Any, pattern: Relation, data: Array, format: str, name: str) -> Any:
    """A matrix that an earlier call returned, with new entries.

    Parameters
    ----------
    out : sparray
    pattern, data : Relation, ndarray
        The matrix that it becomes.
    format : str
        "csr" or "csc".
    name : str
        Who was given it, for messages.

    Raises
    ------
    OptionError
        If it has another format, shape, dtype or pattern.
    """
    if format not in ("csr", "csc"):
        raise OptionError(
            f"{name}: a matrix of format={format!r} cannot be refilled, one of 'csr' or 'csc' can"
        )
    matrix = copy.copy(pattern.matrix)
    matrix.data = data
    matrix = matrix.asformat(format)
    fits = (
        getattr(out, "format", None) == format
        and out.shape == matrix.shape
        and out.dtype == matrix.dtype
        and np.array_equal(out.indices, matrix.indices)
        and np.array_equal(out.indptr, matrix.indptr)
    )
    if not fits:
        given = " ".join([str(getattr(out, a, "")) for a in ("format", "shape", "dtype")])
        raise OptionError(
            f"{name}: out must be a {format} array {matrix.shape} of {matrix.dtype} with these "
            f"{matrix.nnz} entries, as an earlier call with out=None returned it, got a "
            f"{type(out).__name__} {given}"
        )
    np.copyto(out.data, matrix.data)
    return out


def refuse_traced(data: Array, op: JacobianOperator) -> None:
    """Raise TracerError for entries that a sparse array cannot hold."""
    if isinstance(data, Traced):
        raise TracerError(
            f"{op._label()} is itself being differentiated, and SciPy's sparse arrays cannot "
            f"hold traced values; apply it (J @ v, J.T @ w), or take J.todense()"
        )


def plan_for(pattern: Relation) -> SeedPlan:
    """Choose the seeds for a pattern.

    Notes
    -----
    Columns are coloured without the longest rows, as many of them as pay off, and these rows
    are pulled back; or rows are coloured without the longest columns. The direction is taken
    that needs fewer seeds.
    """
    forward, long_rows = _cut(pattern.counts)
    backward, long_columns = _cut(pattern.T.counts)
    plans = []
    if forward <= backward:
        plans.append(_plan(pattern, long_rows, False))
    if backward < forward or plans[0].count > 2 * backward:
        plans.append(_plan(pattern, long_columns, True))
    return min(plans, key=lambda plan: plan.count)


def _cut(counts: np.ndarray) -> tuple[int, np.ndarray]:
    """Least number of seeds for rows of these lengths, and the rows not to be coloured with."""
    order = np.argsort(-counts, kind="stable")
    seeds = np.arange(len(counts) + 1) + np.append(counts[order], 0)
    cut = int(np.argmin(seeds))
    return int(seeds[cut]), order[:cut]


def _plan(pattern: Relation, apart: np.ndarray, adjoint: bool) -> SeedPlan:
    """Colour the columns (rows, of the adjoint), and pull some rows (columns) the other way."""
    coloured = pattern.T if adjoint else pattern
    if not len(apart):
        return SeedPlan(pattern, [_seeds(pattern, colour_columns(coloured), adjoint, None)])
    longest = np.zeros(coloured.m, bool)
    longest[apart] = True
    across = np.full(coloured.m, -1)
    rest = coloured.taken(np.where(longest, -1, np.arange(coloured.m)))
    across[apart] = colour_columns(coloured.taken(apart).T)
    lines = pattern.indices if adjoint else pattern.rows
    parts = [_seeds(pattern, across, not adjoint, np.flatnonzero(longest[lines]))]
    if rest.nnz:
        short = np.flatnonzero(~longest[lines])
        parts.append(_seeds(pattern, colour_columns(rest), adjoint, short))
    return SeedPlan(pattern, parts)


def _seeds(pattern: Relation, groups: Array, adjoint: bool, put: np.ndarray | None) -> Seeds:
    rows, columns = pattern.rows, pattern.indices
    if put is not None:
        rows, columns = rows[put], columns[put]
    seeded, read, length = (rows, columns, pattern.n) if adjoint else (columns, rows, pattern.m)
    dtype = index_dtype((int(groups.max(initial=0)) + 1) * length)
    return Seeds(adjoint, groups, groups.astype(dtype)[seeded] * length + read, put)


def symmetric_plan_for(pattern: Relation) -> SeedPlan:
    """Seeds for a symmetric matrix of a symmetric pattern, by star colouring.

    Notes
    -----
    In two colours that meet, one vertex of each edge, the tip of a star, has no other neighbour
    of the colour of its middle: the entry is read in the row of the tip.
    """
    n = pattern.n
    groups = colour_stars(pattern)
    count = int(groups.max(initial=-1)) + 1
    rows, columns = pattern.rows.astype(np.int64), pattern.indices.astype(np.int64)
    key = rows * count + groups[columns]
    _, place, often = np.unique(key, return_inverse=True, return_counts=True)
    alone = often[place] == 1  # no other entry of this row is seeded with it
    # Both of a pair are read in the same place, so that they are equal.
    mirror = (
        csr_array((np.arange(pattern.nnz), pattern.indices, pattern.indptr), shape=(n, n))
        .T.tocsr()
        .data
    )
    upper = np.where(rows <= columns, alone, alone[mirror])
    first, last = np.minimum(rows, columns), np.maximum(rows, columns)
    take = np.where(upper, groups[last] * n + first, groups[first] * n + last)
    return SeedPlan(pattern, [Seeds(False, groups, take, None)])
