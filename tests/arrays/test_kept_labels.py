"""xarray and pandas as they are: values keep their labels, derivatives do not get lost."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import linad
from linad.errors import LinadError

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
WEIGHTS = xr.DataArray([1.0, 2.0, -1.0], dims="x")


def labelled(x):
    return xr.DataArray(x, dims=("t", "x"), coords={"x": [10, 20, 30]})


# Each: with labels, and the same in NumPy.
PROGRAMS = {
    "ufunc": (lambda d: np.sin(d).data, np.sin),
    "arithmetic": (
        lambda d: (d * 2 + d**2 - 1 / (2 + d)).data,
        lambda x: x * 2 + x**2 - 1 / (2 + x),
    ),
    "with another array": (lambda d: (d * WEIGHTS).data, lambda x: x * WEIGHTS.data),
    "isel": (lambda d: d.isel(x=slice(1, None)).data, lambda x: x[:, 1:]),
    "sel": (lambda d: d.sel(x=20).data, lambda x: x[:, 1]),
    "sum": (lambda d: d.sum("t").data, lambda x: x.sum(0)),
    "mean": (lambda d: d.mean().data, np.mean),
    "dot": (lambda d: d.dot(WEIGHTS).data, lambda x: x @ WEIGHTS.data),
    "transpose": (lambda d: d.transpose("x", "t").data, np.transpose),
    "where": (lambda d: xr.where(d > 0, d * d, 0.0).data, lambda x: np.where(x > 0, x * x, 0.0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_xarray(name):
    f, plain = PROGRAMS[name]
    y, J = linad.linearize(lambda x: f(labelled(x)), X)
    expected, K = linad.linearize(plain, X)
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    np.testing.assert_allclose(J.todense(), K.todense(), rtol=1e-13, atol=1e-15)


def test_a_result_with_labels_is_told_to_give_its_data():
    with pytest.raises(LinadError, match="data"):
        linad.linearize(lambda x: np.sin(labelled(x)), X)


SERIES = pd.Series([1.0, 2.0, -1.0])


def test_a_series_beside_a_traced_value():
    for f in (lambda x: np.sum(x * SERIES), lambda x: np.sum(SERIES * x)):
        np.testing.assert_array_equal(linad.grad(f)(X[0]), SERIES)


COUNTS = pd.Series([1.0, 2.0, 4.0, 7.0])
TURNED = pd.Series([1.0, 5.0, 2.0, 3.0], index=[3, 1, 0, 2])
GAPS = pd.Series([1.0, np.nan, 4.0, 7.0])
TABLE = pd.DataFrame({"u": [1.0, 2.0, 3.0, 5.0], "v": [2.0, 3.0, 5.0, 4.0]})

# What pandas means by it is not what NumPy does.
OF_PANDAS = {
    "std": lambda a: (COUNTS * a).std(),
    "var": lambda a: np.exp(a * COUNTS / 10).var(),
    "power": lambda a: (a**COUNTS).std() + (COUNTS**a).std(),
    "aligned": lambda a: (COUNTS * a * TURNED).sum(),
    "aligned column": lambda a: (TABLE["u"] * a - TURNED).pow(2).sum(),
    "label": lambda a: (TURNED * a)[0] + (TURNED * a).loc[3] + (TURNED * a).iloc[1],
    "mask": lambda a: (COUNTS * a)[COUNTS > 3].sum(),
    "gaps": lambda a: (GAPS * a).sum() + (GAPS * a).mean(),
    "columns": lambda a: np.max((TABLE * a).sum()) + (TABLE * a).std().sum(),
    "median": lambda a: (COUNTS * a).median(),
    "other ufuncs": lambda a: np.arctan2(COUNTS, a).std() + np.maximum(COUNTS * a, 2.0).sum(),
    "product": lambda a: (a * np.ones(4)) @ COUNTS,
}


@pytest.mark.parametrize("name", OF_PANDAS)
def test_what_pandas_does_beside_a_traced_value(name):
    f = OF_PANDAS[name]
    slope = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    for g in (f, linad.jit(f)):
        for _ in range(3):
            y, gradient = linad.value_and_grad(g)(1.3)
            np.testing.assert_allclose(y, f(1.3), rtol=1e-14)
            np.testing.assert_allclose(gradient, slope, rtol=1e-7)


def test_an_array_that_is_written_into_stays_one():
    def f(x):
        y = x * 1.0
        y += SERIES
        y *= SERIES * x
        return y

    x = X[0]
    for g in (f, linad.jit(f)):
        J = linad.jacobian(g)(x)
        np.testing.assert_allclose(J, np.diag((2 * x + SERIES) * SERIES))


def test_labels_that_change_between_calls():
    turned = TURNED.copy()

    def f(a):
        return (COUNTS * a * turned).sum()

    jitted = linad.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(jitted(1.3), f(1.3))
    turned.index = [0, 1, 2, 3]
    for _ in range(3):
        np.testing.assert_allclose(jitted(1.3), f(1.3))
    turned.index = [2, 0, 3, 1]
    np.testing.assert_allclose(jitted(1.3), f(1.3))


@pytest.mark.parametrize("labels", [pd.Series, pd.DataFrame, xr.DataArray])
def test_arguments_count_by_their_numbers(labels):
    x = X[0] if labels is pd.Series else X
    np.testing.assert_array_equal(linad.grad(lambda x: np.sum(x * x))(labels(x)), 2 * x)
