"""solve_linear: every way, its explanation, its derivatives, its refusals."""

import logging

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import linad
from linad import solve_linear
from linad.errors import (
    ConvergenceError,
    DTypeError,
    OptionError,
    ShapeError,
    SingularError,
    UnsupportedError,
)
from linad.operators.algebra import as_operator
from linad.operators.matrices import Matrix
from linad.operators.residuals import lifted
from linad.operators.structured import Conjugation, Diagonal

rng = np.random.default_rng(0)
N = 5
A = rng.standard_normal((N, N)) + 3 * np.eye(N)
S = A @ A.T
b, t0 = rng.standard_normal(N), 0.3 * rng.standard_normal(N)


def of_parameters(t, kind):
    """Operators made of traced values."""
    if kind == "low rank":
        J = linad.linearize(lambda x: np.stack([np.sum(x * t), x @ x]), b)[1]
        return J.T @ J + 0.5 * linad.eye(N)
    f = {
        "dense": lambda x: np.linalg.inv(np.outer(x, t) + A) @ b + 2 * np.sin(x * t) + x,
        "diagonal": lambda x: np.sin(x * t) + 2 * x,
        "definite": lambda x: S @ x + np.exp(t) * x,
        "matrices": lambda x: A @ (x * np.exp(t)),
    }[kind]
    return linad.linearize(f, b)[1]


WAYS = [
    ("dense", ["auto", "gmres"]),
    ("diagonal", ["auto", "closed form", "dense", "cg", "minres", "gmres"]),
    ("definite", ["auto", "dense", "cg", "minres"]),
    ("low rank", ["auto", "dense", "cg"]),
    ("matrices", ["auto", "gmres"]),
]


@pytest.mark.parametrize(
    "kind, method", [(kind, m) for kind, methods in WAYS for m in methods], ids=str
)
def test_derivatives(kind, method):
    """Value, first and second derivatives in the operator and the right side, both modes,
    against numpy.linalg.solve of the dense matrix."""

    def ours(t, b):
        return solve_linear(of_parameters(t, kind), b * np.sum(t), method=method, rtol=1e-13)

    def dense(t, b):
        return np.linalg.solve(of_parameters(t, kind).todense(), b * np.sum(t))

    x, J = linad.linearize(ours, t0, b)
    y, K = linad.linearize(dense, t0, b)
    close = {"rtol": 1e-7, "atol": 1e-8}
    np.testing.assert_allclose(x, y, **close)
    np.testing.assert_allclose(J.todense(), K.todense(), **close)
    np.testing.assert_allclose(J.T.todense(), K.T.todense(), **close)

    def second(f):
        return linad.hessian(lambda t: np.sum(f(t, b) ** 2))(t0), linad.jvp(
            linad.grad(lambda b: np.sum(f(t0, b) ** 2)), (b,), (t0,)
        )[1]

    for found, expected in zip(second(ours), second(dense), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_recorded_programs():
    """A tape that holds an iteration is differentiated twice."""

    def f(t):
        return np.sum(solve_linear(of_parameters(t, "definite"), b, method="cg", rtol=1e-13) ** 2)

    _, tape = linad.trace(f, t0)
    expected = linad.hessian(lambda t: np.sum(np.linalg.solve(S + np.diag(np.exp(t)), b) ** 2))
    np.testing.assert_allclose(linad.hessian(tape)(t0), expected(t0), rtol=1e-6, atol=1e-9)


def stencil(n):
    """A nonlinear tridiagonal function of n variables, and its Jacobian."""

    def f(u):
        zero = np.zeros(1)
        left, right = np.concatenate([zero, u[:-1]]), np.concatenate([u[1:], zero])
        return np.sqrt(1 + (left - 3 * u + right + 0.1 * u**3) ** 2)

    return linad.linearize(f, np.linspace(0.5, 1.0, n))[1]


def unknown(n, rng):
    """An operator of which nothing is proven, not far from the identity."""
    a = rng.standard_normal((n, n)) / (10 * n**0.5)
    return LinearOperator((n, n), lambda x: x + a @ x, rmatvec=lambda x: x + a.T @ x, dtype=float)


CHOICES = {
    "diagonal": (lambda: linad.linearize(np.exp, np.zeros(9))[1], "closed form"),
    "given": (lambda: A, "dense LU"),
    "symmetric": (lambda: linad.tag(S, "positive definite"), "Cholesky"),
    "small": (lambda: of_parameters(t0, "dense"), "dense LU"),
    "stencil": (lambda: stencil(500), "sparse LU"),
    "sparse array": (lambda: scipy.sparse.eye_array(500, format="csr") * 2, "sparse LU"),
    "sparse diagonal": (lambda: scipy.sparse.eye_array(500) * 2, "closed form"),
    "middling": (lambda: unknown(300, rng), "dense LU"),
    "large": (lambda: unknown(2100, rng), "gmres"),
    "rectangular": (lambda: A[:, :3], "least squares"),
    "large rectangular": (lambda: scipy.sparse.random_array((3000, 50), rng=0), "lsmr"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choice(name, caplog):
    make, method = CHOICES[name]
    J = make()
    m, n = J.shape
    right = np.ones(m) if m == n else J @ np.ones(n)
    with caplog.at_level(logging.DEBUG, logger="linad"):
        x, why = solve_linear(J, right, explain=True)
    assert why.method == method
    assert why.method in caplog.text
    assert why.residual < 1e-8
    assert method in str(why)
    np.testing.assert_allclose(J @ x, right, rtol=1e-7)
    np.testing.assert_array_equal(x, solve_linear(J, right))


@pytest.mark.parametrize("method", ["dense", "sparse", "gmres", "minres", "cg"])
def test_asked_for(method):
    J = linad.tag(S, "symmetric")
    x, why = solve_linear(J, b, method=method, explain=True)
    np.testing.assert_allclose(x, np.linalg.solve(S, b), rtol=1e-7)
    assert "asked for" in why.reason
    assert why.method == {"dense": "dense LU", "sparse": "sparse LU"}.get(method, method)


def test_shapes():
    X = rng.standard_normal((3, 4))
    J = linad.linearize(lambda X: A[:3, :3] @ X, X)[1]
    right = rng.standard_normal((3, 4))
    shaped = solve_linear(J, right)
    assert shaped.shape == (3, 4)
    np.testing.assert_allclose(A[:3, :3] @ shaped, right)
    np.testing.assert_allclose(solve_linear(J, right.ravel()), shaped.ravel())
    columns = rng.standard_normal((12, 2))
    np.testing.assert_allclose(J @ solve_linear(J, columns), columns)
    np.testing.assert_allclose(A @ solve_linear(A, [1, 2, 3, 4, 5]), [1, 2, 3, 4, 5])
    assert solve_linear(A.astype(np.float32), b.astype(np.float32)).dtype == np.float32


def test_complex():
    Z = A + 1j * A.T
    for method in ("auto", "gmres", "sparse"):
        np.testing.assert_allclose(
            solve_linear(Z, b, method=method), np.linalg.solve(Z, b), rtol=1e-7
        )
        np.testing.assert_allclose(
            solve_linear(A, b * 1j, method=method), np.linalg.solve(A, b * 1j), rtol=1e-7
        )


def test_least_squares():
    tall = rng.standard_normal((8, 3))
    right = rng.standard_normal(8)
    expected = np.linalg.lstsq(tall, right)[0]
    np.testing.assert_allclose(solve_linear(tall, right), expected)
    np.testing.assert_allclose(solve_linear(tall, right, method="lsmr"), expected, rtol=1e-6)
    np.testing.assert_allclose(
        solve_linear(tall.T, right[:3]), np.linalg.lstsq(tall.T, right[:3])[0]
    )

    def f(s):
        return solve_linear(Matrix(tall * s), right)

    np.testing.assert_allclose(linad.jacobian(f)(np.ones(3)), -np.diag(expected), atol=1e-12)
    # lsmr in the right side
    P = linad.jacobian(lambda r: solve_linear(tall, r, method="lsmr", rtol=1e-13))(right)
    np.testing.assert_allclose(P, np.linalg.pinv(tall), atol=1e-9)


SINGULAR = {"ones": np.ones((3, 3)), "zero": np.zeros((3, 3)), "diagonal": np.diag([1.0, 0, 2])}


@pytest.mark.parametrize("method", ["auto", "dense", "sparse", "cg", "gmres", "minres"])
@pytest.mark.parametrize("name", SINGULAR)
def test_singular(name, method):
    with pytest.raises((SingularError, ConvergenceError), match="singular|zero"):
        solve_linear(SINGULAR[name], np.array([1.0, 2.0, 4.0]), method=method)


def test_singular_and_traced():
    def f(t):
        return solve_linear(Matrix(t * np.ones((2, 2))), np.ones(2))

    with pytest.raises(SingularError):
        linad.derivative(f)(1.0)


@pytest.mark.parametrize(
    "error, words, call",
    [
        (OptionError, "method must be .*, got 'magic'", lambda: solve_linear(A, b, method="magic")),
        (ShapeError, r"b must have shape .*got \(4,\)", lambda: solve_linear(A, b[:4])),
        (DTypeError, "numbers", lambda: solve_linear(A, np.array(["a"] * N))),
        (ValueError, "infinities or NaNs", lambda: solve_linear(A, b * np.nan)),
        (ShapeError, "not square", lambda: solve_linear(A[:, :2], b, method="sparse")),
        (ShapeError, "cg needs a square", lambda: solve_linear(A[:, :2], b, method="cg")),
        (DTypeError, "minres is for real", lambda: solve_linear(1j * A, b, method="minres")),
        (
            UnsupportedError,
            "no inverse in closed form",
            lambda: solve_linear(of_parameters(t0, "dense"), b, method="closed form"),
        ),
        (
            UnsupportedError,
            "over the reals only",
            lambda: solve_linear(Conjugation((N,), np.dtype(complex)), b),
        ),
        (
            ConvergenceError,
            "stopped at a relative residual",
            lambda: solve_linear(
                np.diag(np.arange(1.0, 301.0)), np.ones(300), method="cg", maxiter=2
            ),
        ),
        (TypeError, "M must be an operator .*, got shape", lambda: solve_linear(A, b, M=np.eye(3))),
    ],
)
def test_refused(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_sparse_factors_of_traced_operators_are_refused():
    with pytest.raises(UnsupportedError, match="traced values"):
        linad.jacobian(lambda t: solve_linear(of_parameters(t, "dense"), b, method="sparse"))(t0)


def test_inverse_is_an_operator():
    J = stencil(500)
    inverse = J.inverse()
    np.testing.assert_allclose(inverse @ (J @ np.ones(500)), np.ones(500), rtol=1e-8)
    np.testing.assert_allclose(inverse.T @ (J.T @ np.ones(500)), np.ones(500), rtol=1e-8)
    large = as_operator(unknown(2100, rng))
    v = np.ones((2100, 2))
    np.testing.assert_allclose(large @ (large.inverse() @ v), v)
    np.testing.assert_allclose(large.H @ (large.inverse().H @ v), v)


def test_lifted_operators():
    """What is traced in an operator is taken out, once each, and put back."""
    seen = {}

    def f(t):
        op = (
            Diagonal(t, (3,), np.dtype(float))
            @ Matrix(np.eye(3))
            @ Diagonal(t, (3,), np.dtype(float))
        )
        arrays, recipe = lifted(op)
        seen["count"] = len(arrays)
        plain = recipe([np.arange(3.0)])
        seen["plain"] = plain @ np.ones(3)
        return op @ np.ones(3)

    linad.jacobian(f)(np.ones(3))
    assert seen["count"] == 1
    np.testing.assert_array_equal(seen["plain"], [0, 1, 4])
    op = Matrix(np.eye(2))
    arrays, recipe = lifted(op)
    assert arrays == []
    assert recipe([]) is op
