"""Rounding errors: in columns of the Jacobian, whose unknowns stay where they are; in residuals."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import OptimizeWarning

import linad
from linad.solve import curve_fit, fit, gauss_newton, least_squares, levenberg_marquardt
from linad.solve.rounding import without_rounding

Y, X = np.mgrid[0:16, 0:20]
TRUE = [100.0, 10.3, 7.2, 4.0, 2.5, 0.5, 10.0]
ROUND = [80.0, 10.0, 8.0, 3.0, 3.0, 0.3, 0.0]  # equal axes: the angle has no meaning


def star(xy, height, x0, y0, a, b, angle, sky):
    x, y = xy[0] - x0, xy[1] - y0
    u = np.cos(angle) * x + np.sin(angle) * y
    v = np.cos(angle) * y - np.sin(angle) * x
    return height * np.exp(-((u / a) ** 2) - (v / b) ** 2) + sky


IMAGE = star((X, Y), *TRUE) + np.random.default_rng(0).normal(0.0, 2.0, X.shape)


def residuals(p):
    return star((X, Y), *p) - IMAGE


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.3])
def test_an_angle_of_equal_axes_waits_until_they_differ(angle):
    start = [*ROUND[:5], angle, 0.0]
    found = curve_fit(star, (X, Y), IMAGE, start)
    assert found.success
    assert abs(found["angle"]) < 10
    lowest = curve_fit(star, (X, Y), IMAGE, TRUE).chi_square
    np.testing.assert_allclose(found.chi_square, lowest, rtol=1e-12)


def test_an_unknown_without_effect_is_told():
    def disk(xy, height, x0, y0, a, angle, sky):
        return star(xy, height, x0, y0, a, a, angle, sky)

    with pytest.warns(OptimizeWarning, match="angle: no residual depends on it"):
        found = curve_fit(disk, (X, Y), IMAGE, [80.0, 10.0, 8.0, 3.0, 0.3, 0.0])
    assert found.result.rounding.tolist() == [name == "angle" for name in found.names]
    assert found.undetermined == [{"angle": 1.0}]
    assert "angle: no residual depends on it" in found.report()
    assert found["angle"] == 0.3
    assert found.errors[4] == np.inf
    assert np.isfinite(np.delete(found.errors, 4)).all()


def test_gauss_newton_leaves_it():
    J = linad.jacobian(residuals)(np.array(ROUND)).reshape(-1, 7)
    assert 0 < np.linalg.norm(J[:, 5]) < 1e-10
    found = gauss_newton(residuals, np.array(ROUND))
    assert abs(found.x[5]) < 10


@pytest.mark.usefixtures("kernels")
def test_in_a_program():
    fit = linad.jit(lambda x: least_squares(residuals, x))
    lowest = levenberg_marquardt(residuals, np.array(ROUND)).cost
    for _ in range(3):
        r = residuals(fit(np.array(ROUND)))
        np.testing.assert_allclose(0.5 * np.sum(r**2), lowest, rtol=1e-12)


def test_a_small_column_that_is_right_stays():
    x = np.array([1e3, 0.0])
    J = np.stack([np.ones(5), 1e-14 * np.arange(5.0)], axis=1)
    kept, wrong = without_rounding(J, x, J @ x, lambda x: J @ x, 2.2e-16)
    assert not wrong.any()
    np.testing.assert_array_equal(kept, J)
    kept, wrong = without_rounding(J, x, J @ x, lambda x: J[:, :1] @ x[:1], 2.2e-16)
    assert wrong.tolist() == [False, True]
    np.testing.assert_array_equal(kept, J * [1, 0])


TIMES = np.linspace(0.0, 4.0, 30)
Y_SEEN = 2.5 * np.exp(-1.3 * TIMES) + np.random.default_rng(1).normal(0.5, 0.02, 30)


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-6])
def test_a_function_of_few_digits_ends_where_its_errors_hide_the_rest(size):
    def decay(t, a, rate, c):
        return a * np.exp(-rate * t) + c

    def rough(t, a, rate, c):  # as by an integrator with a tolerance
        where = linad.stop_gradient(np.stack([a, rate, c])) @ np.array([1.0, 2.0, 3.0])
        return decay(t, a, rate, c) + size * np.sin(1e9 * where + 1e6 * t)

    exact = curve_fit(decay, TIMES, Y_SEEN, [1.0, 1.0, 0.0])
    found = curve_fit(rough, TIMES, Y_SEEN, [1.0, 1.0, 0.0])
    assert found.success
    assert found.nfev < 40
    np.testing.assert_array_less(np.abs(found.x - exact.x), 0.02 * exact.errors)


def test_a_parameter_that_never_counts_does_not_start_the_fit_again():
    def decay(t, a, rate, unused):
        return a * np.exp(-rate * t)

    with pytest.warns(OptimizeWarning, match="unused: no residual depends on it"):
        found = curve_fit(decay, TIMES, Y_SEEN, [1.0, 0.5, 1.0])
    assert found.nfev == curve_fit(decay, TIMES, Y_SEEN, [1.0, 0.5, 1.0], fixed="unused").nfev


YEARS = np.arange(1990, 2020)
YEARLY = 3 + 0.1 * (YEARS - 1990) + 0.3 * np.random.default_rng(1).standard_normal(30)


def seasons(t, a, b, season):  # of data that have none: a whole number of them is rounding
    return a + b * (t - 1990) + season * np.sin(2 * np.pi * t)


def residuals_of_years(a, b, season):
    return seasons(YEARS, a, b, season) - YEARLY


@pytest.mark.parametrize("size", [1.0, 0.0])
@pytest.mark.parametrize("given", ["array", "table", "residuals"])
def test_a_parameter_that_acts_by_rounding_in_the_data_stays(given, size):
    start = [1.0, 0.0, size]
    if given == "array":
        call = partial(curve_fit, seasons, YEARS, YEARLY, start)
    elif given == "table":
        table = pytest.importorskip("pandas").DataFrame({"year": YEARS, "name": ["x"] * 30})
        call = partial(curve_fit, lambda d, *p: seasons(d["year"], *p), table, YEARLY, start)
    else:
        call = partial(fit, residuals_of_years, start)
    with pytest.warns(OptimizeWarning, match=r"(season|p\[2\]): no residual") as caught:
        found = call()
    assert "no residual depends on it beyond rounding" in str(caught[0].message)
    assert found.x[2] == size
    assert found.undetermined == [{found.names[2]: 1.0}]
    without = curve_fit(seasons, YEARS, YEARLY, start, fixed=["season"])
    np.testing.assert_allclose(found.chi_square, without.chi_square, rtol=1e-12)
    by_freedom = np.sqrt(28 / 27)  # s² is of one parameter more
    np.testing.assert_allclose(found.errors[:2], by_freedom * without.errors[:2], rtol=1e-6)


def test_a_fit_goes_on_where_columns_are_rounding_at_its_start_alone():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 13, 165)
    length = 57 * (1 - np.exp(-0.28 * (age + 0.7))) + 2 * rng.standard_normal(165)

    def growth(age, Linf, K, t0, C, ts):
        def season(t):
            return C * K / (2 * np.pi) * np.sin(2 * np.pi * (t - ts))

        return Linf * (1 - np.exp(-K * (age - t0) - season(age) + season(t0)))

    start = [60, 0.3, 0, 0.5, 0.1]
    with pytest.warns(OptimizeWarning, match="C and ts"):
        found = curve_fit(growth, age, length, start)
    assert found.success
    without = curve_fit(growth, age, length, start, fixed=["C", "ts"])
    np.testing.assert_allclose(found.chi_square, without.chi_square, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-11, 1e-14, 1e-18])
def test_a_parameter_in_units_far_too_small_is_found(unit):
    t = np.linspace(0.0, 3.0, 40)
    y = 2.0 + 3.0 * np.exp(-t)
    found = curve_fit(lambda t, a, n: a + unit * n * np.exp(-t), t, y, [1.0, 1.0])
    np.testing.assert_allclose(found.x, [2.0, 3.0 / unit], rtol=1e-6)


def test_a_solution_keeps_such_an_unknown():
    start = np.array([1.0, 0.0, 1.0])
    found = least_squares(lambda p: residuals_of_years(*p), start)
    assert found[2] == 1.0
    moved = least_squares(lambda p, y: residuals_of_years(*p) - y, start, 1.0)
    np.testing.assert_allclose(moved - found, [1.0, 0.0, 0.0], atol=1e-9)
