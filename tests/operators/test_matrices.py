"""The inverse of a matrix as an operator."""

import numpy as np
import operator_zoo as zoo
import pytest

import linad
from linad.operators.matrices import Kronecker, Solve
from linad.operators.system_matrix import SystemMatrix

rng = np.random.default_rng(0)


def regular(shape, dtype):
    return 0.5 * zoo.numbers(rng, shape, dtype) + 2 * np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", [*zoo.REAL, *zoo.COMPLEX], ids=str)
def test_matrix(dtype):
    a = regular((3, 3), dtype)
    op = Solve(a, (3, 2), (3, 2), dtype)
    tolerance = zoo.tolerance(dtype)
    expected = np.kron(np.linalg.inv(a), np.eye(2))
    dense = op.todense()
    assert dense.dtype == dtype
    np.testing.assert_allclose(dense, expected, atol=tolerance)
    np.testing.assert_allclose(op.H.todense(), np.conj(expected.T), atol=tolerance)
    np.testing.assert_allclose(op.T.todense(), expected.T, atol=tolerance)


def large(dtype):
    """Large enough for its factors to be kept."""
    return zoo.numbers(rng, (40, 40), dtype) + 20 * np.eye(40, dtype=dtype)


@pytest.mark.parametrize("dtype", [*zoo.REAL, *zoo.COMPLEX], ids=str)
def test_a_matrix_whose_factors_are_kept(dtype):
    a = large(dtype)
    op = Solve(a, (40, 2), (40, 2), dtype)
    b = zoo.numbers(rng, (3, 40, 2), dtype)
    c = zoo.numbers(rng, (3, 2, 40, 2), dtype)
    inverse = np.linalg.inv(a)
    tolerance = zoo.tolerance(dtype)
    np.testing.assert_allclose(op.pushforward(b), inverse @ b, atol=tolerance)
    found = op.pullback(c)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.conj(inverse.T) @ c, atol=tolerance)
    mixed = Solve(a, (40, 1), (40, 1), np.promote_types(dtype, complex))
    z = zoo.numbers(rng, (40, 1), np.dtype(complex))
    np.testing.assert_allclose(mixed.pushforward(z), inverse @ z, atol=tolerance)


SHAPES = [
    ((3, 3), (3, 2)),
    ((3, 3), (4, 3, 2)),
    ((4, 3, 3), (3, 2)),
    ((4, 3, 3), (4, 3, 1)),
    ((5, 1, 3, 3), (4, 3, 2)),
    ((1, 3, 3), (4, 3, 2)),
    ((0, 0), (0, 2)),
    ((3, 3), (3, 0)),
]


@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("seeds", [(), (2,), (2, 3)])
def test_stacks_and_seeds(a, b, seeds):
    a = regular(a, np.dtype(complex))
    out = np.linalg.solve(a, np.zeros(b)).shape
    op = Solve(a, out, b, a.dtype)
    v = zoo.numbers(rng, (*seeds, *b), a.dtype)
    w = zoo.numbers(rng, (*seeds, *out), a.dtype)
    pushed, pulled = op.pushforward(v), op.pullback(w)
    assert pushed.shape == (*seeds, *out)
    assert pulled.shape == (*seeds, *b)
    for index in np.ndindex(seeds):
        np.testing.assert_allclose(pushed[index], np.linalg.solve(a, v[index]), atol=1e-13)
        dot = np.vdot(pulled[index], v[index])
        np.testing.assert_allclose(np.vdot(w[index], pushed[index]), dot, atol=1e-12)


def test_operators_share_the_factors_of_a_matrix():
    matrix = SystemMatrix(large(np.dtype(float)))
    first = Solve(matrix, (40, 1), (40, 1), np.dtype(float))
    second = Solve(matrix, (40, 2), (40, 2), np.dtype(float))
    first.pushforward(np.ones((40, 1)))
    factors = matrix._factors
    assert factors is not None
    second.pullback(np.ones((40, 2)))
    assert matrix._factors is factors


@pytest.mark.parametrize("n", [2, 40])
def test_singular_matrix(n):
    op = Solve(np.zeros((n, n)), (n, 1), (n, 1), np.dtype(float))
    with pytest.raises(np.linalg.LinAlgError):
        op.pushforward(np.ones((n, 1)))


def test_a_traced_matrix():
    a = regular((3, 3), np.dtype(float))
    b, da = np.ones((4, 3, 2)), rng.standard_normal((3, 3))

    def f(a):
        return Solve(a, (3, 2), (3, 2), np.dtype(float)).pullback(b)

    inverse = np.linalg.inv(a)
    found = linad.jvp(f, (a,), (da,))[1]
    np.testing.assert_allclose(found, -(inverse @ da @ inverse).T @ b, atol=1e-13)


@pytest.mark.parametrize("shape", [(2, 30, 30, 3), (30, 2, 3, 30), (30, 3, 2, 30), (3, 4, 5, 6)])
def test_factors_on_either_side_in_any_order(shape):
    """L X R^T, whichever product comes first."""
    rng, (m, p, n, q) = np.random.default_rng(0), shape
    left, right = rng.standard_normal((m, p)), rng.standard_normal((n, q))
    op = Kronecker(left, right, (m, n), (p, q), np.dtype(float))
    x, y = rng.standard_normal((4, p, q)), rng.standard_normal((4, m, n))
    np.testing.assert_allclose(op.pushforward(x), left @ x @ right.T, rtol=1e-12)
    np.testing.assert_allclose(op.pullback(y), left.T @ y @ right, rtol=1e-12)
