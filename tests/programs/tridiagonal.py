"""Tridiagonal systems: elimination and back substitution in place (Thomas)."""

import numpy as np


def solve(lower, diagonal, upper, right):
    """Solution of a tridiagonal system. The diagonal and the right side are overwritten."""
    n = len(diagonal)
    for i in range(1, n):
        factor = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    right[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - upper[i] * right[i + 1]) / diagonal[i]
    return right


def roughness(lower, diagonal, upper, right):
    """Mean square of the steps of the solution."""
    x = solve(lower, diagonal, upper, right)
    return np.mean(np.diff(x) ** 2)
