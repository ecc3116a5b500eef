"""NumPy's functions of arrays, in the language of kernels: a call of one is inlined."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.kernels.numpy_matrices import (
    cholesky,
    cross,
    det,
    eye,
    inv,
    kron,
    norm,
    outer,
    root,
    slogdet,
    solve,
    trace,
    tril,
    triu,
)

# Array types are those of the call, so there is nothing to annotate.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"


def cumsum(a):
    out = 1 * a
    for k in range(1, len(a)):
        out[k] += out[k - 1]
    return out


def cumprod(a):
    out = 1 * a
    for k in range(1, len(a)):
        out[k] *= out[k - 1]
    return out


def diff(a):
    return a[1:] - a[:-1]


def var(a):
    centered = a - np.mean(a)
    return np.mean(centered * centered)


def std(a):
    return root(np.var(a))


def ptp(a):
    return np.max(a) - np.min(a)


def argmax(a):
    """The first NaN, if there is one."""
    best = 0
    for k in range(1, len(a)):
        if not a[k] <= a[best] and a[best] == a[best]:
            best = k
    return best


def argmin(a):
    best = 0
    for k in range(1, len(a)):
        if not a[k] >= a[best] and a[best] == a[best]:
            best = k
    return best


def any_(a):
    return np.sum(np.where(a, 1, 0)) > 0


def all_(a):
    return np.sum(np.where(a, 0, 1)) == 0


def linspace(start, stop, num=50):
    out = np.empty(num)
    step = (stop - start) / max(num - 1, 1)
    for k in range(num):
        out[k] = start + k * step
    return out


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
    if k < len(xp) - 1 and x == xp[k]:  # the slope at a knot is that of the interval on the right
        k += 1
    inside = fp[k - 1] + (x - xp[k - 1]) * (fp[k] - fp[k - 1]) / (xp[k] - xp[k - 1])
    return fp[0] if x < xp[0] else fp[-1] if x > xp[-1] else inside


def flipped(a):
    return a[::-1]


def fliplr(a):
    return a[:, ::-1]


def flipud(a):
    return a[::-1]


def argsort(a):
    """Stretches that are in order are merged to ones of twice their length; NaN comes last."""
    n = len(a)
    order = np.arange(n)
    merged = np.empty(n, np.int64)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for k in range(low, high):
                right = i >= middle
                if i < middle and j < high:
                    left_one = a[order[i]]
                    right_one = a[order[j]]
                    nan = left_one != left_one
                    right = right_one < left_one or (nan and right_one == right_one)
                if right:
                    merged[k] = order[j]
                    j += 1
                else:
                    merged[k] = order[i]
                    i += 1
        order[:] = merged
        width *= 2
    return order.copy()


def sort(a):
    return a[np.argsort(a)]


def median(a):
    n = a.size
    ordered = np.sort(np.ravel(a))
    middle = 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
    return ordered[n - 1] if ordered[n - 1] != ordered[n - 1] else middle


def quantile(a, q):
    ordered = np.sort(np.ravel(a))
    place = (len(ordered) - 1) * q
    k = min(int(place), max(len(ordered) - 2, 0))
    least = ordered[k]
    return least + (place - k) * (ordered[min(k + 1, len(ordered) - 1)] - least)


def percentile(a, q):
    return np.quantile(a, q / 100.0)


def roll(a, shift):
    out = np.empty_like(a)
    n = len(a)
    for k in range(n):
        out[(k + shift) % n] = a[k]
    return out


def count_nonzero(a):
    return np.sum(np.where(a != 0, 1, 0))


def flatnonzero(a):
    return np.arange(len(a))[a != 0]


def nonzero(a):
    return (np.flatnonzero(a),)


def unique(a):
    ordered = np.sort(np.ravel(a))
    new = np.ones(len(ordered), np.bool_)
    for k in range(1, len(ordered)):
        here = ordered[k]
        new[k] = here != ordered[k - 1] and (here == here or ordered[k - 1] == ordered[k - 1])
    return ordered[new]


def convolve(a, v):
    out = np.zeros(len(a) + len(v) - 1)
    for i in range(len(a)):
        for j in range(len(v)):
            out[i + j] += a[i] * v[j]
    return out


def correlate(a, v):
    """Where the shorter one lies within the longer; that a comes first shows in the order."""
    n = abs(len(a) - len(v))
    out = np.zeros(n + 1)
    for i in range(n + 1):
        if len(v) <= len(a):
            for j in range(len(v)):
                out[i] += a[i + j] * v[j]
        else:
            for j in range(len(a)):
                out[n - i] += a[j] * v[i + j]
    return out


def trapezoid(y):
    total = 0.0
    for k in range(1, len(y)):
        total += 0.5 * (y[k] + y[k - 1])
    return total


def trapezoid_at(y, x):
    total = 0.0
    for k in range(1, len(y)):
        total += 0.5 * (x[k] - x[k - 1]) * (y[k] + y[k - 1])
    return total


def nansum(a):
    return np.sum(np.where(np.isnan(a), 0.0, a))


def nanmean(a):
    return np.nansum(a) / np.sum(np.where(np.isnan(a), 0, 1))


def nanmax(a):
    kept = a.ravel()[~np.isnan(a.ravel())]
    return np.max(kept)


def nanmin(a):
    kept = a.ravel()[~np.isnan(a.ravel())]
    return np.min(kept)


def bincount(x):
    out = np.zeros(np.max(x) + 1, np.int64)
    for k in x:
        out[k] += 1
    return out


def bincount_of_weights(x, weights):
    out = np.zeros(np.max(x) + 1)
    for k in range(len(x)):
        out[x[k]] += weights[k]
    return out


def searchsorted_all(a, v):
    out = np.empty(len(v), np.int64)
    for k in range(len(v)):
        out[k] = np.searchsorted(a, v[k])
    return out


def interp_all(x, xp, fp):
    out = np.empty(len(x))
    for k in range(len(x)):
        out[k] = np.interp(x[k], xp, fp)
    return out


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
    np.fliplr: fliplr,
    np.flipud: flipud,
    np.argsort: argsort,
    np.sort: sort,
    np.median: median,
    np.quantile: quantile,
    np.percentile: percentile,
    np.roll: roll,
    np.count_nonzero: count_nonzero,
    np.flatnonzero: flatnonzero,
    np.nonzero: nonzero,
    np.unique: unique,
    np.convolve: convolve,
    np.correlate: correlate,
    np.trapezoid: trapezoid,
    np.nansum: nansum,
    np.nanmean: nanmean,
    np.nanmax: nanmax,
    np.nanmin: nanmin,
    np.tril: tril,
    np.triu: triu,
    np.kron: kron,
    np.bincount: bincount,
    np.linalg.cholesky: cholesky,
    np.linalg.slogdet: slogdet,
    np.linalg.norm: norm,
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.linalg.det: det,
}
"""What stands in the place of a function of NumPy."""

METHOD_NAMES = (
    "cumsum",
    "cumprod",
    "var",
    "std",
    "argmax",
    "argmin",
    "argsort",
    "trace",
    "nonzero",
)
"""Those that arrays have as methods too."""

OF_VECTORS = frozenset(
    [
        *[cumsum, cumprod, diff, argmax, argmin, outer, cross, searchsorted, interp, flipped],
        *[argsort, sort, roll, flatnonzero, convolve, correlate, trapezoid, bincount],
    ]
)
"""Those that are written for vectors; of arrays with more axes NumPy means something else."""

OTHER_FORMS: dict[Any, Callable[..., Any]] = {
    trapezoid: trapezoid_at,
    bincount: bincount_of_weights,
}
"""Those that are written apart for calls with one argument more."""

OF_MANY: dict[Any, tuple[str, Callable[..., Any]]] = {
    searchsorted: ("v", searchsorted_all),
    interp: ("x", interp_all),
}
"""Those that are written apart for a vector in the place of a number, and which that is."""

FROM_NUMPY = frozenset([*WRITTEN.values(), *OTHER_FORMS.values()])
"""All that stand in the place of a function of NumPy; they take lists for arrays."""
