"""Systems by iteration: which one fits, with how many steps, and how well."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import linad
from linad import solve_linear
from linad.operators.structured import Diagonal

rng = np.random.default_rng(0)


N = 5


A = rng.standard_normal((N, N)) + 3 * np.eye(N)


S = A @ A.T


@pytest.mark.parametrize(
    "make, method",
    [
        (lambda: A, "gmres"),
        (lambda: linad.tag(S, "symmetric"), "minres"),
        (lambda: linad.tag(S, "positive definite"), "cg"),
        (lambda: A[:, :3], "lsmr"),
    ],
    ids=["general", "symmetric", "definite", "rectangular"],
)
def test_krylov_is_the_iteration_that_fits(make, method):
    J = make()
    right = J @ np.ones(J.shape[1])
    x, why = solve_linear(J, right, method="krylov", explain=True)
    assert why.method == method
    np.testing.assert_allclose(x, 1.0, rtol=1e-7)


def times(d):
    """A diagonal matrix that hides its structure."""
    return LinearOperator(
        (d.size, d.size), lambda x: d * x.ravel(), rmatvec=lambda x: d * x.ravel(), dtype=float
    )


def test_large_and_symmetric():
    d = np.linspace(1.0, 2.0, 3000)
    J = linad.tag(times(d), "positive definite")
    x, why = solve_linear(J, np.ones(3000), explain=True)
    assert why.method == "cg"
    assert 0 < why.iterations < 60
    np.testing.assert_allclose(x, 1 / d)
    indefinite = linad.tag(times(d) - 1.51 * linad.eye(3000), "symmetric")
    x, why = solve_linear(indefinite, d - 1.51, explain=True)
    assert why.method == "minres"
    np.testing.assert_allclose(x, np.ones(3000), rtol=1e-5)


def test_preconditioner():
    d = np.logspace(0, 6, 400)
    M = Diagonal(1 / d, (400,), np.dtype(float))
    J = linad.tag(times(d), "positive definite")
    x, why = solve_linear(J, np.ones(400), M=M, explain=True)
    assert why.method == "cg"
    assert why.iterations <= 3
    np.testing.assert_allclose(x, 1 / d, rtol=1e-8)


def test_what_rounding_allows():
    """A norm of 1e7 beside a solution of size 500: the residual cannot come to 1e-10."""
    k = np.arange(1, 30)[:, None]
    u = np.linspace(0.0, 1.0, 3000)
    J = linad.linearize(lambda x: np.sum(k * x * np.sin(x + u), axis=1), u)[1]
    N = J.T @ J + 0.1 * linad.eye(3000)
    x, why = solve_linear(N, np.ones(3000), method="cg", rtol=1e-14, explain=True)
    noise = np.finfo(float).eps * N.norm_estimate(rng=0).value * np.linalg.norm(x) / 3000**0.5
    assert 1e-13 < why.residual < min(1e-6, 32 * noise)
