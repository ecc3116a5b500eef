"""Chains and grids: what an entry depends on is near it."""

import math

import numpy as np
from numba import njit

from .workload import Family, Workload


def rosenbrock(x, numpy=np):
    a, b = x[:-1], x[1:]
    return numpy.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)


@njit
def rosenbrock_value_and_grad(x):
    g = np.zeros_like(x)
    value = 0.0
    for i in range(x.size - 1):
        a = x[i]
        r, s = x[i + 1] - a * a, 1.0 - a
        value += 100.0 * r * r + s * s
        g[i] += -400.0 * a * r - 2.0 * s
        g[i + 1] = 200.0 * r
    return value, g


@njit
def rosenbrock_hvp(x, v):
    g = np.zeros_like(x)
    for i in range(x.size - 1):
        a, da = x[i], v[i]
        r, dr = x[i + 1] - a * a, v[i + 1] - 2.0 * a * da
        g[i] += -400.0 * (da * r + a * dr) + 2.0 * da
        g[i + 1] = 200.0 * dr
    return g


def bratu(u, numpy=np):
    """The 5-point Laplacian and an exponential, on a grid with zeros around it."""
    p = numpy.pad(u, 1, "constant")
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return around - 4.0 * u + (6.0 / 129**2) * numpy.exp(u)


@njit
def bratu_jvp(u, v):
    m, n = u.shape
    y = np.empty_like(u)
    for i in range(m):
        for j in range(n):
            s = ((6.0 / 129**2) * math.exp(u[i, j]) - 4.0) * v[i, j]
            if i > 0:
                s += v[i - 1, j]
            if i < m - 1:
                s += v[i + 1, j]
            if j > 0:
                s += v[i, j - 1]
            if j < n - 1:
                s += v[i, j + 1]
            y[i, j] = s
    return y


WORKLOADS = [
    *[
        Workload(
            f"Rosenbrock, n={name}",
            "fields",
            rosenbrock,
            lambda rng, n=n: (rng.standard_normal(n),),
            tasks=("value_and_grad", "hvp"),
            by_hand={"value_and_grad": rosenbrock_value_and_grad, "hvp": rosenbrock_hvp},
            target=1.2,
        )
        for name, n in (("1e3", 1000), ("1e5", 100_000))
    ],
    Workload(
        "Bratu, 128x128",
        "fields",
        bratu,
        lambda rng: (rng.standard_normal((128, 128)),),
        tasks=("jvp", "vjp"),
        by_hand={"jvp": bratu_jvp, "vjp": bratu_jvp},  # it is symmetric
        without=("casadi",),
        target=1.2,
    ),
]

FAMILIES = [
    Family(
        "Rosenbrock",
        "fields",
        rosenbrock,
        lambda n: lambda rng: (rng.standard_normal(n),),
        sizes=(10, 1000, 100_000),
    ),
    Family(
        "Bratu, n x n",
        "fields",
        bratu,
        lambda n: lambda rng: (rng.standard_normal((n, n)),),
        ("vjp",),
        sizes=(16, 128, 512),
    ),
]
