"""Residuals that are constant where their derivative overflows have the slope 0."""

import numpy as np
import pytest
import scipy.optimize
from solve.problems import unfinished

from linad.solve import curve_fit, levenberg_marquardt
from linad.solve.saturated import without_saturated

V = np.linspace(-100.0, 100.0, 41)
DOSES = np.array([0, 0.1, 0.3, 1, 3, 10.0])


def planck(n, a, t):
    return a * n**3 / (np.exp(n / t) - 1)


HILL = {
    "powers": lambda x, top, k, h: top * x**h / (k**h + x**h),
    "ratio": lambda x, top, k, h: top / (1 + (k / x) ** h),
    "inverse": lambda x, top, k, h: top * (x / k) ** h / (1 + (x / k) ** h),
}


def test_rows():
    x = np.array([2.0, 0.0])

    def value(x):
        return np.array([0.0, x[0], 5.0, x[1] + 1.0, np.inf])

    r = value(x)
    J = np.array([[np.nan, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, np.inf], [np.nan, np.nan]])
    matrix, constant = without_saturated(J, x, r, value)
    assert constant.tolist() == [True, False, False, False, False]
    np.testing.assert_array_equal(matrix[0], 0.0)
    np.testing.assert_array_equal(matrix[1:], J[1:])
    calls = []
    assert without_saturated(J[1:3], x, r[1:3], calls.append)[0] is not None
    assert not calls


@pytest.mark.filterwarnings("ignore:overflow", "ignore:divide by zero")
@pytest.mark.parametrize("name", HILL)
def test_a_dose_of_0(name):
    f = HILL[name]
    y = HILL["powers"](DOSES, 4.0, 0.7, 1.1) + 0.02 * np.cos(7 * DOSES)
    found = curve_fit(f, DOSES, y, [4, 1, 1])
    wanted = scipy.optimize.curve_fit(HILL["powers"], DOSES, y, [4, 1, 1])
    np.testing.assert_allclose(found.x, wanted[0], rtol=1e-5)
    np.testing.assert_allclose(found.covariance, wanted[1], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_exponential_that_overflows():
    n = np.linspace(1.0, 7000.0, 200)
    data = planck(n, 1e-6, 9.0) + 1e-6
    found = curve_fit(planck, n, data, [2e-6, 7.0])
    assert found.success
    np.testing.assert_allclose(found.x[1], 9.0, rtol=1e-2)
    assert found.result.saturated.sum() > 5
    assert "residuals are constant where their derivative overflows" in found.message
    assert np.isfinite(found.errors).all()


@pytest.mark.filterwarnings("ignore:overflow")
@unfinished
def test_where_all_are_constant_it_is_no_success():
    found = curve_fit(lambda v, a: 1 / (1 + np.exp(a * v)), V[:9], np.ones(9), [-1e4])
    assert not found.success


@pytest.mark.filterwarnings("ignore:invalid", "ignore:divide by zero")
def test_other_derivatives_that_are_not_finite_are_told():
    found = levenberg_marquardt(lambda p: np.sqrt(np.abs(p)) - 1.0, np.array([0.0, 3.0]))
    assert not found.success
