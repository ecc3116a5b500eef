"""Sorting and searching on a grid, beside NumPy: NaN, equal entries, odd lengths."""

import numpy as np
import pytest
from device_runs import checked

import linad

RNG = np.random.default_rng(0)
SIZES = [1, 3, 33]


def with_nan(n):
    x = RNG.normal(size=n)
    x[::5] = np.nan
    return x


@pytest.mark.parametrize("n", SIZES)
def test_orders(n):
    x, y = with_nan(n), RNG.integers(0, 5, (3, n, 2)) * 1.0
    for given, axis in ((x, 0), (y, 1), (y, None), (y.astype(np.float32), -1)):
        checked(lambda a, axis=axis: np.argsort(a, axis, stable=True), given)
    checked(lambda y: np.argsort(y > 2, axis=0, kind="stable"), y)
    checked(lambda y: np.lexsort((y[0], y[1]), axis=0), y)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(n, side):
    edges, x = np.sort(with_nan(n)), RNG.normal(size=(4, 5))
    x[0, 0], x[1] = np.nan, edges[0]
    checked(lambda e, x: np.searchsorted(e, x, side=side), edges, x)
    checked(lambda x: np.searchsorted(np.arange(n), x, side=side), x.astype(np.float32))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[-1, 0, 0, 0.5], [1, 0.5, 0.5, -1], [0.5], [0, 0]])
def test_digitize(bins, right):
    x = np.array([[0.5, 0.0, -1, 1], [0.2, -3, 7, np.nan]])
    labels = checked(lambda x: np.digitize(x, np.array(bins), right=right), x)
    assert "search" in labels


@pytest.mark.parametrize("n", SIZES)
def test_unique(n):
    x, y = with_nan(n), RNG.integers(0, 5, n) * 1.0
    checked(lambda y: np.unique(y, return_index=True, return_inverse=True, return_counts=True), y)
    checked(np.unique, y)
    for equal in (True, False):
        checked(lambda x, equal=equal: np.unique(x, True, equal_nan=equal)[1], x)


def test_what_is_made_of_them():
    x, grid = RNG.normal(size=9), np.linspace(-2, 2, 6)
    for f in (
        lambda x: np.sort(x, kind="stable"),
        np.sort,
        np.median,
        lambda x: np.quantile(x, [0.2, 0.7]),
        lambda x: np.interp(x, grid, grid**2),
        lambda x: np.interp(grid, np.sort(x, stable=True), x),
        lambda x: np.histogram(x, bins=4, range=(-2, 2))[0] + x[0],
    ):
        checked(f, x)
    checked(linad.grad(lambda x: np.sum(np.sort(x, stable=True) * np.arange(9))), x)
    checked(linad.grad(lambda x: np.sum(np.interp(x, grid, x[:6] * grid))), x)
