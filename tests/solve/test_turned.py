"""Parameters that act by their square, where the cost is least at 0, and flat ground beside."""

import numpy as np
import pytest

from linad.solve import curve_fit, levenberg_marquardt

X = np.linspace(-3.0, 3.0, 61)
NOISE = 0.05 * np.random.default_rng(1).standard_normal(61)


def line(x, A, x0, w):  # of known width 0.5, and w beside it
    return A * np.exp(-0.5 * (x - x0) ** 2 / (0.5**2 + w**2))


Y = line(X, 3.0, 0.1, 0.02) + NOISE


@pytest.mark.filterwarnings("ignore:curve_fit")
@pytest.mark.parametrize("start", [0.05, 0.3, 1.0, 1e-7])
def test_it_is_a_minimum(start):
    runs = []

    def counted(x, A, x0, w):
        runs.append(w)
        return line(x, A, x0, w)

    found = curve_fit(counted, X, Y, [2, 0, start])
    without = curve_fit(lambda x, A, x0: line(x, A, x0, 0.0), X, Y, [2, 0])
    assert found.success
    assert "least where residuals do not respond" in found.message
    assert len(runs) < 60
    assert abs(found.x[2]) < 1e-5
    assert found.chi_square == pytest.approx(without.chi_square, rel=1e-12)
    assert np.isinf(found.rows()[2][2])
    p, _ = found  # it unpacks
    np.testing.assert_allclose(p[:2], list(without.x), rtol=1e-6)


def test_it_is_told_of():
    words = r"^curve_fit: w: no residual depends on it to first order .* acts by its square"
    with pytest.warns(match=words):
        found = curve_fit(line, X, Y, [2, 0, 0.3])
    assert found.message.endswith("; without standard errors: w")
    report = str(found)
    assert "(acts by its square; start 0.3)" in report
    assert "ndetermined" not in report
    assert "profile_intervals(names='w')" in report
    assert "bounds={'w': (0, None)}" in report
    assert "Fix one" not in report


@pytest.mark.filterwarnings("ignore:curve_fit")
def test_profiles():
    free = curve_fit(line, X, Y, [2, 0, 0.3])
    low, high = free.profile_intervals(names="w")["w"]
    assert low == pytest.approx(-high, rel=1e-5)
    bounded = curve_fit(line, X, Y, [2, 0, 0.3], bounds={"w": (0, None)})
    assert bounded.profile_intervals(names="w")["w"] == pytest.approx((0.0, high), rel=1e-5)
    # At its end the cost of the best fit with w held has risen by t² s² / 2.
    held = curve_fit(line, X, Y, [2, 0, high], fixed=["w"])
    t = free._quantile(0.95)
    risen = (held.chi_square - free.chi_square) / free.reduced_chi_square
    assert risen == pytest.approx(t**2, rel=1e-4)


@pytest.mark.filterwarnings("ignore:curve_fit")
def test_profiles_whose_fits_end_there_are_cheap():
    runs = []

    def model(x, d, e, g):
        runs.append(e)
        return g * x * np.exp(-d * x) + np.sqrt(d * d + 3 * e * e) * x**2 * 0.2

    x = np.linspace(0, 1, 14)
    y = model(x, 1.5, 0.5, 2.15) + 0.01 * np.random.default_rng(2).standard_normal(14)
    found = curve_fit(model, x, y, [1, 0.5, 2], sigma=0.01, absolute_sigma=True)
    runs.clear()
    found.profile_intervals(names="d")
    assert len(runs) < 800  # it was 4135


def test_the_square_may_be_about_another_place():
    def f(p):
        return Y - line(X, p[0], p[1], p[2] - 3.0)

    found = levenberg_marquardt(f, np.array([2.0, 0.0, 3.4]))
    assert found.success
    assert found.turned.tolist() == [False, False, True]
    assert found.x[2] == pytest.approx(3.0, abs=1e-5)


@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
def test_robust_losses(loss):
    found = levenberg_marquardt(
        lambda p: Y - line(X, *p), np.array([2.0, 0.0, 0.3]), loss=loss, f_scale=0.1
    )
    assert found.success
    assert abs(found.x[2]) < 1e-5


@pytest.mark.parametrize("start", [(1e-3, 1e-3), (1e-3, 2e-3), (0.5, 0.3)])
def test_two_squares_with_a_product_that_is_a_saddle(start):
    """The cost rises along each of both, and falls along their difference: from where they are
    alike steps end at the saddle."""

    def f(p):
        return np.stack([1.0 + p[0] ** 2 + 4.0 * p[0] * p[1] + p[1] ** 2, 1e-3 * p[2], p[2], p[2]])

    found = levenberg_marquardt(f, np.array([*start, 1.0]))
    assert found.success == (found.cost < 1e-6) == (start[0] != start[1])
    assert not found.turned.any()


def test_flat_ground_is_no_minimum():
    found = levenberg_marquardt(
        lambda p: 1.0 + p[0] * np.exp(-p[1] * (X + 3.5)) - 0.01 * X, np.array([0.5, 60.0])
    )
    assert not found.turned.any()
