"""Stacks and block diagonals against those of dense matrices."""

import numpy as np
import operator_zoo as zoo
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsmr

import linad
from linad.errors import DTypeError, OperandError, ShapeError
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal

F4, F8 = zoo.REAL
C8, C16 = zoo.COMPLEX


def forms(A):
    """A matrix in every form that can be a part."""
    return {
        "operator": Matrix(A),
        "array": A,
        "sparse": csr_array(A),
        "scipy": aslinearoperator(A),
        "adjoint": Matrix(A.conj().T.copy()).H,
    }


FORMS = sorted(forms(np.ones((1, 1))))


@st.composite
def parts(draw, shape):
    """A few operators and their matrices; ``shape(k, rng)`` gives the shape of each."""
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    ops, matrices = [], []
    for _ in range(draw(st.integers(1, 4))):
        dtype = draw(st.sampled_from([F8, C16, F4]))
        A = zoo.numbers(rng, shape(rng), dtype)
        matrices.append(A)
        ops.append(forms(A)[draw(st.sampled_from(FORMS))])
    return ops, matrices


def check(op, A):
    """An operator must be its matrix by every route, as a map and when differentiated."""
    rng = np.random.default_rng(0)
    m, n = A.shape
    assert isinstance(op, LinearOperator)
    assert op.shape == A.shape
    assert op.dtype == A.dtype
    close = {"rtol": 1e-5, "atol": 1e-5}
    for dtype in (F8, C16):
        v, w = zoo.numbers(rng, (n,), dtype), zoo.numbers(rng, (m,), dtype)
        np.testing.assert_allclose(op @ v, A @ v, **close)
        np.testing.assert_allclose(op.rmatvec(w), A.conj().T @ w, **close)
        np.testing.assert_allclose(op.T @ w, A.T @ w, **close)
    np.testing.assert_allclose(op.todense(), A, **close)
    np.testing.assert_allclose(op.H.todense(), A.conj().T, **close)
    v = zoo.numbers(rng, (2, n), op.in_dtype)
    w = zoo.numbers(rng, (2, m), op.out_dtype)
    y, x = op.pushforward(v), op.pullback(w)
    assert (y.shape, y.dtype, x.shape, x.dtype) == (w.shape, w.dtype, v.shape, v.dtype)
    np.testing.assert_allclose(np.vdot(w, y).real, np.vdot(x, v).real, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(parts(lambda rng: (rng.integers(0, 4), 3)))
def test_vstack(found):
    ops, matrices = found
    check(linad.vstack(ops), np.vstack(matrices))


@settings(deadline=None, max_examples=40)
@given(parts(lambda rng: (3, rng.integers(0, 4))))
def test_hstack(found):
    ops, matrices = found
    check(linad.hstack(ops), np.hstack(matrices))


@settings(deadline=None, max_examples=40)
@given(parts(lambda rng: rng.integers(0, 4, 2)))
def test_block_diag(found):
    ops, matrices = found
    A = scipy.linalg.block_diag(*matrices)
    # SciPy's counts an empty block as one column; the sizes are ours.
    m, n = (sum(a.shape[k] for a in matrices) for k in (0, 1))
    if A.shape != (m, n):
        A = np.zeros((m, n), np.result_type(*matrices))
        top = left = 0
        for a in matrices:
            A[top : top + a.shape[0], left : left + a.shape[1]] = a
            top, left = top + a.shape[0], left + a.shape[1]
    check(linad.block_diag(ops), A)


def test_shaped_parts_and_containers():
    """Parts on shaped arrays and on containers count with their flat vectors."""
    rng = np.random.default_rng(0)
    shaped = Diagonal(rng.standard_normal((2, 3)), (2, 3), F8)
    point = {"a": np.arange(2.0), "b": np.arange(4.0)}
    J = linad.linearize(lambda d: {"y": np.sin(d["a"]), "z": d["b"] ** 2}, point)[1]
    check(linad.vstack([shaped, J]), np.vstack([shaped.todense(), J.todense()]))
    check(linad.hstack([shaped, J]), np.hstack([shaped.todense(), J.todense()]))
    check(
        linad.block_diag([J, shaped, np.ones((1, 2))]),
        scipy.linalg.block_diag(J.todense(), shaped.todense(), np.ones((1, 2))),
    )


def test_nested():
    A = np.random.default_rng(0).standard_normal((2, 2))
    op = linad.vstack([linad.hstack([A, 2 * linad.eye(2)]), linad.hstack([linad.eye(2), A.T])])
    check(op, np.block([[A, 2 * np.eye(2)], [np.eye(2), A.T]]))
    check(op.H @ op, op.todense().T @ op.todense())


def test_eye():
    for dtype in (F4, F8, C8, C16):
        op = linad.eye(3, dtype)
        assert op.dtype == dtype
        np.testing.assert_array_equal(op.todense(), np.eye(3, dtype=dtype))
        check(op, np.eye(3, dtype=dtype))
    assert linad.eye(2).dtype == F8
    assert linad.eye(0).shape == (0, 0)
    J = Diagonal(np.ones(3, F4), (3,), F4)
    assert (J + 0.5 * linad.eye(3, J.dtype)).dtype == F4
    with pytest.raises(DTypeError, match="eye: dtype must be .*int64"):
        linad.eye(3, np.int64)
    with pytest.raises(TypeError):
        linad.eye(3.0)


def test_damped_least_squares():
    """Stacking the damping below J is the damped problem."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(5)
    _, J = linad.linearize(lambda x: np.sin(x) * x, x)
    b = rng.standard_normal(5)
    A = linad.vstack([J, 0.3 * linad.eye(5)])
    found = lsmr(A, np.concatenate([b, np.zeros(5)]), atol=1e-14, btol=1e-14)[0]
    D = J.todense()
    np.testing.assert_allclose(found, np.linalg.solve(D.T @ D + 0.09 * np.eye(5), D.T @ b))


def test_float32_stays():
    J = Diagonal(np.ones(3, F4), (3,), F4)
    for op in (linad.vstack([J, J]), linad.hstack([J, J]), linad.block_diag([J, J])):
        assert op.dtype == F4
        assert (op @ np.ones(op.shape[1], F4)).dtype == F4
        assert (op.T @ np.ones(op.shape[0], F4)).dtype == F4


def test_traced_vectors():
    A = np.arange(6.0).reshape(2, 3)
    op = linad.vstack([A, linad.eye(3)])
    _, K = linad.linearize(lambda x: op.T @ np.sin(op @ x), np.zeros(3))
    np.testing.assert_allclose(K.todense(), A.T @ A + np.eye(3))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda J: linad.vstack([J, np.ones((2, 4))]), ShapeError, r"columns.*\(3, 3\), \(2, 4\)"),
        (lambda J: linad.hstack([J, np.ones((2, 4))]), ShapeError, r"rows.*\(3, 3\), \(2, 4\)"),
        (lambda J: linad.vstack([]), OperandError, "vstack: expected a list of"),
        (lambda J: linad.hstack(()), OperandError, "hstack: expected a list of"),
        (lambda J: linad.block_diag(J), OperandError, "block_diag: expected a list of one or more"),
        (
            lambda J: linad.vstack([J, 2.0]),
            OperandError,
            r"ops.1. must be .* got 2.0",
        ),
        (
            lambda J: linad.vstack([J, None]),
            OperandError,
            r"ops.1. must be .* got None",
        ),
        (lambda J: linad.vstack([J, np.ones(3)]), ShapeError, r"shape \(3,\) is not a matrix"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(Diagonal(np.ones(3), (3,), F8))
