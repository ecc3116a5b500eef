"""Distributions whose formulas are linad's own, where SciPy's do not trace."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as ls
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X, P, B = np.array([0.2, 0.9, 3.0]), np.array(-0.7), np.array(1.3)


def test_generalized_inverse_gauss():
    mine, theirs = ls.geninvgauss, scipy.stats.geninvgauss
    loc, scale = np.array(0.1), np.array(1.5)
    for name in ("pdf", "logpdf"):
        f = getattr(mine, name)
        y, _ = linad.linearize(lambda x, f=f: f(x, P, B, loc, scale), X)
        np.testing.assert_allclose(y, getattr(theirs, name)(X, P, B, loc, scale), rtol=1e-13)
        check_derivatives(f, X, P, B, loc, scale)
    for name in ("mean", "var", "std"):
        f = getattr(mine, name)
        y, _ = linad.linearize(f, P, B)
        np.testing.assert_allclose(y, getattr(theirs, name)(P, B), rtol=1e-12)
        check_derivatives(f, P, B)
    for f in (mine.cdf, mine.sf, mine.ppf):
        with pytest.raises(UnsupportedError, match="geninvgauss.*quad"):
            linad.linearize(lambda x, f=f: f(x, P, B), X / 4)


def test_shapes_of_zero_of_rice_and_von_mises():
    """Rayleigh's distribution, and the uniform one on a circle; by I_0(x) = 1 + x² / 4 + ..."""
    for f, slope, curvature in (
        (lambda b: ls.rice.logpdf(X, b), 0 * X, X**2 / 2 - 1),
        (lambda k: ls.vonmises.logpdf(X, k), np.cos(X), -0.5),
        (lambda k: ls.vonmises.entropy(k), 0.0, -0.5),
    ):
        np.testing.assert_allclose(linad.derivative(f)(0.0), slope, atol=1e-15)
        found = linad.derivative(linad.derivative(f))(0.0)
        if f(0.0).shape:  # of an entropy i0e(kappa) has a kink, whose second derivative is NaN
            np.testing.assert_allclose(found, curvature, rtol=1e-14)
    for f, theirs, x in (
        (ls.rice.logpdf, scipy.stats.rice.logpdf, X),
        (ls.vonmises.logpdf, scipy.stats.vonmises.logpdf, X),
        (ls.rice.pdf, scipy.stats.rice.pdf, 1 + X),
    ):
        for shape in (0.3, 2.0, 7.0):
            y, _ = linad.linearize(f, x, np.array(shape))
            np.testing.assert_allclose(y, theirs(x, shape), rtol=1e-11)
            check_derivatives(f, x, np.array(shape))
