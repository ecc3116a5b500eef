"""
Gaussian mixture
================

Points of three clusters, whose means, covariances and shares are found by the likelihood. Its
gradient goes through Cholesky factors.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

rng = np.random.default_rng(0)


def log_likelihood(model, points):
    """Log-likelihood of points (n, d) under K components.

    ``logits`` (K,) are unnormalised log weights, ``means`` (K, d), ``covariances`` (K, d, d).
    """
    n, d = points.shape
    log_weights = model["logits"] - np.logaddexp.reduce(model["logits"])
    log_terms = []
    for k in range(len(log_weights)):
        L = np.linalg.cholesky(model["covariances"][k])
        whitened = np.linalg.solve(L, (points - model["means"][k]).T)
        log_det = 2 * np.log(np.diag(L)).sum()
        distance = (whitened**2).sum(axis=0)
        log_terms.append(log_weights[k] - 0.5 * (distance + log_det + d * np.log(2 * np.pi)))
    log_terms = np.stack(log_terms)
    highest = log_terms.max(axis=0)
    total = np.exp(log_terms - highest).sum(axis=0)
    return np.sum(highest + np.log(total))


# %%
# Fitted with a quasi-Newton method to points from three clusters. Factors keep the covariances
# positive.
centres = np.array([[-2.0, 0.0], [1.5, 1.5], [1.0, -2.0]])
points = np.concatenate(
    [c + rng.standard_normal((60, 2)) @ rng.uniform(-1, 1, (2, 2)) for c in centres]
)


def unpack(p):
    factors = p[9:].reshape(3, 2, 2)
    covariances = factors @ np.swapaxes(factors, 1, 2) + 1e-3 * np.eye(2)
    return {"logits": p[:3], "means": p[3:9].reshape(3, 2), "covariances": covariances}


def misfit(p):
    return -log_likelihood(unpack(p), points) / len(points)


start = np.concatenate([np.zeros(3), points[::60].ravel(), np.tile(np.eye(2).ravel(), 3)])
fit = minimize(misfit, start, jac=linad.grad(misfit), method="L-BFGS-B")
model = unpack(fit.x)

circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 60)), np.sin(np.linspace(0, 2 * np.pi, 60))])
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(*points.T, ".", color="0.6")
for mean, covariance in zip(model["means"], model["covariances"], strict=True):
    ax.plot(*(mean[:, np.newaxis] + 2 * np.linalg.cholesky(covariance) @ circle), "C3")
ax.set(title=f"ellipses of 2 σ after {fit.nit} iterations", aspect="equal")

plt.show()

# %%
# **Try next.** Add a fourth component, and compare ``fit.fun`` with and without it; or give
# ``linad.solve.trust_region`` the same function, which uses exact products with the Hessian.
