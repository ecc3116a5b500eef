"""
Gaussian process
================

A curve that nobody has a formula for: a slow trend, a season, and noise. How smooth, how regular
and how noisy it is, the likelihood says, whose gradient goes through a Cholesky factor.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

rng = np.random.default_rng(3)
t = np.sort(rng.uniform(0, 8, 90))
y = 0.8 * np.sin(0.6 * t) + np.sin(2 * np.pi * t) * (1 + 0.1 * t) + 0.2 * rng.standard_normal(90)


def kernel(log_p, a, b):
    """Covariances (len(a), len(b)): a smooth trend, and a season that changes slowly."""
    trend, slow, season, decay, shape = np.exp(log_p[:5])
    d = a[:, np.newaxis] - b
    seasonal = np.exp(-0.5 * (d / decay) ** 2 - 2 * (np.sin(np.pi * d) / shape) ** 2)
    return trend**2 * np.exp(-0.5 * (d / slow) ** 2) + season**2 * seasonal


def covariance(log_p):
    return kernel(log_p, t, t) + np.exp(2 * log_p[5]) * np.eye(len(t))


def misfit(log_p):
    """Minus the log-likelihood, without its constant."""
    L = np.linalg.cholesky(covariance(log_p))
    white = np.linalg.solve(L, y)
    return 0.5 * white @ white + np.sum(np.log(np.diag(L)))


# %%
# Six parameters, as logarithms. The Hessian at the minimum gives their errors.
start = np.log([1.0, 2.0, 1.0, 10.0, 1.0, 0.5])
fit = minimize(linad.value_and_grad(misfit), start, jac=True, method="BFGS")
errors = np.sqrt(np.diag(np.linalg.inv(linad.hessian(misfit)(fit.x))))
names = ("trend", "its time", "season", "its decay", "its shape", "noise")
for name, log_value, error in zip(names, fit.x, errors, strict=True):
    print(f"{name:9s} {np.exp(log_value):6.2f}  times or divided by {np.exp(error):.2f}")

# %%
# What the process expects in the next years:
ahead = np.linspace(0, 11, 400)
solved = np.linalg.solve(covariance(fit.x), np.column_stack([y, kernel(fit.x, t, ahead)]))
mean = kernel(fit.x, ahead, t) @ solved[:, 0]
variance = np.diag(kernel(fit.x, ahead, ahead) - kernel(fit.x, ahead, t) @ solved[:, 1:])
fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
band = 2 * np.sqrt(np.maximum(variance, 0))
ax.fill_between(ahead, mean - band, mean + band, color="C0", alpha=0.25, label="± 2 σ")
ax.plot(ahead, mean, "C0")
ax.plot(t, y, "k.", markersize=4, label="data")
ax.axvline(8, color="0.7", linestyle=":")
ax.set(xlabel="years")
ax.legend()
plt.show()

# %%
# **Try next.** Let the period be a parameter as well. ``linad.jit`` of the gradient pays for a
# thousand such fits of small data.
