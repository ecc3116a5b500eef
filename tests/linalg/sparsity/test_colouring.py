"""Colourings: valid, no worse than SciPy's, and the same compiled and interpreted."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize._numdiff import group_columns

from linad.linalg.sparsity import graph_kernels as kernels
from linad.linalg.sparsity.colouring import ORDERS, colour_columns, colour_stars
from linad.linalg.sparsity.compress import plan_for, symmetric_plan_for
from linad.operators.relations import Relation


def relation(matrix):
    return Relation.of_pairs(*np.nonzero(matrix), matrix.shape)


def random_matrix(seed, m=12, n=15, density=0.15):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)) < rng.uniform(0, 2 * density)


def five_points(n):
    """The pattern of the 5-point stencil on an n by n grid."""
    k = np.arange(n * n).reshape(n, n)
    pairs = [(k, k), (k[1:], k[:-1]), (k[:-1], k[1:])]
    pairs += [(k[:, 1:], k[:, :-1]), (k[:, :-1], k[:, 1:])]
    rows, columns = (np.concatenate([p[i].ravel() for p in pairs]) for i in (0, 1))
    return Relation.of_pairs(rows, columns, (n * n, n * n))


def check_columns(matrix, colours):
    """No row has two columns of a colour."""
    assert colours.shape == (matrix.shape[1],)
    for row in matrix:
        used = colours[row]
        assert len(set(used)) == len(used)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**20), st.sampled_from([*ORDERS, None]))
def test_columns_of_a_colour_share_no_row(seed, order):
    matrix = random_matrix(seed)
    colours = colour_columns(relation(matrix), order)
    check_columns(matrix, colours)
    assert set(colours) == set(range(colours.max() + 1))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**20))
def test_in_natural_order_no_more_colours_than_scipy(seed):
    matrix = random_matrix(seed, 20, 25)
    found = colour_columns(relation(matrix), "natural")
    theirs = group_columns(matrix, np.arange(matrix.shape[1]))
    assert found.max() <= theirs.max()
    assert colour_columns(relation(matrix)).max() <= theirs.max()


@pytest.mark.parametrize("order", ORDERS)
def test_five_points(order):
    pattern = five_points(20)
    colours = colour_columns(pattern, order)
    check_columns(pattern.matrix.toarray(), colours)
    assert colours.max() + 1 <= 9


@pytest.mark.rest
def test_five_points_on_a_large_grid_need_seven_colours():
    pattern = five_points(256)
    assert pattern.nnz == 5 * 256**2 - 4 * 256
    assert plan_for(pattern).count <= 7
    natural = colour_columns(pattern, "natural").max() + 1
    assert natural <= group_columns(pattern.matrix, np.arange(pattern.n)).max() + 1


@pytest.mark.parametrize(
    "matrix, count",
    [
        (np.eye(6, dtype=bool), 1),
        (np.ones((4, 6), bool), 4),
        (np.ones((6, 4), bool), 4),
        (np.zeros((4, 6), bool), 0),
        (np.zeros((0, 3), bool), 0),
        (np.zeros((3, 0), bool), 0),
        (np.tri(8, dtype=bool) & ~np.tri(8, k=-3, dtype=bool), 3),
    ],
)
def test_numbers_of_seeds(matrix, count):
    plan = plan_for(relation(matrix))
    assert plan.count <= max(count, 1)


def arrow(n):
    matrix = np.eye(n, dtype=bool)
    matrix[0], matrix[:, 0] = True, True
    return matrix


def test_long_rows_and_columns_are_taken_apart():
    assert plan_for(relation(arrow(40))).count <= 3
    assert symmetric_plan_for(relation(arrow(40))).count == 2
    matrix = np.eye(40, dtype=bool)
    matrix[7] = True
    assert plan_for(relation(matrix)).count == 2
    assert plan_for(relation(matrix.T)).count == 2


def check_stars(matrix, colours):
    """Neighbours differ, and no path of four vertices has two colours only."""
    n = len(matrix)
    edges = [(i, j) for i, j in itertools.permutations(range(n), 2) if matrix[i, j]]
    assert all(colours[i] != colours[j] for i, j in edges)
    for i, j in edges:
        for k in np.flatnonzero(matrix[j]):
            for h in np.flatnonzero(matrix[k]):
                if len({i, j, k, h}) == 4:
                    assert len({colours[i], colours[j], colours[k], colours[h]}) > 2


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**20), st.sampled_from([*ORDERS, None]))
def test_two_colours_induce_stars(seed, order):
    half = random_matrix(seed, 11, 11, 0.12)
    matrix = half | half.T
    colours = colour_stars(relation(matrix), order)
    check_stars(matrix, colours)
    everything = relation(matrix | np.eye(11, dtype=bool))
    check_stars(matrix, colour_stars(everything, order))


def test_stars_need_fewer_colours_than_columns():
    pattern = five_points(12)
    stars = colour_stars(pattern).max() + 1
    assert stars <= colour_columns(pattern).max() + 1
    check_stars(pattern.matrix.toarray()[:60, :60], colour_stars(pattern)[:60])


@pytest.mark.rest
def test_compiled_and_interpreted_loops_agree(monkeypatch):
    matrix = random_matrix(3, 30, 30)
    both = relation(matrix | matrix.T)
    found = {}
    for worth in (0, 10**9):
        monkeypatch.setattr(kernels, "WORTH", worth)
        found[worth] = [colour_columns(both, order) for order in ORDERS] + [
            colour_stars(both, order) for order in ORDERS
        ]
    for compiled, interpreted in zip(found[0], found[10**9], strict=True):
        np.testing.assert_array_equal(compiled, interpreted)


@pytest.mark.rest
def test_small_problems_do_not_import_numba():
    code = (
        "import sys, numpy as np, linad\n"
        "J = linad.sparse_jacobian(np.diff, np.ones(9))\n"
        "H = linad.sparse_hessian(lambda x: np.sum(np.diff(x)**4), np.ones(9))\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
