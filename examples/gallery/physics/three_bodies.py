"""
Three bodies
============

The energy, pair by pair, and a leapfrog that moves the bodies in place.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

rng = np.random.default_rng(0)


def potential(positions, masses, softening=0.05):
    """Potential energy of bodies at positions (n, 3), gravitational constant 1."""
    energy = 0.0
    for i in range(len(masses)):
        for j in range(i):
            d = positions[i] - positions[j]
            energy -= masses[i] * masses[j] / np.sqrt(d @ d + softening**2)
    return energy


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


# %%
# Minus the gradient of the potential is the force, so it need not be derived:
positions = np.array([[1.0, 0, 0], [-0.5, 0.8, 0], [-0.5, -0.8, 0.1]])
velocities = np.array([[0, 0.6, 0], [-0.5, -0.3, 0], [0.5, -0.3, 0]])
masses = np.array([1.0, 0.9, 1.1])
force = -linad.grad(potential)(positions, masses)
print(np.allclose(force, masses[:, np.newaxis] * accelerations(positions, masses)))

# %%
# The derivative of where the bodies end in where they began grows: the three-body problem is
# chaotic. Forward mode takes one disturbance along, ten steps at a time.
state = positions, velocities
disturbance = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
orbit, growth = [positions], [np.linalg.norm(disturbance)]
for _ in range(120):
    state, disturbance = linad.jvp(
        lambda p, v: simulate(p, v, masses, dt=0.02, steps=10), state, disturbance
    )
    orbit.append(state[0])
    growth.append(np.linalg.norm(disturbance))

fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for body in np.swapaxes(orbit, 0, 1):
    left_ax.plot(body[:, 0], body[:, 1])
left_ax.set(title="orbits", aspect="equal")
right_ax.semilogy(0.2 * np.arange(121), growth)
right_ax.set(title="size of the disturbance", xlabel="time")

plt.show()

# %%
# **Try next.** Begin at ``positions + 1e-3 * d`` for several random ``d``, and see where
# ``linad.jvp`` said that the orbits would go. When does the linear prediction fail?
