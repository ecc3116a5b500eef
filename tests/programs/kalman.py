"""Kalman filter: log-likelihood of a linear Gaussian state-space model."""

import numpy as np


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
