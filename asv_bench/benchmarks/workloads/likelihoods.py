"""Likelihoods: a Gaussian process, a log-normal sample, logistic regression."""

import numpy as np

from .limit import exp, limit, log, log1p
from .workload import Family, Workload

POINTS = 128


def gaussian_process(theta, D, y, numpy=np):
    """Minus the log marginal likelihood; D holds squared distances."""
    K = numpy.exp(theta[0]) * numpy.exp(-0.5 * D * numpy.exp(theta[1]))
    K = K + numpy.exp(theta[2]) * numpy.eye(D.shape[0])
    L = numpy.linalg.cholesky(K)
    a = numpy.linalg.solve(K, y)
    return 0.5 * numpy.sum(y * a) + numpy.sum(numpy.log(numpy.diag(L)))


def gaussian_process_gradient(theta, D, y, slopes):
    """From K^-1 - a a^T, by triangles: one Cholesky factorisation and one inverse by LAPACK."""
    from scipy.linalg.blas import dsymv
    from scipy.linalg.lapack import dpotrf, dpotri

    K, inverse = np.empty_like(D), np.empty_like(D)
    _gaussian_process_kernel(theta, D, K, inverse)
    # A lower triangle in order C is an upper one in LAPACK's order.
    factor, _ = dpotrf(inverse.T, lower=0, clean=0, overwrite_a=1)
    upper, _ = dpotri(factor, lower=0, overwrite_c=1)
    a = dsymv(1.0, upper, y, lower=0)
    _gaussian_process_sums(theta, D, K, upper.T, a, slopes)


@limit
def _gaussian_process_kernel(theta, D, K, copy):
    variance, rate, noise = np.exp(theta[0]), -0.5 * np.exp(theta[1]), np.exp(theta[2])
    for i in range(len(D)):
        for j in range(i + 1):
            K[i, j] = variance * exp(rate * D[i, j])
            copy[i, j] = K[i, j]
        copy[i, i] += noise


@limit
def _gaussian_process_sums(theta, D, K, inverse, a, slopes):
    over_K = over_D = trace = 0.0
    for i in range(len(D)):
        row_K = row_D = 0.0
        for j in range(i):
            g = (inverse[i, j] - a[i] * a[j]) * K[i, j]
            row_K += g
            row_D += g * D[i, j]
        diagonal = 0.5 * (inverse[i, i] - a[i] * a[i])
        trace += diagonal
        over_K += row_K + diagonal * K[i, i]
        over_D += row_D + diagonal * K[i, i] * D[i, i]
    slopes[0] = over_K
    slopes[1] = -0.5 * np.exp(theta[1]) * over_D
    slopes[2] = np.exp(theta[2]) * trace


def _gaussian_process_arguments(rng, n=POINTS):
    x = 0.2 * np.arange(n)
    return np.array([0.0, 0.5, -1.0]), np.subtract.outer(x, x) ** 2, rng.standard_normal(n)


def log_normal(theta, y, numpy=np):
    """Minus the log-likelihood of a log-normal sample; theta holds mu and log(sigma)."""
    z = (numpy.log(y) - theta[0]) * numpy.exp(-theta[1])
    return numpy.sum(0.5 * z * z + theta[1] + numpy.log(y))


@limit
def log_normal_gradient(theta, y, slopes):
    scale = np.exp(-theta[1])
    first = second = 0.0
    for i in range(y.size):
        z = (log(y[i]) - theta[0]) * scale
        first += z
        second += z * z
    slopes[0], slopes[1] = -first * scale, y.size - second


@limit
def log_normal_value_and_grad(theta, y, slopes):
    scale = np.exp(-theta[1])
    first = second = logs = 0.0
    for i in range(y.size):
        logarithm = log(y[i])
        z = (logarithm - theta[0]) * scale
        first += z
        second += z * z
        logs += logarithm
    slopes[0], slopes[1] = -first * scale, y.size - second
    return 0.5 * second + y.size * theta[1] + logs


def logistic(w, X, y, numpy=np):
    return numpy.sum(numpy.logaddexp(0.0, -y * (X @ w)))


ROWS = 256
"""Rows of a tile: each is in a cache when it is read for the second time."""


@limit
def logistic_gradient(w, X, y, slopes):
    z, part = np.empty(ROWS), np.empty(w.size)
    slopes[:] = 0.0
    for start in range(0, y.size, ROWS):
        rows = X[start : start + ROWS]
        m = len(rows)
        np.dot(rows, w, z[:m])
        for i in range(m):
            z[i] = -y[start + i] / (1.0 + exp(y[start + i] * z[i]))
        np.dot(rows.T, z[:m], part)
        slopes += part


@limit
def logistic_value_and_grad(w, X, y, slopes):
    z, part = np.empty(ROWS), np.empty(w.size)
    slopes[:] = 0.0
    value = 0.0
    for start in range(0, y.size, ROWS):
        rows = X[start : start + ROWS]
        m = len(rows)
        np.dot(rows, w, z[:m])
        for i in range(m):
            t = y[start + i] * z[i]
            e = exp(-abs(t))
            value += log1p(e) - min(t, 0.0)
            z[i] = -y[start + i] * (e if t > 0.0 else 1.0) / (1.0 + e)
        np.dot(rows.T, z[:m], part)
        slopes += part
    return value


@limit
def logistic_hvp(w, X, y, v, product):
    z, t, part = np.empty(ROWS), np.empty(ROWS), np.empty(w.size)
    product[:] = 0.0
    for start in range(0, y.size, ROWS):
        rows = X[start : start + ROWS]
        m = len(rows)
        np.dot(rows, w, z[:m])
        np.dot(rows, v, t[:m])
        for i in range(m):
            e = exp(-abs(z[i]))
            t[i] *= e / (1.0 + e) ** 2
        np.dot(rows.T, t[:m], part)
        product += part


def _logistic_arguments(rng, n=10_000):
    X = rng.standard_normal((n, 200))
    return 0.1 * rng.standard_normal(200), X, np.sign(rng.standard_normal(n))


WORKLOADS = [
    Workload(
        "gp_lml, 128 points",
        "likelihoods",
        gaussian_process,
        _gaussian_process_arguments,
        by_blas=True,
        by_hand={"gradient": gaussian_process_gradient},
        without=("casadi", "enzyme"),
    ),
    Workload(
        "log-normal, 1e5 observations",
        "likelihoods",
        log_normal,
        lambda rng: (np.array([0.1, 0.2]), np.exp(rng.standard_normal(100_000))),
        tasks=("gradient", "value_and_grad"),
        by_hand={"gradient": log_normal_gradient, "value_and_grad": log_normal_value_and_grad},
        without=("casadi",),
    ),
    Workload(
        "logistic regression, 10000x200",
        "likelihoods",
        logistic,
        _logistic_arguments,
        tasks=("gradient", "value_and_grad", "hvp"),
        by_blas=True,
        by_hand={
            "gradient": logistic_gradient,
            "value_and_grad": logistic_value_and_grad,
            "hvp": logistic_hvp,
        },
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
