"""Models that write into their data are evaluated on what was given, and leave that alone."""

import pickle

import numpy as np
import pytest
from solve.problems import unfinished

from linad.solve import curve_fit, fit

T = np.linspace(1.0, 4.0, 30)
Y = 2.0 * T + 1.0


def shifted(t, a, b):
    t -= 0.5
    return a * t + b


def test_arrays():
    t = T.copy()
    found = curve_fit(shifted, t, Y)
    np.testing.assert_allclose(found.x, [2.0, 2.0])
    np.testing.assert_allclose(found.predict(), Y)
    np.testing.assert_allclose(found.predict(), Y)
    assert np.isfinite(found.prediction_errors()).all()
    np.testing.assert_array_equal(t, T)


def test_pickled():
    found = pickle.loads(pickle.dumps(curve_fit(shifted, T.copy(), Y)))
    np.testing.assert_allclose(found.predict(), Y)
    np.testing.assert_allclose(found.predict(), Y)


def test_containers():
    def scaled(x, a, b):
        x["t"] *= 0.5
        return a * x["t"] + b

    data = {"name": ["a"] * 30, "t": T.copy()}
    np.testing.assert_allclose(curve_fit(scaled, data, Y).x, [4.0, 1.0])
    np.testing.assert_array_equal(data["t"], T)


def test_tables():
    pd = pytest.importorskip("pandas")

    def shifted_column(x, a, b):
        x["t"] = x["t"] - 0.5
        x["more"] = 1.0
        return a * x["t"] + b * x["more"]

    def new_column(x, a, b):
        x["y"] = a * (x["t"] - 0.5) + b
        return x["y"]

    table = pd.DataFrame({"t": T, "name": "a"})
    for model in (shifted_column, new_column):
        np.testing.assert_allclose(curve_fit(model, table, Y).x, [2.0, 2.0])
    assert list(table.columns) == ["t", "name"]
    np.testing.assert_array_equal(table["t"], T)


def test_further_arguments_of_residuals():
    def residuals(p, t, y):
        y -= 1.0
        return p["slope"] * t + p["floor"] - y

    y = Y.copy()
    found = fit(residuals, {"slope": 1.0, "floor": 1.0}, (T, y))
    np.testing.assert_allclose([found["slope"], found["floor"]], [2.0, 0.0], atol=1e-7)
    np.testing.assert_array_equal(y, Y)


@unfinished
def test_other_state_is_told_of():
    calls = []

    def counting(t, a, b):
        calls.append(1)
        return (a * t + b) * (1 + 0.01 * len(calls))

    found = curve_fit(counting, T, Y + np.sin(T))
    assert not found.success
    assert "a counter or a list" in found.message
