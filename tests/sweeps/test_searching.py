"""Searching in compiled programs: what NumPy finds, without Python."""

import numpy as np
import pytest

import linad

RNG = np.random.default_rng(0)
SPECIAL = np.array([np.nan, -np.inf, -1.0, -0.0, 0.0, 0.0, 1.0, 1.0, np.inf, np.nan])
TABLES = {
    "ties": np.sort(RNG.integers(-3, 4, 20) * 1.0),
    "NaN, zeros, infinities": np.sort(SPECIAL),
    "one": np.array([0.5]),
    "empty": np.zeros(0),
}
if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # from then on NumPy looks in another way
    TABLES["not sorted"] = RNG.normal(size=33)


def check(f, *args):
    """Compiled and eager find the same, and nothing is left to NumPy."""
    compiled = linad.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(*args), f(*args))
    assert not linad.explain(compiled)(*args).fallbacks


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", TABLES)
def test_searchsorted(name, side):
    table = TABLES[name]
    sought = np.concatenate([SPECIAL, table, RNG.normal(size=20)])
    rows = np.resize(sought, (4, 6))
    for x in (sought, np.sort(sought), rows, np.asfortranarray(rows), np.array(0.5)):
        check(lambda t, x: np.searchsorted(t, x, side=side), table, x)
    check(lambda t, x: np.searchsorted(t[::-2], x[::3].T, side), table, rows)


@pytest.mark.parametrize("table", ["f4", "f8", "i4", "i8", "b1"])
@pytest.mark.parametrize("sought", ["f4", "f8", "i4", "i8", "b1"])
def test_dtypes(table, sought):
    entries = np.sort(RNG.integers(-3, 4, 9).astype(table))
    check(lambda t, x: np.searchsorted(t, x), entries, RNG.integers(-4, 5, 30).astype(sought))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[-1, 0, 0, 0.5], [1, 0.5, 0.5, -1], [0.5], [0, 0]])
def test_digitize(bins, right):
    check(lambda x: np.digitize(x, np.array(bins), right), np.resize(SPECIAL, (3, 5)))


def test_what_is_made_of_searches_needs_no_numpy():
    x, grid = RNG.normal(size=9), np.linspace(-2, 2, 6)

    def f(x):
        return np.sum(np.interp(x, grid, x[:6] * grid))

    for derivative in (f, linad.grad(f), linad.grad(lambda x: np.sum(f(x) * x))):
        compiled = linad.jit(derivative)
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), derivative(x), rtol=1e-13)
        assert not linad.explain(compiled)(x).fallbacks


def test_in_an_order_that_is_given():
    def f(t, x):
        return np.searchsorted(t, x, "right", np.argsort(t, stable=True))

    given, order = RNG.normal(size=7), RNG.normal(size=5)
    wanted = np.searchsorted(np.sort(order), given, "right")
    compiled = linad.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(order, given), wanted)
    with pytest.raises(ValueError, match=r"sorter has the shape \(5,\), and the array \(7,\)"):
        linad.jit(lambda x: np.searchsorted(given, x, sorter=np.argsort(x)))(order)


def test_an_order_that_is_known_is_numpys():
    order = np.array([2, 0, 1])
    compiled = linad.jit(lambda t, x: np.searchsorted(t, x, sorter=order))
    t = np.array([2.0, 3.0, 1.0])
    for _ in range(3):
        np.testing.assert_array_equal(compiled(t, SPECIAL), np.searchsorted(np.sort(t), SPECIAL))
