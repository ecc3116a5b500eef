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


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5, 2.0, 5.0])
def test_the_middle_of_the_generalized_normal_distribution(beta):
    """F' is the density at 0, too, where the slopes of its factors are 0 and infinite."""
    theirs, z = scipy.stats.gennorm, np.array([0.0, -0.0, 1e-200, -1e-3, 0.3, -2.0])
    density = theirs.pdf(z, beta)
    for name, slope in (
        ("cdf", density),
        ("sf", -density),
        ("logcdf", density / theirs.cdf(z, beta)),
        ("logsf", -density / theirs.sf(z, beta)),
    ):
        y, J = linad.linearize(lambda z, name=name: getattr(ls.gennorm, name)(z, beta), z)
        np.testing.assert_allclose(y, getattr(theirs, name)(z, beta), rtol=1e-13)
        np.testing.assert_allclose(J.pushforward(np.ones(6)), slope, rtol=1e-10)
    if beta >= 1:  # else the density has a cusp there, and the quantile's slope is NaN
        slope = linad.derivative(lambda q: ls.gennorm.ppf(q, beta))(0.5)
        np.testing.assert_allclose(slope, 1 / theirs.pdf(0, beta), rtol=1e-12)
    check_derivatives(lambda b: ls.gennorm.cdf(np.array([-1.0, 0.0, 0.5]), b), np.array(beta))


SHAPES = [-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, np.inf, np.nan]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's own, of infinite shapes
@pytest.mark.parametrize("name", ["exponnorm", "foldnorm", "foldcauchy", "rel_breitwigner"])
def test_quantiles_of_no_distribution(name):
    """NaN, as SciPy says, where a search for a point of the support has no success."""
    q = np.array([0.3, 0.6])
    for method in ("ppf", "isf", "cdf", "pdf"):
        # For quantiles of infinite shapes SciPy's own search has no end.
        for shape in [s for s in SHAPES if method in ("cdf", "pdf") or not np.isinf(s)]:
            expected = getattr(getattr(scipy.stats, name), method)(q, shape)
            y, _ = linad.linearize(lambda s, m=method: getattr(getattr(ls, name), m)(q, s), shape)
            np.testing.assert_allclose(y, expected, rtol=1e-10, err_msg=f"{method} {shape}")


def test_moments_that_do_not_exist():
    for name in ("mean", "var", "std"):
        for shape in SHAPES[:-2]:
            y, _ = linad.linearize(getattr(ls.genpareto, name), shape)
            np.testing.assert_allclose(y, getattr(scipy.stats.genpareto, name)(shape), rtol=1e-13)
            y, _ = linad.linearize(getattr(ls.jf_skew_t, name), shape, 3.0)
            expected = getattr(scipy.stats.jf_skew_t, name)(shape, 3.0)
            np.testing.assert_allclose(y, expected, rtol=1e-12)
        check_derivatives(getattr(ls.jf_skew_t, name), np.array([2.0, 3.5]), np.array([1.5, 2.5]))
