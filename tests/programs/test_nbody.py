import numpy as np
import pytest
from programs import nbody
from programs.references import assert_close, check_program
from scipy.integrate import solve_ivp

import linad
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
N, SOFTENING = 4, 0.05
POSITIONS = rng.standard_normal((N, 3))
VELOCITIES = 0.3 * rng.standard_normal((N, 3))
MASSES = rng.uniform(0.5, 1.5, N)


def forces(positions, masses):
    """Gradient of the potential in positions and masses, pair by pair."""
    by_position, by_mass = np.zeros_like(positions), np.zeros_like(masses)
    for i in range(N):
        for j in range(N):
            if i != j:
                d = positions[i] - positions[j]
                r = np.sqrt(np.sum(d**2) + SOFTENING**2)
                by_position[i] += masses[i] * masses[j] * d / r**3
                by_mass[i] -= masses[j] / r
    return by_position, by_mass


def gradient(positions, velocities, masses):
    by_position, by_mass = forces(positions, masses)
    by_mass += 0.5 * np.sum(velocities**2, axis=1)
    return by_position, masses[:, np.newaxis] * velocities, by_mass


def test_derivatives():
    check_program(nbody.energy, gradient, POSITIONS, VELOCITIES, MASSES)


def test_force_is_minus_the_slope_of_the_potential():
    force = -linad.grad(nbody.potential)(POSITIONS, MASSES)
    expected = MASSES[:, np.newaxis] * nbody.accelerations(POSITIONS, MASSES)
    assert_close(force, expected, 1e-13)
    # Momentum is conserved, as the potential depends on differences of positions only.
    np.testing.assert_allclose(force.sum(axis=0), 0, atol=1e-13)


def test_a_simulation_in_place():
    state = POSITIONS.copy(), VELOCITIES.copy(), MASSES

    def end(p, v, m):
        return nbody.simulate(p, v, m, dt=0.01, steps=5)

    check_derivatives(end, *state)
    assert_close(state[:2], (POSITIONS, VELOCITIES), 0)

    # The leapfrog keeps areas in phase space: its Jacobian J in (q, M v) is symplectic.
    def flow(q, p):
        m = MASSES[:, np.newaxis]
        q, v = end(q, p / m, MASSES)
        return q, m * v

    J = linad.linearize(flow, POSITIONS, MASSES[:, np.newaxis] * VELOCITIES)[1].todense()
    size = 3 * N
    S = np.kron([[0, 1], [-1, 0]], np.eye(size))
    np.testing.assert_allclose(J.T @ S @ J, S, atol=1e-12)


def test_the_simulation_follows_newton():
    def slope(t, y):
        q, v = y.reshape(2, N, 3)
        return np.stack([v, -forces(q, MASSES)[0] / MASSES[:, np.newaxis]]).ravel()

    start = np.stack([POSITIONS, VELOCITIES])
    exact = solve_ivp(slope, (0, 0.5), start.ravel(), rtol=1e-10, atol=1e-12).y[:, -1]
    found = nbody.simulate(POSITIONS.copy(), VELOCITIES.copy(), MASSES, dt=1e-3, steps=500)
    assert np.stack(found).ravel() == pytest.approx(exact, abs=1e-4)
