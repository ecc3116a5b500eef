"""Running sums, products, extrema, log-sum-exps, and sums of segments."""

import itertools

import numpy as np
import pytest

import linad
from linad.rules.cumulative import (
    cumprod_,
    cumsum_,
    logaddexp2_accumulate,
    logaddexp_accumulate,
    recurrence,
    segment_sum,
)
from linad.testing.derivative_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array(0.7)
VECTOR = rng.standard_normal(5)
MATRIX = rng.standard_normal((3, 4))
EMPTY = np.zeros((0, 3))
ZEROS = np.array([[2.0, 0.0, -1.5, 1.2], [0.0, 3.0, 0.0, -2.0]])
HOLES = np.array([1.0, np.nan, 2.0, np.nan, -1.0])
COMPLEX = {"complex_": True}

CASES = [
    Case(cumsum_, MATRIX, axis=1, check=COMPLEX),
    Case(cumprod_, MATRIX, axis=1, check=COMPLEX),
    Case(logaddexp_accumulate, MATRIX, axis=0),
    Case(logaddexp2_accumulate, MATRIX, axis=1),
    Case(segment_sum, MATRIX, starts=np.array([1, 2]), axis=1, check=COMPLEX),
    Case(recurrence, MATRIX, MATRIX + 1.0, axis=-1, backward=False, check=COMPLEX),
    Case(recurrence, MATRIX[:, 0], MATRIX.T, axis=-1, backward=True, check=COMPLEX),
    Case(recurrence, MATRIX, rng.standard_normal((2, 3, 4)), axis=-2, backward=False),
    Case(np.cumsum, SCALAR),
    Case(np.cumsum, MATRIX),
    Case(np.cumsum, MATRIX, axis=-2),
    Case(np.cumsum, EMPTY, axis=0),
    Case(np.cumprod, MATRIX),
    Case(np.cumprod, EMPTY, axis=-1),
    Case(np.cumprod, ZEROS, axis=0),
    Case(np.cumprod, ZEROS, axis=-1, check=COMPLEX),
    Case(np.cumprod, np.zeros(1)),
    Case(np.nancumsum, MATRIX, axis=1),
    Case(np.nancumprod, MATRIX, axis=0),
    Case(np.cumulative_sum, VECTOR),
    Case(np.cumulative_sum, MATRIX, axis=1, include_initial=True),
    Case(np.cumulative_prod, MATRIX, axis=-2, include_initial=True),
    Case(np.add.accumulate, MATRIX),
    Case(np.multiply.accumulate, MATRIX, axis=1),
    Case(np.maximum.accumulate, MATRIX, axis=1),
    Case(np.minimum.accumulate, MATRIX),
    Case(np.logaddexp.accumulate, MATRIX, axis=-1),
    Case(np.logaddexp2.accumulate, VECTOR),
    Case(np.subtract.accumulate, MATRIX, axis=1),
    Case(np.true_divide.accumulate, MATRIX + 3.0),
    Case(np.add.reduceat, MATRIX, np.array([0, 2, 3]), axis=1),
    Case(np.add.reduceat, MATRIX, np.array([2, 0, 0, 1]), axis=0),
    Case(np.multiply.reduceat, VECTOR, np.array([0, 3, 1])),
    Case(np.maximum.reduceat, VECTOR, np.array([0, 2])),
    Case(np.minimum.reduceat, MATRIX, np.array([0, 2]), axis=-1),
    Case(np.logaddexp.reduceat, VECTOR, np.array([1, 3])),
    Case(np.logaddexp2.reduceat, VECTOR, np.array([1, 3])),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{c!r}" for k, c in enumerate(CASES)])
def test_values_are_numpys(case):
    plain = case.function(*case.args, **case.params)
    y = linad.linearize(lambda x: case.function(x, *case.args[1:], **case.params), case.args[0])[0]
    np.testing.assert_allclose(y, plain, rtol=1e-13)
    assert np.shape(y) == np.shape(plain)


def test_methods():
    y = linad.linearize(lambda x: x.cumsum() + x.cumprod(axis=0), VECTOR)[0]
    np.testing.assert_allclose(y, VECTOR.cumsum() + VECTOR.cumprod())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 16, 33])
def test_recurrence_is_the_loop(n):
    a, b = rng.standard_normal((2, n))
    h, expected = 0.0, []
    for k in range(n):
        h = a[k] * h + b[k]
        expected.append(h)
    np.testing.assert_allclose(recurrence(a, b, axis=-1, backward=False), expected, rtol=1e-12)


@pytest.mark.parametrize("zeros", [[], [0], [2], [1, 3], [0, 1, 2, 3]])
def test_cumprod_with_zeros(zeros):
    x = np.array([2.0, -1.5, 0.5, 3.0])
    x[zeros] = 0.0
    expected = np.zeros((4, 4))
    second = np.zeros((4, 4, 4))
    for k in range(4):
        for i in range(k + 1):
            expected[k, i] = np.prod(np.delete(x[: k + 1], i))
            for j in range(k + 1):
                second[k, i, j] = 0.0 if i == j else np.prod(np.delete(x[: k + 1], [i, j]))
    np.testing.assert_allclose(linad.jacobian(np.cumprod)(x), expected, atol=1e-15)
    np.testing.assert_allclose(linad.jacobian(linad.jacobian(np.cumprod))(x), second, atol=1e-15)


def test_nan_counts_as_nothing():
    total = linad.jacobian(np.nancumsum)(HOLES)
    np.testing.assert_array_equal(total, np.tril(np.ones((5, 5))) * ~np.isnan(HOLES))
    product = linad.jacobian(np.nancumprod)(HOLES)
    np.testing.assert_array_equal(product[-1], [-2.0, 0.0, -1.0, 0.0, 2.0])


def test_running_extremum_belongs_to_its_first_entry():
    x = np.array([1.0, 3.0, 2.0, 3.0, 4.0])
    found = linad.jacobian(np.maximum.accumulate)(x)
    np.testing.assert_array_equal(found, np.eye(5)[[0, 1, 1, 1, 4]])
    found = linad.jacobian(np.minimum.accumulate)(np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(found, [[1.0, 0.0], [1.0, 0.0]])


def test_log_accumulate_from_minus_infinity():
    x = np.array([-np.inf, 0.0, 0.0])
    found = linad.jacobian(np.logaddexp.accumulate)(x)
    np.testing.assert_allclose(found, [[0, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])


def test_long_lanes():
    x = rng.uniform(0.5, 1.5, 1000)
    g = linad.grad(lambda x: np.sum(np.cumprod(x)))(x)
    y = np.cumprod(x)
    np.testing.assert_allclose(g, np.cumsum(y[::-1])[::-1] / x, rtol=1e-12)


def test_cumulative_sum_needs_an_axis():
    with pytest.raises(ValueError, match="axis"):
        linad.jacobian(np.cumulative_sum)(MATRIX)


def test_cumulative_sum_along_a_tuple_of_one_axis():
    np.testing.assert_array_equal(
        linad.linearize(lambda x: np.cumulative_sum(x, axis=(0,)), MATRIX)[0],
        np.cumulative_sum(MATRIX, axis=0),
    )


def test_reduceat_checks_its_indices():
    with pytest.raises(IndexError, match="reduceat"):
        linad.jacobian(lambda x: np.add.reduceat(x, [0, 9]))(VECTOR)


@pytest.mark.parametrize("method", ["accumulate", "reduce"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8"])
def test_differences_of_small_integers_are_small(method, dtype):
    x = np.array([1, 5, 200, 3]).astype(dtype)
    f = linad.jit(lambda x: getattr(np.subtract, method)(x))
    expected = getattr(np.subtract, method)(x)
    assert f(x).dtype == expected.dtype
    np.testing.assert_array_equal(f(x), expected)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("ufunc", [np.add, np.maximum], ids=lambda u: u.__name__)
def test_segments_lie_in_memory_as_numpys(ufunc, order):
    a = np.arange(60.0).reshape(np.array([3, 4, 5])[list(order)]).transpose(np.argsort(order))
    for axis, starts in itertools.product(range(3), ([0, 1], [0, 2, 1], [1, 1])):
        expected = ufunc.reduceat(a, starts, axis=axis)
        found = linad.linearize(lambda x: ufunc.reduceat(x, starts, axis=axis), a)[0]  # noqa: B023
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides
