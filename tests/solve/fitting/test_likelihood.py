"""Maximum likelihood: estimates and covariances that have closed forms, and fits that agree."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from scipy.optimize import OptimizeWarning
from solve.problems import unfinished

import linad
from linad.errors import ArgumentError, ConvergenceError, OptionError, OutputError
from linad.solve import curve_fit, maximum_likelihood

RNG = np.random.default_rng(0)
T = np.linspace(0.0, 3.0, 25)
COUNTS = RNG.poisson(40 * np.exp(-1.1 * T) + 3)
SEEN = RNG.normal(2.0, 0.7, 50)


def poisson(p):
    expected = p["height"] * np.exp(-p["rate"] * T) + p["floor"]
    return np.sum(COUNTS * np.log(expected) - expected)


def normal(p):
    return np.sum(-np.log(p["sigma"]) - 0.5 * ((SEEN - p["mean"]) / p["sigma"]) ** 2)


START = {"rate": 1.0, "height": 30.0, "floor": 1.0}


def test_a_normal_distribution():
    found = maximum_likelihood(normal, {"sigma": 1.0, "mean": 0.0})
    s = SEEN.std()
    np.testing.assert_allclose([found["mean"], found["sigma"]], [SEEN.mean(), s], rtol=1e-9)
    np.testing.assert_allclose(
        found.covariance, np.diag([s**2 / 100, s**2 / 50]), rtol=1e-8, atol=1e-12
    )
    assert found.names == ["sigma", "mean"]
    assert list(found.x) == list(found.errors) == found.names
    np.testing.assert_allclose(found.log_likelihood, normal(found.x), rtol=1e-12)
    assert found.aic == pytest.approx(4 - 2 * found.log_likelihood)
    z = scipy.stats.norm.ppf(0.975)
    expected = found["mean"] - z * s / np.sqrt(50), found["mean"] + z * s / np.sqrt(50)
    np.testing.assert_allclose(found.confidence_intervals()["mean"], expected, rtol=1e-8)
    known = found.propagate(lambda mean, sigma: mean / sigma)
    J = np.array([-SEEN.mean() / s**2, 1 / s])
    np.testing.assert_allclose(known.covariance, J @ found.covariance @ J, rtol=1e-8)


def test_poisson_regression():
    """Newton's steps by hand, which are those of iteratively reweighted least squares."""
    A = np.stack([np.ones_like(T), T, T**2], axis=1)
    b = start = np.array([3.5, -1.0, 0.0])
    for _ in range(30):
        mu = np.exp(A @ b)
        H = A.T @ (mu[:, None] * A)
        b = b + np.linalg.solve(H, A.T @ (COUNTS - mu))
    found = maximum_likelihood(lambda b: np.sum(COUNTS * (A @ b) - np.exp(A @ b)), start)
    np.testing.assert_allclose(found.x, b, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(H), rtol=1e-6)


def test_counts_by_a_model_of_the_users():
    """As a minimum of SciPy's, with the Hessian by differences of the exact gradient."""
    found = maximum_likelihood(poisson, START)
    value = scipy.optimize.minimize(
        lambda v: -poisson(dict(zip(START, v, strict=True))),
        *([1.0, 30.0, 1.0], (), "Nelder-Mead"),
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000},
    )
    np.testing.assert_allclose(found.vector, value.x, rtol=1e-6)
    slope = linad.grad(lambda v: -poisson(dict(zip(START, v, strict=True))))
    steps = 1e-5 * np.eye(3)
    H = np.stack([(slope(value.x + s) - slope(value.x - s)) / 2e-5 for s in steps])
    np.testing.assert_allclose(found.covariance, np.linalg.inv(H), rtol=1e-5)
    assert "log-likelihood" in found.report()
    assert "<table>" in found._repr_html_()
    x, covariance = found
    assert x is found.x
    assert covariance is found.covariance
    J = linad.linearize(lambda p: p["height"] / p["rate"], found.x)[1].todense()
    error = found.propagate(lambda rate, height: height / rate).errors
    np.testing.assert_allclose(J @ covariance @ J.T, [[error**2]], rtol=1e-10)


def test_least_squares_are_a_likelihood():
    def model(t, b, a):
        return a * t + b

    y = 1.0 + 2.0 * T + 0.1 * np.cos(7 * T)
    fitted = curve_fit(model, T, y, {"b": 0.0, "a": 0.0}, sigma=0.1, absolute_sigma=True)
    found = maximum_likelihood(
        lambda p, y: -0.5 * np.sum(((model(T, **p) - y) / 0.1) ** 2), {"b": 0.0, "a": 0.0}, (y,)
    )
    np.testing.assert_allclose(found.vector, fitted.vector, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, fitted.covariance, rtol=1e-9)
    for name, interval in fitted.profile_intervals().items():
        np.testing.assert_allclose(found.profile_intervals(names=name)[name], interval, rtol=1e-5)


def test_profiles_of_one_parameter():
    """Waiting times: n log(rate) - rate Σt, whose profile has its ends by a root."""
    found = maximum_likelihood(lambda rate: 8 * np.log(rate) - 4.0 * rate, 1.0)
    drop = 0.5 * scipy.stats.chi2.ppf(0.9, 1)

    def above(rate):
        return 8 * np.log(rate / 2) - 4 * (rate - 2) + drop

    ends = scipy.optimize.brentq(above, 0.2, 2), scipy.optimize.brentq(above, 2, 9)
    np.testing.assert_allclose(found.profile_intervals(0.9)["p"], ends, rtol=1e-5)


def test_fixed_parameters_and_containers():
    held = maximum_likelihood(poisson, START, fixed={"floor": 3.0})
    assert held["floor"] == 3.0
    assert held.errors["floor"] == 0.0
    assert held.free_parameters == 2

    def nested(p):
        (rate, (height,)) = p["z"][0], p["z"][1]
        return poisson({"rate": rate, "height": height, "floor": p["a"]})

    free = maximum_likelihood(poisson, START)
    found = maximum_likelihood(nested, {"z": (1.0, np.array([30.0])), "a": 1.0})
    assert found.names == ["z[0]", "z[1][0]", "a"]
    np.testing.assert_allclose(found.vector, free.vector, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, free.covariance, rtol=1e-6)


def test_bounds():
    free = maximum_likelihood(poisson, START)
    wide = maximum_likelihood(poisson, START, bounds={"rate": (0, 9), "floor": (-5, None)})
    np.testing.assert_allclose(wide.vector, free.vector, rtol=1e-7)
    start = START | {"floor": 9.0, "rate": 0.4}
    low = free["floor"] + 2.0
    found = maximum_likelihood(poisson, start, bounds={"floor": (low, None)})
    assert found["floor"] == low
    assert found.message.endswith("at a bound: floor")
    rest = maximum_likelihood(poisson, START, fixed={"floor": low})
    np.testing.assert_allclose(found.vector, rest.vector, rtol=1e-7)
    both = maximum_likelihood(poisson, start, bounds={"floor": (low, None), "rate": (0, 0.5)})
    assert both.message.endswith("at a bound: rate, floor")
    rest = maximum_likelihood(poisson, START, fixed={"floor": low, "rate": 0.5})
    np.testing.assert_allclose(both.vector, rest.vector, rtol=1e-7)
    with pytest.raises(OptionError, match="must lie within the bounds"):
        maximum_likelihood(poisson, START, bounds={"floor": (2.0, None)})


def test_a_prior():
    """The normal posterior of a mean: precisions add."""
    found = maximum_likelihood(
        lambda m: -0.5 * np.sum((SEEN - m) ** 2) / 0.49 - 0.5 * (m - 1.0) ** 2 / 0.01, 0.0
    )
    precision = 50 / 0.49 + 100
    np.testing.assert_allclose(found.covariance, [[1 / precision]], rtol=1e-10)
    np.testing.assert_allclose(found.x, (SEEN.sum() / 0.49 + 100) / precision, rtol=1e-9)


@pytest.mark.parametrize(
    "wrap",
    [pytest.param(linad.jit, marks=pytest.mark.full), lambda f: f],
    ids=["compiled", "plain"],
)
def test_that_of_special_functions(wrap):
    """A negative binomial, whose logarithm of a gamma function is SciPy's."""

    @wrap
    def log_likelihood(p):
        m, k = np.exp(p[0]), np.exp(p[1])
        terms = scipy.special.gammaln(COUNTS + k) - scipy.special.gammaln(k)
        return np.sum(terms + k * np.log(k / (k + m)) + COUNTS * np.log(m / (k + m)))

    found = maximum_likelihood(log_likelihood, [1.0, 0.0])
    assert found.success
    np.testing.assert_allclose(np.exp(found.x[0]), COUNTS.mean(), rtol=1e-8)
    k = np.exp(found.x[1])
    m = COUNTS.mean()
    np.testing.assert_allclose(found.errors[0], np.sqrt((1 + m / k) / (25 * m)), rtol=1e-7)


def test_what_is_undetermined():
    with pytest.warns(OptimizeWarning, match="the likelihood stays if they move together"):
        found = maximum_likelihood(
            lambda p: poisson({"rate": p["rate"], "height": p["a"] * p["b"], "floor": 3.0}),
            {"rate": 1.0, "b": 5.0, "a": 6.0},
        )
    assert found.success
    assert found.message.endswith("undetermined: b, a")
    assert np.isinf([found.errors["a"], found.errors["b"]]).all()
    held = maximum_likelihood(poisson, START, fixed={"floor": 3.0})
    product = found.propagate(lambda a, b: a * b)
    np.testing.assert_allclose(product.errors, held.errors["height"], rtol=1e-4)
    with pytest.warns(OptimizeWarning, match="idle: the likelihood does not depend on it"):
        maximum_likelihood(lambda p: normal(p) + 0 * p["idle"], {"mean": 1, "sigma": 1, "idle": 2})


def test_a_scatter_that_is_not_needed():
    """The likelihood levels off as its logarithm runs to -inf; the errors of others are right."""
    y = 5 + 0.09 * np.random.default_rng(0).standard_normal(50)

    def log_likelihood(m, lnint):
        v = 0.1**2 + np.exp(2 * lnint)
        return -0.5 * np.sum((y - m) ** 2 / v + np.log(v))

    with pytest.warns(OptimizeWarning, match="lnint: the likelihood levels off on its way to -inf"):
        found = maximum_likelihood(log_likelihood, {"m": 4.0, "lnint": -2.0})
    assert found.success
    assert found.errors["m"] == pytest.approx(0.1 / np.sqrt(50), rel=1e-6)
    assert np.isinf(found.errors["lnint"])
    report = str(found)
    assert "infinity" not in report
    assert "return its logarithm" not in report
    low, high = found.profile_intervals(names="lnint")["lnint"]
    assert low == -np.inf
    fallen = maximum_likelihood(log_likelihood, {"m": 5.0, "lnint": high}, fixed=["lnint"])
    assert found.log_likelihood - fallen.log_likelihood == pytest.approx(1.9207, rel=1e-4)


def test_a_maximum_at_infinity():
    """Of a model that separates its data, or some of them; not where they overlap."""
    x = np.linspace(-2.0, 2.0, 20)
    one = (np.arange(20) == 17).astype(float)

    def logistic(p, y):
        z = p[0] + p[1] * x + (p[2] * one if len(p) > 2 else 0.0)
        return np.sum(y * z - np.logaddexp(0.0, z))

    overlapping = ((x > 0.3) ^ (np.arange(20) % 5 == 2)).astype(float)
    with pytest.warns(OptimizeWarning, match="rises towards infinity"):
        found = maximum_likelihood(logistic, np.zeros(2), ((x > 0.3).astype(float),))
    assert "give bounds, or a prior" in found.message
    words = r"p\[2\]: the likelihood levels off on its way to -inf"
    with pytest.warns(OptimizeWarning, match=words):
        found = maximum_likelihood(logistic, np.zeros(3), (overlapping,))
    assert np.isfinite(found.errors[:2]).all()
    assert np.isinf(found.errors[2])
    with warnings.catch_warnings(action="error"):
        found = maximum_likelihood(logistic, np.zeros(2), (overlapping,))
        again = maximum_likelihood(logistic, found.x, (overlapping,))
    assert "infinity" not in found.message + again.message


@pytest.mark.parametrize("columns", [2, 4])
def test_a_model_that_separates_its_data_by_several_parameters(columns):
    """One of them alone levels off, as it leads; but the others are bent by nothing either."""
    draw = np.random.default_rng(33)
    x = np.column_stack([np.ones(99), draw.uniform(-30, 30, 99), draw.uniform(-4, 4, (99, 2))])
    sign = np.where(x[:, 1] < 0, 1.0, -1.0)

    def probit(p):
        return np.sum(linad.scipy.special.log_ndtr(sign * (x[:, :columns] @ p)))

    with pytest.warns(OptimizeWarning, match="rises towards infinity") as told:
        found = maximum_likelihood(probit, np.zeros(columns))
    assert len(told) == 1
    assert np.isinf(found.errors).all()
    assert found.undetermined == []
    report = found.report()
    assert report.count("give bounds, or a prior") == 1
    assert "move together" not in report
    assert "levels off" not in report


@unfinished
@pytest.mark.parametrize(
    "bounds",
    [{"rate": (0.01, 20.0), "height": (0.1, 90.0)}, {"height": (0.1, 90.0)}, {"rate": (None, 9.0)}],
)
def test_minus_the_logarithm_within_bounds_is_known(bounds):
    found = maximum_likelihood(lambda p: -poisson(p), START, bounds=bounds)
    assert not found.success
    assert found.status != 0
    assert "has a minimum instead: return the logarithm" in found.message
    assert "trust_region" not in found.message  # which has no bounds
    assert "ABNORMAL" not in found.message


def test_a_maximum_in_a_corner_is_one():
    with pytest.warns(OptimizeWarning):
        found = maximum_likelihood(lambda a, b: 2 * a + b**2, [0.5, 0.5], bounds=(0, 1))
    assert found.success
    np.testing.assert_array_equal(found.x, [1.0, 1.0])


@unfinished
@pytest.mark.parametrize("of_python", [True, False], ids=["a float of Python", "of NumPy"])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.1, 90.0)], ids=["free", "bounded"])
def test_a_likelihood_that_is_constant_at_its_start_says_to_start_elsewhere(of_python, bounds):
    def log_likelihood(a):
        rate = a if a < 10.0 else 10.0
        total = 12 * np.log(rate) - 4 * rate
        return total if a < 10.0 or not of_python else float(total)

    found = maximum_likelihood(log_likelihood, {"a": 20.0}, bounds=bounds)
    assert not found.success
    assert "log_likelihood depends on no parameter where it started, a = 20; " in found.message
    assert "start elsewhere, where the model responds" in found.message
    assert maximum_likelihood(log_likelihood, {"a": 5.0}, bounds=bounds)["a"] == pytest.approx(3.0)
    assert maximum_likelihood(log_likelihood, {"a": 3.0}, bounds=bounds).success  # and bent there


@unfinished
def test_what_cannot_be_meant():
    found = maximum_likelihood(lambda p: -poisson(p), START)
    assert not found.success
    assert "return the logarithm of the likelihood, not minus" in found.message
    with pytest.raises(ConvergenceError, match="has a minimum instead"):
        _ = [*found]
    with pytest.raises(OutputError, match=r"must return one number.*return np.sum\(\) of it"):
        maximum_likelihood(lambda m: -((SEEN - m) ** 2), 0.0)
    with pytest.raises(OutputError, match="it returned None"):
        maximum_likelihood(lambda m: None, 0.0)
    with pytest.raises(ArgumentError, match="is nan at the start, p = -1; start where"):
        maximum_likelihood(lambda m: np.log(m) - m, -1.0)
    with pytest.raises(ArgumentError, match=r"maximum_likelihood: <lambda>\(a, b\) does not"):
        maximum_likelihood(lambda a, b: a * b, [1.0, 1.0, 1.0])
    with pytest.raises(OptionError, match="got 'method'"):
        maximum_likelihood(normal, {"mean": 1, "sigma": 1}, method="bfgs")


@unfinished
@pytest.mark.parametrize("bounds", [None, {"w": (0.01, None)}])
def test_the_likelihood_in_place_of_its_logarithm(bounds):
    x = np.linspace(-3, 3, 13)
    k = np.round(60 * (0.5 + 0.47 * scipy.special.ndtr((x - 0.4) / 0.9)))

    def likelihood(mu, w):
        p = 0.5 + 0.47 * scipy.special.ndtr((x - mu) / w)
        return np.prod(p**k * (1 - p) ** (60 - k))

    options = {} if bounds is None else {"bounds": bounds}
    with pytest.warns(OptimizeWarning, match="return its logarithm, the sum of theirs"):
        found = maximum_likelihood(likelihood, {"mu": 0.0, "w": 1.0}, **options)
    assert "looks like the likelihood itself" in found.message


def test_a_likelihood_that_has_a_maximum_is_doubted():
    with pytest.warns(OptimizeWarning, match="looks like the likelihood itself"):
        found = maximum_likelihood(lambda m: 1e-12 * np.exp(-((m - 2.0) ** 2)), 1.9, gtol=1e-25)
    np.testing.assert_allclose(found.x, 2.0, atol=0.2)


def _products(n):
    """Likelihoods of n data that end at a maximum, some above 1, as products of densities may."""
    x, k = SEEN[:n], (np.arange(n) % 3 == 0) * 1.0
    return {
        "normal": (lambda p: np.prod(np.exp(-0.5 * (x - p["m"]) ** 2)), {"m": 0.5}),
        "density": (lambda p: np.prod(3 * np.exp(-0.5 * (9 * (x - p["m"])) ** 2)), {"m": x.mean()}),
        "events": (lambda p: np.prod(k * p["q"] + (1 - k) * (1 - p["q"])), {"q": 0.4}),
    }


@pytest.mark.parametrize("name, n", [("normal", 2), ("normal", 6), ("density", 1), ("events", 18)])
def test_a_likelihood_is_known_by_how_it_falls(name, n):
    """It falls to 0 and not below, whatever its size at the maximum."""
    likelihood, start = _products(n)[name]
    with pytest.warns(OptimizeWarning, match="the likelihood itself.* return its logarithm"):
        found = maximum_likelihood(likelihood, start)
    assert found.log_likelihood > 1e-8


@pytest.mark.parametrize(
    "term",
    [
        lambda z: 0.5 * z**2,
        lambda z: np.log1p(z**2),
        lambda z: 2 * np.log1p(z**2 / 3),
        lambda z: -np.log(0.1 + np.exp(-0.5 * z**2)),
    ],
    ids=["normal", "cauchy", "student", "mixture"],
)
@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.3])
def test_logarithms_above_0_are_not_doubted(term, scale):
    for n in (1, 3, 10):
        z = scale * SEEN[:n]
        found = maximum_likelihood(
            lambda m, z=z, n=n: -np.sum(term((z - m) / scale)) - n * np.log(scale), np.median(z)
        )
        assert found.log_likelihood > 0
        assert "itself" not in found.message


def test_data_with_nan_are_named():
    """The start is not to blame."""
    seen = SEEN.copy()
    seen[3] = np.nan
    for f, args, words in (
        (lambda m: -np.sum((seen - m) ** 2), (), "seen at index 3: leave such points out"),
        (lambda m, y: -np.sum((y - m) ** 2), (seen,), r"args\[0\] at index 3"),
        (lambda m, y: -np.sum((y["a"] - m) ** 2), ({"a": seen},), r"args\[0\]\['a'\] at index 3"),
        (lambda m, y: -np.sum((y - m) ** 2), (seen[:, None],), r"args\[0\] at index \(3, 0\)"),
    ):
        with pytest.raises(ArgumentError, match="is nan at the start.*hold NaN, " + words):
            maximum_likelihood(f, 1.0, args)
    found = maximum_likelihood(lambda m: -np.nansum((seen - m) ** 2), 1.0)
    np.testing.assert_allclose(found.x, np.nanmean(seen), rtol=1e-9)


@pytest.mark.parametrize(
    "name, words",
    [
        ("predict", r"propagate\(lambda p: model\(x, p\)\) has it"),
        ("plot", r"no data to draw; draw model\(x, found.x\), with the errors of propagate\("),
        ("plot_residuals", "no data to draw"),
        ("chi_square", "has no residuals"),
        ("llf", "that is log_likelihood"),
        ("pcov", "the covariance matrix is covariance"),
        ("mean", r"whose value is found\['mean'\]"),
    ],
)
def test_names_of_others_are_answered(name, words):
    found = maximum_likelihood(normal, {"sigma": 1.0, "mean": 0.0})
    with pytest.raises(AttributeError, match=words):
        getattr(found, name)


def test_it_is_pickled():
    found = pickle.loads(pickle.dumps(maximum_likelihood(normal, {"sigma": 1.0, "mean": 0.0})))
    np.testing.assert_allclose(found.errors["mean"], SEEN.std() / np.sqrt(50), rtol=1e-8)
    assert found.profile_intervals(names="mean")["mean"][0] < SEEN.mean()


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@unfinished
def test_a_density_without_a_maximum_says_what_keeps_it_in():
    def hierarchical(p):
        spread = np.exp(p["log_spread"])
        prior = -8 * p["log_spread"] - 0.5 * np.sum(p["means"] ** 2) / spread**2
        return prior - 0.5 * np.sum((SEEN[:8] - p["means"]) ** 2) / 100

    start = {"log_spread": 0.0, "means": np.zeros(8)}
    found = maximum_likelihood(hierarchical, start)
    assert not found.success
    assert "grows without end, as where a width goes to 0, bounds= keep" in found.message


@unfinished
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("of", [lambda tau: tau, np.exp])
def test_a_density_without_bounds_says_so_and_nothing_else(of):
    y = np.array([6.3, 3.7, 11.4, 6.0, -0.4, 8.6, 18.0, 14.5])

    def log_density(p):
        tau, theta = of(p["tau"]), p["theta"]
        spread = np.sum((theta - p["mu"]) ** 2) / tau**2
        return -0.5 * (np.sum((y - theta) ** 2) / 144 + spread) - 8 * np.log(tau)

    start = {"theta": np.ones(8), "mu": 1.0, "tau": 1.0}
    with pytest.warns(OptimizeWarning, match="where it grows without end"):
        found = linad.solve.maximum_likelihood(log_density, start)
    assert not found.success
    assert "bounds= keep parameters from there" in found.message


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", [(4.0, 0.2, 1.0), (20.0, 1.0, 0.1)])
def test_what_is_left_of_a_gradient_determines_nothing(start, seed):
    """Of a and c the product counts: the Hessian is singular at the maximum, and bent beside it."""
    x = np.linspace(0.1, 5.0, 40)
    k = np.random.default_rng(seed).poisson(5 * np.exp(-0.3 * x) + 0.2)

    def log_likelihood(a, b, c):
        expected = a * c * np.exp(-b * x)
        return np.sum(k * np.log(expected) - expected)

    with pytest.warns(OptimizeWarning, match="do not determine all parameters"):
        found = maximum_likelihood(log_likelihood, dict(zip("abc", start, strict=True)))
    assert found.errors["a"] == found.errors["c"] == np.inf
    assert 0.01 < found.errors["b"] < 0.1


def test_what_is_hardly_determined_is():
    def log_likelihood(a, b):
        return -((a + b - 3.0) ** 2) - 1e-11 * (a - b - 1.0) ** 2

    found = maximum_likelihood(log_likelihood, {"a": 1.0, "b": 1.0})
    np.testing.assert_allclose(found.errors["a"], np.sqrt(0.125 + 0.125e11), rtol=1e-3)


def test_peaks_whose_parameters_are_of_unlike_sizes():
    """Heights of hundreds beside widths of tenths: the region is as small as widths ask for."""
    x = np.linspace(20.0, 50.0, 301)

    def expected(p):
        y = p["floor"] + p["slope"] * x
        for peak in p["peaks"]:
            y = y + peak["height"] * np.exp(-0.5 * ((x - peak["center"]) / peak["width"]) ** 2)
        return y

    def peaks(*rows):
        names = ("height", "center", "width")
        return [dict(zip(names, row, strict=True)) for row in rows]

    true = peaks((300.0, 28.4, 0.25), (120.0, 36.1, 0.3), (80.0, 44.7, 0.4))
    truth = {"floor": 20.0, "slope": 0.2, "peaks": true}
    counts = np.random.default_rng(1).poisson(expected(truth))

    def log_likelihood(p):
        return np.sum(counts * np.log(expected(p)) - expected(p))

    start = peaks((330.0, 28.5, 0.4), (150.0, 36.0, 0.4), (120.0, 44.8, 0.4))
    found = maximum_likelihood(log_likelihood, {"floor": 20.0, "slope": 0.0, "peaks": start})
    assert found.success
    assert found.nit < 100
    for peak, known in zip(range(3), true, strict=True):
        for name, value in known.items():
            error = found.standard_errors[f"peaks[{peak}].{name}"]
            assert abs(found[f"peaks[{peak}].{name}"] - value) < 4 * error


def test_what_fits_have_and_likelihoods_have_not_is_told():
    found = maximum_likelihood(lambda a: -((a - 1.0) ** 2), 0.0)
    fit = curve_fit(lambda t, a: a * t, T, T)
    names = {*dir(fit), *vars(fit)}
    for name in sorted(names - {*dir(found), *vars(found)}):
        if not name.startswith("_"):
            with pytest.raises(AttributeError, match="a likelihood|log_likelihood"):
                getattr(found, name)


def test_what_is_bent_as_at_a_maximum_has_no_minimum_instead():
    """The search is stopped early; on its other side there is a minimum as well."""
    with pytest.warns(OptimizeWarning, match="limit of iterations") as caught:
        maximum_likelihood(lambda a: np.cos(3 * a), {"a": 0.3}, maxiter=1, gtol=1e-14)
    assert "has a minimum instead" not in str(caught[0].message)
    with pytest.warns(OptimizeWarning, match="has a minimum instead"):
        maximum_likelihood(lambda a: np.cosh(a - 1.0), {"a": 0.3})


def test_data_of_dtype_object_are_to_become_numbers():
    X = np.eye(3).astype(object)
    with pytest.raises(linad.errors.UnsupportedError, match=r"become numbers by .astype\(float\)"):
        linad.solve.maximum_likelihood(lambda b: -np.sum((X * b) ** 2), np.ones(3))
