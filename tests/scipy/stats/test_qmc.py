"""How evenly points fill a box: SciPy's values, and derivatives by differences."""

import numpy as np
import pytest
import scipy.stats.qmc

import linad
from linad.errors import ArgumentError, TracerError
from linad.scipy.stats import qmc
from linad.testing.derivative_checks import check_derivatives

X = np.random.default_rng(0).random((6, 3))


def agrees(name, *args, **options):
    """A function of a sample, of which SciPy has the value."""

    def f(x):
        return getattr(qmc, name)(*args, x, **options)

    theirs = getattr(scipy.stats.qmc, name)(*args, X, **options)
    np.testing.assert_allclose(linad.linearize(f, X)[0], theirs, rtol=1e-12)
    check_derivatives(f, X)
    np.testing.assert_allclose(getattr(qmc, name)(*args, X, **options), theirs, rtol=0)


@pytest.mark.parametrize("method", ["CD", "WD", "MD", "L2-star"])
@pytest.mark.parametrize("iterative", [False, True])
def test_discrepancies(method, iterative):
    agrees("discrepancy", method=method, iterative=iterative)


@pytest.mark.parametrize("method", ["mindist", "mst"])
def test_of_distances(method):
    agrees("geometric_discrepancy", method=method)
    agrees("geometric_discrepancy", method=method, metric="cityblock")


def test_one_point_more():
    def f(x_new, sample, before):
        return qmc.update_discrepancy(x_new, sample, before)

    before = qmc.discrepancy(X[:-1], iterative=True)
    value = linad.linearize(f, X[-1], X[:-1], before)[0]
    np.testing.assert_allclose(value, scipy.stats.qmc.discrepancy(X), rtol=1e-12)
    check_derivatives(f, X[-1], X[:-1], before)


def test_which_distances_count_is_seen_at_each_call():
    f = linad.jit(lambda x: qmc.geometric_discrepancy(x, method="mst"))
    for x in (X, X, X[::-1] ** 2, X**3, X[:, ::-1]):
        theirs = scipy.stats.qmc.geometric_discrepancy(x, method="mst")
        np.testing.assert_allclose(f(x), theirs, rtol=1e-12)


def test_points_are_spread_by_the_gradient():
    spread = linad.grad(qmc.discrepancy)(X)
    assert qmc.discrepancy(X - 0.01 * spread) < qmc.discrepancy(X)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: qmc.discrepancy(x + 1), "not in the unit hypercube"),
        (lambda x: qmc.discrepancy(x[0]), r"expected an array of points \(n, d\), got \(3,\)"),
        (lambda x: qmc.discrepancy(x, method="XD"), "method must be one of"),
        (lambda x: qmc.geometric_discrepancy(x, method="max"), "'mindist' or 'mst', got 'max'"),
        (lambda x: qmc.geometric_discrepancy(x[:1]), "at least two points, got one"),
        (lambda x: qmc.update_discrepancy(x[0, :2], x, 0.1), "as many axes, got 2 and 3"),
    ],
)
def test_what_is_no_sample(call, words):
    with pytest.raises(ArgumentError, match=words):
        linad.linearize(call, X)


def test_scipys_own_names_the_form():
    with pytest.raises(TracerError, match=r"use linad\.scipy\.stats\.qmc\.discrepancy"):
        linad.grad(scipy.stats.qmc.discrepancy)(X)


def test_a_point_twice():
    x = np.concatenate([X, X[:1]])
    with pytest.warns(UserWarning, match="the sample has a point twice"):
        value = linad.linearize(lambda x: qmc.geometric_discrepancy(x), x)[0]
    with pytest.warns(UserWarning, match="duplicate"):
        assert value == pytest.approx(scipy.stats.qmc.geometric_discrepancy(x))
