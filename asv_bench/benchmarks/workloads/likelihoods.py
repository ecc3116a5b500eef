"""Likelihoods: a Gaussian process, a log-normal sample, logistic regression."""

import math

import numpy as np
from numba import njit

from .workload import Family, Workload

POINTS = 128


def gaussian_process(theta, D, y, numpy=np):
    """Minus the log marginal likelihood; D holds squared distances."""
    K = numpy.exp(theta[0]) * numpy.exp(-0.5 * D * numpy.exp(theta[1]))
    K = K + numpy.exp(theta[2]) * numpy.eye(D.shape[0])
    L = numpy.linalg.cholesky(K)
    a = numpy.linalg.solve(K, y)
    return 0.5 * numpy.sum(y * a) + numpy.sum(numpy.log(numpy.diag(L)))


def gaussian_process_gradient(theta, D, y):
    """From K^-1 - a a^T, with one Cholesky factorisation and one inverse by LAPACK."""
    from scipy.linalg.lapack import dpotrf, dpotri

    scale, noise = np.exp(theta[1]), np.exp(theta[2])
    K = np.exp(-0.5 * D * scale)
    K *= np.exp(theta[0])
    kernel = K.copy()
    K.flat[:: len(K) + 1] += noise
    L, _ = dpotrf(K, lower=1)
    inverse, _ = dpotri(L, lower=1)
    low = np.tril(inverse, -1)
    inverse = low + low.T + np.diag(np.diag(inverse))
    a = inverse @ y
    G = 0.5 * (inverse - np.outer(a, a))
    Gk = G * kernel
    return np.array([Gk.sum(), -0.5 * scale * np.vdot(Gk, D), noise * np.trace(G)])


def _gaussian_process_arguments(rng, n=POINTS):
    x = 0.2 * np.arange(n)
    return np.array([0.0, 0.5, -1.0]), np.subtract.outer(x, x) ** 2, rng.standard_normal(n)


def log_normal(theta, y, numpy=np):
    """Minus the log-likelihood of a log-normal sample; theta holds mu and log(sigma)."""
    z = (numpy.log(y) - theta[0]) * numpy.exp(-theta[1])
    return numpy.sum(0.5 * z * z + theta[1] + numpy.log(y))


@njit
def log_normal_gradient(theta, y):
    s = math.exp(-theta[1])
    first = second = 0.0
    for i in range(y.size):
        z = (math.log(y[i]) - theta[0]) * s
        first -= z
        second += 1.0 - z * z
    return np.array([first * s, second])


def logistic(w, X, y, numpy=np):
    return numpy.sum(numpy.logaddexp(0.0, -y * (X @ w)))


@njit
def _logistic_slopes(z, y):
    for i in range(z.size):
        z[i] = -y[i] / (1.0 + math.exp(y[i] * z[i]))


@njit
def _logistic_curvatures(z, t):
    for i in range(z.size):
        e = math.exp(-abs(z[i]))
        t[i] *= e / (1.0 + e) ** 2


def logistic_gradient(w, X, y):
    """Two calls of BLAS and a loop."""
    z = X @ w
    _logistic_slopes(z, y)
    return z @ X


def logistic_hvp(w, X, y, v):
    """Three calls of BLAS and a loop."""
    z, t = X @ w, X @ v
    _logistic_curvatures(z, t)
    return t @ X


def _logistic_arguments(rng, n=10_000):
    X = rng.standard_normal((n, 200))
    return 0.1 * rng.standard_normal(200), X, np.sign(rng.standard_normal(n))


WORKLOADS = [
    Workload(
        "gp_lml, 128 points",
        "likelihoods",
        gaussian_process,
        _gaussian_process_arguments,
        by_hand={"gradient": gaussian_process_gradient},
        without=("casadi",),
    ),
    Workload(
        "log-normal, 1e5 observations",
        "likelihoods",
        log_normal,
        lambda rng: (np.array([0.1, 0.2]), np.exp(rng.standard_normal(100_000))),
        by_hand={"gradient": log_normal_gradient},
        without=("casadi",),
    ),
    Workload(
        "logistic regression, 10000x200",
        "likelihoods",
        logistic,
        _logistic_arguments,
        tasks=("gradient", "hvp"),
        by_hand={"gradient": logistic_gradient, "hvp": logistic_hvp},
        without=("casadi",),
        target=1.2,
    ),
]

FAMILIES = [
    Family(
        "Gaussian process, n points",
        "likelihoods",
        gaussian_process,
        lambda n: lambda rng: _gaussian_process_arguments(rng, n),
        sizes=(16, 64, 256),
    ),
    Family(
        "logistic regression, n x 200",
        "likelihoods",
        logistic,
        lambda n: lambda rng: _logistic_arguments(rng, n),
        sizes=(100, 1000, 10_000),
    ),
]
