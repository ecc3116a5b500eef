"""Distributions whose formulas are linad's own, where SciPy's do not trace."""

import warnings

import numpy as np
import pytest
import scipy.stats
from distribution_shapes import CONTINUOUS, FURTHER

import linad
import linad.scipy.stats as ls
from linad.errors import LinadError, UnsupportedError
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


@pytest.mark.rest
@pytest.mark.parametrize("name", CONTINUOUS | FURTHER)
def test_far_out_and_at_poles_logarithms_are_scipys(name):
    """Where the probability underflows, where F cancels, and at the ends of the support."""
    shapes = (CONTINUOUS | FURTHER)[name]
    mine, theirs = getattr(ls, name), getattr(scipy.stats, name)
    ends = np.array(theirs.support(*shapes))
    middle = theirs.median(*shapes)
    spread = theirs.ppf(0.8, *shapes) - theirs.ppf(0.3, *shapes)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of SciPy, where it finds no quantile
        x = np.array([f(q, *shapes) for f in (theirs.ppf, theirs.isf) for q in (1e-300, 1e-30)])
        x = np.append(x, middle + spread * np.array([-40, -15, -4, 4, 15, 40]))
        x = x[(np.abs(x) < 1e100) & (x > ends[0]) & (x < ends[1])]
        for method in ("logcdf", "logsf"):
            expected = getattr(theirs, method)(x, *shapes)
            try:
                found, J = linad.linearize(lambda x, m=method: getattr(mine, m)(x, *shapes), x)
            except LinadError:  # one that has no traced form
                continue
            small = np.isfinite(expected) & (expected < -1)
            np.testing.assert_allclose(found[small], expected[small], rtol=1e-4)
            turn = (abs(x) < 3.14) | (name != "vonmises")  # SciPy's goes on beyond probability 1
            assert np.all(found[turn] <= 0)
            assert np.all(np.isfinite(J.pushforward(np.ones(x.size))[turn]))
        ends = ends[np.isfinite(ends)]
        found = linad.linearize(lambda x: mine.logpdf(x, *shapes), ends)[0]
        poles = theirs.logpdf(ends, *shapes) == np.inf
        np.testing.assert_array_equal(found[poles], np.inf)


def test_students_t_of_many_degrees_of_freedom_is_normal():
    x = np.array([0.0, 0.3, 2.0, 30.0])
    normal = scipy.stats.norm.logpdf(x)
    for df in (1e8, 1e12, 1e20, 1e100, np.inf):
        y, J = linad.linearize(lambda x, df: ls.t.logpdf(x, df), x, df)
        np.testing.assert_allclose(y, scipy.stats.t.logpdf(x, df), rtol=1e-14)
        np.testing.assert_allclose(J.pushforward((np.ones(4), 0.0)), -x, rtol=1e-4)
        if np.isfinite(df):  # by 1 / df: (x^4 - 2 x^2 - 1) / 4
            slope = -(x**4 - 2 * x**2 - 1) / 4 / df
            found = df * J.pushforward((np.zeros(4), 1.0))
            np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-12)
    assert np.all(abs(y - normal) < 1e-12)
    check_derivatives(lambda df: ls.t.logpdf(x, df), np.array(900.0))
    check_derivatives(lambda df: ls.t.logpdf(x, df), np.array(1100.0))


def test_the_short_side_of_the_skew_normal_distribution():
    """log F next to where the integral takes over, and far beyond; its slope is f / F."""
    x = np.array([-0.74, -0.76, -1.9, -4.6, -8.0, -30.0])
    y, J = linad.linearize(lambda x: ls.skewnorm.logcdf(x, 4.0), x)
    ratio = np.exp(ls.skewnorm.logpdf(x, 4.0) - y)
    np.testing.assert_allclose(J.pushforward(np.ones(6)), ratio, rtol=1e-9)
    np.testing.assert_allclose(y[:4], scipy.stats.skewnorm.logcdf(x[:4], 4.0), rtol=1e-7)
    found = linad.linearize(lambda x: ls.skewnorm.logsf(-x, -4.0), x)[0]
    np.testing.assert_allclose(found, y, rtol=1e-15)
    check_derivatives(lambda x, a: ls.skewnorm.logcdf(x, a), x[:4], np.array(4.0))


def test_moments_have_the_shape_of_all_parameters():
    loc, scale = np.zeros(2), np.ones((3, 1))
    for name in ("mean", "var", "std", "entropy"):
        y = linad.linearize(lambda s, n=name: getattr(ls.norm, n)(loc, s), scale)[0]
        np.testing.assert_allclose(y, getattr(scipy.stats.norm, name)(loc, scale))


@pytest.mark.parametrize(
    "name, shapes, slope",
    [
        ("burr", (2.0, 0.5), 0.0),
        ("burr", (1.0, 1.0), -2.0),
        ("fisk", (1.0,), -2.0),
        ("gengamma", (0.5, 2.0), 0.0),
        ("gengamma", (1.0, 1.0), -1.0),
    ],
)
def test_a_density_that_is_finite_at_the_end_of_its_support(name, shapes, slope):
    """Its logarithm there, and the slope of that from within; a pole for smaller shapes."""
    mine, theirs = getattr(ls, name), getattr(scipy.stats, name)
    z = np.array([0.0, 0.3, 2.0, 1e100])
    y, J = linad.linearize(lambda z: mine.logpdf(z, *shapes), z)
    np.testing.assert_allclose(y, theirs.logpdf(z, *shapes), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(J.pushforward(np.ones(4))[0], slope, atol=1e-15)
    pole = tuple(0.5 * s for s in shapes)
    assert linad.linearize(lambda z: mine.logpdf(z, *pole), 0.0)[0] == np.inf
    check_derivatives(lambda *s: mine.logpdf(z[1:3], *s), *map(np.array, shapes))


@pytest.mark.parametrize(
    "name, x, shapes, slope, steep",
    [
        ("genextreme", 1.0, (1.0,), 1.0, [np.inf]),
        ("genpareto", 1.0, (-1.0,), 0.0, [-np.inf]),
        ("kappa4", 1.0, (0.0, 1.0), 1.0, [0.0, np.inf]),
        ("kappa4", 1.0, (1.0, 1.0), 0.0, [0.0, np.inf]),
        ("kappa4", 1.0, (-1.0, 1.0), 2.0, [0.0, np.inf]),
        ("mielke", 0.0, (1.0, 2.0), 0.0, [-np.inf, 0.0]),
        ("mielke", 0.0, (1.0, 1.0), -2.0, [-np.inf, 0.0]),
    ],
)
def test_slopes_at_ends_of_finite_density(name, x, shapes, slope, steep):
    """From within; in a shape that parts it from a pole, or from zero, they are infinite."""
    mine = getattr(ls, name)
    with np.errstate(all="ignore"):
        y, J = linad.linearize(mine.logpdf, x, *shapes)
        assert y == 0
        np.testing.assert_array_equal(J.T @ np.ones(1), [slope, *steep])
        assert linad.grad(lambda x: mine.pdf(x, *shapes))(x) == slope
        if name != "mielke":  # SciPy's own logarithm is NaN there
            assert getattr(scipy.stats, name).logpdf(x, *shapes) == y


@pytest.mark.parametrize("function", ["cdf", "sf", "logcdf", "logsf", "ppf"])
def test_the_integral_of_von_mises_moves_with_its_end(function):
    f = getattr(ls.vonmises, function)
    x = np.array([0.3, 0.8])
    check_derivatives(lambda x: f(x, 1.3), x)
    np.testing.assert_allclose(
        linad.linearize(lambda x: f(x, 1.3), x)[0], getattr(scipy.stats.vonmises, function)(x, 1.3)
    )
    with pytest.raises(UnsupportedError, match="vonmises.*kappa"):
        linad.grad(lambda kappa: f(0.3, kappa))(1.0)
