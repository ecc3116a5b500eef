"""The action of the exponential of a sparse matrix, and least squares by iteration; traced."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import linad
import linad.scipy.sparse as ls
import linad.scipy.sparse.linalg as lsl
from linad.errors import LinadError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(3)
SQUARE = 0.1 * scipy.sparse.random_array((6, 6), density=0.3, rng=np.random.default_rng(1)).tocsr()
B, BS = rng.standard_normal(6), rng.standard_normal((6, 2))
TALL = scipy.sparse.random_array((8, 5), density=0.7, rng=np.random.default_rng(2)).tocsr()
RIGHT = rng.standard_normal(8)
TIGHT = {"atol": 1e-14, "btol": 1e-14}


def matrix(m, data):
    return m.csr_array((data, SQUARE.indices, SQUARE.indptr), shape=SQUARE.shape)


ACTIONS = {
    "vector": (lambda s, m, d, b: s.expm_multiply(matrix(m, d), b), SQUARE.data, B),
    "columns": (lambda s, m, d, b: s.expm_multiply(matrix(m, -d), b), SQUARE.data, BS),
    "times": (
        lambda s, m, d: s.expm_multiply(matrix(m, d), B, start=0.2, stop=1.5, num=3),
        SQUARE.data,
    ),
    "open": (
        lambda s, m, d: s.expm_multiply(
            matrix(m, d), B, start=0.0, stop=1.5, num=3, endpoint=False
        ),
        SQUARE.data,
    ),
    "far": (lambda s, m, b: s.expm_multiply(200 * (SQUARE - SQUARE.T), b), B),
    "dense": (lambda s, m, a: s.expm_multiply(a, B), 0.02 * rng.standard_normal((6, 6))),
    "complex": (lambda s, m, b: np.abs(s.expm_multiply(5j * SQUARE, b)) ** 2, B),
    "operator": (
        lambda s, m, b: s.expm_multiply(
            scipy.sparse.linalg.aslinearoperator(SQUARE), b, traceA=float(SQUARE.trace())
        ),
        B,
    ),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_actions(name):
    f, *args = ACTIONS[name]
    expected = f(scipy.sparse.linalg, scipy.sparse, *args)
    found = linad.linearize(lambda *a: f(lsl, ls, *a), *args)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    check_derivatives(lambda *a: f(lsl, ls, *a), *args)


def test_derivatives_are_those_of_the_dense_exponential():
    def dense(d):
        return linad.scipy.linalg.expm(matrix(ls, d).toarray()) @ B

    J, expected = [
        linad.jacobian(f)(40 * SQUARE.data)
        for f in (lambda d: lsl.expm_multiply(matrix(ls, d), B), dense)
    ]
    np.testing.assert_allclose(J, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_a_traced_time():
    def f(t):
        return lsl.expm_multiply(SQUARE, B, start=0.1, stop=t, num=2)[1]

    y, J = linad.linearize(f, 0.9)
    np.testing.assert_allclose(J.pushforward(1.0), SQUARE @ y, rtol=1e-12)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
@pytest.mark.parametrize("damp", [0.0, 0.4])
@pytest.mark.parametrize("wide", [False, True])
def test_fits(name, damp, wide):
    A, b = (TALL.T, RIGHT[:5]) if wide else (TALL, RIGHT)
    solve = lambda b: getattr(lsl, name)(A, b, damp, **TIGHT)[0]  # noqa: E731
    x, J = linad.linearize(solve, b)
    np.testing.assert_array_equal(x, getattr(scipy.sparse.linalg, name)(A, b, damp, **TIGHT)[0])
    D = A.toarray()
    expected = np.linalg.pinv(D)
    if damp:
        expected = np.linalg.solve(D.T @ D + damp**2 * np.eye(D.shape[1]), D.T)
    np.testing.assert_allclose(J @ np.eye(len(b)), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.stack([J.pullback(e) for e in np.eye(len(x))]), expected,
                               rtol=1e-6, atol=1e-9)  # fmt: skip


@pytest.mark.parametrize("given", [{}, {"damp": 0.4}, {"x0": np.arange(5.0)}], ids=str)
@pytest.mark.parametrize("name, norms", [("lsqr", (3, 4, 8)), ("lsmr", (3, 7))])
def test_norms_of_fits_move(name, norms, given):
    def solved(b, package=lsl):
        found = getattr(package, name)(TALL, b, **given, **TIGHT)
        return [found[k] for k in norms]

    direction, h = np.cos(np.arange(8.0)), 1e-5
    values, slopes = linad.jvp(solved, (RIGHT,), (direction,))
    assert values == solved(RIGHT, scipy.sparse.linalg)
    up, down = (solved(RIGHT + s * h * direction, scipy.sparse.linalg) for s in (1, -1))
    np.testing.assert_allclose(slopes, np.subtract(up, down) / (2 * h), rtol=1e-6, atol=1e-8)


def test_a_start_by_place():
    def solved(b):
        return lsl.lsqr(TALL, b, 0.0, 1e-14, 1e-14, 1e14, None, False, False, np.arange(5.0))[0]

    J = linad.linearize(solved, RIGHT)[1]
    np.testing.assert_allclose(J @ np.eye(8), np.linalg.pinv(TALL.toarray()), atol=1e-9)


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: lsl.lsqr(matrix(ls, x), B), "only b is traced"),
        (lambda x: lsl.lsmr(TALL, x), r"A has shape \(8, 5\) and b"),
        (lambda x: lsl.expm_multiply(TALL, x[:5]), "square"),
        (lambda x: lsl.expm_multiply(SQUARE, x[:5]), r"A has shape \(6, 6\) and B \(5,\)"),
        (lambda x: lsl.expm_multiply(SQUARE, x[:6], start=0.0), "start and stop"),
    ],
)
def test_refusals(f, words):
    with pytest.raises((LinadError, ValueError), match=words):
        linad.linearize(f, SQUARE.data)


@pytest.mark.usefixtures("kernels")
def test_compiled_for_as_many_terms_as_the_norm_asks_for():
    f = linad.jit(lambda x: linad.scipy.sparse.linalg.expm_multiply(x.reshape(3, 3), np.ones(3)))
    x = np.linspace(-0.4, 0.9, 9)
    for scale in (1.0, 1.01, 8.0):
        found = linad.jacobian(f)(scale * x)
        expected = linad.jacobian(lambda x: linad.scipy.linalg.expm(x.reshape(3, 3)) @ np.ones(3))
        np.testing.assert_allclose(found, expected(scale * x), rtol=1e-9)
