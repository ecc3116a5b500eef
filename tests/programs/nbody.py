"""N bodies under gravity: energy, and a leapfrog that moves them in place."""

import numpy as np


def potential(positions, masses, softening=0.05):
    """Potential energy of bodies at positions (n, 3), gravitational constant 1."""
    energy = 0.0
    for i in range(len(masses)):
        for j in range(i):
            d = positions[i] - positions[j]
            energy -= masses[i] * masses[j] / np.sqrt(d @ d + softening**2)
    return energy


def energy(positions, velocities, masses):
    """Kinetic and potential energy."""
    return 0.5 * np.sum(masses * np.sum(velocities**2, axis=1)) + potential(positions, masses)


def accelerations(positions, masses, softening=0.05):
    """Acceleration (n, 3) of every body."""
    d = positions[np.newaxis] - positions[:, np.newaxis]
    r2 = np.sum(d**2, axis=-1) + softening**2
    return np.einsum("j,ijk->ik", masses, d / r2[..., np.newaxis] ** 1.5)


def simulate(positions, velocities, masses, dt, steps):
    """Positions and velocities after some steps of the leapfrog; both are overwritten."""
    a = accelerations(positions, masses)
    for _ in range(steps):
        velocities += 0.5 * dt * a
        positions += dt * velocities
        a[:] = accelerations(positions, masses)
        velocities += 0.5 * dt * a
    return positions, velocities
