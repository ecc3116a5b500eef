"""
Heat, and back in time
======================

An explicit scheme in place: each step reads slices of the array and writes into another.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

rng = np.random.default_rng(0)


def diffuse(u, conductivity, steps, dt=0.2):
    """Temperatures (n,) after some steps, the ends held; ``u`` is overwritten.

    ``conductivity`` (n - 1,) belongs to the gaps between nodes. Lengths and capacities are 1.
    """
    for _ in range(steps):
        flux = conductivity * np.diff(u)
        u[1:-1] += dt * np.diff(flux)
    return u


# %%
# Which temperatures were there before, if these are seen now? The gradient through all steps
# answers, by least squares.
n, steps = 60, 60
x = np.linspace(0, 1, n)
before = np.exp(-((x - 0.3) ** 2) / 0.01) + 0.7 * ((x > 0.55) & (x < 0.75))
conductivity = 1.0 + np.tanh(8 * (x[1:] - 0.5)) / 2
now = diffuse(before.copy(), conductivity, steps) + 0.003 * rng.standard_normal(n)


def misfit(u):
    return np.sum((diffuse(u, conductivity, steps) - now) ** 2) + 1e-4 * np.sum(np.diff(u) ** 2)


fit = minimize(misfit, now, jac=linad.grad(misfit), method="L-BFGS-B", options={"maxiter": 100})
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(x, before, "0.5", label="before")
ax.plot(x, now, "C0", label="seen after 60 steps")
ax.plot(x, fit.x, "C3--", label="before, by least squares")
fig.legend(loc="outside lower center", ncols=3)


# %%
# On a plate the same is written with slices in two axes, through a view that is made once:
def diffuse_plate(u, steps, dt=0.2):
    """Temperatures (m, n) of a plate after some steps, its edges held; ``u`` is overwritten."""
    inner = u[1:-1, 1:-1]
    for _ in range(steps):
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
        inner += dt * laplacian
    return u


# %%
# What one sensor reads in the end depends on the plate at the start, through a gradient that is
# heat flowing backwards. An edge is held at its temperature, and so has a say at every step:
plate = np.zeros((40, 60))
fig, axes = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
for ax, k in zip(axes, (5, 50, 200), strict=True):
    g = linad.grad(lambda u, k=k: diffuse_plate(u, k)[25, 20])(plate)
    ax.imshow(g, cmap="inferno")
    ax.set(title=f"{k} steps", xticks=[], yticks=[])

plt.show()

# %%
# **Try next.** Look further back: 200 steps. Or let ``conductivity`` be unknown too, with the
# gradient in both.
