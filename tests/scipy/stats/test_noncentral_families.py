"""Noncentral chi-squared, F and t: their functions in all they have, and without a shift."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as ls
from linad.testing.derivative_checks import check_derivatives

X, Q = np.array([0.4, 0.9, 3.0]), np.array([0.1, 0.45, 0.8])
POINTS = {"ncx2": (3.2, 1.2), "ncf": (3.2, 7.0, 1.2), "nct": (5.5, -0.7)}
FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(name, function):
    point = [np.array(s) for s in (*POINTS[name], 0.1, 1.5)]
    f, theirs = getattr(getattr(ls, name), function), getattr(scipy.stats, name)
    given = Q if function in ("ppf", "isf") else X
    y, _ = linad.linearize(f, given, *point)
    np.testing.assert_allclose(y, getattr(theirs, function)(given, *point), rtol=1e-10)
    check_derivatives(f, given, *point)


@pytest.mark.parametrize("name", POINTS)
def test_moments(name):
    point = [np.array(s) for s in (*POINTS[name], 0.1, 1.5)]
    for function in ("mean", "var", "std", "median"):
        f = getattr(getattr(ls, name), function)
        y, _ = linad.linearize(f, *point)
        np.testing.assert_allclose(y, getattr(getattr(scipy.stats, name), function)(*point))
        check_derivatives(f, *point)


def test_moments_that_do_not_exist_are_nan():
    for f, low in ((lambda n: ls.nct.mean(n, 0.3), 0.8), (lambda n: ls.ncf.var(3.0, n, 0.3), 3.5)):
        y, J = linad.linearize(f, np.array(low))
        assert np.isnan(y)
        assert J @ np.ones(1) == 0


def test_chi_squared_moves_with_a_shift_of_zero():
    """∂f_v/∂nc = (f_(v+2) - f_v) / 2, whatever SciPy evaluates at nc = 0."""
    chi = scipy.stats.chi2
    slopes = {
        "pdf": 0.5 * (chi.pdf(X, 5.0) - chi.pdf(X, 3.0)),
        "cdf": 0.5 * (chi.cdf(X, 5.0) - chi.cdf(X, 3.0)),
        "sf": 0.5 * (chi.sf(X, 5.0) - chi.sf(X, 3.0)),
        "logpdf": 0.5 * (X / 3.0 - 1),
    }
    for name, expected in slopes.items():
        f = getattr(ls.ncx2, name)
        found = linad.derivative(lambda nc, f=f: f(X, 3.0, nc))(0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)
        hessian = linad.hessian(lambda p, f=f: np.sum(f(X, p[0], p[1])))
        near, at = hessian(np.array([3.0, 1e-5])), hessian(np.array([3.0, 0.0]))
        np.testing.assert_allclose(near, at, rtol=1e-3, atol=1e-6)


def test_tails():
    """Where nothing but logarithms is left of a density."""
    y, J = linad.linearize(lambda x: ls.ncx2.logpdf(x, 3.0, 2.0), np.array(4000.0))
    np.testing.assert_allclose(y, scipy.stats.ncx2.logpdf(4000.0, 3.0, 2.0))
    assert np.isfinite(J @ np.ones(1))


def test_power_of_a_t_test():
    """d power / d size of the effect, by the density of t at the shifted point."""

    def power(effect, n):
        critical = ls.t.isf(0.025, n - 1)
        return ls.nct.sf(critical, n - 1, effect * np.sqrt(n))

    check_derivatives(power, np.array(0.4), np.array(30.0))
