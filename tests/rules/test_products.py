"""Products: matmul in every combination of ranks, and what is built from it."""

import functools
import itertools

import numpy as np
import pytest

import linad
from linad.errors import TracerError
from linad.rules.products import cheapest_splits, dot_, matmul_, matvec_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def multi_dot(*arrays):
    return np.linalg.multi_dot(arrays)


CASES = [
    Case(matmul_, array(2, 3), array(3, 4), check=COMPLEX),
    Case(matmul_, array(2, 0), array(0, 3)),
    Case(matmul_, array(0, 2), array(2, 3)),
    Case(matvec_, array(2, 3), array(3), check=COMPLEX),
    Case(matvec_, array(0, 3), array(3)),
    Case(matvec_, array(3, 0), array(0)),
    Case(dot_, array(3), array(3), check=COMPLEX),
    Case(dot_, array(0), array(0)),
    Case(np.matmul, array(3), array(3), check=COMPLEX),
    Case(np.matmul, array(2, 3), array(3), check=COMPLEX),
    Case(np.matmul, array(3), array(3, 2)),
    Case(np.matmul, array(3), array(2, 3, 2)),
    Case(np.matmul, array(2, 2, 3), array(3)),
    Case(np.matmul, array(3, 1, 2, 3), array(2, 3, 2), check=COMPLEX),
    Case(np.matmul, array(2, 3), array(4, 3, 2)),
    Case(np.matmul, array(1, 2, 3), array(4, 3, 1)),
    Case(np.matmul, array(3, 2, 2), array(3, 2, 2), axes=[(0, 1), (1, 0), (1, 2)]),
    Case(np.linalg.matmul, array(2, 3), array(3, 2)),
    Case(np.dot, array(3), array(3), check=COMPLEX),
    Case(np.dot, np.array(1.5), array(2, 2)),
    Case(np.dot, array(2, 3), array(3, 2)),
    Case(np.dot, array(2, 2, 3), array(3)),
    Case(np.dot, array(3), array(2, 3, 2)),
    Case(np.dot, array(2, 1, 3), array(2, 3, 2), check=COMPLEX),
    Case(np.vdot, array(2, 3), array(2, 3), check=COMPLEX),
    Case(np.inner, array(2, 3), array(4, 3), check=COMPLEX),
    Case(np.inner, array(3), array(3)),
    Case(np.inner, np.array(2.0), array(3)),
    Case(np.outer, array(2), array(2, 2), check=COMPLEX),
    Case(np.linalg.outer, array(2), array(3)),
    Case(np.tensordot, array(2, 3, 4), array(4, 3, 2), axes=([1, 2], [1, 0]), check=COMPLEX),
    Case(np.tensordot, array(2, 3), array(2, 3)),
    Case(np.tensordot, array(2), array(3), axes=0),
    Case(np.linalg.tensordot, array(2, 3), array(3, 2), axes=1),
    Case(np.vecdot, array(2, 3), array(4, 1, 3), check=COMPLEX),
    Case(np.vecdot, array(3, 2), array(3, 2), axis=0),
    Case(np.vecdot, array(2, 3), array(2, 3), keepdims=True),
    Case(np.vecdot, array(3, 2), array(2, 3), axes=[0, 1, 0], keepdims=True),
    Case(np.linalg.vecdot, array(3, 2), array(3, 2), axis=-2, check=COMPLEX),
    Case(np.matvec, array(2, 2, 3), array(3), check=COMPLEX),
    Case(np.matvec, array(3, 2), array(2, 3), axes=[(0, 1), 0, 1]),
    Case(np.vecmat, array(2, 3), array(3, 2), check=COMPLEX),
    Case(np.vecmat, array(3), array(2, 3, 2), axes=[0, (1, 2), 0]),
    Case(multi_dot, array(2, 4), array(4, 3), array(3, 2), check=COMPLEX),
    Case(multi_dot, array(3), array(3, 2), array(2, 4), array(4)),
    Case(np.linalg.matrix_power, array(3, 3), n=3, check=COMPLEX),
    Case(np.linalg.matrix_power, array(2, 2, 2), n=6),
    Case(np.linalg.matrix_power, array(2, 2) + 3 * np.eye(2), n=-2),
    Case(np.linalg.matrix_power, array(2, 2), n=1),
    Case(np.linalg.trace, array(2, 3, 3), check=COMPLEX),
    Case(np.linalg.trace, array(3, 4), offset=1),
    Case(np.linalg.diagonal, array(2, 3, 3), offset=-1),
    Case(np.linalg.matrix_transpose, array(2, 3, 2)),
]

VALUES = [
    (np.matmul, (3,), (3,)),
    (np.matmul, (2, 3), (3,)),
    (np.matmul, (3,), (4, 3, 2)),
    (np.matmul, (5, 1, 2, 3), (4, 3, 2)),
    (np.dot, (), (2,)),
    (np.dot, (2, 4, 3), (5, 3, 2)),
    (np.dot, (2, 3), (3,)),
    (np.vdot, (2, 2), (2, 2)),
    (np.inner, (2, 3), (4, 5, 3)),
    (np.outer, (2, 2), (3,)),
    (np.tensordot, (2, 3, 4), (3, 4, 5)),
    (functools.partial(np.tensordot, axes=(-1, 0)), (2, 3), (3, 2)),
    (np.vecdot, (4, 3), (3,)),
    (functools.partial(np.vecdot, axis=0, keepdims=True), (3, 2), (3, 2)),
    (np.matvec, (2, 2, 3), (3,)),
    (np.vecmat, (3,), (3, 2)),
    (multi_dot, (3,), (3,)),
    (multi_dot, (3,), (3, 2)),
]


@pytest.mark.parametrize("k", range(len(VALUES)))
def test_values_are_numpys(k):
    function, a, b = VALUES[k]
    a = rng.standard_normal(a) + 1j * rng.standard_normal(a)
    b = rng.standard_normal(b)
    y, _ = linad.linearize(function, a, b)
    expected = function(a, b)
    assert np.shape(y) == np.shape(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-13)


def test_jacobian_of_a_product_is_a_kronecker_product():
    a, b = array(2, 3), array(3, 4)
    J = linad.jacobian(lambda a: a @ b)(a).reshape(8, 6)
    np.testing.assert_allclose(J, np.kron(np.eye(2), b.T))
    J = linad.jacobian(lambda b: a @ b)(b).reshape(8, 12)
    np.testing.assert_allclose(J, np.kron(a, np.eye(4)))


def test_multi_dot_takes_the_cheapest_order():
    # Cormen et al.: ((A1 (A2 A3)) ((A4 A5) A6)), and the value whatever the order.
    split = cheapest_splits([30, 35, 15, 5, 10, 20, 25])
    assert (split[0, 5], split[0, 2], split[3, 5]) == (2, 0, 4)
    sizes = [10, 2, 30, 3, 40]
    arrays = [array(m, n) for m, n in itertools.pairwise(sizes)]
    y, _ = linad.linearize(lambda a: multi_dot(a, *arrays[1:]), arrays[0])
    np.testing.assert_allclose(y, multi_dot(*arrays), rtol=1e-12)


def test_lists_and_matrices_beside_a_traced_vector():
    gradient = linad.grad(lambda x: np.dot([1.0, 2.0], x))(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(gradient, [1.0, 2.0])


def test_zeroth_power_is_constant():
    y, J = linad.linearize(lambda a: np.linalg.matrix_power(a, 0), array(2, 3, 3))
    np.testing.assert_array_equal(y, np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert not J.todense().any()


ERRORS = {
    "lengths": (lambda x: x @ np.ones((2, 2)), ValueError),
    "matmul by a number": (lambda x: x @ np.float64(2.0), ValueError),
    "tensordot lengths": (lambda x: np.tensordot(x, np.ones(2), 1), ValueError),
    "vecdot axes": (lambda x: np.vecdot(x, x, axes=[-1, -1, -1]), np.exceptions.AxisError),
    "vecdot axes kept": (
        lambda x: np.vecdot(x, x, axes=[-1, -1, (0, 1)], keepdims=True),
        np.exceptions.AxisError,
    ),
    "matmul axes": (lambda x: np.matmul(x, x, axes=[-1, -1, -1]), np.exceptions.AxisError),
    "tensordot axes": (lambda x: np.tensordot(x, np.ones(3), 2), ValueError),
    "outer of a matrix": (lambda x: np.linalg.outer(x, np.ones((2, 2))), ValueError),
    "power of a vector": (lambda x: np.linalg.matrix_power(x, 2), np.linalg.LinAlgError),
    "one factor": (lambda x: np.linalg.multi_dot([x]), ValueError),
    "dot out": (lambda x: np.dot(x, x, out=np.zeros(())), TracerError),
    "matmul out": (lambda x: np.matmul(x, x, out=np.zeros(())), TracerError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(function, np.ones(3))


@pytest.mark.parametrize(
    "product",
    [np.vdot, np.vecdot, np.dot, np.inner, np.matmul, np.vecmat],
    ids=lambda f: f.__name__,
)
def test_products_of_booleans_are_booleans(product):
    a = np.array([True, True, False])
    b = np.stack([a, a, a]) if product is np.vecmat else a
    f = linad.jit(lambda a, b: product(a, b) * 1.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(a, b), product(a, b) * 1.0)
