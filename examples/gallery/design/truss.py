"""
A bridge of bars
================

How should a given mass of steel be shared among the bars of a truss, so that it gives way as
little as possible? The compliance is a solved linear system; its gradient comes out of the
solution.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

# Nodes of a grid, and a bar between any two that are near each other.
nodes = np.array([(x, y) for x in range(9) for y in range(3)], float)
pairs = [(i, j) for i in range(len(nodes)) for j in range(i)]
bars = np.array([p for p in pairs if 0 < np.linalg.norm(nodes[p[0]] - nodes[p[1]]) < 2.3])
span = nodes[bars[:, 1]] - nodes[bars[:, 0]]
length = np.linalg.norm(span, axis=1)
direction = span / length[:, np.newaxis]

# A bar's stretch is G u, for the displacements u of all nodes; two corners do not move.
G = np.zeros((len(bars), len(nodes), 2))
G[np.arange(len(bars)), bars[:, 0]] = -direction
G[np.arange(len(bars)), bars[:, 1]] = direction
free = np.ones((len(nodes), 2), bool)
free[[0, 24]] = False
G = G.reshape(len(bars), -1)[:, free.ravel()]
load = np.zeros((len(nodes), 2))
load[3:24:3, 1] = -1.0
load = load[free]


def compliance(area):
    """The work of the loads on the bars of cross sections ``area``."""
    stiffness = G.T @ ((area / length)[:, np.newaxis] * G)
    return load @ np.linalg.solve(stiffness, load)


# %%
# Cross sections are positive, and their mass is given: a softmax of free numbers holds both.
MASS = length.sum()


def areas(p):
    share = np.exp(p - p.max())
    return MASS * share / np.sum(share) / length


def objective(p):
    return np.log(compliance(areas(p) + 1e-5))


start = np.log(length)
fit = minimize(
    linad.value_and_grad(objective), start, jac=True, method="L-BFGS-B", options={"maxiter": 400}
)
before, after = compliance(areas(start)), compliance(areas(fit.x))
print(f"{len(bars)} bars; compliance {before:.1f}, then {after:.1f}, after {fit.nfev} gradients")

# %%
# In the best truss all bars that carry are stretched or pressed alike: Michell's condition. The
# gradient says so, since the derivative in a bar's mass is minus the square of its strain.
strain = np.sqrt(-linad.grad(compliance)(areas(fit.x)) / length)
thick = areas(fit.x) > 0.02 * areas(fit.x).max()
print(f"strains of thick bars: {strain[thick].min():.3f} to {strain[thick].max():.3f}")

fig, axes = plt.subplots(2, 1, figsize=(8, 4.5), layout="constrained")
for ax, p, found in zip(axes, (start, fit.x), (before, after), strict=True):
    for (i, j), area in zip(bars, areas(p), strict=True):
        ax.plot(*nodes[[i, j]].T, "k", linewidth=3 * np.sqrt(area / 4), solid_capstyle="round")
    ax.plot(*nodes[[0, 24]].T, "C3^", markersize=12)
    ax.plot(*nodes[3:24:3].T, "C0v")
    ax.set(title=f"compliance {found:.1f}", aspect="equal")
    ax.axis("off")
plt.show()

# %%
# **Try next.** Move the nodes as well: make ``nodes`` an argument, and let the gradient find the
# arch.
