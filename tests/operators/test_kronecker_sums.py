"""Sums of Kronecker products: found in programs, inverted against dense matrices."""

import numpy as np
import operator_zoo as zoo
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

import linad
from linad.operators import kronecker_sums
from linad.operators.kronecker_sums import KroneckerSumInverse, kronecker_sum

SHAPE = (4, 3, 2)


def matrices(rng, dtype, hermitian=False):
    """One for each axis, with eigenvalues to the right of the imaginary axis."""
    found = [zoo.numbers(rng, (n, n), dtype) / 4 for n in SHAPE]
    if hermitian:
        found = [a + a.conj().T for a in found]
    return [a + 2 * np.eye(len(a), dtype=dtype) for a in found]


def programs(a, b, c):
    """Functions of an array (4, 3), and of (4, 3, 2): name -> (function, shape)."""
    e = np.einsum
    return {
        "sum": (lambda X: a @ X + X @ b, (4, 3)),
        "flat": (lambda x: (a @ x.reshape(4, 3) + x.reshape(4, 3) @ b).ravel(), (12,)),
        "shifted": (lambda X: a @ X + X @ b.T + 3.0 * X, (4, 3)),
        "multiples": (lambda X: X + 0.5 * (a @ X + 2.0 * X @ b) + 0.25 * a @ X, (4, 3)),
        "einsum": (lambda X: e("ij,jk->ik", a, X) + e("ij,kj->ik", X, b), (4, 3)),
        "tensordot": (lambda X: np.tensordot(a, X, 1) + np.tensordot(X, b, 1), (4, 3)),
        "one": (lambda X: a @ X + 2.0 * X, (4, 3)),
        "two products": (lambda X: a @ X @ b + 0.2 * a.T @ X @ b.T, (4, 3)),
        "product and identity": (lambda X: X - 0.1 * a @ X @ b, (4, 3)),
        "product and one side": (lambda X: 0.1 * a @ X @ b + a @ X, (4, 3)),
        "last axes": (lambda X: a @ X + X @ b, (5, 4, 3)),
        "first axes": (lambda X: e("ij,jkl->ikl", a, X) + e("kj,ijl->ikl", b, X), (4, 3, 2)),
        "axes apart": (lambda X: e("ij,jkl->ikl", a, X) + X @ c, (4, 3, 2)),
        "inner axis": (lambda X: e("kj,ijl->ikl", b, X) + 1.5 * X, (4, 3, 2)),
    }


def three(a, b, c):
    def f(X):
        e = np.einsum
        return e("ij,jkl->ikl", a, X) + e("kj,ijl->ikl", b, X) + X @ c + X

    return f


NAMES = sorted(programs(*[None] * 3))


def check(f, shape, dtype, seed):
    x = zoo.numbers(np.random.default_rng(seed), shape, dtype)
    J = linad.linearize(f, x)[1]
    A = J.todense()
    inverse = J.flat.simplified().inverse_form()
    assert inverse is not None
    expected = np.linalg.inv(A.astype(np.result_type(A, float)))
    atol = 100 * np.finfo(dtype).eps * np.linalg.cond(A) * np.abs(expected).max()
    assert inverse.dtype == dtype
    np.testing.assert_allclose(inverse.todense(), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(inverse.H.todense(), expected.conj().T, rtol=0, atol=atol)
    b = zoo.numbers(np.random.default_rng(1), J.out_shape, dtype)
    y, why = linad.solve_linear(J, b, explain=True)
    assert why.method == "closed form"
    np.testing.assert_allclose(y.ravel(), expected @ b.ravel(), rtol=0, atol=10 * atol)
    return J


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=5)
@given(st.sampled_from(zoo.REAL + zoo.COMPLEX), st.booleans(), st.integers(0, 100))
def test_inverses(name, dtype, hermitian, seed):
    f, shape = programs(*matrices(np.random.default_rng(seed), dtype, hermitian))[name]
    J = check(f, shape, dtype, seed)
    word = "kronecker" if name in ("one", "inner axis") else "kronecker sum"
    assert word in J.structure


@pytest.mark.parametrize("dtype", zoo.REAL + zoo.COMPLEX, ids=str)
def test_three_hermitian_matrices(dtype):
    J = check(three(*matrices(np.random.default_rng(0), dtype, True)), SHAPE, dtype, 0)
    assert "kronecker sum" in J.structure


def test_three_others_are_left_to_a_factorisation():
    J = linad.linearize(three(*matrices(np.random.default_rng(0), np.dtype(float))), np.ones(SHAPE))
    assert "kronecker sum" in J[1].structure
    b = np.ones(24)
    x, why = linad.solve_linear(J[1], b, explain=True)
    assert why.method == "dense LU"
    np.testing.assert_allclose(J[1] @ x, b)


def test_against_scipy():
    """`scipy.linalg.solve_sylvester`, with complex eigenvalues of real matrices."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((9, 9)), rng.standard_normal((7, 7)), rng.standard_normal((9, 7))
    J = linad.linearize(lambda X: a @ X + X @ b, np.zeros((9, 7)))[1]
    x, why = linad.solve_linear(J, c, explain=True)
    assert why.method == "closed form"
    np.testing.assert_allclose(x, scipy.linalg.solve_sylvester(a, b, c), rtol=1e-9)


def test_poisson_on_a_large_cube():
    """48³ unknowns in a moment, nothing formed."""
    n = 48
    second = np.diff(np.eye(n + 1, n) - np.eye(n + 1, n, -1), axis=0)

    def laplacian(U):
        e = np.einsum
        return e("ij,jkl", second, U) + e("ij,kjl->kil", second, U) + e("ij,klj->kli", second, U)

    b = np.random.default_rng(0).standard_normal((n, n, n))
    with linad.config(densify_limit=10_000):
        J = linad.linearize(laplacian, np.zeros((n, n, n)))[1]
        u, why = linad.solve_linear(J, b, explain=True)
    assert why.method == "closed form"
    np.testing.assert_allclose(laplacian(u), b, atol=1e-9)


def test_nearly_singular_factors_are_not_divided_away():
    """A X B^T + C X D^T is regular although each of A, B, C, D is singular."""
    a, c = np.diag([1.0, 1.0, 0.0]), np.diag([0.0, 0.0, 1.0])
    b, d = np.diag([1.0, 1.0]), np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    J = linad.linearize(lambda X: a @ X @ b + c @ X @ d, np.ones((3, 2)))[1]
    assert kronecker_sum(J.simplified()) is not None
    with pytest.raises(kronecker_sums.NotSeparableError):
        KroneckerSumInverse([[a, b], [c, d]], [3, 2], J.dtype)
    assert linad.solve_linear(J, np.arange(6.0), explain=True)[1].method == "dense LU"


@pytest.mark.parametrize(
    "f",
    [
        lambda X: np.eye(4) * 2 @ np.sin(X) + X @ np.ones((3, 3)),
        lambda X: X.T.reshape(4, 3) + X @ np.ones((3, 3)),
        lambda X: X.reshape(2, 6) @ np.ones((6, 6)) + (np.ones((4, 4)) @ X).reshape(2, 6),
        lambda X: X * 2.0,
    ],
    ids=["diagonal between", "permutation", "other axes", "number"],
)
def test_what_is_none(f):
    J = linad.linearize(f, np.ones((4, 3)))[1]
    assert kronecker_sum(J.simplified()) is None


def test_derivatives_of_the_solution():
    """In the matrices, where the closed form gives way, and in the right side."""
    rng = np.random.default_rng(0)
    a, b, _ = matrices(rng, np.dtype(float))
    c = rng.standard_normal((4, 3))

    def solution(a, c):
        J = linad.linearize(lambda X: a @ X + X @ b, np.zeros((4, 3)))[1]
        return np.sum(linad.solve_linear(J, c) ** 2)

    def dense(a, c):
        K = np.kron(a, np.eye(3)) + np.kron(np.eye(4), b.T)
        return np.sum(np.linalg.solve(K, c.ravel()) ** 2)

    for argnums in (0, 1):
        found = linad.grad(solution, argnums=argnums)(a, c)
        np.testing.assert_allclose(found, linad.grad(dense, argnums=argnums)(a, c), rtol=1e-9)
