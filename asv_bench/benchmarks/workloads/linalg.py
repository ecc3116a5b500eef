"""Matrix products and Kronecker products."""

import numpy as np
from numba import njit

from .workload import Family, Workload


def product(A, B, numpy=np):
    return A @ B


@njit
def product_pullback(A, B, w):
    return np.dot(w, B.T), np.dot(A.T, w)


def _product_arguments(rng):
    return rng.standard_normal((16, 32)), rng.standard_normal((32, 8))


def kron_sum(a, b, numpy=np):
    return numpy.sum(numpy.kron(a, b))


def kron_gradient(a, b):
    """Mathematically all that is needed: sum(kron(a, b)) = sum(a) sum(b)."""
    return np.full(a.shape, np.sum(b)), np.full(b.shape, np.sum(a))


def kron_view_sum(x, y, numpy=np):
    """A view of x, and the upper triangle of y."""
    return numpy.sum(numpy.kron(x[:20, :20], numpy.triu(y)))


def kron_view_gradient(x, y):
    over_x = np.zeros(x.shape)
    over_x[:20, :20] = np.sum(np.triu(y))
    return over_x, np.triu(np.full(y.shape, np.sum(x[:20, :20])))


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
