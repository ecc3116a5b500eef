"""Chains and grids: what an entry depends on is near it."""

import numpy as np

from .limit import exp, limit
from .workload import Family, Workload


def rosenbrock(x, numpy=np):
    a, b = x[:-1], x[1:]
    return numpy.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)


@limit
def rosenbrock_value_and_grad(x, slopes):
    r, s = x[1] - x[0] * x[0], 1.0 - x[0]
    value = 100.0 * r * r + s * s
    slopes[0] = -400.0 * x[0] * r - 2.0 * s
    for i in range(1, x.size - 1):
        before = x[i] - x[i - 1] * x[i - 1]
        r, s = x[i + 1] - x[i] * x[i], 1.0 - x[i]
        value += 100.0 * r * r + s * s
        slopes[i] = 200.0 * before - 400.0 * x[i] * r - 2.0 * s
    slopes[-1] = 200.0 * (x[-1] - x[-2] * x[-2])
    return value


@limit
def rosenbrock_hvp(x, v, product):
    product[0] = (1200.0 * x[0] * x[0] - 400.0 * x[1] + 2.0) * v[0] - 400.0 * x[0] * v[1]
    for i in range(1, x.size - 1):
        diagonal = 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 202.0
        product[i] = diagonal * v[i] - 400.0 * (x[i - 1] * v[i - 1] + x[i] * v[i + 1])
    product[-1] = 200.0 * v[-1] - 400.0 * x[-2] * v[-2]


def bratu(u, numpy=np):
    """The 5-point Laplacian and an exponential, on a grid with zeros around it."""
    p = numpy.pad(u, 1, "constant")
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return around - 4.0 * u + (6.0 / 129**2) * numpy.exp(u)


@limit
def bratu_jvp(u, v, product):
    m, n = u.shape
    zeros = np.zeros(n)
    for i in range(m):
        above = v[i - 1] if i > 0 else zeros
        below = v[i + 1] if i < m - 1 else zeros
        for j in range(n):
            middle = ((6.0 / 129**2) * exp(u[i, j]) - 4.0) * v[i, j]
            product[i, j] = middle + above[j] + below[j]
        for j in range(1, n):
            product[i, j] += v[i, j - 1]
        for j in range(n - 1):
            product[i, j] += v[i, j + 1]


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
