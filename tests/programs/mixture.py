"""Gaussian mixture: log-likelihood of points."""

import numpy as np


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
