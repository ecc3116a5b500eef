"""Predictions that are for other data sets than those of ydata."""

import numpy as np
import pytest

from linad.errors import TreeError
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
