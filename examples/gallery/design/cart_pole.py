"""
Swinging a pole up
==================

A cart pulls a pole from hanging to standing upright in two seconds, with the least effort. The
path and the force at all times are unknown together (direct collocation); the equations of motion
are constraints. Each step of Newton's method solves with the sparse Hessian of the Lagrangian.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

import linad

CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
STEPS, DURATION = 100, 2.0
h = DURATION / STEPS


def motion(state, force):
    """Time derivatives of the states (n, 4): place, angle, and their velocities."""
    angle, speed, spin = state[:, 1], state[:, 2], state[:, 3]
    sin, cos = np.sin(angle), np.cos(angle)
    down = CART + POLE * sin**2
    pull = LENGTH * POLE * sin * spin**2 + force
    a = (pull + POLE * GRAVITY * cos * sin) / down
    b = -(pull * cos + (CART + POLE) * GRAVITY * sin) / (LENGTH * down)
    return np.stack([speed, spin, a, b], axis=1)


def unpack(z):
    """States (STEPS + 1, 4) and forces (STEPS + 1,)."""
    return z[: 4 * (STEPS + 1)].reshape(-1, 4), z[4 * (STEPS + 1) :]


def effort(z):
    force = unpack(z)[1]
    return h * np.sum(force[:-1] ** 2 + force[1:] ** 2) / 2


first, last = np.zeros(4), np.array([0.8, np.pi, 0.0, 0.0])


def constraints(z):
    """The trapezoidal rule in each interval, and where the path begins and ends."""
    state, force = unpack(z)
    rate = motion(state, force)
    defects = state[1:] - state[:-1] - h / 2 * (rate[1:] + rate[:-1])
    return np.concatenate([defects.ravel(), state[0] - first, state[-1] - last])


def lagrangian(z, multipliers):
    return effort(z) + multipliers @ constraints(z)


# %%
# Newton's method for the conditions of Karush, Kuhn and Tucker: a sparse system in the path and
# the multipliers. The step is halved until the constraints and the gradient are smaller, in sum.
def optimality(z, multipliers):
    slope = linad.grad(lagrangian)(z, multipliers)
    return np.concatenate([slope, constraints(z)])


share = np.linspace(0, 1, STEPS + 1)[:, np.newaxis]
z = np.concatenate([((1 - share) * first + share * last).ravel(), np.zeros(STEPS + 1)])
multipliers = np.zeros(4 * STEPS + 8)
iterations = 0
while np.abs(r := optimality(z, multipliers)).max() > 1e-9:
    iterations += 1
    H = linad.sparse_hessian(lagrangian, z, multipliers)
    J = linad.sparse_jacobian(constraints, z)
    step = -splu(scipy.sparse.block_array([[H, J.T], [J, None]], format="csc")).solve(r)
    t = 1.0
    while t > 1e-3:
        trial = z + t * step[: z.size], multipliers + t * step[z.size :]
        if np.linalg.norm(optimality(*trial)) < np.linalg.norm(r):
            break
        t /= 2
    z, multipliers = trial
print(f"{iterations} iterations; effort {effort(z):.3f}")
print(f"equations hold to {np.abs(constraints(z)).max():.0e}")

state, force = unpack(z)
fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for k in range(0, STEPS + 1, 5):
    place, angle = state[k, :2]
    tip = place + LENGTH * np.sin(angle), -LENGTH * np.cos(angle)
    colour = plt.cm.viridis(k / STEPS)
    left_ax.plot([place, tip[0]], [0, tip[1]], "o-", color=colour, markersize=3)
left_ax.axhline(0, color="0.8", zorder=0)
left_ax.set(title="the pole, from hanging (dark) to upright", aspect="equal")
right_ax.plot(np.linspace(0, DURATION, STEPS + 1), force)
right_ax.set(title="force", xlabel="time in seconds", ylabel="N")
plt.show()

# %%
# **Try next.** ``right_ax.spy(J)`` shows the matrix that linad found. Let the duration be
# unknown, and price it; or limit the force with
# ``scipy.optimize.minimize(method="trust-constr")``, which takes the sparse Jacobian from
# ``linad.scipy_args``.
