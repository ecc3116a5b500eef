"""Derivatives in shapes, at values for which SciPy has another formula than next to them."""

import numpy as np
import pytest
import scipy.stats
from distribution_shapes import CONTINUOUS, FURTHER
from released import newer_scipy

import linad
import linad.scipy.stats as ls
from linad.errors import LinadError

STEPS = 0.02 * np.array([-3, -2, -1, 1, 2, 3])
CENTRAL = np.array([-1, 9, -45, 45, -9, 1]) / (60 * 0.02)


def check_shape(name, method, shapes, i, *args):
    """The value and the slope in shape i, which SciPy's values about it, not at it, tell."""

    def of(distribution, shape):
        given = [shape if k == i else np.asarray(s, float) for k, s in enumerate(shapes)]
        return getattr(distribution, method)(*args, *given)

    ours, theirs = getattr(ls, name), getattr(scipy.stats, name)
    y, J = linad.linearize(lambda shape: of(ours, shape), np.array(float(shapes[i])))
    np.testing.assert_allclose(y, of(theirs, np.array(float(shapes[i]))), rtol=1e-10, atol=1e-14)
    around = np.array([of(theirs, np.array(shapes[i] + h)) for h in STEPS])
    slope = J.pushforward(np.ones(()))
    np.testing.assert_allclose(slope, np.tensordot(CENTRAL, around, 1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("b", [1.0, 2.0, 3.0, 4.0, pytest.param(-1.5, marks=newer_scipy)])
def test_truncated_pareto(b):
    for method in ("mean", "var", "std"):
        check_shape("truncpareto", method, (b, 5.3), 0)
        check_shape("truncpareto", method, (b, 5.3), 1)
    for n in (1, 2, 3, 4):
        check_shape("truncpareto", "moment", (b, 5.3), 0, n)


def test_the_middle_of_the_wrapped_cauchy():
    """x(q) and F(x) are odd about their middle, with second derivatives 0 there."""
    d = ls.wrapcauchy
    for f, middle in ((d.ppf, 0.5), (d.isf, 0.5), (d.cdf, np.pi)):
        second = linad.derivative(linad.derivative(lambda x, f=f: f(x, 0.4)))(middle)
        assert abs(second) < 1e-12
    for name in ("cdf", "ppf"):
        for x in (0.0, 1e-3, 0.3, 0.5, 0.7, 1.0):
            at = x * (2 * np.pi if name == "cdf" else 1.0)
            check_shape("wrapcauchy", name, (0.4,), 0, at)


def test_moments_of_extremes_and_trapezoids():
    for n in (1, 2, 3):
        for name, shapes in (("genextreme", (0.0,)), ("trapezoid", (0.2, 0.7))):
            check_shape(name, "moment", shapes, 0, n)
    for n, slope in ((1, 1.0), (2, 6.0), (3, 36.0)):
        found = linad.derivative(lambda c, n=n: ls.genpareto.moment(n, c))(0.0)
        assert found == pytest.approx(slope, rel=1e-14)
    # E x^n = 2 (1 + d + ... + d^(n+1) - c^(n+1)) / ((1 + d - c) (n + 1) (n + 2))
    for n in (1, 2, 3):
        slope = linad.derivative(lambda d, n=n: ls.trapezoid.moment(n, 0.0, d))
        assert slope(0.0) == pytest.approx(0.0, abs=1e-15)
        y, _ = linad.linearize(lambda d, n=n: ls.trapezoid.moment(n, 0.2, d), np.array(1.0))
        assert float(y) == pytest.approx(scipy.stats.trapezoid.moment(n, 0.2, 1.0), rel=1e-14)


def test_skewness_and_kurtosis_of_the_general_extreme():
    def stats(c):
        return np.stack(ls.genextreme.stats(c, moments="mvsk"))

    for c in (-0.24, -0.06, -0.04, 0.0, 0.04, 0.3, 2.0):
        y, J = linad.linearize(stats, np.array(c))
        np.testing.assert_allclose(y, scipy.stats.genextreme.stats(c, moments="mvsk"), rtol=1e-8)
        h = 1e-4
        around = (stats(np.array(c + h)) - stats(np.array(c - h))) / (2 * h)
        if abs(c) > 0.1:
            np.testing.assert_allclose(J.pushforward(np.ones(())), around, rtol=1e-3)
    for c in (-0.3, -0.4, -0.7, -1.5):
        y, J = linad.linearize(stats, np.array(c))
        np.testing.assert_allclose(y, scipy.stats.genextreme.stats(c, moments="mvsk"), rtol=1e-12)
        assert np.all(np.isfinite(J.pushforward(np.ones(()))[np.isfinite(y)]))


@pytest.mark.parametrize("name", ["vonmises", "vonmises_line"])
def test_von_mises_of_no_concentration(name):
    d, x = getattr(ls, name), np.array([-2.0, 0.3, 1.1])
    for f, slope, curvature in (
        (lambda k: d.logpdf(x, k), np.cos(x), -0.5),
        (lambda k: 2 * np.pi * d.pdf(x, k), np.cos(x), np.cos(x) ** 2 - 0.5),
        (d.entropy, 0.0, -0.5),
    ):
        np.testing.assert_allclose(linad.derivative(f)(0.0), slope, atol=1e-15)
        second = linad.derivative(linad.derivative(f))(0.0)
        np.testing.assert_allclose(second, curvature, rtol=1e-14)
    for kappa in (0.0, 0.4, 2.0, 900.0):
        for method, args in (("logpdf", (x,)), ("pdf", (x,)), ("entropy", ())):
            y, _ = linad.linearize(
                lambda k, m=method, a=args: getattr(d, m)(*a, k), np.array(kappa)
            )
            theirs = getattr(getattr(scipy.stats, name), method)(*args, kappa)
            np.testing.assert_allclose(y, theirs, rtol=1e-11)


def test_medians_at_a_kink_a_zero_or_a_pole():
    for name in ("gennorm", "dgamma", "dweibull"):
        for shape in (0.5, 1.0, 2.0):
            y, J = linad.linearize(getattr(ls, name).median, shape, 0.3, 2.0)
            assert float(y) == getattr(scipy.stats, name).median(shape, 0.3, 2.0)
            assert J.pushforward((np.ones(()), np.ones(()), np.ones(()))) == 1.0


def test_noncentral_ratio_without_its_shift():
    x = np.array([0.7, 1.3])
    y, _ = linad.linearize(lambda nc: ls.ncf.sf(x, 5.0, 7.0, nc), np.array(0.0))
    np.testing.assert_allclose(y, scipy.stats.f.sf(x, 5.0, 7.0), rtol=1e-13)
    for f in (ls.ncf.logsf, ls.ncf.logcdf, ls.ncf.sf):
        at, near = [linad.derivative(lambda nc, f=f: f(x, 5.0, 7.0, nc))(c) for c in (0.0, 1e-6)]
        np.testing.assert_allclose(at, near, rtol=1e-5)


def test_certain_success_of_negative_binomial():
    """Σ over k = 0, 1, 2 of binom(k + n - 1, k) p^n (1 - p)^k at p = 1."""
    n, k = 2.5, np.arange(4.0)

    def pmf(p):
        return ls.nbinom.pmf(k, n, p)

    np.testing.assert_allclose(pmf(1.0), [1, 0, 0, 0])
    np.testing.assert_allclose(linad.derivative(pmf)(1.0), [n, -n, 0, 0], rtol=1e-14)
    second = [n * (n - 1), -2 * n * n, n * (n + 1), 0]
    np.testing.assert_allclose(linad.derivative(linad.derivative(pmf))(1.0), second, rtol=1e-13)
    assert linad.derivative(lambda p: ls.nbinom.pmf(2e5, 2.5e5, p))(1.0) == 0


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CONTINUOUS | FURTHER))
def test_all_shapes_at_small_whole_numbers(name):
    """Where SciPy's values next to a shape are smooth, the derivative at it is theirs."""
    shapes, theirs = (CONTINUOUS | FURTHER)[name], getattr(scipy.stats, name)
    for i in range(len(shapes)):
        for at in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
            given = (*shapes[:i], at, *shapes[i + 1 :])
            if not np.all(theirs._argcheck(*given)):
                continue
            x = np.array([0.3, 0.62])
            for method in ("logpdf", "cdf", "sf", "mean", "var", "median"):
                args = (x,) if method in ("logpdf", "cdf", "sf") else ()
                _check_where_smooth(name, method, given, i, *args)


def _check_where_smooth(name, method, shapes, i, *args):
    def of(distribution, shape):
        return getattr(distribution, method)(*args, *shapes[:i], shape, *shapes[i + 1 :])

    theirs, step = getattr(scipy.stats, name), 0.1
    with np.errstate(all="ignore"):
        fine = np.array([of(theirs, shapes[i] + step * h) for h in STEPS])
        coarse = np.array([of(theirs, shapes[i] + 2 * step * h) for h in STEPS])
    slope = np.tensordot(CENTRAL, fine, 1) / step
    smooth = np.abs(slope - np.tensordot(CENTRAL, coarse, 1) / (2 * step)) < 1e-6
    try:
        y, J = linad.linearize(lambda s: of(getattr(ls, name), s), np.array(shapes[i]))
    except LinadError:
        return
    found = np.where(smooth & np.isfinite(y), J.pushforward(np.ones(())), 0.0)
    expected = np.where(smooth & np.isfinite(y), slope, 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5, err_msg=f"{method} {shapes}")


@pytest.mark.full  # of quantiles, each traced
def test_a_moment_by_an_integral_whose_halves_cancel():
    """E sinh³(z / 2 - a / 2) of a normal z is 0 at a = 0; ∂_a is 3/8 (e^(1/8) - e^(9/8))."""
    slope = linad.grad(lambda a: ls.johnsonsu.moment(3, a, 2.0))(0.0)
    assert slope == pytest.approx(3 / 8 * (np.exp(1 / 8) - np.exp(9 / 8)), rel=1e-9)
