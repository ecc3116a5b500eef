"""NumPy's functions of arrays, in the language of kernels: a call of one is inlined."""

from collections.abc import Callable
from typing import Any

import numpy as np

# Array types are those of the call, so there is nothing to annotate.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"


def cumsum(a):
    out = a.copy()
    for k in range(1, len(a)):
        out[k] += out[k - 1]
    return out


def cumprod(a):
    out = a.copy()
    for k in range(1, len(a)):
        out[k] *= out[k - 1]
    return out


def diff(a):
    return a[1:] - a[:-1]


def var(a):
    centered = a - np.mean(a)
    return np.mean(centered * centered)


def std(a):
    return np.sqrt(np.var(a))


def ptp(a):
    return np.max(a) - np.min(a)


def argmax(a):
    best = 0
    for k in range(1, len(a)):
        if a[k] > a[best]:
            best = k
    return best


def argmin(a):
    best = 0
    for k in range(1, len(a)):
        if a[k] < a[best]:
            best = k
    return best


def any_(a):
    return np.sum(np.where(a, 1, 0)) > 0


def all_(a):
    return np.sum(np.where(a, 0, 1)) == 0


def eye(n):
    out = np.zeros((n, n))
    for k in range(n):
        out[k, k] = 1.0
    return out


def linspace(start, stop, num=50):
    out = np.empty(num)
    step = (stop - start) / max(num - 1, 1)
    for k in range(num):
        out[k] = start + k * step
    return out


def outer(a, b):
    out = np.empty((len(a), len(b)), a.dtype)
    for i in range(len(a)):
        for j in range(len(b)):
            out[i, j] = a[i] * b[j]
    return out


def cross(a, b):
    out = np.empty(3, a.dtype)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def trace(a):
    total = 0.0
    for k in range(min(a.shape[0], a.shape[1])):
        total += a[k, k]
    return total


def diagonal(a):
    out = np.empty(min(a.shape[0], a.shape[1]), a.dtype)
    for k in range(len(out)):
        out[k] = a[k, k]
    return out


def diagonal_matrix(a):
    out = np.zeros((len(a), len(a)), a.dtype)
    for k in range(len(a)):
        out[k, k] = a[k]
    return out


def norm(a):
    return np.sqrt(np.sum(a * a))


def searchsorted(a, v):
    """The first place at which ``v`` can be put in."""
    low = 0
    high = len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low


def interp(x, xp, fp):
    k = min(max(np.searchsorted(xp, x), 1), len(xp) - 1)
    inside = fp[k - 1] + (x - xp[k - 1]) * (fp[k] - fp[k - 1]) / (xp[k] - xp[k - 1])
    return fp[0] if x < xp[0] else fp[-1] if x > xp[-1] else inside


def flipped(a):
    return a[::-1]


def solve(a, b):
    """Gaussian elimination with row pivots; rows are exchanged by their numbers only."""
    n = len(a)
    left = a.copy()
    right = b.copy()
    order = np.zeros(n, np.int64)
    for k in range(n):
        order[k] = k
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(left[order[i], k]) > abs(left[order[pivot], k]):
                pivot = i
        order[k], order[pivot] = order[pivot], order[k]
        p = order[k]
        assert left[p, k] != 0.0, "np.linalg.solve: the matrix is singular"
        for i in range(k + 1, n):
            r = order[i]
            factor = left[r, k] / left[p, k]
            for j in range(k + 1, n):
                left[r, j] -= factor * left[p, j]
            right[r] -= factor * right[p]
    out = right.copy()
    for k in range(n - 1, -1, -1):
        p = order[k]
        out[k] = right[p]
        for j in range(k + 1, n):
            out[k] -= left[p, j] * out[j]
        out[k] /= left[p, k]
    return out


def inv(a):
    return np.linalg.solve(a, np.eye(len(a)))


def det(a):
    n = len(a)
    left = a.copy()
    value = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(left[i, k]) > abs(left[pivot, k]):
                pivot = i
        if pivot != k:
            value = -value
            for j in range(k, n):
                left[k, j], left[pivot, j] = left[pivot, j], left[k, j]
        value *= left[k, k]
        if left[k, k] != 0.0:
            for i in range(k + 1, n):
                factor = left[i, k] / left[k, k]
                for j in range(k + 1, n):
                    left[i, j] -= factor * left[k, j]
    return value


WRITTEN: dict[Any, Callable[..., Any]] = {
    np.cumsum: cumsum,
    np.cumprod: cumprod,
    np.diff: diff,
    np.var: var,
    np.std: std,
    np.ptp: ptp,
    np.argmax: argmax,
    np.argmin: argmin,
    np.any: any_,
    np.all: all_,
    np.eye: eye,
    np.identity: eye,
    np.linspace: linspace,
    np.outer: outer,
    np.cross: cross,
    np.trace: trace,
    np.searchsorted: searchsorted,
    np.interp: interp,
    np.flip: flipped,
    np.linalg.norm: norm,
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.linalg.det: det,
}
"""What stands in the place of a function of NumPy."""

METHOD_NAMES = ("cumsum", "cumprod", "var", "std", "argmax", "argmin", "trace")
"""Those that arrays have as methods too."""

OF_VECTORS = frozenset(
    [cumsum, cumprod, diff, argmax, argmin, outer, cross, searchsorted, interp, flipped]
)
"""Those that are written for vectors; of arrays with more axes NumPy means something else."""
