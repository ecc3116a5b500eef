"""Sets of columns against matrices of booleans."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.operators import dependency_sets
from linad.operators.dependency_sets import DependencySets
from linad.operators.relations import Relation

N = 6


def dense(sets):
    return sets.relation.matrix.toarray()


def table_of(matrix):
    return Relation.of_pairs(*np.nonzero(matrix), matrix.shape)


def some_sets(rng, m):
    """Sets that share lists, or not; some of nothing, some of everything."""
    lists = rng.random((rng.integers(1, 4) if rng.random() < 0.7 else m, N)) < 0.3
    lists[rng.random(len(lists)) < 0.2] = True
    if len(lists) == m:
        return DependencySets(None, table_of(lists))
    source = rng.integers(-1, len(lists), m)
    if rng.random() < 0.3:
        source[rng.random(m) < 0.9] = -1
    return DependencySets(source, table_of(lists))


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**31), st.booleans())
def test_unions(seed, many):
    """As they are for few pairs, and for so many that entries that depend on all pay."""
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 40)
    a, b = some_sets(rng, m), some_sets(rng, m)
    with mock.patch.object(dependency_sets, "FULL", -1 if many else 2**16):
        union = a | b
        np.testing.assert_array_equal(dense(union), dense(a) | dense(b))
    assert union.nnz == np.count_nonzero(dense(union))
    assert a | a is a
    np.testing.assert_array_equal(dense(a | DependencySets.empty(m, N)), dense(a))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31))
def test_what_is_asked_of_sets(seed):
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 9)
    sets = some_sets(rng, m)
    matrix = dense(sets)
    assert (sets.m, sets.nnz) == (m, np.count_nonzero(matrix))
    assert sets.longest == (matrix.sum(1).max(), matrix.sum(0).max())
    np.testing.assert_array_equal(sets.full, matrix.all(1))
    np.testing.assert_array_equal(sets.union(), np.flatnonzero(matrix.any(0)))
    assert sets.uses.sum() == m - (0 if sets.source is None else np.sum(sets.source < 0))
    rows = rng.integers(-1, m, 5)
    taken = np.where(rows[:, None] < 0, False, matrix[rows])
    np.testing.assert_array_equal(dense(sets.taken(rows)), taken)
    for part in (slice(0, m), slice(0, 1), slice(m // 2, m), slice(m - 1, m)):
        np.testing.assert_array_equal(dense(sets.part(part)), matrix[part])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31))
def test_sets_of_several_arrays(seed):
    rng = np.random.default_rng(seed)
    parts = [some_sets(rng, m) for m in rng.integers(1, 5, 3)]
    parts += [parts[-1].taken(np.array([0, -1])), DependencySets.empty(2, N)]
    stacked = DependencySets.stacked(parts)
    matrices = [dense(part) for part in parts]
    np.testing.assert_array_equal(dense(stacked), np.concatenate(matrices))
    alike = DependencySets.alike(3, parts, N)
    together = np.concatenate(matrices).any(0)
    np.testing.assert_array_equal(dense(alike), np.broadcast_to(together, (3, N)))
    assert alike.table.m == 1
    assert DependencySets.stacked(parts[:1]) is parts[0]


def test_nothing_and_each_its_own():
    np.testing.assert_array_equal(dense(DependencySets.identity(3)), np.eye(3))
    assert not dense(DependencySets.empty(2, 3)).any()
    assert not dense(DependencySets.alike(2, [], 3)).any()


def test_few_different_sets_stay_few():
    table = Relation(np.array([0, 2]), np.array([0, 1]), 4)
    other = Relation(np.array([0, 1, 2]), np.array([1, 3]), 4)
    a = DependencySets(np.zeros(100, int), table)
    b = DependencySets(np.r_[np.zeros(50, int), np.ones(49, int), -1], other)
    union = a | b
    assert union.table.m == 3
    np.testing.assert_array_equal(dense(union), dense(a) | dense(b))


def test_an_entry_that_is_written_is_a_list_more():
    """Of many entries, of which few get something else: no list is united with another."""
    lists = Relation(np.array([0, 2]), np.array([0, 1]), N)
    sets = DependencySets(np.zeros(100, int), lists)
    written = DependencySets(
        np.r_[np.full(99, -1), 0], Relation(np.array([0, 1]), np.array([4]), N)
    )
    for union in (sets | written, written | sets):
        assert union.table.m == 2
        np.testing.assert_array_equal(dense(union), dense(sets) | dense(written))


@pytest.mark.parametrize("count, least", [(11, 0), (21, 20)])
def test_what_is_too_large_is_refused(count, least):
    with linad.config(densify_limit=10):
        dependency_sets.check_size(count - 1, least)
        with pytest.raises(linad.errors.DensifyError, match=f"has {count} entries, more than .*10"):
            dependency_sets.check_size(count, least)
