"""Sparse matrices of operators from those of their parts, and what that would cost.

The unit of cost is one entry of one seed that a sweep touches.
"""

import itertools
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from linad.core.primitive import Traced
from linad.core.settings import settings
from linad.linalg.sparsity.compiled_steps import opened
from linad.linalg.sparsity.compress import stored
from linad.linalg.sparsity.reach import reach, united
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.dependency_sets import DependencySets
from linad.operators.facts import knows
from linad.operators.foreign import Foreign
from linad.operators.matrices import Matrix
from linad.operators.relations import Relation
from linad.operators.stored_matrices import StoredMatrix
from linad.transforms.tape_operator import TapeOperator

PRODUCT = 20.0
"""Cost of one multiplication of two stored entries."""


def is_plain(op: JacobianOperator) -> bool:
    """Whether an operator's maps and its matrix say the same: no real parts are kept."""
    return op.clinear and not op.wide and op.in_dtype.kind == op.out_dtype.kind


SPARSE = (Foreign, StoredMatrix)
"""Operators that may hold a sparse matrix."""


def given_matrix(op: JacobianOperator) -> Any:
    """The CSR array of an operator that holds its matrix, or None."""
    if isinstance(op, SPARSE) and len(op.in_shape) == 1:
        matrix = op.matrix()
        if matrix is not None:
            matrix = matrix.copy()
            matrix.sum_duplicates()
            return csr_array(matrix.astype(op.dtype, copy=False))
    if type(op) is Matrix and not isinstance(op.a, Traced):
        m, n = op.shape
        dense = Relation(np.arange(m + 1) * n, np.tile(np.arange(n), m), n)
        return stored(dense, np.array(op.a, op.dtype).ravel())
    return None


def filled(pattern: Relation, matrix: Any, dtype: np.dtype[Any]) -> Any:
    """A CSR array with the entries of ``matrix``, and zeros in the rest of the pattern."""
    matrix = csr_array(matrix)
    matrix.sum_duplicates()
    data = np.zeros(pattern.nnz, dtype)
    if matrix.nnz == pattern.nnz:
        data[:] = matrix.data
    else:
        rows = np.repeat(np.arange(pattern.m), np.diff(matrix.indptr))
        data[np.searchsorted(pattern.keys, rows * pattern.n + matrix.indices)] = matrix.data
    return stored(pattern, data)


# Costs.


class TooDear(Exception):
    """A way to the matrix cannot be gone, or would cost more than sweeps."""


def touched(op: JacobianOperator) -> float:
    """Entries that one seed meets on its way through an operator."""
    if isinstance(op, TapeOperator):
        return sum([touched(J) for _, links, _ in opened(op).scheduled() for _, J in links])
    for name in ("factors", "terms"):
        parts = getattr(op, name, None)
        if isinstance(parts, tuple):
            return sum([touched(part) for part in parts])
    inner = getattr(op, "op", None)
    if isinstance(inner, JacobianOperator):
        return touched(inner)
    held = op.matrix() if isinstance(op, SPARSE) else getattr(op, "a", None)
    return float(sum(op.shape)) + float(getattr(held, "size", 0))


def fewest_seeds(sets: DependencySets) -> int:
    """A bound from below on the seeds that columns alone, or rows alone, need."""
    return min(sets.longest)


def _cost_of_own_matrix(J: JacobianOperator, sets: DependencySets) -> float:
    """Cost of the matrix of an operator that is not made of others; infinite where it is too
    large to be written out."""
    if sets.nnz > settings().densify_limit:
        return np.inf
    if isinstance(J, SPARSE) or type(J) is Matrix:
        return float(sets.nnz)
    return fewest_seeds(sets) * touched(J)


def chain_cost(op: Chain, limit: float) -> float:
    """Cost of the sparse matrices of the factors and of their product; infinite where that
    exceeds the limit."""
    total = 0.0
    known = DependencySets.identity(op.shape[1])
    for factor in reversed(op.factors):
        own = reach(factor, DependencySets.identity(factor.shape[1]), False)
        total += _cost_of_own_matrix(factor, own)
        if total > limit:
            return np.inf
        total += PRODUCT * _multiplications(own, known)
        known = reach(factor, known, False)
    return total


def tape_cost(op: TapeOperator, limit: float) -> float:
    """Cost of multiplying sparse matrices along a traced function; infinite where that is not
    possible, or exceeds the limit."""
    total = 0.0

    def step(node: Any, links: Any) -> DependencySets:
        nonlocal total
        found = []
        for J, known in links:
            if type(node) is not int or not is_plain(J) or not _is_simple(J):
                raise TooDear
            own = reach(J, DependencySets.identity(J.shape[1]), False)
            total += _cost_of_own_matrix(J, own) + PRODUCT * _multiplications(own, known)
            if total > limit:
                raise TooDear
            found.append(reach(J, known, False))
        return united(found)

    try:
        opened(op).followed(_starts(op), step)
    except TooDear:
        return np.inf
    return total


def _is_simple(J: JacobianOperator) -> bool:
    parts = J.factors if isinstance(J, Chain) else (J,)
    return all([knows(part, "relation") for part in parts])


def _starts(op: TapeOperator) -> list[DependencySets]:
    """The columns of each input."""
    everything = DependencySets.identity(op.flat.shape[1])
    ends = np.cumsum([0] + [slot.size for slot in op.in_slots])
    return [everything.part(slice(a, b)) for a, b in itertools.pairwise(ends)]


def _multiplications(left: DependencySets, right: DependencySets) -> float:
    """Pairs of stored entries that meet in the product of two matrices."""
    counts = right.table.counts
    if right.source is not None:
        counts = np.append(counts, 0)[right.source]
    met = counts[left.table.indices] * np.repeat(left.uses, left.table.counts)
    return float(met.sum(dtype=float))


# Products.


def chain_product(matrices: list[Any]) -> Any:
    """The product of the matrices of the factors of a chain, the last two first."""
    return reduce(lambda product, matrix: matrix @ product, reversed(matrices))


def tape_product(op: TapeOperator, matrix_of: Any) -> Any:
    """The product and sum of the matrices of the links of a traced function."""
    n = op.flat.shape[1]
    starts, start = [], 0
    for slot in op.in_slots:
        rows = np.arange(slot.size)
        ones = np.ones(slot.size, op.dtype)
        starts.append(csr_array((ones, (rows, start + rows)), shape=(slot.size, n)))
        start += slot.size

    def step(node: Any, links: Any) -> Any:
        first, *rest = [matrix_of(J) @ known for J, known in links]
        return sum(rest, first)

    results = [
        csr_array((slot.size, n), dtype=op.dtype) if found is None else found
        for found, slot in zip(opened(op).followed(starts, step), op.out_slots, strict=True)
    ]
    return vstack(results, format="csr")
