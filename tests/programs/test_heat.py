import numpy as np
import pytest
from programs import heat
from programs.references import assert_close, check_program, complex_step

import linad
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
N, STEPS, DT = 8, 6, 0.2
U = rng.standard_normal(N)
CONDUCTIVITY = rng.uniform(0.5, 1.5, N - 1)
WANTED = rng.standard_normal(N)


def step_matrix(conductivity):
    """One step as a matrix: the identity, and the second difference in the inner rows."""
    D = np.diff(np.eye(N), axis=0)
    A = np.eye(N) - DT * D.T @ (conductivity[:, np.newaxis] * D)
    A[[0, -1]] = np.eye(N)[[0, -1]]
    return A


def by_matrix(u, conductivity):
    return np.linalg.matrix_power(step_matrix(conductivity), STEPS) @ u


def misfit(u, conductivity):
    return np.sum((heat.diffuse(u, conductivity, STEPS, DT) - WANTED) ** 2)


def misfit_by_matrix(u, conductivity):
    return np.sum((by_matrix(u, conductivity) - WANTED) ** 2)


def test_value():
    found = heat.diffuse(U.copy(), CONDUCTIVITY, STEPS, DT)
    assert found == pytest.approx(by_matrix(U, CONDUCTIVITY), rel=1e-13)


def test_derivatives():
    check_program(
        misfit, lambda *point: complex_step(misfit_by_matrix, *point), U.copy(), CONDUCTIVITY
    )


def test_the_jacobian_is_the_power_of_the_step():
    u, J = linad.linearize(lambda u: heat.diffuse(u, CONDUCTIVITY, STEPS, DT), U)
    power = np.linalg.matrix_power(step_matrix(CONDUCTIVITY), STEPS)
    assert_close(J.todense(), power, 1e-14)
    assert_close(J.T @ WANTED, power.T @ WANTED, 1e-14)


def test_a_plate():
    m, n = 5, 6
    plate = rng.standard_normal((m, n))
    kept = plate.copy()
    # Laplacian by Kronecker products, on the inner nodes only.
    second = [np.diff(np.eye(k), 2, axis=0).T @ np.eye(k)[1:-1] for k in (m, n)]
    inner = [np.diag([0.0] + [1.0] * (k - 2) + [0.0]) for k in (m, n)]
    L = np.kron(second[0].T, inner[1]) + np.kron(inner[0], second[1].T)
    power = np.linalg.matrix_power(np.eye(m * n) + DT * L, 3)
    y, J = linad.linearize(lambda u: heat.diffuse_plate(u, 3, DT), plate)
    assert_close(y.ravel(), power @ kept.ravel(), 1e-13)
    assert_close(J.todense(), power, 1e-13)
    check_derivatives(lambda u: np.sin(heat.diffuse_plate(u, 3, DT)), plate)
    np.testing.assert_array_equal(plate, kept)
