"""Textbook loops that overwrite arrays, as one writes them in NumPy, against closed forms."""

import numpy as np
import pytest
from programs.tridiagonal import solve as thomas
from together import together

import linad
from linad.core.vectors import inner, random_like
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
N = 6
A = rng.standard_normal((N, N)) + N * np.eye(N)
SPD = A @ A.T / N + np.eye(N)
B = rng.standard_normal(N)


def same_function(f, g, *args, order=2):
    """f, which overwrites, is g, a closed form: values, both modes, second derivatives."""
    before = [a.copy() for a in args]
    y, J = linad.linearize(f, *args)
    z, K = linad.linearize(g, *args)
    np.testing.assert_allclose(y, z, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(y, f(*[a.copy() for a in args]), rtol=1e-13)
    np.testing.assert_allclose(J.flat.todense(), K.flat.todense(), rtol=1e-9, atol=1e-11)
    w = random_like(y, rng)
    directions = random_like(args, rng)

    def gradient(h):
        return linad.grad(lambda *a: np.sum(w * np.sin(h(*a))), argnums=tuple(range(len(args))))

    first = linad.jvp(gradient(f), args, directions)[1]
    second = linad.jvp(gradient(g), args, directions)[1]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    check_derivatives(f, *args, order=order)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)


# The loops.


def forward_substitution(L, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]
    return x


def substitution_in_place(L, b):
    """The solution grows in the memory of the right side."""
    for i in range(len(b)):
        b[i] = (b[i] - L[i, :i] @ b[:i]) / L[i, i]
    return b


def tridiagonal(lower, diagonal, upper):
    return np.diag(lower, -1) + np.diag(diagonal) + np.diag(upper, 1)


def cholesky_by_columns(a):
    n = len(a)
    for j in range(n):
        a[j:, j] -= a[j:, :j] @ a[j, :j]
        a[j, j] = np.sqrt(a[j, j])
        a[j + 1 :, j] /= a[j, j]
        a[j, j + 1 :] = 0.0
    return a


def householder(a):
    """R of a QR factorisation, in the memory of the matrix."""
    m, n = a.shape
    for k in range(min(m - 1, n)):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.sqrt(np.sum(v * v))
        v /= np.sqrt(np.sum(v * v))
        block = a[k:, k:]
        block -= 2.0 * np.outer(v, v @ block)
    return np.triu(a)[:n]


def gauss_seidel(a, b, sweeps=3):
    x = np.zeros_like(b)
    for _ in range(sweeps):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def gauss_seidel_by_matrices(a, b, sweeps=3):
    x = np.zeros(len(b))
    for _ in range(sweeps):
        x = np.linalg.solve(np.tril(a), b - np.triu(a, 1) @ x)
    return x


def test_forward_substitution():
    L = np.tril(A)
    same_function(forward_substitution, lambda L, b: np.linalg.solve(np.tril(L), b), L, B)
    same_function(substitution_in_place, lambda L, b: np.linalg.solve(np.tril(L), b), L, B)


def test_forward_substitution_by_hand():
    L = np.tril(A)
    x, pullback = linad.vjp(substitution_in_place, L, B)
    w = rng.standard_normal(N)
    L_bar, b_bar = pullback(w)
    np.testing.assert_allclose(b_bar, np.linalg.solve(L.T, w), rtol=1e-12)
    np.testing.assert_allclose(L_bar, -np.tril(np.outer(np.linalg.solve(L.T, w), x)), rtol=1e-11)


def test_thomas():
    lower, upper = rng.standard_normal((2, N - 1))
    diagonal = 4.0 + rng.standard_normal(N)

    def dense(lower, diagonal, upper, b):
        return np.linalg.solve(tridiagonal(lower, diagonal, upper), b)

    same_function(thomas, dense, lower, diagonal, upper, B)


def test_cholesky():
    def symmetric(f):
        return lambda a: f((a + a.T) / 2)

    same_function(symmetric(cholesky_by_columns), symmetric(np.linalg.cholesky), SPD)


def test_householder():
    tall = np.concatenate([A, rng.standard_normal((2, N))])

    def gram(a):
        r = householder(a)
        return r.T @ r

    same_function(gram, lambda a: a.T @ a, tall)
    r = householder(tall.copy())
    np.testing.assert_allclose(np.abs(r), np.abs(np.linalg.qr(tall)[1]), rtol=1e-10, atol=1e-12)

    def positive(a):
        r = np.linalg.qr(a)[1]
        return r * np.sign(np.diag(r))[:, None]

    same_function(lambda a: householder(a) * np.sign(np.diag(r))[:, None], positive, tall)


def test_gauss_seidel():
    same_function(gauss_seidel, gauss_seidel_by_matrices, A, B)


# The seed of it all: a product written into an array that is given.


def mul(C, A, B):
    """C = A B, in the memory of C."""
    C[:] = A @ B


def alone(C, A, B):
    mul(C, A, B)
    return C


def twice(C, A, B):
    mul(C, A, B)
    mul(C, C, A)
    return C


def before_and_after(C, A, B):
    early = np.sin(C)
    mul(C, A, B)
    return early * C + C * C


def in_a_loop(C, A, B):
    total = np.zeros_like(C)
    for k in range(3):
        total += C * C
        mul(C, A, C + k * B)
    return total * C


def recursive(C, A, B, depth=3):
    if depth:
        mul(C, A, B)
        recursive(C, C, A, depth - 1)
        C += np.cos(C)
    return C


PURE = {
    alone: lambda C, A, B: A @ B,
    twice: lambda C, A, B: A @ B @ A,
    before_and_after: lambda C, A, B: np.sin(C) * (A @ B) + (A @ B) ** 2,
}


def pure_loop(C, A, B):
    total = 0.0
    for k in range(3):
        total = total + C * C
        C = A @ (C + k * B)
    return total * C


def pure_recursive(C, A, B, depth=3):
    if not depth:
        return C
    C = A @ B
    # The call below is given C twice: what it writes, it also reads.
    C = pure_recursive_same(C, A, depth - 1)
    return C + np.cos(C)


def pure_recursive_same(C, B, depth):
    """recursive(C, C, B): the matrix A is C itself."""
    if not depth:
        return C
    C = C @ B
    C = pure_recursive_last(C, depth - 1)
    return C + np.cos(C)


def pure_recursive_last(C, depth):
    """recursive(C, C, C)"""
    if not depth:
        return C
    C = C @ C
    C = pure_recursive_last(C, depth - 1)
    return C + np.cos(C)


PURE[in_a_loop] = pure_loop
PURE[recursive] = pure_recursive

C0, A0, B0 = 0.5 * rng.standard_normal((3, 3, 3))


@pytest.mark.parametrize("f", PURE, ids=lambda f: f.__name__)
def test_mul(f):
    same_function(f, PURE[f], C0, A0, B0)


# Pullbacks after the arrays have changed.


def workload(x):
    """Overwrites its argument and arrays of its own, reading both before and after."""
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = x[i] * np.sin(x[i - 1])
        x[i] += y[i] * y[i - 1]
    x[::2] *= y[1::2]
    return x


X = rng.standard_normal(8)


def test_pullbacks_can_be_repeated():
    y, pullback = linad.vjp(workload, X)
    seeds = rng.standard_normal((5, 8))
    J = linad.jacobian(workload)(X)
    kept = y.copy()
    for k in range(100):
        w = seeds[k % 5]
        (g,) = pullback(w)
        np.testing.assert_allclose(g, J.T @ w, rtol=1e-12, atol=1e-13)
        g[:] = np.nan  # the caller's
    y[:] = np.nan
    np.testing.assert_allclose(pullback(seeds)[0], seeds @ J, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(workload(X.copy()), kept)


def test_linearizations_are_independent():
    xs = rng.standard_normal((4, 8))
    operators = [linad.linearize(workload, x)[1] for x in xs]
    expected = [linad.jacobian(workload)(x) for x in xs]
    w = rng.standard_normal(8)
    for k in (0, 3, 1, 0, 2, 2, 3, 0):
        np.testing.assert_allclose(operators[k].pullback(w), w @ expected[k], rtol=1e-12)
        np.testing.assert_allclose(operators[k].pushforward(w), expected[k] @ w, rtol=1e-12)
        linad.grad(lambda x: np.sum(workload(x)))(xs[k])


def test_the_point_may_change_afterwards():
    x = X.copy()
    y, J = linad.linearize(workload, x)
    w = rng.standard_normal(8)
    before = J.pullback(w)
    x[:] = 0.0
    y[:] = 0.0
    np.testing.assert_array_equal(J.pullback(w), before)
    y, J = linad.linearize(np.exp, X)
    y[:] = 0.0
    np.testing.assert_allclose(J.pullback(w), np.exp(X) * w)


def test_threads():
    _, J = linad.linearize(workload, X)
    seeds = rng.standard_normal((8, 8))
    expected = [J.pullback(w) for w in seeds]

    def pull(k):
        for _ in range(20):
            np.testing.assert_array_equal(J.pullback(seeds[k]), expected[k])
            fresh = linad.vjp(workload, X)[1](seeds[k])[0]
            np.testing.assert_array_equal(fresh, expected[k])

    together(8, pull)


def test_dot_test_after_writes():
    _, J = linad.linearize(workload, X)
    v, w = rng.standard_normal((2, 8))
    assert abs(inner(w, J.pushforward(v)) - inner(J.pullback(w), v)) < 1e-12
