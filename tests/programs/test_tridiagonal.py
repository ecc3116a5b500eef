import numpy as np
import pytest
from programs import tridiagonal
from programs.references import assert_close, check_program
from scipy.linalg import solve_banded

import linad

rng = np.random.default_rng(0)
N = 7
SYSTEM = (
    rng.standard_normal(N - 1),
    rng.standard_normal(N) + 4,
    rng.standard_normal(N - 1),
    rng.standard_normal(N),
)


def by_lapack(lower, diagonal, upper, right):
    bands = np.stack([np.append(0, upper), diagonal, np.append(lower, 0)])
    return solve_banded((1, 1), bands, right)


def gradient(lower, diagonal, upper, right):
    """A x = r gives rbar = A^-T xbar and Abar = -rbar x^T."""
    x = by_lapack(lower, diagonal, upper, right)
    steps = np.diff(x) * 2 / (N - 1)
    xbar = np.append(0, steps) - np.append(steps, 0)
    rbar = by_lapack(upper, diagonal, lower, xbar)
    return -rbar[1:] * x[:-1], -rbar * x, -rbar[:-1] * x[1:], rbar


def copies():
    return [part.copy() for part in SYSTEM]


def test_value():
    assert tridiagonal.solve(*copies()) == pytest.approx(by_lapack(*SYSTEM), rel=1e-13)


def test_derivatives():
    check_program(tridiagonal.roughness, gradient, *copies())


def test_one_run_many_solves():
    """Each pullback is a solve with the transposed matrix, though the program overwrote it."""
    lower, diagonal, upper, right = SYSTEM
    x, J = linad.linearize(tridiagonal.solve, *copies(), argnums=3)
    A = np.diag(diagonal) + np.diag(upper, 1) + np.diag(lower, -1)
    assert_close(J.todense(), np.linalg.inv(A), 1e-13)
    for _ in range(3):
        assert_close(J.T @ right, by_lapack(upper, diagonal, lower, right), 1e-13)
        assert_close(J @ right, x, 1e-13)
