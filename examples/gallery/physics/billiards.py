"""
A shot at billiards
===================

Balls that bounce are written as people write them: loops over pairs, tests, entries that are
overwritten. ``linad.kernel`` compiles such a loop and its adjoint, so a shot is found by the
gradient through all collisions.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

RADIUS, WIDTH, HEIGHT = 0.05, 2.0, 1.0
STIFFNESS, FRICTION, DT = 3000.0, 0.35, 1e-3


@linad.kernel
def roll(position, velocity, path, steps):
    """Move the balls (n, 2) in place, and note where they are after each step."""
    n = position.shape[0]
    push = np.zeros((n, 2))
    for s in range(steps):
        push[:] = 0.0
        for i in range(n):
            for k in range(2):
                edge = WIDTH if k == 0 else HEIGHT
                if position[i, k] < RADIUS:
                    push[i, k] += STIFFNESS * (RADIUS - position[i, k])
                if position[i, k] > edge - RADIUS:
                    push[i, k] -= STIFFNESS * (position[i, k] - edge + RADIUS)
            for j in range(i):
                dx = position[i, 0] - position[j, 0]
                dy = position[i, 1] - position[j, 1]
                distance = np.sqrt(dx * dx + dy * dy)
                if distance < 2 * RADIUS:
                    force = STIFFNESS * (2 * RADIUS - distance) / distance
                    push[i, 0] += force * dx
                    push[i, 1] += force * dy
                    push[j, 0] -= force * dx
                    push[j, 1] -= force * dy
        for i in range(n):
            for k in range(2):
                velocity[i, k] += DT * (push[i, k] - FRICTION * velocity[i, k])
                position[i, k] += DT * velocity[i, k]
                path[s, i, k] = position[i, k]


# %%
# The white ball lies on the left, the red one in the middle, and a blue one in the way. The red
# one is to stop at the target.
start = np.array([[0.4, 0.5], [1.1, 0.5], [1.5, 0.72]])
target = np.array([1.5, 0.25])
steps = 2500


def play(shot):
    """The paths (steps, balls, 2) after a shot with the velocity ``shot`` (2,)."""
    position = np.zeros_like(shot, shape=(3, 2)) + start
    velocity = np.zeros_like(position)
    velocity[0] = shot
    path = np.zeros_like(shot, shape=(steps, 3, 2))
    roll(position, velocity, path, steps)
    return path


def miss(shot):
    return np.sum((play(shot)[-1, 1] - target) ** 2)


# %%
# Thirty shots at random, of which the best is improved. The gradient goes back through all
# collisions:
rng = np.random.default_rng(0)
tries = np.stack([rng.uniform(1.0, 2.5, 30), rng.uniform(-0.12, 0.12, 30)], axis=1)
first = min(tries, key=miss)
best = minimize(linad.value_and_grad(miss), first, jac=True, method="BFGS")
print(f"missed by {np.sqrt(miss(first)):.3f}, after {best.nfev} shots by {np.sqrt(best.fun):.4f}")

fig, axes = plt.subplots(1, 2, figsize=(10, 2.9), layout="constrained")
for ax, shot, title in zip(
    axes, (first, best.x), ("the best of thirty", "by the gradient"), strict=True
):
    path = play(shot)
    for ball, colour in enumerate(("0.6", "C3", "C0")):
        ax.plot(*path[:, ball].T, color=colour)
        ax.add_patch(plt.Circle(path[-1, ball], RADIUS, color=colour))
    ax.plot(*target, "k+", markersize=14)
    ax.set(title=title, xlim=(0, WIDTH), ylim=(0, HEIGHT), aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# **Try next.** Have the red ball touch the cushion first: begin with other tries. Print
# ``roll.adjoint_source`` to read the program that goes back through the collisions.
