"""`linad demo`, first part: a nonlinear equation on a grid, hundreds of unknowns.

    Δu + λ exp(u) = 0 in the unit square,  u = 0 on its boundary

Bratu's equation with the five-point Laplacian, in plain NumPy slices. Newton's method solves it
with the sparse Jacobian that linad takes from the program; SciPy's `root`, with a Jacobian by
differences and dense, is the measure.

Reference: G. Bratu, "Sur les équations intégrales non linéaires", Bulletin de la Société
Mathématique de France 42, 1914.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import linad
from linad.core.array_type import Array

SIDE = 24


def bratu(u: Array, lam: float = 6.0) -> Any:
    """The residual on a grid of n x n inner points, (n, n)."""
    v = np.pad(u, 1)
    around = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return (around - 4 * u) * (len(u) + 1) ** 2 + lam * np.exp(u)


@dataclass
class Solved:
    """Bratu's equation solved in two ways.

    Attributes
    ----------
    u : array (SIDE, SIDE)
        By Newton's method with linad's Jacobian.
    steps : int
        Of Newton's method.
    entries : int
        Of the Jacobian that may differ from zero.
    seconds, seconds_by_differences : float
        What linad's way and SciPy's `root` took.
    apart : float
        Largest difference between the two solutions.
    """

    u: Any
    steps: int
    entries: int
    seconds: float
    seconds_by_differences: float
    apart: float


def solved() -> Solved:
    """Solve the equation with linad, then by differences."""
    from scipy.optimize import root

    start = np.zeros((SIDE, SIDE))
    linad.solve.newton(bratu, start[:4, :4])  # so that no import is timed
    begun = time.perf_counter()
    found = linad.solve.newton(bratu, start)
    seconds = time.perf_counter() - begun

    begun = time.perf_counter()
    other = root(lambda u: bratu(u.reshape(start.shape)).ravel(), start.ravel())
    by_differences = time.perf_counter() - begun
    return Solved(
        u=found.x,
        steps=found.nit,
        entries=linad.sparse_jacobian(bratu, found.x).nnz,
        seconds=seconds,
        seconds_by_differences=by_differences,
        apart=float(np.abs(found.x.ravel() - other.x).max()),
    )
