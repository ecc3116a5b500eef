"""
A robot's arm
=============

An arm of four joints is to draw a circle. Its Jacobian says which angles move the hand where
(inverse kinematics), and how well it can move at all: the ellipse of velocities.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

LENGTHS = np.array([1.0, 0.8, 0.6, 0.3])


def joints(angles):
    """Where the joints are (5, 2); each angle is counted from the link before."""
    direction = np.cumsum(angles)
    x = np.concatenate([[0.0], np.cumsum(LENGTHS * np.cos(direction))])
    y = np.concatenate([[0.0], np.cumsum(LENGTHS * np.sin(direction))])
    return np.stack([x, y], axis=1)


def hand(angles):
    return joints(angles)[-1]


# %%
# Four angles for two coordinates: of all ways the nearest to the last pose is asked for, by a
# small weight.
def residual(angles, target, last):
    return np.concatenate([hand(angles) - target, 1e-3 * (angles - last)])


turn = np.linspace(0, 2 * np.pi, 24)
circle = np.array([1.2, 0.9]) + 0.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
pose, poses = np.array([0.2, 0.6, 0.5, 0.3]), []
for target in circle:
    pose = linad.solve.levenberg_marquardt(residual, pose, (target, pose)).x
    poses.append(pose)
misses = [np.linalg.norm(hand(p) - c) for p, c in zip(poses, circle, strict=True)]
print(f"the hand is off by {max(misses):.0e} at most")

# %%
# The Jacobian of the hand in each pose maps angular velocities to velocities; its singular values
# are the axes of the ellipse that velocities of size 1 can reach. A thin ellipse warns of a
# straight arm.
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
sphere = np.stack([np.cos(np.linspace(0, 2 * np.pi, 60)), np.sin(np.linspace(0, 2 * np.pi, 60))])
for k in range(0, 24, 4):
    ax.plot(*joints(poses[k]).T, "o-", color=plt.cm.viridis(k / 24), markersize=4)
    y, J = linad.linearize(hand, poses[k])
    U, sizes, _ = np.linalg.svd(J.todense(), full_matrices=False)
    ax.plot(*(y[:, np.newaxis] + 0.08 * U @ (sizes[:, np.newaxis] * sphere)), "C3", linewidth=1)
    print(f"pose {k:2d}: velocities between {sizes[1]:.2f} and {sizes[0]:.2f}")
ax.plot(*circle.T, "k:", label="to be drawn")
ax.set(aspect="equal")
ax.legend()
plt.show()

# %%
# **Try next.** Keep the arm nimble: add ``-0.01 * np.log(np.linalg.det(J @ J.T))`` as a term,
# with ``J = linad.jacobian(hand)(angles)`` inside the function that is differentiated.
# Derivatives nest.
