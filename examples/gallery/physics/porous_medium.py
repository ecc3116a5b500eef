"""
Newton's method on a moving front
=================================

Gas in a porous medium, u_t = Δ(u³): the diffusivity vanishes where there is no gas, so a front
moves with a finite speed. Each implicit step is a nonlinear system, solved by Newton's method
with a sparse Jacobian that nobody writes down. Barenblatt's solution is exact.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

n = 64
s = (np.arange(n) + 0.5) / n * 8 - 4
h = s[1] - s[0]
r = np.hypot(s[:, np.newaxis], s)


def barenblatt(t, m=3):
    """The exact solution in the plane, which was a point of gas at time 0."""
    k = 1 / m  # t^-k is how its height falls in two dimensions
    profile = 0.3 - k * (m - 1) / (4 * m) * (r / t ** (k / 2)) ** 2
    return t**-k * np.maximum(profile, 0) ** (1 / (m - 1))


def step_residual(u, before, dt):
    """Implicit Euler: u - dt Δ(u³) - before, without flow through the edge."""
    flux = np.pad(u**3, 1, mode="edge")
    laplacian = flux[2:, 1:-1] + flux[:-2, 1:-1] + flux[1:-1, 2:] + flux[1:-1, :-2]
    return u - dt / h**2 * (laplacian - 4 * flux[1:-1, 1:-1]) - before


# %%
# Forty steps of 4096 unknowns each. ``newton`` finds the pattern once, and uses it again.
u, t, dt, snapshots, iterations = barenblatt(1.0), 1.0, 0.1, {}, 0
for k in range(40):
    found = linad.solve.newton(step_residual, u, (u, dt))
    assert found.success, found.message
    u, t, iterations = found.x, t + dt, iterations + found.nit
    if k in (0, 9, 39):
        snapshots[t] = u
print(f"{iterations} iterations in 40 steps")
print(f"gas at the start {barenblatt(1.0).sum() * h**2:.4f}, at the end {u.sum() * h**2:.4f}")
print(f"largest error at t = {t:.1f}: {np.abs(u - barenblatt(t)).max():.3f}")

fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for k, (time, v) in enumerate(snapshots.items()):
    left_ax.plot(s, v[n // 2], f"C{k}", label=f"t = {time:.1f}")
    left_ax.plot(s, barenblatt(time)[n // 2], "k:", linewidth=1)
left_ax.set(title="through the middle; dotted: exact", xlabel="x")
left_ax.legend()
right_ax.contourf(s, s, u, 20, cmap="viridis")
right_ax.set(title=f"t = {t:.1f}", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# **Try next.** Start from two spots that run into each other; or find the exponent 3 from a
# picture of the gas, with ``linad.solve.root`` for each step.
