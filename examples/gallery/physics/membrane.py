"""
Membrane over an obstacle
=========================

A membrane is pushed up from below. Its energy is a sum over neighbours, written with slices;
``linad.sparse_hessian`` finds that the Hessian has five diagonals, and Newton's method solves
with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import spsolve

import linad

n = 40
s = np.linspace(0, 1, n + 2)[1:-1]
bump = 0.35 - 2.5 * ((s[:, None] - 0.5) ** 2 + (s - 0.4) ** 2)


def energy(u):
    """Area of the membrane u (n, n), flat at its edge, and the push where it is below the bump."""
    v = np.pad(u.reshape(n, n), 1) * (n + 1)
    area = np.sum(np.sqrt(1 + np.diff(v[:, :-1], axis=0) ** 2 + np.diff(v[:-1], axis=1) ** 2))
    return area + 100 * np.sum(np.logaddexp(0, 100 * (bump.ravel() - u)) ** 2) / 100**2


u, slope = np.zeros(n * n), linad.grad(energy)
while np.abs(g := slope(u)).max() > 1e-8:
    step = spsolve(linad.sparse_hessian(energy, u, format="csc"), -g)
    t = 1.0
    while energy(u + t * step) > energy(u) + 1e-4 * t * (g @ step):
        t /= 2
    u = u + t * step

print("force left:", f"{np.abs(g).max():.0e}")

fig, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
axes[0].contourf(s, s, u.reshape(n, n), 20)
axes[0].set_title("height")
axes[1].spy(linad.sparse_hessian(energy, u), markersize=0.2)
axes[1].set(title="Hessian", xticks=[0, 800, 1600], yticks=[0, 800, 1600])

plt.show()

# %%
# **Try next.** A finer grid, ``n = 100``: Newton's method takes as many steps, and the Hessian
# stays sparse. Then make the push stiffer, and watch where the membrane touches.
