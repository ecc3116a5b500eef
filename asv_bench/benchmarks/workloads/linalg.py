"""Matrix products and Kronecker products."""

import numpy as np

from .limit import limit
from .workload import Family, Workload


def product(A, B, numpy=np):
    return A @ B


@limit
def product_pullback(A, B, w, over_A, over_B):
    np.dot(w, B.T, over_A)
    np.dot(A.T, w, over_B)


def _product_arguments(rng):
    return rng.standard_normal((16, 32)), rng.standard_normal((32, 8))


def kron_sum(a, b, numpy=np):
    return numpy.sum(numpy.kron(a, b))


@limit
def kron_gradient(a, b, over_a, over_b):
    """Mathematically all that is needed: sum(kron(a, b)) = sum(a) sum(b)."""
    over_a[:] = np.sum(b)
    over_b[:] = np.sum(a)


def kron_view_sum(x, y, numpy=np):
    """A view of x, and the upper triangle of y."""
    return numpy.sum(numpy.kron(x[:20, :20], numpy.triu(y)))


@limit
def kron_view_gradient(x, y, over_x, over_y):
    over_x[:] = 0.0
    over_y[:] = 0.0
    sum_x = sum_y = 0.0
    for i in range(20):
        for j in range(20):
            sum_x += x[i, j]
    for i in range(len(y)):
        for j in range(i, len(y)):
            sum_y += y[i, j]
            over_y[i, j] = sum_x
    over_x[:20, :20] = sum_y


def solution(A, b, numpy=np):
    """The squared norm of the solution of a system."""
    x = numpy.linalg.solve(A, b)
    return numpy.sum(x * x)


def _matrices(n):
    return lambda rng: (rng.standard_normal((n, n)), rng.standard_normal((n, n)))


def _system(n):
    return lambda rng: (rng.standard_normal((n, n)) + n * np.eye(n), rng.standard_normal(n))


WORKLOADS = [
    Workload(
        "A @ B, 16x32 by 32x8",
        "linalg",
        product,
        _product_arguments,
        tasks=("vjp",),
        active=2,
        by_blas=True,
        by_hand={"vjp": product_pullback},
    ),
    Workload(
        "kron_sum, 20x20 40x40",
        "linalg",
        kron_sum,
        lambda rng: (rng.standard_normal((20, 20)), rng.standard_normal((40, 40))),
        active=2,
        by_hand={"gradient": kron_gradient},
        published=4.68,
    ),
    Workload(
        "kron_view_sum, view and triangle",
        "linalg",
        kron_view_sum,
        lambda rng: (rng.standard_normal((40, 30)), rng.standard_normal((40, 40))),
        active=2,
        by_hand={"gradient": kron_view_gradient},
        without=("casadi",),
        published=3.7,
    ),
]

FAMILIES = [
    Family("A @ B, n x n", "linalg", product, _matrices, ("vjp",), active=2, sizes=(8, 64, 512)),
    Family("solve(A, b), n x n", "linalg", solution, _system, active=2, sizes=(8, 64, 512)),
]
