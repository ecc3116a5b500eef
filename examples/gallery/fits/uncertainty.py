"""
Uncertainties through a calculation
===================================

Measured quantities have errors, and these are correlated. To first order the errors of what is
computed from them are J Σ Jᵀ, with the Jacobian J of the calculation, however long that is. Here
it is the orbit of a planet from six measured numbers, through the solution of Kepler's equation.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad


def anomaly(mean_anomaly, e):
    """Solve Kepler's equation, E = M + e sin E. The derivative is that of the solution."""
    return linad.solve.fixed_point(lambda E, M, e: M + e * np.sin(E), mean_anomaly, mean_anomaly, e)


def positions(elements, t):
    """Where the planet is at the times t (n,), in the plane of the sky (n, 2)."""
    a, e, inclination, argument, period, passage = elements
    E = anomaly(2 * np.pi * (t - passage) / period, e)
    x, y = a * (np.cos(E) - e), a * np.sqrt(1 - e**2) * np.sin(E)
    along = x * np.cos(argument) - y * np.sin(argument)
    across = (x * np.sin(argument) + y * np.cos(argument)) * np.cos(inclination)
    return np.stack([along, across], axis=-1)


elements = np.array([1.5, 0.35, 0.9, 0.4, 2.3, 0.2])
errors = np.array([0.01, 0.01, 0.02, 0.02, 0.008, 0.01])
correlation = np.eye(6)
correlation[3, 5] = correlation[5, 3] = 0.8  # the argument and the passage are hard to tell apart
covariance = errors[:, np.newaxis] * correlation * errors

# %%
# One run gives the positions and J. The covariance of all positions is a product:
t = np.linspace(0, 9, 13)
where, J = linad.linearize(positions, elements, t, argnums=0)
J = J.todense()
spread = (J @ covariance @ J.T).reshape(13, 2, 13, 2)

# %%
# Two thousand draws agree, where the errors are small enough for first order. All orbits are
# computed at once:
rng = np.random.default_rng(0)
draws = rng.multivariate_normal(elements, covariance, 2000)
drawn = positions(draws.T[:, :, np.newaxis], t)
for k in (3, 12):
    formula = np.sqrt(np.linalg.eigvalsh(spread[k, :, k]))
    sampled = np.sqrt(np.linalg.eigvalsh(np.cov(drawn[:, k].T)))
    print(f"t = {t[k]:.2f}: axes {formula.round(4)}, sampled {sampled.round(4)}")

circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 60)), np.sin(np.linspace(0, 2 * np.pi, 60))])
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.plot(*positions(elements, np.linspace(0, 2.3, 300)).T, "0.8")
for k in range(13):
    ellipse = where[k][:, np.newaxis] + 2 * np.linalg.cholesky(spread[k, :, k]) @ circle
    ax.plot(*ellipse, color=plt.cm.viridis(k / 12))
    ax.plot(*drawn[:200, k].T, ",", color="0.5")
ax.set(title="2 σ, from the first year to the ninth", aspect="equal")
plt.show()

# %%
# **Try next.** Which of the six errors matters most in the ninth year? ``(J * errors) ** 2`` has
# the shares, one column each (without the correlation).
