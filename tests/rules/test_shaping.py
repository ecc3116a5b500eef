"""Shapes, orders, dtypes: values as NumPy gives them, derivatives that move numbers about."""

import functools
import itertools

import numpy as np
import pytest
from case_values import check_error, check_value

import linad
from linad.rules import shaping
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
B = rng.standard_normal((2, 1, 3))
C = rng.standard_normal((2, 3, 2, 1))
V = rng.standard_normal(4)
S = np.asarray(rng.standard_normal())
EMPTY = np.zeros((0, 3))
Z = {"complex_": True}


def ordered(function, order):
    """A NumPy function with its order chosen (``order`` has another meaning to a case)."""
    chosen = functools.partial(function, order=order)
    chosen.__name__ = f"{function.__name__}_{order}"
    return chosen


CASES = [
    Case(shaping.reshape_, A, shape=(3, 2), check=Z),
    Case(shaping.transpose_, B, axes=(2, 0, 1), check=Z),
    Case(shaping.broadcast_to_, B, shape=(2, 2, 2, 3), check=Z),
    Case(shaping.astype_, A, dtype=np.dtype(np.float64), check={"float32": False}),
    Case(shaping.astype_, A, dtype=np.dtype(np.complex128), check={"float32": False}),
    Case(shaping.copy_, A, layout="K", check=Z),
    Case(np.reshape, A, shape=(-1,), check=Z),
    Case(np.reshape, A, shape=6),
    Case(ordered(np.reshape, "F"), A, shape=(3, -1), check=Z),
    Case(np.reshape, S, shape=(1, 1)),
    Case(np.reshape, EMPTY, shape=(3, 0, 2)),
    Case(np.ravel, A, check=Z),
    Case(ordered(np.ravel, "F"), A),
    Case(np.ravel, S),
    Case(ordered(np.ravel, "F"), EMPTY),
    Case(np.transpose, A, check=Z),
    Case(np.transpose, B, axes=(-1, 0, 1)),
    Case(np.transpose, S),
    Case(np.permute_dims, B, axes=(1, 2, 0)),
    Case(np.swapaxes, B, axis1=0, axis2=-1, check=Z),
    Case(np.matrix_transpose, B),
    Case(np.moveaxis, C, source=0, destination=-1),
    Case(np.moveaxis, C, source=(0, -1), destination=(1, 0), check=Z),
    Case(np.rollaxis, C, axis=2),
    Case(np.rollaxis, C, axis=0, start=3),
    Case(np.rollaxis, C, axis=-1, start=-3),
    Case(np.expand_dims, A, axis=-1, check=Z),
    Case(np.expand_dims, A, axis=(0, 2)),
    Case(np.expand_dims, S, axis=0),
    Case(np.squeeze, B, check=Z),
    Case(np.squeeze, C, axis=-1),
    Case(np.squeeze, np.ones((1, 2, 1)), axis=(0, 2)),
    Case(np.squeeze, np.ones((1, 1))),
    Case(np.atleast_1d, S, check=Z),
    Case(np.atleast_1d, S, A),
    Case(np.atleast_2d, V),
    Case(np.atleast_3d, S),
    Case(np.atleast_3d, V),
    Case(np.atleast_3d, A),
    Case(np.broadcast_to, V, shape=(2, 4), check=Z),
    Case(np.broadcast_to, S, shape=3),
    Case(np.broadcast_to, EMPTY, shape=(2, 0, 3)),
    Case(np.broadcast_to, V, shape=(0, 4)),
    Case(np.broadcast_arrays, A, B, S, check=Z),
    Case(np.copy, A, check=Z),
    Case(ordered(np.copy, "F"), B),
    Case(np.copy, S),
]


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    check_value(case)


LAYOUTS = {
    "c": A,
    "fortran": np.asfortranarray(A),
    "transposed": np.transpose(rng.standard_normal((3, 2, 2)), (2, 0, 1)),
    "strided": rng.standard_normal((4, 6))[::2, ::-2],
}


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("order", ["A", "K"])
def test_memory_order_of_the_point_counts(x, order):
    y, J = linad.linearize(lambda x: x.ravel(order), x)
    np.testing.assert_array_equal(y, x.ravel(order))
    np.testing.assert_array_equal(J.pushforward(x), x.ravel(order))
    np.testing.assert_array_equal(J.pullback(y), x)


def test_flatten_and_methods():
    def f(x):
        return (
            x.flatten("F") + x.T.ravel() + x.copy().reshape(3, 2, order="C").swapaxes(0, 1).ravel()
        )

    y, J = linad.linearize(f, A)
    np.testing.assert_array_equal(y, f(A))
    np.testing.assert_array_equal(J.pushforward(A), f(A))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_astype_casts_back(dtype):
    y, J = linad.linearize(lambda x: np.astype(x, dtype), A)
    assert y.dtype == dtype
    assert J.pushforward(A).dtype == dtype
    back = J.pullback(np.ones_like(y))
    assert back.dtype == A.dtype
    np.testing.assert_array_equal(back, np.ones_like(A))


def test_astype_to_integers_leaves_the_trace():
    kinds = []

    def f(x):
        whole = x.astype(int)
        kinds.append(type(whole))
        return x * whole

    x = np.array([1.5, 2.5])
    np.testing.assert_array_equal(linad.jacobian(f)(x), np.diag([1.0, 2.0]))
    assert kinds == [np.ndarray]


def test_astype_object():
    def f(x):
        o = x.astype(object)
        assert (o.dtype.kind, o.shape) == ("O", x.shape)
        return np.stack([o[0, 1] * o[1, 2], o.sum()])

    weights = np.zeros(A.shape)
    weights[0, 1], weights[1, 2] = A[1, 2], A[0, 1]
    J = linad.jacobian(f)(A)
    np.testing.assert_allclose(J, [weights, np.ones(A.shape)])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.reshape(x, (4, 2)),
        lambda x: np.reshape(x, (3, 2), order="Q"),
        lambda x: np.ravel(x, "Q"),
        lambda x: np.squeeze(x, 0),
        lambda x: np.moveaxis(x, (0, 1), 0),
        lambda x: np.moveaxis(x, (0, 0), (0, 1)),
        lambda x: np.transpose(x, (0, 0)),
        lambda x: np.transpose(x, (0, 2)),
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: np.expand_dims(x, (0, 0)),
        lambda x: np.rollaxis(x, 0, 5),
        lambda x: np.broadcast_to(x, (2, 2)),
        lambda x: np.matrix_transpose(x[0]),
        lambda x: np.broadcast_arrays(x, np.ones(4)),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(f):
    check_error(f, A)
