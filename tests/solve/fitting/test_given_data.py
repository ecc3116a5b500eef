"""Standard deviations for tables of data: for each number, each row or each column."""

import numpy as np
import pytest

from linad.errors import OptionError
from linad.solve import curve_fit

T = np.linspace(0.0, 2.0, 9)
Y = np.stack([1.1 * T, 0.5 * T + 0.1 * T**2, 2.0 + T], 1)


def plane(t, a, b):
    return np.stack([a * t, b * t, a + b * t], 1)


@pytest.mark.parametrize("sigma", [[2, 2, 5], [[2, 2, 5]], 1.0 + T[:, None]])
def test_one_for_each_column_or_row(sigma):
    whole = np.broadcast_to(np.asarray(sigma, float), Y.shape)
    found, expected = [curve_fit(plane, T, Y, [1, 1], sigma=s) for s in (sigma, whole)]
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.covariance, expected.covariance)


@pytest.mark.parametrize(
    "data, sigma, words",
    [
        (Y, np.ones(9), r"shape \(9, 3\) of ydata.*got \(9,\); sigma\[:, None\] is one for each"),
        (Y[:3], np.ones(3), r"\[:, None\] is one for each row, sigma\[None, :\] one for each col"),
        (Y, [1, 2], r"got \(2,\)$"),
        (Y, np.ones((3, 9)), r"got \(3, 9\)$"),
    ],
)
def test_what_may_be_for_either_or_for_neither_is_refused(data, sigma, words):
    with pytest.raises(OptionError, match=words):
        curve_fit(plane, T[: len(data)], data, [1, 1], sigma=sigma)
