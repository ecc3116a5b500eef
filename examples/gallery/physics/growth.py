"""
Where the meadow grew
=====================

Grass that grows, and spreads faster where it is dense: a nonlinear diffusion, solved by a loop over
entries that overwrites its arrays, as one writes it for Numba. ``linad.kernel`` compiles its
adjoint too. How fast it grew at each of 1,600 places is found from one picture at the end.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad


@linad.kernel(checkpoints=15)
def grow(u, rate, steps):
    """The density (n, m) after some steps of time 1, from ``u``; the edges are held."""
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                spread = 0.05 + 0.1 * u[i, j] ** 2
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                born = rate[i, j] * u[i, j] * (1.0 - u[i, j])
                new[i, j] = u[i, j] + spread * (around - 4.0 * u[i, j]) + born
        u, new = new, u
    return u


# %%
# Seeds at random, and 200 steps with two places where it grows faster:
n, steps = 40, 200
rng = np.random.default_rng(0)
start = 0.05 * rng.random((n, n))
x = np.arange(n)


def patch(i, j, width):
    return np.exp(-((x[:, np.newaxis] - i) ** 2 + (x - j) ** 2) / width**2)


true_rate = 0.01 + 0.015 * patch(12, 14, 6) + 0.01 * patch(28, 26, 8)
seen = grow(start.copy(), true_rate, steps) + 2e-3 * rng.standard_normal((n, n))

# %%
# Least squares, with a term that keeps neighbours alike. The adjoint of 200 steps keeps 15 states,
# and not 200:


def misfit(rate):
    u = np.zeros_like(rate) + start  # an array that can hold derivatives
    rough = np.sum(np.diff(rate, axis=0) ** 2) + np.sum(np.diff(rate, axis=1) ** 2)
    return 1e4 * np.sum((grow(u, rate, steps) - seen) ** 2) + 1e4 * rough


def flat(p):
    value, gradient = linad.value_and_grad(misfit)(p.reshape(n, n))
    return value, gradient.ravel()


guess = np.full(n * n, 0.01)
fit = minimize(flat, guess, jac=True, method="L-BFGS-B", options={"maxiter": 60})
rate = fit.x.reshape(n, n)
print(f"misfit {flat(guess)[0]:.0f}, after {fit.nfev} gradients {fit.fun:.0f}")
error = np.abs(rate - true_rate)[4:-4, 4:-4].mean() / np.ptp(true_rate)
print(f"mean error of the rate: {100 * error:.1f} % of its range")

fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
pictures = {"the meadow that is seen": seen, "where it grew": true_rate, "found": rate}
for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
    low, high = (None, None) if picture is seen else (true_rate.min(), true_rate.max())
    ax.imshow(picture, vmin=low, vmax=high)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# **Try next.** Leave ``checkpoints`` out and look at the memory; find how fast it spreads as well;
# print ``grow.adjoint_source``.
