"""Constant sparse matrices and operators with traced vectors."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import linad
import linad.scipy.sparse as ls
import linad.scipy.sparse.linalg as lsl
from linad.errors import LinadError, ShapeError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
D = rng.standard_normal((4, 3)) * (rng.random((4, 3)) < 0.7)
Z = D + 1j * rng.standard_normal((4, 3))
SQUARE = rng.standard_normal((4, 4)) * (rng.random((4, 4)) < 0.6) + 4 * np.eye(4)
X, XS = rng.standard_normal(3), rng.standard_normal((3, 2))
W, WS = rng.standard_normal(4), rng.standard_normal((2, 4))
FORMATS = [
    f"{f}_{c}"
    for f in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
    for c in ("array", "matrix")
]
PLAIN = scipy.sparse.csc_array(np.array([[3.0, 1.0], [1.0, 2.0]]))


@pytest.mark.parametrize("name", FORMATS)
def test_products(name):
    A = getattr(scipy.sparse, name)(D)
    for f, x in [
        (lambda x: A @ x, X),
        (lambda x: A @ x, XS),
        (lambda x: x @ A, W),
        (lambda x: x @ A, WS),
        (lambda x: A.T @ x, W),
        (lambda x: (x @ A) * (A.T @ x**2), W),
    ]:
        np.testing.assert_allclose(linad.linearize(f, x)[0], f(x))
        check_derivatives(f, x)


def test_dot_method_and_matrix_times():
    A = scipy.sparse.csr_array(D)
    check_derivatives(lambda x: A.dot(x), X)
    M = scipy.sparse.csr_matrix(D)
    check_derivatives(lambda x: M * x, X)
    check_derivatives(lambda x: x * M, W[None])


def test_complex_and_single():
    A = scipy.sparse.csr_array(Z)
    check_derivatives(lambda x: A @ x, X + 1j * XS[:, 0])
    check_derivatives(lambda x: x @ A, W)
    check_derivatives(lambda x: A @ x, X)
    B = scipy.sparse.csr_array(D.astype(np.float32))
    y, J = linad.linearize(lambda x: B @ x, X.astype(np.float32))
    assert y.dtype == J.pullback(y).dtype == np.float32


def test_integers_and_empty():
    check_derivatives(lambda x: scipy.sparse.csr_array(np.eye(3, dtype=int)) @ x, X)
    check_derivatives(lambda x: scipy.sparse.csr_array((2, 3)) @ x, X)


def test_operator_products():
    A = scipy.sparse.csr_array(D)
    op = lsl.aslinearoperator(A)
    np.testing.assert_array_equal(op @ X, A @ X)
    for f, x in [
        (lambda x: op @ x**2, X),
        (lambda x: op @ x, XS),
        (lambda x: op.T @ x, W),
        (lambda x: op.H.dot(x), W),
        (lambda x: op.rmatvec(x), W),
        (lambda x: op.matvec(x), X),
        (lambda x: op.matmat(x), XS),
        (lambda x: x @ op, W),
        (lambda x: x @ scipy.sparse.linalg.aslinearoperator(A), W),
    ]:
        check_derivatives(f, x)


CLOSED = {
    "matvec": lambda x: _operator(x).matvec(x),
    "sum": lambda x: (2 * _operator(x) + lsl.aslinearoperator(_operator(x * x)).H.H) @ x,
    "cg": lambda x: lsl.cg(_operator(x), x**2, rtol=1e-12)[0],
    "gmres": lambda x: lsl.gmres(_operator(x), X)[0],
    "plain": lambda x: lsl.cg(lsl.LinearOperator((3, 3), matvec=lambda v: 2 * v), x)[0],
}


def _operator(x):
    """A positive definite one, whose products close over x."""

    def product(v):
        return 4 * v + x * (D.T @ (D @ (x * v)))

    return lsl.LinearOperator((3, 3), matvec=product, rmatvec=product, dtype=float)


@pytest.mark.parametrize("name", CLOSED)
def test_operators_that_close_over_traced_values(name, kernels):
    f = CLOSED[name]
    check_derivatives(f, X, order=2)
    with_scipys = f(X)
    found, J = linad.linearize(f, X)
    np.testing.assert_allclose(found, with_scipys, rtol=1e-4 if name == "gmres" else 1e-10)
    compiled = linad.jit(f)
    for x in (X, 1.1 * X, X):
        again = linad.jacobian(compiled)(x)
    np.testing.assert_allclose(again, J @ np.eye(3), rtol=1e-9, atol=1e-12)


def test_what_is_a_linear_operator():
    class Twice(lsl.LinearOperator):
        def __init__(self):
            super().__init__(float, (3, 3))

        def _matvec(self, x):
            return 2 * x

    assert isinstance(Twice(), scipy.sparse.linalg.LinearOperator)
    assert isinstance(scipy.sparse.linalg.aslinearoperator(D), lsl.LinearOperator)
    assert not isinstance(D, lsl.LinearOperator)
    np.testing.assert_array_equal(Twice() @ X, 2 * X)
    with pytest.raises(LinadError, match="preconditioner"):
        linad.linearize(lambda x: lsl.cg(np.eye(3), x, M=_operator(x))[0], X)


def test_options_that_choose_pivots_may_be_traced():
    A = scipy.sparse.csc_array(SQUARE)

    def f(x):
        threshold = np.exp(-x[0] ** 2)
        moved = lsl.splu(x[0] * A, diag_pivot_thresh=threshold)
        return moved.solve(x) + lsl.splu(A, diag_pivot_thresh=threshold).solve(x)

    check_derivatives(f, W)
    np.testing.assert_allclose(linad.jit(f)(W), f(W))


def test_systems():
    A = scipy.sparse.csc_array(SQUARE)
    lower = scipy.sparse.csr_array(np.tril(SQUARE))
    factors, solve = lsl.splu(A), lsl.factorized(A)
    for f, expected in [
        (lambda b: lsl.spsolve(A, b), np.linalg.solve(SQUARE, W)),
        (lambda b: lsl.spsolve(A, b[:, None]), np.linalg.solve(SQUARE, W)),
        (lambda b: lsl.spsolve(A.tocsr(), b), np.linalg.solve(SQUARE, W)),
        (lambda b: factors.solve(b), np.linalg.solve(SQUARE, W)),
        (lambda b: factors.solve(b, "T"), np.linalg.solve(SQUARE.T, W)),
        (lambda b: solve(b), np.linalg.solve(SQUARE, W)),
        (lambda b: lsl.spsolve_triangular(lower, b), np.linalg.solve(np.tril(SQUARE), W)),
    ]:
        np.testing.assert_allclose(f(W), expected)
        np.testing.assert_allclose(linad.linearize(f, W)[0], expected)
        check_derivatives(lambda b, f=f: f(b**2), W)
    check_derivatives(lambda b: lsl.spsolve(A, b), WS.T)
    check_derivatives(lambda b: lsl.spsolve(A, b), W + 1j * WS[0])
    check_derivatives(lambda b: lsl.spsolve((A * (1 + 2j)).tocsc(), b), W)


def test_the_rest_is_scipys():
    assert ls.eye_array is scipy.sparse.eye_array
    assert type(ls.csr_array(D)) is scipy.sparse.csr_array
    assert ls.linalg is lsl
    assert lsl.lobpcg is scipy.sparse.linalg.lobpcg
    A = scipy.sparse.csc_array(SQUARE)
    np.testing.assert_array_equal(lsl.spsolve(A, W), scipy.sparse.linalg.spsolve(A, W))


A = scipy.sparse.csr_array(D)
ERRORS = {
    "shape": (lambda x: A.T @ x, ShapeError),
    "axes": (lambda x: A @ x[None, None], ShapeError),
    "plus": (lambda x: A + x[0], UnsupportedError),
    "times": (lambda x: A * x, LinadError),
    "divided": (lambda x: x / A, UnsupportedError),
    "multiply": (lambda x: A.multiply(x), LinadError),
    "dot": (lambda x: np.dot(A, x), UnsupportedError),
    "scipy-operator": (lambda x: scipy.sparse.linalg.aslinearoperator(A) @ x, LinadError),
    "cg": (lambda x: scipy.sparse.linalg.cg(A[:3], x), LinadError),
    "splu": (lambda x: scipy.sparse.linalg.splu(A[:3].tocsc()).solve(x), TypeError),
    "matrix": (lambda x: lsl.spsolve(x, X), UnsupportedError),
    "constructor": (lambda x: scipy.sparse.coo_array((x, ([0, 1, 2], [0, 1, 2]))), LinadError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda b: lsl.spsolve(PLAIN, b),
        lambda b: lsl.splu(PLAIN).solve(b),
        lambda b: lsl.factorized(PLAIN)(b),
        lambda b: lsl.spsolve_triangular(scipy.sparse.csr_array(np.tril(PLAIN.toarray())), b),
        lambda b: lsl.cg(PLAIN, b)[0],
        lambda b: lsl.expm_multiply(PLAIN, b),
    ],
    ids=["spsolve", "splu", "factorized", "spsolve_triangular", "cg", "expm_multiply"],
)
def test_operators_are_copied_and_pickled(f):
    """SuperLU's factors are not; they are made again, of a matrix that nobody writes into."""
    b = np.array([1.0, 2.0])
    _, J = linad.linearize(f, b)
    expected = J.T @ b
    for again in (pickle.loads(pickle.dumps(J)), copy.deepcopy(J)):
        np.testing.assert_allclose(again.T @ b, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "name, f",
    [
        ("inv", lambda A: lsl.inv(A).sum()),
        ("qmr", lambda A: lsl.qmr(A, np.ones(2))[0].sum()),
        ("onenormest", lsl.onenormest),
    ],
)
def test_what_is_not_traced_says_what_is(name, f):
    """And of plain matrices it is SciPy's."""

    def of_entries(x):
        return f(ls.csc_array((x, ([0, 1, 1], [0, 0, 1])), shape=(2, 2)))

    with pytest.raises(UnsupportedError, match=rf"^{name}: .* (solve|use) "):
        linad.grad(of_entries)(np.array([2.0, 1.0, 3.0]))
    assert np.isfinite(f(PLAIN))
