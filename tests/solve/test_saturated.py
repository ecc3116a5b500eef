"""Residuals that do not change with an unknown have the slope 0, if the derivative overflows."""

import numpy as np
import pytest
import scipy.optimize
from solve.problems import unfinished

from linad.solve import curve_fit, levenberg_marquardt
from linad.solve.saturated import replacements, without_overflow

V = np.linspace(-100.0, 100.0, 41)
DOSES = np.array([0, 0.1, 0.3, 1, 3, 10.0])


def planck(n, a, t):
    return a * n**3 / (np.exp(n / t) - 1)


HILL = {
    "powers": lambda x, top, k, h: top * x**h / (k**h + x**h),
    "ratio": lambda x, top, k, h: top / (1 + (k / x) ** h),
    "inverse": lambda x, top, k, h: top * (x / k) ** h / (1 + (x / k) ** h),
}


def test_entries():
    x = np.array([2.0, 0.0])

    def value(x):
        return np.array([0.0, x[0], 5.0, abs(x[1]) + 1.0, np.inf, x[0] ** 2, abs(x[1])])

    r = value(x)
    nan = np.nan
    J = np.array([[nan, 0], [1, 0], [1, 2], [0, np.inf], [nan, nan], [nan, nan], [nan, nan]])
    replaced, kinks = replacements(J, x, r, value)
    expected = np.full(J.shape, nan)
    expected[0, 0] = 0.0  # the others of this row are finite
    expected[5] = 4.0, 0.0
    expected[3, 1] = 0.0  # |x| has slopes of both signs
    expected[6] = 0.0
    np.testing.assert_allclose(replaced, expected, rtol=1e-8)
    np.testing.assert_array_equal(kinks, [0, 0, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(without_overflow(J, replaced)[[1, 2, 4]], J[[1, 2, 4]])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_kinks(sign):
    """The smaller slope of two, unless one side is not a number; none where most are kinks."""
    x = np.array([0.0])

    def value(x):
        (s,) = sign * x
        kinks = [max(s, 3 * s), max(s, 0.0), max(s, -2 * s), np.inf if s < 0 else s]
        return np.array([*kinks, *[s] * 6])

    J = np.full((10, 1), np.nan)
    J[4:] = sign
    replaced, kinks = replacements(J, x, value(x), value)
    np.testing.assert_allclose(replaced[:4, 0], [sign, 0.0, 0.0, np.nan])
    assert np.isnan(replaced[4:]).all()
    np.testing.assert_array_equal(kinks, [1, 1, 1, 0, *[0] * 6])
    few = replacements(J[:6], x, value(x)[:6], lambda x: value(x)[:6])
    assert np.isnan(few[0]).all()
    assert not few[1].any()


def test_finite_matrices_cost_nothing():
    calls = []
    J, x = np.array([[1.0, 0.0], [1.0, 2.0]]), np.zeros(2)
    assert np.isnan(replacements(J, x, np.ones(2), calls.append)[0]).all()
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
    # Where exp is infinite its inverse is 0, and stays so; beside that its square overflows.
    assert 0 < np.count_nonzero(found.result.saturated == 0) < 5
    assert "residuals do not change with " in found.message
    assert np.isfinite(found.errors).all()


@pytest.mark.filterwarnings("ignore:overflow")
def test_one_of_two_terms_that_overflows():
    """The residual changes with the parameters of the other one."""

    def two(n, a, t, b, u):
        return planck(n, a, t) + b * np.sqrt(n) / np.expm1(n / u)

    n = np.geomspace(1.0, 300.0, 80)
    data = two(n, 1e-2, 9.0, 5.0, 2.0) * (1 + 0.01 * np.cos(np.arange(80.0)))
    start = [2e-2, 10.0, 4.0, 0.3]  # exp(300 / 0.3) is infinite
    found = curve_fit(two, n, data, start, sigma=0.01 * data, bounds=(1e-6, np.inf))
    assert found.success
    np.testing.assert_allclose(found.x, [1e-2, 9.0, 5.0, 2.0], rtol=2e-2)


@pytest.mark.filterwarnings("ignore:overflow")
@unfinished
def test_where_all_are_constant_it_is_no_success():
    found = curve_fit(lambda v, a: 1 / (1 + np.exp(a * v)), V[:9], np.ones(9), [-1e4])
    assert not found.success


@pytest.mark.filterwarnings("ignore:invalid", "ignore:divide by zero")
def test_other_derivatives_that_are_not_finite_are_told():
    found = levenberg_marquardt(lambda p: np.sqrt(np.abs(p)) - 1.0, np.array([0.0, 3.0]))
    assert not found.success


H = np.linspace(0.0, 10.0, 21)
DISCHARGE = 3.0 * np.sqrt(np.maximum(H - 1.2, 0.0)) + 0.01 * np.cos(9 * H)


def weir(h, a, crest):
    return a * np.sqrt(np.maximum(h - crest, 0.0))


@pytest.mark.filterwarnings("ignore:invalid", "ignore:divide by zero")
@pytest.mark.parametrize("start", [[1.0, 0.5], [1.0, 1.5], [5.0, 3.0], [1.0, 0.0]])
def test_a_start_at_a_kink(start):
    """A discharge over a weir, whose crest is at a point of the data."""
    found = curve_fit(weir, H, DISCHARGE, start)
    assert found.success
    wanted, covariance = scipy.optimize.curve_fit(weir, H, DISCHARGE, start)
    np.testing.assert_allclose(found.x, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)
    weighted = curve_fit(weir, H, DISCHARGE, start, weights=start[1] != H)
    np.testing.assert_allclose(found.x, weighted.x, rtol=1e-2)


@unfinished
@pytest.mark.filterwarnings("ignore:invalid", "ignore:divide by zero")
def test_an_end_at_a_kink_is_no_success():
    """Nothing flows with such a crest, and with a lower one it does."""
    found = curve_fit(weir, H, DISCHARGE, [1.0, 10.0])
    assert not found.success
    assert "first that of index 20: their slopes to both sides differ" in found.message


@unfinished
@pytest.mark.filterwarnings("ignore:invalid", "ignore:divide by zero")
def test_where_most_are_at_a_kink_the_start_is_told():
    found = curve_fit(lambda t, a, b: t * (a + np.sqrt(b * b)), H, 2 * H, [1.0, 0.0])
    assert not found.success
    assert "which themselves are finite" in found.message or "leave such points" in found.message
