"""Relations against matrices of booleans."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linad.operators.dependency_sets import DependencySets
from linad.operators.relations import Gather, Prefix, Product, Relation


def relation(matrix):
    """The relation of a dense matrix of booleans."""
    return Relation.of_pairs(*np.nonzero(matrix), matrix.shape)


def dense(x):
    """What a relation does to sets of one column each: its matrix."""
    if isinstance(x, DependencySets):
        return x.relation.matrix.toarray()
    n = x.n if hasattr(x, "n") else int(np.prod(x.shape))
    return x.after(DependencySets.identity(n)).relation.matrix.toarray()


def gathered(source, n):
    return np.asarray(source)[:, None] == np.arange(n)


sources = st.integers(1, 5).flatmap(
    lambda n: st.tuples(st.lists(st.integers(-1, n - 1), max_size=7), st.just(n))
)


@settings(deadline=None, max_examples=50)
@given(sources, st.integers(0, 2**16))
def test_a_gather_copies_sets(case, seed):
    source, n = case
    source = np.array(source, int)
    g = Gather(source, n)
    expected = gathered(source, n)
    np.testing.assert_array_equal(dense(g), expected)
    np.testing.assert_array_equal(dense(g.T) if len(source) else dense(g).T, expected.T)
    table = np.random.default_rng(seed).random((n, 3)) < 0.5
    sets = DependencySets(None, relation(table))
    np.testing.assert_array_equal(dense(g.after(sets)), expected @ table)
    twice = Gather(np.arange(len(source))[::-1], len(source)).after(g.after(sets))
    np.testing.assert_array_equal(dense(twice), (expected @ table)[::-1])
    assert twice.nnz == twice.relation.nnz


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**16))
def test_a_relation_is_a_product_of_booleans(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random((4, 5)) < 0.4, rng.random((5, 6)) < 0.4
    A, sets = relation(a), DependencySets(None, relation(b))
    np.testing.assert_array_equal(dense(A.after(sets)), a @ b)
    np.testing.assert_array_equal(A.T.matrix.toarray(), a.T)
    source = rng.integers(-1, 5, 5)
    shared = sets.taken(source)
    np.testing.assert_array_equal(dense(A.after(shared)), a @ dense(shared))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_prefixes(axis, backward, rng):
    shape = (3, 4)
    numbers = np.arange(12).reshape(shape)
    place = np.indices(shape)[axis].ravel()
    lane = np.moveaxis(numbers, axis, 0) * 0 + np.arange(shape[1 - axis % 2])
    lane = np.moveaxis(lane, 0, axis).ravel()
    order = np.less_equal if not backward else np.greater_equal
    expected = (lane[:, None] == lane) & order(place, place[:, None])
    p = Prefix(shape, axis, backward)
    np.testing.assert_array_equal(dense(p), expected)
    np.testing.assert_array_equal(dense(p.T), expected.T)
    table = rng.random((12, 5)) < 0.2
    found = dense(p.after(DependencySets(None, relation(table))))
    np.testing.assert_array_equal(found, expected @ table)


def test_products(rng):
    a, b = rng.random((3, 4)) < 0.5, rng.random((4, 2)) < 0.5
    both = Product(relation(a), relation(b))
    np.testing.assert_array_equal(
        both.after(DependencySets.identity(2)).relation.matrix.toarray(), a @ b
    )
    np.testing.assert_array_equal(
        both.T.after(DependencySets.identity(3)).relation.matrix.toarray(), (a @ b).T
    )


@pytest.fixture
def rng():
    return np.random.default_rng(5)
