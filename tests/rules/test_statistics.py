"""Moments, averages, covariance, and what leaves NaN out."""

import warnings

import numpy as np
import pytest

import linad
from linad.rules.statistics import std_, var_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array(0.7)
VECTOR = rng.standard_normal(5)
MATRIX = rng.standard_normal((3, 4))
CUBE = rng.standard_normal((2, 3, 2))
WEIGHTS = rng.uniform(0.5, 2.0, 4)
MASK = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]], bool)
HOLES = np.where(MASK, MATRIX, np.nan)
COMPLEX = {"complex_": True}
DOUBLE = {"float32": False}  # as NumPy, which computes it in double

CASES = [
    Case(var_, MATRIX, axes=(1,), ddof=0, check=COMPLEX),
    Case(std_, MATRIX, axes=(0, 1), ddof=1, check=COMPLEX),
    Case(np.var, SCALAR),
    Case(np.var, CUBE, axis=(0, -1), keepdims=True, ddof=1),
    Case(np.var, MATRIX, axis=0, correction=1),
    Case(np.var, MATRIX, axis=1, where=MASK, ddof=1, check=COMPLEX),
    Case(np.var, MATRIX, axis=0, mean=MATRIX.mean(axis=0, keepdims=True), check={"float32": False}),
    Case(np.std, VECTOR),
    Case(np.std, MATRIX, axis=-1, keepdims=True),
    Case(np.std, MATRIX, where=MASK),
    Case(np.nansum, MATRIX, axis=0),
    Case(np.nanprod, MATRIX, axis=1),
    Case(np.nanmean, MATRIX, axis=1, where=MASK),
    Case(np.nanvar, MATRIX, axis=0, ddof=1),
    Case(np.nanstd, MATRIX, axis=1, keepdims=True),
    Case(np.nanmax, MATRIX, axis=0),
    Case(np.nanmin, MATRIX, axis=1, keepdims=True),
    Case(np.average, MATRIX),
    Case(np.average, MATRIX, axis=0, keepdims=True),
    Case(np.average, MATRIX, axis=-1, weights=WEIGHTS, check={"float32": False}),
    Case(lambda a, w: np.average(a, axis=1, weights=w), MATRIX, WEIGHTS, check=COMPLEX),
    Case(lambda a, w: np.average(a, weights=w, returned=True), MATRIX, MATRIX**2),
    Case(lambda a, w: np.average(a, (1, 0), w), MATRIX, (MATRIX**2).T),
    Case(np.cov, MATRIX, check=COMPLEX | DOUBLE),
    Case(np.cov, VECTOR, check=DOUBLE),
    Case(np.cov, MATRIX, MATRIX + rng.standard_normal((3, 4)), check=DOUBLE),
    Case(np.cov, MATRIX, rowvar=False, bias=True, check=DOUBLE),
    Case(np.cov, MATRIX, fweights=np.array([1, 2, 1, 3]), ddof=0, check={"float32": False}),
    Case(lambda m, w: np.cov(m, aweights=w), MATRIX, WEIGHTS, check=DOUBLE),
    Case(np.corrcoef, MATRIX, check=DOUBLE | {"order": 1, "complex_": True}),
    Case(np.corrcoef, VECTOR, VECTOR**2, check=DOUBLE | {"order": 1}),
]


def gram(x):
    """Correlations off the diagonal, where no rounding is clipped."""
    return np.corrcoef(x)[np.triu_indices(3, 1)]


CASES.append(Case(gram, MATRIX, check=DOUBLE))

VALUES = [
    (np.var, {"ddof": 1, "axis": 0}),
    (np.var, {"where": MASK, "keepdims": True}),
    (np.std, {"where": MASK, "axis": 1, "ddof": 0.5}),
    (np.std, {"axis": (0, 1), "mean": np.array([[0.1]])}),
    (np.average, {"axis": 1, "weights": WEIGHTS}),
    (np.average, {"axis": 1, "weights": [1, 2, 3, 4]}),
    (np.cov, {}),
    (np.cov, {"rowvar": False, "ddof": 0}),
    (np.cov, {"fweights": [1, 2, 1, 3]}),
    (np.cov, {"aweights": WEIGHTS, "fweights": [1, 2, 1, 3]}),
    (np.cov, {"aweights": WEIGHTS, "bias": True}),
    (np.cov, {"y": MATRIX[0]}),
    (np.corrcoef, {}),
    (np.corrcoef, {"y": MATRIX[:1] ** 2}),
]


@pytest.mark.parametrize("function, keywords", VALUES)
@pytest.mark.parametrize("x", [MATRIX, MATRIX + 1j * MATRIX[::-1] ** 2])
def test_values_are_numpys(function, keywords, x):
    y = linad.linearize(lambda x: function(x, **keywords), x)[0]
    expected = function(x, **keywords)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    assert np.shape(y) == np.shape(expected)
    assert y.dtype == expected.dtype


NAN_FUNCTIONS = [
    np.nansum,
    np.nanprod,
    np.nanmean,
    np.nanvar,
    np.nanstd,
    np.nanmax,
    np.nanmin,
]


@pytest.mark.parametrize("function", NAN_FUNCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_nan_left_out(function, axis):
    def f(x):
        return function(x, axis=axis)

    y, J = linad.linearize(f, HOLES)
    np.testing.assert_allclose(y, f(HOLES), rtol=1e-13)
    step = np.where(MASK, rng.standard_normal(HOLES.shape), 0.0)
    difference = (f(HOLES + 1e-4 * step) - f(HOLES - 1e-4 * step)) / 2e-4
    np.testing.assert_allclose(J.pushforward(step), difference, atol=1e-6)
    assert not np.any(J.pullback(np.ones_like(y))[~MASK])


@pytest.mark.parametrize("function", [*NAN_FUNCTIONS, np.nanmedian])
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_what_is_left_out_do_not_count(function, compiled):
    """What is missing may be a parameter times NaN, whose derivative is NaN as well."""

    def f(s):
        return np.sum(function(s * HOLES, axis=0))

    with np.errstate(invalid="ignore"):
        slope = linad.derivative(linad.jit(f) if compiled else f)(1.5)
    np.testing.assert_allclose(slope, (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("function", [np.nanmax, np.nanmin])
def test_lane_of_nothing_but_nan(function):
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        y = linad.linearize(lambda x: function(x, axis=1), np.full((2, 3), np.nan))[0]
    assert np.isnan(y).all()


def test_variance_has_the_hessian_of_centering():
    n = 5
    expected = 2 * (np.eye(n) - 1 / n) / (n - 1)
    np.testing.assert_allclose(linad.hessian(lambda x: np.var(x, ddof=1))(VECTOR), expected)


def test_standard_deviation_of_equal_entries():
    np.testing.assert_array_equal(linad.grad(np.std)(np.full(4, 2.0)), np.zeros(4))
    pushed = linad.jvp(np.std, (np.full(4, 2.0),), (VECTOR[:4],))[1]
    assert pushed == 0.0


def test_a_mean_of_ones_own_is_an_argument():
    def f(x, m):
        return np.var(x, mean=m)

    gx, gm = linad.grad(f, argnums=(0, 1))(VECTOR, np.array([0.2]))
    np.testing.assert_allclose(gx, 2 * (VECTOR - 0.2) / 5)
    np.testing.assert_allclose(gm, [-2 * np.mean(VECTOR - 0.2)])


def test_single_precision_stays():
    x = MATRIX.astype(np.float32)
    for f in (
        np.std,
        lambda x: np.var(x, where=MASK),
        lambda x: np.nanmean(x, axis=0),
        lambda x: np.average(x, axis=1, weights=WEIGHTS.astype(np.float32)),
    ):
        y, J = linad.linearize(f, x)
        assert y.dtype == J.pushforward(x).dtype == J.pullback(y).dtype == np.float32


def test_covariances_are_double_as_numpys():
    x = MATRIX.astype(np.float32)
    for f in (np.cov, np.corrcoef):
        y, J = linad.linearize(f, x)
        assert y.dtype == J.pushforward(x).dtype == f(x).dtype == np.float64
        assert J.pullback(y).dtype == np.float32
        assert linad.linearize(lambda x, f=f: f(x, dtype=np.float32), x)[0].dtype == np.float32


@pytest.mark.parametrize("rowvar", [True, False])
@pytest.mark.parametrize("y", [None, (3,), (1, 3), (3, 2), (1, 2), (3, 1), (1, 1)])
@pytest.mark.parametrize("m", [(), (3,), (1, 3), (3, 1), (0, 3), (3, 0), (3, 2)])
def test_what_is_a_variable_of_a_covariance_is_numpys(m, y, rowvar):
    given = (rng.random(m), None if y is None else rng.random(y), rowvar)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = np.cov(*given)
        except ValueError:
            with pytest.raises(ValueError, match="dimension"):
                linad.linearize(lambda m: np.cov(m, *given[1:]), given[0])
            return
        found = linad.linearize(lambda m: (np.cov(m, *given[1:]), m), given[0])[0][0]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("function", [np.nanvar, np.nanstd])
@pytest.mark.parametrize(
    "keywords", [{"ddof": 2}, {"ddof": 1, "keepdims": True}, {"correction": 3}, {"out": None}]
)
def test_too_few_entries_that_are_not_nan(function, keywords):
    x = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [4.0, 5.5, 6.0]])
    for axis in (None, 0, 1):

        def f(x, axis=axis):
            return function(x, axis=axis, **keywords)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = f(x)
            for found in (linad.linearize(f, x)[0], linad.jit(f)(x)):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
                assert np.shape(found) == np.shape(expected)


def test_too_few_degrees_of_freedom():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = linad.linearize(np.cov, VECTOR[:1])[0]
    assert any("freedom" in str(warning.message) for warning in seen)
    assert np.isnan(y)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda x: np.var(x, ddof=1, correction=1), ValueError, "correction"),
        (lambda x: np.average(x, weights=np.ones(3)), TypeError, "Axis"),
        (lambda x: np.average(x, axis=1, weights=np.ones(3)), ValueError, "weights"),
        (lambda x: np.average(x, axis=1, weights=np.zeros(4)), ZeroDivisionError, "zero"),
        (lambda x: np.cov(x[None]), ValueError, "2 dimensions"),
        (lambda x: np.cov(x, ddof=0.5), ValueError, "integer"),
        (lambda x: np.cov(x, fweights=np.ones(3)), RuntimeError, "fweights"),
        (lambda x: np.cov(x, aweights=-np.ones(4)), ValueError, "negative"),
        (lambda x: np.cov(x, fweights=WEIGHTS), TypeError, "integer"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        linad.linearize(call, MATRIX)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1.7])
@pytest.mark.parametrize("n", [3, 6, 7, 49])
def test_std_of_equal_entries_is_flat_whatever_the_mean_is_rounded_to(n, value):
    """NumPy's std of them may be 1e-17, and not 0; their slopes are no numbers over it."""
    x = np.full(n, value)
    every = np.ones(n, bool)
    for f in (np.std, np.nanstd, lambda x: np.std(x, where=every), lambda x: np.std(x, ddof=1)):
        assert np.max(np.abs(linad.grad(f)(x))) < 1e-15
        assert abs(linad.value_and_grad(f)(x)[0] - f(x)) < 1e-15
        with np.errstate(all="ignore"):
            assert np.all(np.isnan(linad.hessian(f)(x)))


@pytest.mark.parametrize("dtype", ["i8", "u2", "?"])
def test_deviations_of_chosen_whole_numbers(dtype):
    def f(x):
        return [g(x, where=x > 0, ddof=1) for g in (np.std, np.var)] + [np.var(x, mean=1.0)]

    x, jitted = np.array([3, 1, 0, 1]).astype(dtype), linad.jit(f)
    for _ in range(2):
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-14)


OF_NOTHING = {
    "average": np.average,
    "average along an axis": lambda x: np.average(x, axis=0),
    "average, returned": lambda x: np.average(x, axis=-1, returned=True),
    "weighted": lambda x: np.average(x, axis=0, weights=np.ones(x.shape[0])),
    "median": np.median,
    "medians": lambda x: np.median(x, axis=0),
    "quantile": lambda x: np.quantile(x, 0.3),
    "quantiles": lambda x: np.quantile(x, [0.1, 0.5], axis=0),
    "percentile": lambda x: np.percentile(x, 50),
    "nanmedian": lambda x: np.nanmedian(x, axis=0),
    "nanquantile": lambda x: np.nanquantile(x, 0.5, axis=0),
    **{f.__name__: f for f in (*NAN_FUNCTIONS, np.mean, np.var, np.std, np.max, np.min, np.ptp)},
    "maxima": lambda x: np.max(x, axis=0),
    "means": lambda x: np.mean(x, axis=-1),
    "cov": np.cov,
}


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", OF_NOTHING)
def test_empty_arrays_are_numpys(name, shape, kernels):
    """A number, NaN or an error of the same kind."""
    f, x = OF_NOTHING[name], np.zeros(shape)

    def outcome(run):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = run(x)
            except (ArithmeticError, LookupError, ValueError, TypeError) as error:
                return [type(error)]
        return found if isinstance(found, tuple) else (found,)

    expected = outcome(f)
    jitted = linad.jit(f)
    for run in (lambda x: linad.linearize(f, x)[0], jitted, jitted):
        found = outcome(run)
        assert [type(y) for y in found] == [type(y) for y in expected]
        for y, z in zip(found, expected, strict=True):
            if isinstance(z, (np.ndarray, np.generic)):
                np.testing.assert_array_equal(y, z, strict=True)
            else:
                assert y is z


def test_the_curvature_of_a_correlation_of_one():
    """r(a + t d, a) = 1 - t² sin² / 2 + ..., of the part of d across a; rounding may make r > 1."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        a, d = rng.standard_normal((2, 5))
        x, across = a - a.mean(), d - d.mean()
        across = across - x * (x @ across) / (x @ x)
        expected = -(across @ across) / (x @ x)
        for sign in (1, -1):

            def f(t, a=a, d=d, sign=sign):
                return np.corrcoef(a + t * d, sign * a)[0, 1]

            for g in (f, linad.jit(f)):
                np.testing.assert_allclose(g(0.0), sign, rtol=1e-15)
                np.testing.assert_allclose(linad.derivative(g)(0.0), 0, atol=1e-14)
                second = linad.derivative(linad.derivative(g))(0.0)
                np.testing.assert_allclose(second, sign * expected, rtol=1e-10)


def test_the_deviation_of_one_entry_is_zero_and_stays_so():
    for f in (np.std, np.var):
        assert linad.hessian(f)(np.array([2.0])) == 0
        assert linad.grad(linad.grad(lambda x, f=f: f(np.stack([x]))))(2.0) == 0
        assert np.all(linad.hessian(lambda x, f=f: np.sum(f(x, axis=0)))(np.ones((1, 2))) == 0)
