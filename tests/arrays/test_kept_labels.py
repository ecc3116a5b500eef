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


@pytest.mark.parametrize("labels", [pd.Series, pd.DataFrame, xr.DataArray])
def test_arguments_count_by_their_numbers(labels):
    x = X[0] if labels is pd.Series else X
    np.testing.assert_array_equal(linad.grad(lambda x: np.sum(x * x))(labels(x)), 2 * x)
