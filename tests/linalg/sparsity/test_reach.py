"""Large patterns: counted without being written out, refused before they take the memory."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import linad
from linad.errors import DensifyError
from linad.linalg.sparsity.assemble import knowledge_of
from linad.linalg.sparsity.compress import plan_for, stored
from linad.linalg.sparsity.reach import Compact
from linad.linalg.sparsity.sparse_products import fewest_seeds
from linad.operators import dependency_sets
from linad.operators.dependency_sets import DependencySets
from linad.operators.relations import Relation

rng = np.random.default_rng(4)
M = 100_000

HUGE = {
    "dense": (lambda x: x / np.sum(x), (M * M, (M - 1, M - 1))),
    "dense but for a few rows": (
        lambda x: np.concatenate([x[:10] ** 2, x[5:] * np.sum(x)]),
        (10 + (M - 5) * M, (M + 4, M - 11)),
    ),
    "softmax": (lambda x: np.exp(x) / np.sum(np.exp(x)), (M * M, (M - 1, M - 1))),
    "all on all of the others": (
        lambda x: x.reshape(2, -1) / np.sum(x),
        (M * M, (M - 1, M - 1)),
    ),
    "some rows of it": (lambda x: np.sum(x) * np.ones(3), (3 * M, (2, M - 1))),
    "dense, turned": (lambda x: np.ones(M) * x[:2].sum(), (2 * M, (M - 1, 1))),
}
"""Patterns of 100,000 columns, how many entries they have, and how wide they are."""


@pytest.mark.parametrize("name", HUGE)
def test_huge_patterns_are_counted_not_written_out(name):
    f, (count, bandwidth) = HUGE[name]
    J = linad.linearize(f, np.ones(M))[1]
    tracemalloc.start()
    try:
        assert (J.nnz, J.bandwidth) == (count, bandwidth)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
    if count > 2**27:
        with pytest.raises(DensifyError, match=rf"its pattern has {count} entries.*apply the op"):
            J.pattern()
        with pytest.raises(DensifyError, match=rf"its pattern has {count} entries.*densify_limit"):
            J.tosparse()


TRIANGLES = {"cumsum": np.cumsum, "weighed": lambda x: x * np.cumsum(x**2)}


@pytest.mark.parametrize("name", TRIANGLES)
def test_huge_patterns_that_would_be_written_out_are_refused(name):
    """Of a triangle no two rows are alike. Quickly, and in little memory."""
    J = linad.linearize(TRIANGLES[name], np.ones(M))[1]
    tracemalloc.start()
    try:
        with pytest.raises(DensifyError, match=rf"TapeOperator.*has {M * (M + 1) // 2} entries"):
            J.nnz  # noqa: B018
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.booleans())
def test_counts_without_writing_out(seed, few):
    """Against the pattern itself, with entries that depend on everything among others."""
    rng = np.random.default_rng(seed)
    n = 6
    A = (rng.random((8, n)) < 0.3) * 1.0
    A[rng.random(8) < 0.5] = 1.0
    B = scipy.sparse.csr_array(A)
    take = rng.integers(0, 8, 3 if few else 12)

    def f(x):
        return (B @ x)[take] * np.sum(x) ** rng.integers(0, 2) + (B @ x**2)[take[::-1]]

    J = linad.linearize(f, np.ones(n))[1]
    with mock.patch("linad.operators.dependency_sets.FULL", -1):
        found = Compact(J)
    expected = found.relation.matrix.toarray()
    np.testing.assert_array_equal(Compact(J).relation.matrix.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)
    rows, columns = np.nonzero(expected)
    below, above = max(0, *(rows - columns)), max(0, *(columns - rows))
    assert found.bandwidth() == (below, above)
    assert fewest_seeds(found.sets) == min(expected.sum(0).max(), expected.sum(1).max())


def test_products_in_blocks_agree(monkeypatch):
    monkeypatch.setattr(dependency_sets, "ALWAYS", 40)
    A = scipy.sparse.random_array((30, 20), density=0.2, rng=rng, format="csr")
    left, right = Relation.of_matrix(A), Relation.of_matrix(A.T.tocsr())
    with linad.config(densify_limit=600):
        found = left.after(DependencySets(None, right)).relation
    np.testing.assert_array_equal(found.matrix.toarray(), (A @ A.T).toarray() != 0)
    with linad.config(densify_limit=100), pytest.raises(DensifyError, match="its pattern has"):
        left.after(DependencySets(None, right))


def test_results_of_many_seeds_are_not_kept():
    """Of 200 seeds with 40,000 results each, 80,000 entries are read."""
    x = np.linspace(0.0, 1.0, 200)
    J = linad.linearize(lambda x: np.sin(x[:, None] - x[None, :]), x)[1]
    plan = plan_for(Compact(J).relation)
    tracemalloc.start()
    try:
        entries = plan.entries(J)
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(stored(plan.pattern, entries).toarray(), J.todense())


def test_rows_of_two_may_need_many_colours():
    """So their number does not say what sweeps cost: these matrices are carried along."""
    x = np.linspace(0.0, 1.0, 100)
    J = linad.linearize(lambda x: np.sin(x[:, None] - x[None, :]), x)[1]
    np.testing.assert_allclose(J.tosparse().toarray(), J.todense(), atol=1e-15)
    assert knowledge_of(J).replay
