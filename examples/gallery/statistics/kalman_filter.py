"""
Kalman filter
=============

The log-likelihood of a state-space model, as the filter runs through the observations. Mean and
covariance of the state are updated in place.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad

rng = np.random.default_rng(0)


def log_likelihood(model, observations):
    """Sum over t of log p(y_t | y_1 ... y_{t-1}), by the prediction errors."""
    F, H, Q, R = model["F"], model["H"], model["Q"], model["R"]
    m, P = model["m"].copy(), model["P"].copy()
    total = 0.0
    for y in observations:
        m = F @ m
        P = F @ P @ F.T + Q
        error = y - H @ m
        S = H @ P @ H.T + R
        gain = np.linalg.solve(S, H @ P).T
        m += gain @ error
        P -= gain @ S @ gain.T
        total -= 0.5 * (error @ np.linalg.solve(S, error) + np.linalg.slogdet(S)[1])
    return total - 0.5 * observations.size * np.log(2 * np.pi)


# %%
# A position that drifts, seen with noise: how strong are drift and noise? The model is a function
# of their logarithms, and its likelihood has a maximum. Mean and covariance are written into, so
# their arrays are made with ``np.zeros_like``, which makes traced ones of traced numbers.
def drift(log_q, log_r):
    return {
        "F": np.array([[1.0, 1.0], [0.0, 1.0]]),
        "H": np.array([[1.0, 0.0]]),
        "Q": np.exp(log_q) * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]),
        "R": np.exp(log_r) * np.eye(1),
        "m": np.zeros_like(log_q, shape=2),
        "P": np.zeros_like(log_q, shape=(2, 2)) + 10 * np.eye(2),
    }


speed = np.cumsum(0.3 * rng.standard_normal(60))
seen = (np.cumsum(speed) + 2.0 * rng.standard_normal(60))[:, np.newaxis]


def misfit(p):
    return -log_likelihood(drift(*p), seen)


path = [np.array([0.0, 0.0])]
fit = minimize(misfit, path[0], jac=linad.grad(misfit), callback=lambda p: path.append(p.copy()))
print("drift, noise:", np.exp(fit.x).round(3), "after", fit.njev, "gradients")

# %%
# The inverse of the Hessian there says how well the data determine the two.
spread = np.sqrt(np.diag(np.linalg.inv(linad.hessian(misfit)(fit.x))))

q, r = np.linspace(-5, 2, 40), np.linspace(-1, 3, 40)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
surface = [[misfit(np.array([a, b])) - fit.fun for a in q] for b in r]
ax.contour(q, r, surface, [0.5, 2, 8, 20, 50, 100, 200], cmap="viridis_r")
ax.plot(*np.transpose(path), "k.-", label="BFGS, gradient by linad")
ax.errorbar(*fit.x, spread[1], spread[0], color="C3", capsize=3, label="maximum ± 1 σ")
ax.set(xlabel="log q, drift", ylabel="log r, noise", title="minus log-likelihood")
ax.legend()

plt.show()

# %%
# **Try next.** Let the filter see the speed as well (``H`` and ``R`` of two rows and columns), or
# compile the gradient with ``linad.jit(linad.grad(misfit))`` and give it a thousand observations.
