"""Reductions: sums, means, products, extrema, log-sum-exp."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

import linad
from linad.errors import TracerError
from linad.rules.reductions import (
    fmax_,
    fmin_,
    logaddexp2_,
    logaddexp_,
    max_,
    mean_,
    min_,
    prod_,
    sum_,
)
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array(0.7)
VECTOR = rng.standard_normal(5)
MATRIX = rng.standard_normal((3, 4))
CUBE = rng.standard_normal((2, 3, 2))
EMPTY = np.zeros((0, 3))
ZEROS = np.array([[2.0, 0.0, -1.5], [0.0, 3.0, 0.0], [1.0, 2.0, 0.5]])
MASK = rng.random((3, 4)) > 0.4
COMPLEX = {"complex_": True}

CASES = [
    Case(sum_, MATRIX, axes=(0, 1), check=COMPLEX),
    Case(mean_, MATRIX, axes=(1,), check=COMPLEX),
    Case(prod_, MATRIX, axes=(1,), check=COMPLEX),
    Case(max_, MATRIX, axes=(0,)),
    Case(min_, MATRIX, axes=(1,)),
    Case(fmax_, MATRIX, axes=(0, 1)),
    Case(fmin_, MATRIX, axes=(0,)),
    Case(logaddexp_, MATRIX, axes=(1,)),
    Case(logaddexp2_, MATRIX, axes=(0,)),
    Case(np.sum, SCALAR),
    Case(np.sum, SCALAR, axis=-1),
    Case(np.sum, EMPTY, axis=0),
    Case(np.sum, MATRIX, axis=-1, keepdims=True),
    Case(np.sum, CUBE, axis=(0, -1)),
    Case(np.sum, CUBE, axis=()),
    Case(np.sum, MATRIX, axis=0, initial=2.0),
    Case(np.sum, MATRIX, axis=0, where=MASK),
    Case(np.sum, MATRIX, dtype=np.float64, check={"float32": False}),
    Case(np.mean, SCALAR),
    Case(np.mean, MATRIX, axis=0, keepdims=True),
    Case(np.mean, CUBE, axis=(1, 2)),
    Case(np.mean, MATRIX, where=MASK, axis=1, check=COMPLEX),
    Case(np.mean, MATRIX, dtype=np.float64, check={"float32": False}),
    Case(np.prod, SCALAR),
    Case(np.prod, VECTOR, check=COMPLEX),
    Case(np.prod, np.array([2.0, 0.0, -1.5]), check=COMPLEX),
    Case(np.prod, ZEROS, axis=0),
    Case(np.prod, ZEROS, axis=-1, keepdims=True),
    Case(np.prod, CUBE, axis=(0, 2)),
    Case(np.prod, EMPTY, axis=0),
    Case(np.prod, MATRIX, axis=1, where=MASK, initial=0.5),
    Case(np.max, SCALAR),
    Case(np.max, CUBE, axis=(0, 2), keepdims=True),
    Case(np.max, MATRIX, axis=0, where=MASK, initial=-9.0),
    Case(np.max, MATRIX, axis=0, initial=0.1),
    Case(np.max, VECTOR, check=COMPLEX),
    Case(np.amax, MATRIX, axis=-1),
    Case(np.min, MATRIX),
    Case(np.min, MATRIX, axis=1, where=MASK, initial=9.0),
    Case(np.amin, MATRIX, axis=0),
    Case(np.ptp, MATRIX, axis=1, keepdims=True),
    Case(np.add.reduce, MATRIX),
    Case(np.add.reduce, CUBE, axis=(0, 1), keepdims=True, initial=1.0),
    Case(np.multiply.reduce, ZEROS),
    Case(np.multiply.reduce, MATRIX, axis=None),
    Case(np.maximum.reduce, MATRIX),
    Case(np.minimum.reduce, MATRIX, axis=1, keepdims=True),
    Case(np.fmax.reduce, MATRIX),
    Case(np.fmin.reduce, MATRIX),
    Case(np.logaddexp.reduce, MATRIX),
    Case(np.logaddexp.reduce, MATRIX, axis=(0, 1), initial=0.3, where=MASK),
    Case(np.logaddexp2.reduce, VECTOR),
    Case(np.subtract.reduce, MATRIX),
    Case(np.subtract.reduce, MATRIX, axis=1, keepdims=True),
    Case(np.true_divide.reduce, MATRIX + 3.0),
    Case(np.true_divide.reduce, VECTOR[:1]),
]

REDUCTIONS = [
    (np.sum, {}),
    (np.sum, {"where": MASK, "initial": 3.0, "axis": -1}),
    (np.prod, {"where": MASK, "axis": 0, "keepdims": True}),
    (np.mean, {"where": MASK}),
    (np.max, {"where": MASK, "initial": -1.0, "axis": 0}),
    (np.min, {"axis": (0, 1), "keepdims": True}),
    (np.ptp, {"axis": 0}),
    (np.add.reduce, {"where": MASK}),
    (np.multiply.reduce, {"initial": 2.0}),
    (np.subtract.reduce, {"axis": 1}),
    (np.true_divide.reduce, {}),
    (np.logaddexp.reduce, {"axis": None}),
    (np.fmax.reduce, {}),
]


@pytest.mark.parametrize("function, keywords", REDUCTIONS)
def test_values_are_numpys(function, keywords):
    y, J = linad.linearize(lambda x: function(x, **keywords), MATRIX)
    expected = function(MATRIX, **keywords)
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    assert np.shape(y) == np.shape(expected)
    assert J.pushforward(MATRIX).shape == np.shape(expected)


def test_methods_are_the_functions():
    y = linad.linearize(lambda x: x.max(axis=0) - x.mean() + x.sum(1).prod() + x.min(), MATRIX)[0]
    expected = MATRIX.max(axis=0) - MATRIX.mean() + MATRIX.sum(1).prod() + MATRIX.min()
    np.testing.assert_allclose(y, expected)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_with_zeros(zeros):
    x = np.array([2.0, -3.0, 0.5, 4.0, 1.5])
    x[:zeros] = 0.0
    others = [np.prod(np.delete(x, i)) for i in range(5)]
    np.testing.assert_array_equal(linad.grad(np.prod)(x), others)
    pairs = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(5)] for i in range(5)]
    np.testing.assert_allclose(linad.hessian(np.prod)(x), pairs, rtol=1e-14)


def test_third_derivative_of_a_product_of_zeros():
    x = np.zeros(3)
    third = linad.jacobian(linad.hessian(np.prod))(x)
    expected = np.zeros((3, 3, 3))
    for i, j, k in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        expected[i, j, k] = 1.0
    np.testing.assert_array_equal(third, expected)


@pytest.mark.parametrize("function", [np.max, np.min])
def test_ties_share_equally(function):
    x = np.array([[1.0, 3.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    attains = x == function(x, axis=1, keepdims=True)
    expected = attains / attains.sum(axis=1, keepdims=True)
    found = linad.grad(lambda x: np.sum(function(x, axis=1)))(x)
    np.testing.assert_array_equal(found, expected)
    pushed = linad.jvp(lambda x: function(x, axis=1), (x,), (x * x,))[1]
    np.testing.assert_allclose(pushed, np.sum(expected * x * x, axis=1))


def test_nan_stays_with_its_entry():
    x = np.array([1.0, np.nan, 2.0])
    np.testing.assert_array_equal(linad.grad(np.max)(x), [0.0, 1.0, 0.0])


def test_masked_entries_do_no_harm():
    x = np.array([1.0, np.nan, np.inf, 2.0])
    where = np.isfinite(x)
    found = linad.grad(lambda x: np.sum(x, where=where) ** 2)(x)
    np.testing.assert_array_equal(found, 6.0 * where)


def test_empty_reductions():
    np.testing.assert_array_equal(linad.jvp(np.sum, (np.zeros(0),), (np.zeros(0),))[1], 0.0)
    assert linad.vjp(np.prod, np.zeros(0))[1](1.0)[0].shape == (0,)
    y = linad.jvp(lambda x: np.max(x, axis=0, initial=1.5), (EMPTY,), (EMPTY,))[0]
    np.testing.assert_array_equal(y, np.full(3, 1.5))
    with pytest.raises(ValueError, match="zero-size array"):
        linad.grad(np.max)(np.zeros(0))


def test_initial_may_be_traced():
    f = lambda x: np.max(x[1:], initial=x[0]) + np.sum(x[1:], initial=x[0])  # noqa: E731
    np.testing.assert_array_equal(linad.grad(f)(np.array([3.0, 1.0, 2.0])), [2.0, 1.0, 1.0])


def logsumexp(x):
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


@pytest.mark.parametrize("f", [logsumexp, lambda x: np.logaddexp.reduce(x, axis=-1)])
@pytest.mark.parametrize("x", [VECTOR, VECTOR * 300, np.array([1.0, 2.0, 2.0])])
def test_log_sum_exp_to_second_order(f, x):
    p = softmax(x)
    np.testing.assert_allclose(linad.grad(f)(x), p, atol=1e-13)
    np.testing.assert_allclose(linad.hessian(f)(x), np.diag(p) - np.outer(p, p), atol=1e-13)


def test_log_sum_exp_of_nothing():
    x = np.array([[-np.inf, -np.inf], [-np.inf, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = linad.grad(lambda x: np.sum(np.exp(np.logaddexp.reduce(x, axis=1))))(x)
    np.testing.assert_array_equal(found, [[0.0, 0.0], [0.0, 1.0]])


def test_single_precision_stays():
    x = MATRIX.astype(np.float32)
    for f in (np.mean, np.max, np.prod, np.logaddexp.reduce):
        y, J = linad.linearize(f, x)
        assert y.dtype == J.pushforward(x).dtype == J.pullback(y).dtype == np.float32
    assert linad.grad(lambda x: np.sum(x, dtype=np.float64))(x).dtype == np.float32


def test_half_precision_mean_adds_in_single():
    x = np.full(5000, 100.0, np.float16)
    assert linad.linearize(np.mean, x)[0] == 100.0


@pytest.mark.parametrize("axis", [2, -3])
def test_wrong_axis(axis):
    with pytest.raises(np.exceptions.AxisError):
        linad.grad(lambda x: np.sum(np.sum(x, axis=axis)))(MATRIX)


def test_repeated_axis():
    with pytest.raises(ValueError, match="axis"):
        linad.grad(lambda x: np.sum(x, axis=(0, 0)))(MATRIX)


def test_out_is_refused():
    with pytest.raises(TracerError, match="out="):
        linad.grad(lambda x: np.sum(x, out=np.zeros(())))(MATRIX)


def test_where_without_initial():
    with pytest.raises(ValueError, match="initial"):
        linad.grad(lambda x: np.max(x, where=MASK))(MATRIX)


SUMS = {
    "sum": np.sum,
    "prod": np.prod,
    "nansum": np.nansum,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "add.reduce": np.add.reduce,
    "add.accumulate": np.add.accumulate,
    "add.reduceat": lambda a, **options: np.add.reduceat(a, [0, 1], **options),
    "trace": lambda a, **options: np.trace(np.diag(a), **options),
}


@pytest.mark.parametrize("dtype", [bool, "i1", "i4", "u2", "f4", "c8"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_in_a_given_dtype(name, dtype):
    """The result is of that dtype, in which small integers overflow as NumPy's do."""
    x = np.array([100.7, 90.2, 3.1])
    expected, found = SUMS[name](x, dtype=dtype), []

    def f(a):
        y = SUMS[name](a, dtype=dtype)
        found.append((y.dtype, np.array(getattr(y, "concrete", y))))
        return a

    with warnings.catch_warnings(action="ignore", category=np.exceptions.ComplexWarning):
        linad.linearize(f, x)
    assert found[0][0] == expected.dtype
    np.testing.assert_array_equal(found[0][1], expected)


@pytest.mark.parametrize("kind", ["bool", "int32", "float32"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "add.reduce"])
def test_sums_calculate_in_the_dtype_of_out(name, kind):
    x = np.array([1.0, 0.0, 2.0])

    def f(a):
        b = a.astype(kind)
        y = np.empty_like(b) if "cum" in name else np.empty_like(b[:1].reshape(()))
        SUMS[name](b, out=y)
        return y * a

    np.testing.assert_array_equal(linad.linearize(f, x)[0], f(x))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,)])
def test_products_are_repeated_to_fill_out(shape):
    def f(a):
        y = np.zeros_like(a)
        np.matmul(a[..., :2], a[..., :2], out=y) if a.ndim == 1 else np.vecdot(a, a, out=y[0, :2])
        return y

    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(linad.linearize(f, x)[0], f(x))


def test_the_sum_of_a_small_integer_is_as_wide_as_that_of_several():
    def f(x):
        i = (x * 3).astype("i4")
        found.append([i[0].sum().dtype, np.sum(i, axis=()).dtype, i[0].prod().dtype])
        return x

    found = []
    f(np.ones(2))
    linad.linearize(f, np.ones(2))
    assert found[0] == found[1] == [np.dtype("int64")] * 3


def test_booleans_are_counted_under_jit():
    f = linad.jit(lambda x: np.bincount(x) * 1.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.array([True, False, True])), [1.0, 2.0])


@pytest.mark.parametrize("ufunc", [np.fmax, np.fmin])
def test_what_is_nan_keeps_its_derivative_out_of_extrema_that_pass_over_it(ufunc):
    """The slope of p · NaN is NaN, that of the least of what is left is not."""
    d = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 0.5]])
    where = np.array([True, True, False])
    for f in (
        lambda p: ufunc.reduce(p * d, axis=None),
        lambda p: ufunc.reduce(p * d, axis=1).sum(),
        lambda p: ufunc.reduce(p * d, axis=0, keepdims=True).sum(),
        lambda p: ufunc.reduce(p * d, axis=1, initial=0.7, where=where).sum(),
        lambda p: ufunc.reduce(p * d, axis=1, initial=np.nan).sum(),
    ):
        expected = (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6
        for slope in (linad.grad(f), linad.derivative(f), linad.jit(linad.grad(f))):
            np.testing.assert_allclose(slope(2.0), expected, rtol=1e-6)
    assert np.isnan(linad.grad(lambda p: ufunc.reduce(p * np.array([np.nan, np.nan])))(2.0))


EXTREMES = {
    "max": np.max,
    "min": lambda y: np.min(1 / (y + 0.1)),
    "rows": lambda y: np.sum(np.max(np.stack([y, y[::-1]]), axis=1)),
    "nanmax": np.nanmax,
    "fmax": np.fmax.reduce,
}


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")
@pytest.mark.parametrize("name", EXTREMES)
def test_entries_that_are_not_extreme_may_have_infinite_slopes(name):
    """As √x has at 0: the largest of several distances of which one is 0."""

    def f(x):
        return EXTREMES[name](np.sqrt(x))

    x, k = np.array([0.0, 4.0, 9.0, 0.25]), 2
    e = 1e-6 * np.eye(4)[k]
    expected = np.where(np.arange(4) == k, (f(x + e) - f(x - e)) / 2e-6, 0.0)
    forward = [linad.jvp(f, (x,), (t,))[1] for t in np.eye(4)]
    jitted = linad.jit(linad.grad(f))
    for found in (linad.grad(f)(x), jitted(x), jitted(x), linad.grad(linad.jit(f))(x), forward):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")
def test_extremes_in_loops_leave_out_the_other_entries():
    def f(x):
        y = 0.0
        for k in range(12):
            y = y + np.max(np.sqrt(x + k * 0.0)) / (1.0 + k)
        return y

    x = np.array([0.0, 4.0, 9.0])
    expected = [0.0, 0.0, np.sum(1 / np.arange(1.0, 13)) / 6]
    for g in (linad.grad(f), linad.grad(linad.jit(f)), linad.jit(linad.grad(f))):
        np.testing.assert_allclose(g(x), expected)
