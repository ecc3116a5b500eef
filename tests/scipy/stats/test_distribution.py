"""linad.scipy.stats: values as SciPy's, derivatives right, finite where the function is smooth."""

import warnings

import numpy as np
import pytest
import scipy.stats
from distribution_shapes import CONTINUOUS, FURTHER

import linad
import linad.scipy.stats as ls
from linad.errors import LinadError, ShapeError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
SUPPORT = {"uniform": 1, "beta": 1}
KINKED = {"laplace"}  # in the middle: the slope there is that of |z|, and has no derivative
DISCRETE = {
    "poisson": (2.3,),
    "binom": (5, 0.3),
    "bernoulli": (0.4,),
    "geom": (0.35,),
    "nbinom": (2.6, 0.4),
}
DENSITIES, CUMULATIVE = ("pdf", "logpdf"), ("cdf", "logcdf", "sf", "logsf")


def traced_value(f, *args):
    return linad.linearize(f, *args)[0]


def quiet(f, *args):
    """SciPy's own warnings of 0 / 0 and of logarithms of 0 aside."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*args)


def compare(y, expected, x, function):
    """y is what SciPy says, where SciPy says something: NaN at infinity is none, and neither is
    the logarithm of a probability that has underflowed."""
    silent = (np.isnan(expected) & np.isinf(x)) | ((expected == -np.inf) & np.isfinite(y))
    if not function.startswith("log"):
        silent &= np.isinf(x)
    atol = 3e-16 if function.startswith("log") else 1e-300
    np.testing.assert_allclose(y[~silent], expected[~silent], rtol=2e-11, atol=atol)
    assert not np.any(np.isnan(y[silent]))
    assert np.all(y[silent & np.isfinite(x)] < -700)


def points(name):
    """Inside, outside, at the ends, far out."""
    inside = np.linspace(0.05, 0.95, 7) * SUPPORT.get(name, 4)
    return np.concatenate([inside, [-1.0, 0.0, 1.0, 30.0, -30.0, 1e3, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize("function", DENSITIES + CUMULATIVE)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_values(name, function):
    theirs, mine = (
        getattr(getattr(scipy.stats, name), function),
        getattr(getattr(ls, name), function),
    )
    shapes, x = CONTINUOUS[name], points(name)
    for loc, scale in ((0.0, 1.0), (0.3, 1.6)):
        expected = quiet(theirs, x, *shapes, loc, scale)
        np.testing.assert_array_equal(quiet(mine, x, *shapes, loc, scale), expected)
        y = quiet(traced_value, lambda x, s=(loc, scale): mine(x, *shapes, *s), x)
        compare(y, expected, x, function)
        frozen = getattr(ls, name)(*shapes, loc=loc, scale=scale)
        y = quiet(traced_value, getattr(frozen, function), x)
        compare(y, expected, x, function)


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.sweep(part=0.1))])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_derivatives(name, order):
    shapes = [np.array(s) for s in CONTINUOUS[name]]
    x = np.array([0.2, 0.45, 0.8]) * SUPPORT.get(name, 3) + 0.1
    loc, scale = np.array(0.05), np.array([[1.3], [0.9 + 0.3 * SUPPORT.get(name, 0)]])
    d = getattr(ls, name)
    for function in DENSITIES + CUMULATIVE:
        check_derivatives(getattr(d, function), x, *shapes, loc, scale, order=order)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_no_nan_outside_or_at_the_ends(name):
    """Also not to second order, and not for the other entries of the array."""
    shapes = [np.array(s + 1.0) for s in CONTINUOUS[name]]  # smooth at the ends
    x = points(name)[:-1]
    d = getattr(ls, name)
    for function in DENSITIES + CUMULATIVE:

        def f(x, loc, scale, *a, function=function):
            y = getattr(d, function)(x, *a, loc, scale)
            return np.sum(np.where(np.isfinite(y), y, 0.0))

        point = (x, np.array(0.0), np.array(1.0), *shapes)
        everything = tuple(range(len(point)))

        def gradient(*p, f=f, everything=everything):
            return linad.grad(f, argnums=everything)(*p)

        with np.errstate(all="ignore"):
            values = linad.core.tree.flatten(gradient(*point))[0]
            ones = tuple(np.ones_like(p) for p in point)
            if name not in KINKED:
                values += linad.core.tree.flatten(linad.jvp(gradient, point, ones)[1])[0]
        assert not any(np.isnan(v).any() for v in values), (name, function)


def test_outside_of_the_support():
    for d, x in ((ls.expon, -1.0), (ls.uniform, 1.5), (ls.beta(2.0, 3.0), -0.1)):
        for function, value in (("pdf", 0.0), ("logpdf", -np.inf)):
            y, J = linad.linearize(getattr(d, function), np.array(x))
            assert (y, J @ [1.0]) == (value, 0.0)


def test_parameters_of_no_distribution():
    f = lambda s: ls.norm.logpdf(np.ones(3), 0.0, s)  # noqa: E731
    y, J = linad.linearize(f, np.array([1.0, -1.0, 0.0]))
    np.testing.assert_array_equal(np.isnan(y), [False, True, True])
    np.testing.assert_array_equal(J @ np.ones(3), [0.0, 0.0, 0.0])


def test_tails():
    """log Φ(x) ~ -x²/2 - log(-x) - ..., slope ~ -x: where Φ is 0 in double precision."""
    x = np.array([-40.0, -1e3, -1e5])
    y, J = linad.linearize(ls.norm.logcdf, x)
    np.testing.assert_allclose(y, scipy.stats.norm.logcdf(x))
    np.testing.assert_allclose(J @ np.ones(3), -x - 1 / x, rtol=1e-5)
    y, J = linad.linearize(ls.norm(1.0, 2.0).logsf, 1 - 2 * x)
    np.testing.assert_allclose(J @ np.ones(3), x / 2 + 0.5 / x, rtol=1e-5)
    slope = linad.grad(lambda x: ls.expon.logsf(x, scale=2.0))(1e5)
    assert slope == -0.5
    assert linad.grad(lambda x: ls.t.logpdf(x, 3.0))(1e200) == pytest.approx(-4e-200)


BY_CASES = ("vonmises",)  # SciPy computes F by cases, which do not trace
QUICK = ["genpareto", "truncnorm"]
HERE = [n if n in QUICK else pytest.param(n, marks=pytest.mark.full) for n in FURTHER]


@pytest.mark.parametrize("name", HERE)
@pytest.mark.filterwarnings("ignore:The shape parameter of the erlang:RuntimeWarning")
def test_further_distributions(name):
    shapes, mine, theirs = FURTHER[name], getattr(ls, name), getattr(scipy.stats, name)
    q, loc, scale = np.array([0.21, 0.66]), np.array(0.2), np.array(1.5)
    x = theirs.ppf(q, *shapes, loc, scale)
    for function in (*DENSITIES, *CUMULATIVE, "ppf", "isf"):
        f, given = getattr(mine, function), q if function in ("ppf", "isf") else x
        expected = getattr(theirs, function)(given, *shapes, loc, scale)
        np.testing.assert_array_equal(f(given, *shapes, loc, scale), expected)
        density = function in DENSITIES
        if not density and name in BY_CASES:
            with pytest.raises(LinadError):
                linad.linearize(lambda x, f=f: f(x, *shapes), given)
            continue
        y = traced_value(lambda x, f=f: f(x, *shapes, loc, scale), given)
        np.testing.assert_allclose(y, expected, rtol=1e-9)
        check_derivatives(f, given, *map(np.array, shapes), loc, scale)


@pytest.mark.parametrize(
    "name", ["norm", "gamma", "t", "f", "pareto", "truncnorm", "trapezoid", "gennorm"]
)
def test_moments(name):
    shapes = [np.array(s) for s in (CONTINUOUS | FURTHER)[name]]
    mine, theirs = getattr(ls, name), getattr(scipy.stats, name)
    for function in ("mean", "var", "std"):
        f = getattr(mine, function)
        expected = getattr(theirs, function)(*shapes, 0.2, 1.5)
        y = traced_value(lambda s, f=f: f(*shapes, 0.2, s), np.array(1.5))
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-14)
        check_derivatives(f, *shapes, np.array(0.2), np.array(1.5))
    assert linad.grad(lambda m: mine(*shapes, loc=m).mean())(0.3) == pytest.approx(1.0)


def test_kernel_estimates():
    data, x = rng.standard_normal(9), np.array([-0.3, 0.8])
    for bw_method in (None, "silverman", 0.4):

        def f(m, data, x, weights, bw_method=bw_method):
            kde = m.gaussian_kde(data, bw_method, weights)
            return np.concatenate([kde(x), kde.logpdf(x), kde.integrate_box_1d(-1, 1)[None]])

        point = data, x, np.abs(data) + 0.1
        expected = f(scipy.stats, *point)
        np.testing.assert_allclose(traced_value(lambda *a, f=f: f(ls, *a), *point), expected)
    check_derivatives(lambda *a: f(ls, *a), *point)


def test_singular_covariances():
    """On a plane that turns: the density is that of the two coordinates on it."""

    def f(m, b, u):
        return m.multivariate_normal.logpdf(b @ u, np.zeros(3), b @ b.T, allow_singular=True)

    basis, u = rng.standard_normal((3, 2)), np.array([0.3, -0.7])
    expected = f(scipy.stats, basis, u)
    np.testing.assert_allclose(traced_value(lambda b: f(ls, b, u), basis), expected)
    check_derivatives(lambda b, u: f(ls, b, u), basis, u)


@pytest.mark.parametrize("function", ["pmf", "logpmf", *CUMULATIVE])
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name, function):
    shapes = DISCRETE[name]
    k = np.array([0, 1, 2, 3, 4, 5, 6, -1, 1.5, 40, np.inf, -np.inf, np.nan])
    theirs, mine = (
        getattr(getattr(scipy.stats, name), function),
        getattr(getattr(ls, name), function),
    )
    counts, p = shapes[:-1], np.array(shapes[-1])
    for loc in (0, 2):
        expected = quiet(theirs, k, *shapes, loc)
        np.testing.assert_array_equal(quiet(mine, k, *shapes, loc), expected)
        y = quiet(traced_value, lambda p, loc=loc: mine(k, *counts, p, loc), p)
        compare(y, expected, k, function)
    inner = np.arange(1, 4) if function != "logcdf" or name != "bernoulli" else np.zeros(1)
    safe = inner[np.isfinite(theirs(inner, *shapes))]
    check_derivatives(lambda p: mine(safe, *counts, p), np.array([[p], [0.6 * p]]))
    check_derivatives(lambda p: getattr(getattr(ls, name)(*counts, p), function)(safe), p)


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_no_derivative(name):
    d, shapes = getattr(ls, name), DISCRETE[name]
    with pytest.raises(UnsupportedError, match=rf"{name}\.pmf.*counts are integers"):
        linad.grad(lambda k: d.pmf(k, *shapes))(1.0)
    with pytest.raises(UnsupportedError, match="in loc"):
        linad.grad(lambda loc: d.pmf(1, *shapes, loc))(0.0)


def test_binomial_trials_have_no_derivative():
    with pytest.raises(UnsupportedError, match="in n"):
        linad.grad(lambda n: ls.binom.logpmf(1, n, 0.5))(3.0)


A = rng.standard_normal((3, 3))
COV, MEAN, XS = A @ A.T + np.eye(3), rng.standard_normal(3), rng.standard_normal((2, 1, 3))


@pytest.mark.parametrize("function", DENSITIES)
def test_multivariate_normal(function):
    mine = getattr(ls.multivariate_normal, function)
    theirs = getattr(scipy.stats.multivariate_normal, function)
    cases = [(XS, MEAN, COV), (XS[0, 0], MEAN, COV), (XS[..., :1], MEAN[:1], COV[:1, :1])]
    cases += [(XS[0], MEAN, np.array(0.7)), (XS[0], MEAN, np.diag(COV)), (XS[0], None, COV)]
    cases += [(MEAN, np.array(0.3), np.array(2.0)), (np.array(0.3), None, np.array(2.0))]
    for x, mean, cov in cases:
        expected = theirs(x, mean, cov)
        np.testing.assert_array_equal(mine(x, mean, cov), expected)
        y = traced_value(lambda x, m=mean, c=cov: mine(x, m, c), x)
        assert np.shape(y) == np.shape(expected)
        np.testing.assert_allclose(y, expected, rtol=1e-12)

        def f(x, m, c, mean=mean):
            # Differences of one entry of a covariance would make it asymmetric.
            c = 0.5 * (c + c.T) if c.ndim == 2 else c
            return mine(x, None if mean is None else m, c)

        check_derivatives(f, x, np.zeros(1) if mean is None else mean, cov, order=1)


@pytest.mark.parametrize("function", DENSITIES)
def test_multivariate_normal_of_a_covariance_object(function):
    """One of plain numbers, and one that is made of traced ones."""
    theirs = scipy.stats
    for make, part in (
        (lambda m, d: m.Covariance.from_diagonal(d), np.array([0.7, 1.2, 2.0])),
        (lambda m, d: m.Covariance.from_cholesky(d), np.linalg.cholesky(COV)),
    ):

        def f(m, x, mean, part, make=make):
            return getattr(m.multivariate_normal, function)(x, mean, make(m, part))

        for x in (XS, XS[0, 0]):
            y, _ = linad.linearize(lambda x, p=part, f=f: f(ls, x, MEAN, p), x)
            expected = f(theirs, x, MEAN, part)
            assert np.shape(y) == np.shape(expected)
            np.testing.assert_allclose(y, expected, rtol=1e-12)
            lower = np.tri(3) if part.ndim == 2 else 1.0
            check_derivatives(lambda x, m, p, f=f, t=lower: f(ls, x, m, p * t), x, MEAN, part)
    flat = theirs.Covariance.from_eigendecomposition((np.array([0.0, 1.0, 2.0]), np.eye(3)))
    with pytest.raises(UnsupportedError, match="allow_singular"):
        linad.linearize(lambda m: ls.multivariate_normal.logpdf(XS, m, flat), MEAN)


def test_second_derivatives_of_multivariate_normal():
    def f(x, m, c):
        return ls.multivariate_normal.logpdf(x, m, 0.5 * (c + c.T))

    check_derivatives(f, XS[0, 0], MEAN, COV)


def test_the_gradient_in_a_covariance():
    """d log p / dΣ = ½ (Σ^-1 r r^T Σ^-1 - Σ^-1)."""
    x = XS[0, 0]
    g = linad.grad(lambda c: ls.multivariate_normal.logpdf(x, MEAN, c))(COV)
    w = np.linalg.solve(COV, x - MEAN)
    np.testing.assert_allclose(g, 0.5 * (np.outer(w, w) - np.linalg.inv(COV)), atol=1e-13)
    frozen = linad.grad(lambda m: ls.multivariate_normal(m, COV).logpdf(x))(MEAN)
    np.testing.assert_allclose(frozen, w)


def test_single_precision():
    """SciPy's results are double; gradients have the type of the argument."""
    x = np.array([0.5, 1.5], np.float32)
    for f in (ls.norm.logpdf, ls.expon.cdf, ls.gamma(2.0).pdf):
        y, J = linad.linearize(f, x)
        assert y.dtype == f(x).dtype == np.float64
        assert J.pullback(y).dtype == np.float32
        assert linad.grad(lambda x, f=f: np.sum(f(x)))(x).dtype == np.float32


def test_the_rest_is_scipys():
    assert ls.levy_stable is scipy.stats.levy_stable
    assert ls.norm.ppf(0.3) == scipy.stats.norm.ppf(0.3)
    assert ls.norm(1.0, 2.0).mean() == 1.0
    assert ls.gamma(2.0).std() == scipy.stats.gamma(2.0).std()
    assert "norm" in repr(ls.norm)
    assert "norm" in repr(ls.norm(0, 1))


ERRORS = {
    "entropy": (lambda x: ls.rice.entropy(x), UnsupportedError),
    "moments": (lambda x: ls.johnsonsb.mean(x, 1.0), UnsupportedError),
    "quantile": (lambda x: ls.dweibull.ppf(0.5, x + 2), UnsupportedError),
    "estimate": (lambda x: ls.gaussian_kde(x).resample(3), UnsupportedError),
    "estimate weights": (lambda x: ls.gaussian_kde(x, weights=x[:2]), ShapeError),
    "missing": (lambda x: ls.gamma.pdf(x), TypeError),
    "unknown": (lambda x: ls.norm.pdf(x, mu=1.0), TypeError),
    "many": (lambda x: ls.norm.pdf(x, 0.0, 1.0, 2.0), TypeError),
    "shape": (lambda x: ls.multivariate_normal.logpdf(x[:2], MEAN, COV), ShapeError),
    "cov": (lambda x: ls.multivariate_normal.logpdf(x, MEAN, COV[:2]), ShapeError),
    "symmetric": (
        lambda x: ls.multivariate_normal.logpdf(x, MEAN, COV + np.eye(3, k=1)),
        ValueError,
    ),
    "other": (lambda x: ls.landau.pdf(x), LinadError),
    "complex": (lambda x: ls.norm.logpdf(x + 1j), UnsupportedError),
    "complex scale": (lambda x: ls.norm.cdf(x, scale=1j), UnsupportedError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(f, np.array([0.2, 0.4, 0.5]))


SAMPLE = np.array([[0.3, 1.2, 0.7], [0.9, 0.4, 2.1], [1.7, 0.8, 0.6], [0.2, 1.9, 1.1]])
SUMMARIES = {
    "skew": ({}, {"axis": 1}, {"bias": False, "axis": None}),
    "kurtosis": ({}, {"bias": False}, {"fisher": False, "axis": None, "keepdims": True}),
    "moment": ({"order": 3}, {"order": [2, 3], "axis": 1}, {"order": 2, "center": 0.4}),
    "zscore": ({}, {"axis": 1, "ddof": 1}),
    "sem": ({}, {"ddof": 0, "axis": None}),
    "gmean": ({}, {"weights": np.array([1.0, 2.0, 0.5, 1.0])[:, None], "axis": 0}),
    "hmean": ({}, {"axis": 1}),
    "entropy": ({}, {"base": 2}, {"axis": 1, "qk": np.array([0.2, 0.5, 0.3])}),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries(name):
    theirs, ours = getattr(scipy.stats, name), getattr(ls, name)
    for options in SUMMARIES[name]:
        if name == "gmean" and options:
            options = {**options, "weights": np.broadcast_to(options["weights"], SAMPLE.shape)}
        expected = theirs(SAMPLE, **options)
        value = traced_value(lambda x, options=options: ours(x, **options), SAMPLE)
        assert np.shape(value) == np.shape(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        check_derivatives(lambda x, options=options: ours(x, **options), SAMPLE)
    assert ours(SAMPLE).tobytes() == theirs(SAMPLE).tobytes()


def test_summaries_of_constant_samples():
    with pytest.warns(RuntimeWarning, match="nearly identical"):  # as SciPy warns
        y = linad.linearize(ls.skew, np.ones(4))[0]
    assert np.isnan(y)
    with linad.config(disconnected="ignore"):
        np.testing.assert_array_equal(linad.linearize(ls.moment, SAMPLE)[0], np.zeros(3))


def test_summaries_without_what_is_missing():
    y = linad.linearize(lambda x: ls.skew(x, nan_policy="omit"), SAMPLE)[0]
    np.testing.assert_allclose(y, scipy.stats.skew(SAMPLE))
    above = np.quantile(SAMPLE, 0.7)

    def some(skew):
        return lambda x: skew(np.where(x > above, np.nan, x), nan_policy="omit")

    y = linad.linearize(some(ls.skew), SAMPLE)[0]
    np.testing.assert_allclose(y, some(scipy.stats.skew)(SAMPLE))
    check_derivatives(some(ls.skew), SAMPLE)


def test_results_without_axes_are_numbers():
    """As SciPy's are: packages go by the type."""
    kinds = []

    def f(s):
        norm, gamma = linad.scipy.stats.norm, linad.scipy.stats.genpareto
        found = [norm.ppf(0.3, scale=s), norm.pdf(s), norm.mean(s), gamma(s).cdf(0.3)]
        kinds.extend([isinstance(y.concrete, np.ndarray) for y in found])
        return found[0]

    linad.grad(f)(1.5)
    assert kinds == [False] * 4


@pytest.mark.parametrize(
    "name,shapes", [("loggamma", [1.7]), ("betaprime", [1.7, 2.4]), ("wrapcauchy", [0.4])]
)
def test_formulas_by_cases_in_their_shapes(name, shapes):
    """SciPy's formulas for them choose between two by helpers that write into arrays."""
    of = getattr(ls, name)
    low, high = getattr(scipy.stats, name).ppf([0.2, 0.9], *shapes)

    def f(p):
        distribution = of(*p[:-1], scale=p[-1])
        at = np.array([low, (low + high) / 2, high])
        return np.concatenate([distribution.cdf(at), distribution.ppf([0.2, 0.5, 0.8])])

    check_derivatives(f, np.array([*shapes, 1.3]))


STATS = {
    ("fisk", "m"): (5.3,),
    ("fisk", "mvsk"): (5.3,),
    ("burr", "sk"): (5.3, 2.0),
    ("gennorm", "v"): (1.4,),
    ("nct", "mv"): (6.0, 0.4),
    ("ncf", "mv"): (5.0, 9.0, 0.4),
}


@pytest.mark.parametrize("moments", ["m", "mv", "mvsk"])
def test_stats_with_moments_behind_the_parameters(moments):
    def f(c):
        found = linad.scipy.stats.gamma.stats(c[0], c[1], 2.0, moments)
        return np.stack(found if isinstance(found, tuple) else [found])

    c = np.array([1.3, 0.4])
    value, J = linad.linearize(f, c)
    np.testing.assert_allclose(value, np.ravel(scipy.stats.gamma.stats(*c, 2.0, moments)))
    np.testing.assert_array_equal(J @ np.array([0.0, 1.0]), [1, 0, 0, 0][: len(moments)])


@pytest.mark.parametrize("name, moments", STATS)
def test_stats(name, moments):
    def total(x, room):
        found = getattr(room, name).stats(*x[2:], loc=x[0], scale=x[1], moments=moments)
        return sum(found) if isinstance(found, tuple) else found * 1.0

    x = np.array([0.3, 1.7, *STATS[name, moments]])
    theirs = getattr(scipy.stats, name).stats(*x[2:], loc=x[0], scale=x[1], moments=moments)
    value, gradient = linad.value_and_grad(lambda x: total(x, linad.scipy.stats))(x)
    np.testing.assert_allclose(value, np.sum(theirs))
    steps = 1e-5 * np.eye(x.size)
    slopes = [(total(x + h, scipy.stats) - total(x - h, scipy.stats)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("interval", [(-0.3, np.inf), (-np.inf, 0.4), (-np.inf, np.inf)], ids=str)
def test_the_tails_of_a_kernel_estimate_move_with_the_data(interval):
    data = np.random.default_rng(0).standard_normal(12)

    def tail(x, low=interval[0], high=interval[1]):
        return ls.gaussian_kde(x).integrate_box_1d(low, high)

    value, slope = linad.value_and_grad(tail)(data)
    assert value == pytest.approx(scipy.stats.gaussian_kde(data).integrate_box_1d(*interval))
    rest = linad.grad(lambda x: tail(x, *[np.clip(end, -1e3, 1e3) for end in interval]))(data)
    np.testing.assert_allclose(slope, rest, atol=1e-14)
