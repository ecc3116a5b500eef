import functools

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError

RNG = np.random.default_rng(3)
SHARDS = [RNG.standard_normal((n, 4)) for n in (3, 1, 7, 0)]
X = np.concatenate(SHARDS)
W = np.linspace(-1, 1, 4)


normal_of = functools.partial(linad.normal_of, jit=False)
sum_of = functools.partial(linad.sum_of, jit=False)


def residual(w, X):
    return np.tanh(X @ w) - 1


@pytest.fixture
def G():
    return normal_of(residual, SHARDS)(W)


def dense(w=W):
    J = linad.jacobian(residual)(w, X)
    return J.T @ J


def test_it_is_the_gauss_newton_matrix(G):
    assert np.allclose(G.todense(), dense(), rtol=1e-13)
    assert np.allclose(np.asarray(G.diagonal()), np.diag(dense()), rtol=1e-13)
    assert G.structure == ("symmetric", "positive semidefinite")
    assert np.allclose(G.T @ W, dense() @ W)


def test_systems_with_it_are_solved(G):
    step = linad.solve_linear(G + 0.1 * linad.eye(4), W)
    assert np.allclose(step, np.linalg.solve(dense() + 0.1 * np.eye(4), W), rtol=1e-10)


def test_gauss_newton_with_it_comes_to_the_least_squares():
    N = normal_of(residual, SHARDS)
    cost = sum_of(lambda w, X: 0.5 * np.sum(residual(w, X) ** 2), SHARDS)
    w = W
    for _ in range(30):
        w = w - linad.solve_linear(N(w) + 0.05 * linad.eye(4), linad.grad(cost)(w) + 0.05 * w)

    def ridge(w):
        return np.concatenate([residual(w, X), np.sqrt(0.05) * w])

    assert np.allclose(w, linad.solve.levenberg_marquardt(ridge, W).x, atol=1e-6)


def test_it_is_differentiated_in_its_point():
    N = normal_of(residual, SHARDS)
    found = linad.jacobian(lambda w: N(w).pushforward(np.ones(4)))(W)

    def product(w):
        J = linad.linearize(lambda w: residual(w, X), w)[1]
        return J.pullback(J.pushforward(np.ones(4)))

    assert np.allclose(found, linad.jacobian(product)(W), rtol=1e-10, atol=1e-12)


def test_many_seeds_go_in_blocks(G):
    expected = G.todense()
    with linad.config(block_bytes=64):
        assert np.allclose(G.pushforward(np.eye(4)), expected, rtol=1e-14)


def test_containers_and_shapes():
    N = normal_of(lambda p, c, X: c * X @ p["a"] * p["b"], SHARDS)
    p = {"a": W, "b": 2.0}
    J = linad.jacobian(lambda v: 3 * X @ v[:4] * v[4])(linad.ravel(p)[0])
    assert np.allclose(N(p, 3.0).todense(), J.T @ J)
    matrix = normal_of(lambda w, X: X @ w, SHARDS)(W.reshape(4, 1))
    assert matrix.in_shape == (4, 1)
    assert np.allclose(matrix.todense(), X.T @ X)
    with pytest.raises(ArgumentError, match="w must hold floating or complex arrays"):
        N({"a": np.arange(4), "b": np.arange(2)}, 1.0)


def test_complex_unknowns():
    N = normal_of(lambda z, X: X @ z * 1j, SHARDS)
    assert np.allclose(N(W + 0j).todense(), X.T @ X)
