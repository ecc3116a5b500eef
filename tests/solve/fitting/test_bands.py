"""Bands of fits: those of a straight line, which text books have."""

import numpy as np
import pytest
import scipy.stats

import linad
from linad.errors import ArgumentError, OptionError, ShapeError
from linad.solve import curve_fit

X = np.linspace(0.0, 3.0, 12)
Y = 1.0 + 2.0 * X + 0.1 * np.random.default_rng(2).standard_normal(12)
NEW = np.array([-1.0, 0.5, 7.0])


def line(x, slope, offset):
    return offset + slope * x


def by_hand(x, y, new, weights, level, extra):
    """Half the width of the band of a straight line, by the formulas of weighted regression."""
    A = np.stack([x, np.ones_like(x)], axis=1)
    C = np.linalg.inv(A.T @ (weights[:, None] * A))
    r = y - A @ (C @ (A.T @ (weights * y)))
    s2 = r @ (weights * r) / (len(x) - 2)
    B = np.stack([new, np.ones_like(new)], axis=1)
    variance = s2 * (np.einsum("ij,jk,ik->i", B, C, B) + extra)
    return scipy.stats.t.ppf(0.5 + level / 2, len(x) - 2) * np.sqrt(variance)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_of_a_line(level):
    found = curve_fit(line, X, Y)
    for band, extra in ((found.confidence_band, 0.0), (found.prediction_band, 1.0)):
        lower, upper = band(NEW, level)
        half = by_hand(X, Y, NEW, np.ones(12), level, extra)
        np.testing.assert_allclose((upper - lower) / 2, half, rtol=1e-7)
        np.testing.assert_allclose((upper + lower) / 2, found.predict(NEW), rtol=1e-12)


def test_of_weighted_data():
    sigma = np.linspace(0.1, 0.4, 12)
    found = curve_fit(line, X, Y, sigma=sigma)
    with pytest.raises(OptionError, match="differs from point to point"):
        found.prediction_band(NEW)
    lower, upper = found.prediction_band(NEW, sigma=0.2)
    half = by_hand(X, Y, NEW, sigma**-2, 0.95, 0.04)
    np.testing.assert_allclose((upper - lower) / 2, half, rtol=1e-7)
    for band in (found.prediction_band(), found.prediction_band(X, sigma=sigma)):
        half = by_hand(X, Y, X, sigma**-2, 0.95, sigma**2)
        np.testing.assert_allclose((band[1] - band[0]) / 2, half, rtol=1e-7)
    matrix = curve_fit(line, X, Y, sigma=np.diag(sigma**2)).prediction_band()
    np.testing.assert_allclose(matrix, found.prediction_band(), rtol=1e-9)
    with pytest.raises(ShapeError, match="sigma has the shape"):
        found.prediction_band(NEW, sigma=sigma)
    with pytest.raises(OptionError, match="not negative"):
        found.prediction_band(NEW, sigma=-1.0)


def test_absolute_deviations_are_those_of_new_observations():
    found = curve_fit(line, X, Y, sigma=0.3, absolute_sigma=True)
    lower, upper = found.prediction_band(NEW)
    z, error = scipy.stats.norm.ppf(0.975), found.prediction_errors(NEW)
    np.testing.assert_allclose((upper - lower) / 2, z * np.hypot(0.3, error), rtol=1e-9)


def test_of_several_data_sets():
    """Each with its own noise; the form is that of the data, whatever the model returns."""

    def model(x, p):
        return [line(x, *p), -line(x, *p)]

    sigma = {"up": 0.1, "down": 0.2}
    data = {"up": Y, "down": -Y}

    def named(x, p):
        return dict(zip(data, model(x, p), strict=True))

    for f, y, s in ((named, data, sigma), (model, [Y, -Y], [0.1, 0.2])):
        found = curve_fit(f, X, y, np.ones(2), sigma=s, absolute_sigma=True)
        lower, upper = found.prediction_band(NEW)
        errors = found.prediction_errors(NEW)
        for key, noise in (("up", 0.1), ("down", 0.2)) if y is data else ((0, 0.1), (1, 0.2)):
            half = scipy.stats.norm.ppf(0.975) * np.hypot(noise, errors[key])
            np.testing.assert_allclose((upper[key] - lower[key]) / 2, half, rtol=1e-9)
        for side, other in zip(found.prediction_band(NEW, sigma=s), (lower, upper), strict=True):
            np.testing.assert_allclose(linad.ravel(side)[0], linad.ravel(other)[0], rtol=1e-12)


@pytest.mark.rest
def test_as_many_observations_lie_in_a_band_as_it_says():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(100):
        y = 1.0 + 2.0 * X + 0.1 * rng.standard_normal(12)
        lower, upper = curve_fit(line, X, y).prediction_band(NEW, 0.8)
        seen = 1.0 + 2.0 * NEW + 0.1 * rng.standard_normal((50, 3))
        inside.append(np.mean((seen > lower) & (seen < upper)))
    assert abs(np.mean(inside) - 0.8) < 0.06


def test_of_complex_data():
    phase = np.exp(1j * X) * (1 + 0.01 * np.cos(9 * X))
    found = curve_fit(lambda x, a: np.exp(1j * a * x), X, phase, [0.9])
    lower, upper = found.prediction_band()
    noise = np.sqrt(found.reduced_chi_square)
    t = scipy.stats.t.ppf(0.975, found.degrees_of_freedom)
    half = t * np.hypot(noise, found.prediction_errors().imag)
    np.testing.assert_allclose((upper - lower).imag / 2, half, rtol=1e-9)


def test_outliers_have_no_band():
    found = curve_fit(line, X, Y, loss="soft_l1", f_scale=0.1)
    assert np.isfinite(found.confidence_band(NEW)[0]).all()
    with pytest.raises(ArgumentError, match="robust loss"):
        found.prediction_band(NEW)


@pytest.mark.filterwarnings("error")
def test_a_model_that_is_constant_there():
    """Below b nothing moves, by 0 times an infinite slope; at b itself that slope is told."""
    t = np.linspace(0.0, 10.0, 40)

    def risen(t, a, b):
        return a * np.sqrt(np.maximum(t - b, 0.0))

    y = risen(t, 2.0, 3.3) + 0.05 * np.random.default_rng(1).standard_normal(40)
    fit = curve_fit(risen, t, y, [1.0, 2.0])
    low = t < fit.x[1]
    errors = fit.prediction_errors()
    assert low.sum() == 13
    assert not errors[low].any()
    a, b = fit.x
    root = np.sqrt(t[~low] - b)
    J = np.stack([root, -a / (2 * root)], axis=1)
    np.testing.assert_allclose(errors[~low] ** 2, np.einsum("ij,jk,ik->i", J, fit.covariance, J))
    with pytest.warns(RuntimeWarning) as told:
        at_the_kink = fit.prediction_errors(np.array([b, 1.0]))
    assert any("in the derivative of sqrt" in str(w.message) for w in told)
    np.testing.assert_equal(at_the_kink, [np.inf, 0.0])
