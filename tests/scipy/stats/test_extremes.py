"""Distributions of extremes: their derivatives in shapes, at 0 as well."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import linad
import linad.scipy.stats as ls
from linad.testing.derivative_checks import check_derivatives

Z = np.array([0.2, 0.9])
NAMES = {"genpareto": (0.3,), "kappa4": (0.3, -0.2), "genextreme": (-0.2,)}
FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_and_values_are_smooth_through_zero(function):
    for name, shapes in NAMES.items():
        for near in (tuple(1e-3 * s for s in shapes), (0.0,) * len(shapes)):
            if name == "kappa4" and function in ("ppf", "isf") and near[1] == 0.0:
                continue  # differences leave what SciPy has a quantile for
            f, theirs = getattr(getattr(ls, name), function), getattr(scipy.stats, name)
            point = (Z, *map(np.array, near), np.array(0.1), np.array(1.3))
            if function in ("ppf", "isf"):
                point = (np.array([0.2, 0.7]), *point[1:])
            y, _ = linad.linearize(f, *point)
            np.testing.assert_allclose(y, getattr(theirs, function)(*point), rtol=1e-9)
            check_derivatives(f, *point)


def test_slopes_in_shapes_of_zero():
    slope = linad.derivative(lambda c: ls.genpareto.logpdf(Z, c))(0.0)
    np.testing.assert_allclose(slope, Z * Z / 2 - Z, rtol=1e-12)
    t = np.exp(-Z)
    slope = linad.derivative(lambda h: ls.kappa4.logcdf(Z, h, 0.0))(0.0)
    np.testing.assert_allclose(slope, -t * t / 2, rtol=1e-12)
    slope = linad.derivative(lambda k: ls.kappa4.logcdf(Z, 0.0, k))(0.0)
    np.testing.assert_allclose(slope, t * Z * Z / 2, rtol=1e-12)


def test_moments_of_the_general_extreme_near_zero():
    def at(c):
        moments = [getattr(ls.genextreme, name) for name in ("mean", "var")]
        return [
            (f(c), linad.derivative(f)(c), linad.derivative(linad.derivative(f))(c))
            for f in moments
        ]

    # By the definition in 40 digits.
    (mean, d_mean, _), (var, d_var, dd_var) = at(0.0)
    assert mean == pytest.approx(np.euler_gamma, rel=1e-14)
    assert d_mean == pytest.approx(-(np.euler_gamma**2 + np.pi**2 / 6) / 2, rel=1e-14)
    assert var == pytest.approx(np.pi**2 / 6, rel=1e-14)
    assert d_var == pytest.approx(
        -np.euler_gamma * np.pi**2 / 3 - 2 * scipy.special.zeta(3), rel=1e-14
    )
    assert dd_var == pytest.approx(23.436678354, rel=1e-9)
    assert at(0.05)[1][1] == pytest.approx(-3.304745368773671, rel=1e-12)
    for below, above in zip(at(0.1 - 1e-9), at(0.1 + 1e-9), strict=True):
        np.testing.assert_allclose(below, above, rtol=1e-7)
    for c in (-1.2, -0.7):
        for name in ("mean", "var"):
            f = getattr(ls.genextreme, name)
            y = linad.linearize(f, np.array(c))[0]
            np.testing.assert_allclose(y, getattr(scipy.stats.genextreme, name)(c))
