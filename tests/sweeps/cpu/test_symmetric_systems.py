"""Systems that a Cholesky decomposition of the same matrix solves, where it is symmetric."""

import numpy as np
import pytest
from compiled_runs import check_compiled, poisoned

import linad
from linad.sweeps.program import KernelStoppedError


def positive(dtype="d", n=6):
    a = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    return a @ a.T + np.eye(n, dtype=dtype)


def columns(*shape, dtype="d"):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def both(a, b):
    """A determinant, and solutions with a matrix and its transpose."""
    lower = np.linalg.cholesky(a)
    first, second = np.linalg.solve(a, b), np.linalg.solve(a.T, 2 * b)
    return np.sum(np.log(np.diagonal(lower))), first, second


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype, rtol", [("d", 1e-10), ("f", 2e-3)])
@pytest.mark.parametrize(
    "shape", [(3, 6, 1), *[pytest.param(s, marks=pytest.mark.full) for s in ((6,), (6, 1))]]
)
def test_symmetric(dtype, rtol, shape):
    done = check_compiled(both, positive(dtype), columns(*shape, dtype=dtype), rtol=rtol)
    assert done.count("potrs") == 2
    assert done.count("getrf") == 1  # which a symmetric matrix skips


def test_not_symmetric():
    """Cholesky reads the lower triangle, solve all of the matrix."""
    a = positive() + np.triu(columns(6, 6), 1)
    done = check_compiled(both, a, columns(6), rtol=1e-10)
    assert "potrs" in done
    # One program, symmetric and not, in turn.
    jitted, b = linad.jit(both), columns(6)
    for _ in range(3):
        for matrix in (positive(), a, positive().T, a.T):
            for x, y in zip(jitted(matrix, b), both(matrix, b), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-10)


def test_views():
    """A matrix that lies column by column, or with gaps."""
    wide = np.zeros((12, 12))
    wide[::2, ::2] = positive() + np.triu(columns(6, 6), 1)
    for view in (lambda a: a[::2, ::2], lambda a: a[::2, ::2].T):
        check_compiled(lambda a, b, view=view: both(view(a), b), wide, columns(6), rtol=1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: (np.linalg.cholesky(a), np.linalg.solve(a, np.stack([b, b], 1))),
        lambda a, b: (np.linalg.cholesky(2 * a), np.linalg.solve(a, b)),
        lambda a, b: (np.linalg.cholesky(a.T @ a), np.linalg.solve(a, b)),
        lambda a, b: (np.linalg.cholesky(a[None]), np.linalg.solve(a, b)),
    ],
    ids=["many right sides", "another matrix", "a product", "a stack"],
)
def test_others_are_factorised(f):
    done = check_compiled(f, positive(), columns(6), rtol=1e-10)
    assert "getrf" in done
    assert "potrs" not in done


def test_complex():
    a = positive() + 0j
    a[1, 0], a[0, 1] = a[1, 0] + 1j, a[0, 1] - 1j
    done = check_compiled(both, a, columns(6), rtol=1e-10)
    assert "potrs" not in done


def test_failure_stops_the_run_and_leaves_no_trace():
    a, b = positive(), columns(6)
    indefinite = -a
    # Its lower triangle is that of a definite matrix.
    singular = np.eye(6)
    singular[1, 0], singular[0, 1] = 0.5, 2.0
    program = poisoned(linad.jit(both).variant(a, b).tape)
    before = program.run([a, b])
    for wrong in (indefinite, singular):
        with pytest.raises(KernelStoppedError, match="status 2"):
            program.run([wrong, b])
        for x, y in zip(before, program.run([a, b]), strict=True):
            np.testing.assert_array_equal(x, y)
    jitted = linad.jit(both)
    for _ in range(2):
        jitted(a, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        jitted(singular, b)


@pytest.mark.usefixtures("kernels")
def test_likelihood_of_a_gaussian_process():
    d, y = np.subtract.outer(np.arange(6.0), np.arange(6.0)) ** 2, columns(6)

    def f(t):
        k = np.exp(t[0] - d * np.exp(t[1])) + np.exp(t[2]) * np.eye(6)
        solved = np.linalg.solve(k, y)
        return 0.5 * y @ solved + np.sum(np.log(np.diagonal(np.linalg.cholesky(k))))

    t = np.array([0.1, -0.5, -1.0])
    for derivative in (linad.grad(f), linad.hessian(f)):
        done = check_compiled(derivative, t, rtol=1e-9)
        assert "potrs" in done
