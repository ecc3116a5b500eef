"""The posterior of a mixture of Gaussians, with a Wishart prior on its precisions.

Of k components in d dimensions: weights alpha (k,), means mu (k, d), and triangular factors Q of
the precisions Q^T Q, by the logarithms q (k, d) of their diagonals and the rest l (k, d(d-1)/2),
column by column. With beta_ik = alpha_k - |Q_k (x_i - mu_k)|^2 / 2 + sum_j q_kj,

    log p(x) = sum_i lse_k(beta_ik) - n (d/2 log 2 pi + lse(alpha))
"""

import numpy as np
from scipy.special import multigammaln

import linad

PARAMETERS = ("alpha", "mu", "q", "l")


def logsumexp(v):
    largest = np.max(v, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(v - largest), axis=-1)) + largest[..., 0]


def factors(q, rest):
    """Q (k, d, d), lower triangular."""
    k, d = q.shape
    Q = np.zeros_like(q, shape=(k, d, d))
    Q[:, np.arange(d), np.arange(d)] = np.exp(q)
    columns, rows = np.triu_indices(d, 1)
    Q[:, rows, columns] = rest
    return Q


def objective(theta, x, m, gamma):
    alpha, mu, q, rest = (theta[name] for name in PARAMETERS)
    (n, d), k = x.shape, len(alpha)
    Q = factors(q, rest)
    scaled = (x - mu[:, np.newaxis]) @ np.swapaxes(Q, 1, 2)
    log_det = np.sum(q, axis=1)
    beta = alpha + log_det - 0.5 * np.sum(scaled**2, axis=2).T
    likelihood = np.sum(logsumexp(beta)) - n * (d / 2 * np.log(2 * np.pi) + logsumexp(alpha))
    freedom = d + m + 1
    constant = k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(freedom / 2, d))
    return likelihood + constant - gamma**2 / 2 * np.sum(Q**2) + m * np.sum(log_det)


def prepare(data):
    theta = {name: np.array(data[name]) for name in PARAMETERS}
    return theta, np.array(data["x"]), data["m"], data["gamma"]


def present(gradient):
    return {name: gradient[name].tolist() for name in PARAMETERS}


FUNCTIONS = {
    "objective": (prepare, linad.jit(objective), float),
    "jacobian": (prepare, linad.jit(linad.grad(objective)), present),
}
