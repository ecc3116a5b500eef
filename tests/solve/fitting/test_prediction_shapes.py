"""Predictions that are for other data sets than those of ydata."""

import numpy as np
import pytest

from linad.errors import DTypeError, OptionError, ShapeError, TreeError
from linad.solve import curve_fit

T = np.linspace(0.0, 2.0, 9)


@pytest.mark.parametrize(
    "ydata, returned, words",
    [
        ([T, T], lambda t, a: [a * t] * 3, "has 2 data sets, and <lambda> returned 3 predictions"),
        ((T, T), lambda t, a: [a * t], "has 2 data sets, and <lambda> returned 1 pred"),
        (
            {"a": T, "b": T},
            lambda t, a: {"a": a * t, "c": t},
            "the data sets 'a', 'b', and <lambda> returned no 'b' and 'c' beside them",
        ),
        ({"a": T}, lambda t, a: {"a": a * t, "c": t}, "returned 'c' beside them; return a pred"),
    ],
)
def test_the_data_sets_are_counted_and_named(ydata, returned, words):
    with pytest.raises(TreeError, match=words):
        curve_fit(returned, T, ydata, [1.0])


def test_several_numbers_for_each_of_the_data():
    with pytest.raises(ShapeError, match=r"2 numbers for each of ydata: .*shape \(9, 2\)"):
        curve_fit(lambda t, a: [(a * v, v) for v in t], T, T, [1.0])


def test_predictions_of_a_model_that_returns_a_list_are_arrays():
    found = curve_fit(lambda t, a: [a * v for v in t], T, 2.0 * T, [1.0])
    np.testing.assert_allclose(found.predict(T[:2]) - 1.0, 2.0 * T[:2] - 1.0)
    assert found.prediction_errors(T[:2]).shape == (2,)


def test_sigma_of_a_table_in_rows():
    with pytest.raises(OptionError, match="if ydata is one table of numbers, give np.array"):
        curve_fit(lambda t, a: [(a * v, v) for v in t], T, [(v, v) for v in T], [1], sigma=[1, 2])


def test_complex_places_of_real_data_may_be_exchanged():
    f = np.linspace(1.0, 9.0, 9)
    z = 1 / (1 + 1j * f)
    with pytest.raises(DTypeError, match="xdata are complex: are xdata and ydata exchanged.$"):
        curve_fit(lambda f, r: r / (1 + 1j * f), z, f, [1.0])
    with pytest.raises(DTypeError, match="0j$"):
        curve_fit(lambda f, r: r / (1 + 1j * f), f, np.abs(z), [1.0])


def test_a_model_that_ignores_its_places_is_not_predicted_elsewhere():
    t = np.linspace(0.0, 3.0, 30)
    y = 2 * np.exp(-t) + 0.01 * t**2
    found = curve_fit(lambda x, a, b: a * np.exp(-b * t), t, y, [1.0, 0.5])
    for asked in (found.predict, found.prediction_errors, found.confidence_band):
        with pytest.raises(ShapeError, match="returned 30 values for 3 places, as for the data"):
            asked([1.0, 2.0, 3.0])
    assert found.predict().shape == found.predict(t + 1).shape == (30,)
    assert len(found.plot())
