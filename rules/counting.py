"""Histograms and weighted counts.

y_k = Σ of w_i over the i that fall into bin k

Linear in the weights: the adjoint of reading bin k_i for each i. Which bin an entry falls
into is constant wherever its derivative exists, so counts without weights are plain integers.
Bin edges that NumPy places between the least and the largest entry move with those two.
"""

import operator
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.indices import Index
from linad.core.primitive import Traced
from linad.core.shapes import Shape, is_inexact, size_of
from linad.errors import DTypeError
from linad.rules.indexing import add_at
from linad.rules.shaping import as_array, concrete, form, ravel, still


def tally(weights: Array, bins: Array, n: int) -> Any:
    """Σ of the weights in each of n bins."""
    return add_at(weights, index=Index((bins,)), shape=(n,))


@implements(np.bincount)
def bincount(x: Any, /, weights: Array | None = None, minlength: int = 0) -> Any:
    if isinstance(x, Traced):
        return _counted(x, weights, minlength)
    counts = np.bincount(x, minlength=minlength)
    if weights is None:
        return counts
    weights = _weights(weights, np.shape(x))
    if not weights.size:
        return counts  # integers, as NumPy gives of nothing
    return tally(np.astype(weights, np.float64), np.array(x, np.intp), counts.size)


def _weights(weights: Array, shape: Shape) -> Any:
    weights = as_array(weights)
    if weights.dtype.kind == "c":
        raise TypeError("Cannot cast weights data from complex to float64")
    if weights.shape != shape:
        raise ValueError("The weights and list don't have the same length.")
    return weights


def _counted(x: Array, weights: Array | None, minlength: int) -> Any:
    """Counts of traced integers: of an argument of a program that is recorded."""
    if x.dtype.kind not in "biu":
        raise DTypeError(f"bincount: x must hold integers, got a traced array of {x.dtype}")
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "x must be a vector")
    if np.any(x < 0):
        raise ValueError("'list' argument must have no negative elements")
    # That all are below the least length is another decision than which the largest is.
    n = minlength if np.all(x < minlength) else int(np.max(x)) + 1
    x = np.astype(x, np.intp)  # booleans are numbers here, and no mask
    if weights is None or not x.size:  # integers of nothing, as NumPy's
        counts = np.zeros_like(x, np.intp, shape=(n,))
        np.add.at(counts, x, 1)
        return counts
    weights = np.astype(_weights(weights, x.shape), np.float64)
    counts = np.zeros_like(weights if isinstance(weights, Traced) else x, np.float64, shape=(n,))
    np.add.at(counts, x, weights)
    return counts


@implements(np.histogram_bin_edges)
def histogram_bin_edges(
    a: Array, bins: Any = 10, range: tuple[Any, ...] | None = None, weights: Array | None = None
) -> Any:
    if isinstance(bins, Traced) and bins.ndim:
        if bins.ndim > 1 or np.any(np.diff(still(bins)) < 0):
            raise ValueError(
                f"histogram_bin_edges: bins must be a number, a name or increasing edges, got an "
                f"array of shape {bins.shape}"
            )
        return bins
    bins = operator.index(bins) if isinstance(bins, Traced) else bins
    # How many bins there are, a number says, or a rule finds from the values.
    seen = concrete if isinstance(bins, str) else form
    plain, ends = np.asarray(seen(a)), None if range is None else tuple(range)
    among = None if ends is None else tuple([concrete(end) for end in ends])
    edges = np.histogram_bin_edges(plain, bins, among, seen(weights))
    if not isinstance(bins, str) and np.ndim(bins):
        return edges
    if ends is not None and not any([isinstance(end, Traced) for end in ends]):
        return edges
    if ends is None and not (isinstance(a, Traced) and plain.size):
        return edges
    least, largest = (a.min(), a.max()) if ends is None else ends  # type: ignore[attr-defined]
    if still(least) == still(largest):
        least, largest = least - 0.5, largest + 0.5
    return np.linspace(least, largest, edges.size)


@implements(np.histogram)
def histogram(
    a: Array,
    bins: Any = 10,
    range: tuple[Any, ...] | None = None,
    density: Any = None,
    weights: Array | None = None,
) -> Any:
    edges = histogram_bin_edges(a, bins, range, weights)
    fixed, values = still(edges), ravel(as_array(still(a)))
    # The last bin includes its right edge, the others do not.
    bin_ = np.searchsorted(fixed, values, side="right") - 1
    bin_ = np.where(values == fixed[-1], fixed.size - 2, bin_)
    inside = (bin_ >= 0) & (bin_ < fixed.size - 1)
    bin_ = np.clip(bin_, 0, fixed.size - 2)
    if weights is not None:
        weights = as_array(weights)
        if weights.shape != np.shape(a):
            raise ValueError("weights should have the same shape as a.")
    if isinstance(bin_, Traced) or weights is None:
        counted = np.where(inside, 1 if weights is None else ravel(weights), 0)
        n = np.zeros_like(counted, shape=(fixed.size - 1,))
        np.add.at(n, bin_, counted)
    else:
        n = tally(ravel(weights)[inside], bin_[inside], fixed.size - 1)
    if not density:
        return n, edges
    if not is_inexact(n.dtype):
        n = n.astype(float)
    return n / np.real(np.diff(edges)) / np.sum(n), edges


# Histograms in several dimensions.


@implements(np.histogramdd)
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Array | None = None,
) -> Any:
    columns = _columns(sample)
    d = len(columns)
    given = list(bins) if _is_sequence(bins) else [bins] * d
    given = [int(b) if isinstance(b, Traced) and not b.ndim else b for b in given]  # a number
    ranges = [None] * d if range is None else list(range)
    # NumPy checks the arguments and finds the cells on plain values.
    points = np.stack([np.asarray(concrete(c), float) for c in columns], axis=1)
    plain = [concrete(b) for b in given]
    n, fixed = np.histogramdd(points, plain, range)
    edges = [
        b if isinstance(b, Traced) else _outer_edges(c, b, r, e)
        for c, b, r, e in zip(columns, given, ranges, fixed, strict=True)
    ]
    if weights is not None:
        weights = as_array(weights)
        if weights.shape != (len(points),):
            raise ValueError("The weights and list don't have the same length.")
        if weights.dtype.kind == "c":
            raise TypeError("Cannot cast weights data from complex to float64")
        inside, cells = _cells(points, fixed)
        total = tally(np.astype(weights, np.float64)[inside], cells, size_of(n.shape))
        n = total.reshape(n.shape)
    if density:
        count = np.sum(n)
        for k, e in enumerate(edges):
            n = n / np.diff(e).reshape([-1 if axis == k else 1 for axis in _axes(d)])
        n = n / count
    return n, edges


_axes = range


def _is_sequence(bins: Any) -> bool:
    """Whether bins are given one by one; a number of them is none. It may hold traced edges."""
    return isinstance(bins, (tuple, list)) or np.ndim(bins) > 0


def _columns(sample: Any) -> list[Any]:
    """The coordinates of the points: the columns of an array, or a sequence of vectors; a sequence
    of numbers is one vector."""
    if isinstance(sample, (Traced, np.ndarray)):
        points: Any = sample if sample.ndim > 1 else np.reshape(sample, (-1, 1))
        return [points[:, k] for k in _axes(points.shape[1])]
    parts = [as_array(part) for part in sample]
    return parts if all([part.ndim for part in parts]) else [np.stack(parts)]  # or of numbers


def _outer_edges(column: Array, bins: Array, range: Any, fixed: Array) -> Any:
    """Edges that NumPy places between the extremes of a traced column move with those."""
    if _is_sequence(bins) or range is not None or not isinstance(column, Traced):
        return fixed
    return histogram_bin_edges(column, bins)


def _cells(points: Array, edges: Any) -> tuple[Any, Any]:
    """Which points lie in a cell, and the number of its cell for each of those."""
    inside: Any = np.ones(len(points), bool)
    cell: Any = np.zeros(len(points), np.intp)
    for x, e in zip(points.T, edges, strict=True):
        k = np.searchsorted(e, x, side="right") - 1
        k[x == e[-1]] = e.size - 2  # the last bin includes its right edge
        inside &= (k >= 0) & (k < e.size - 1)
        cell = cell * (e.size - 1) + k
    return np.flatnonzero(inside), cell[inside]


@implements(np.histogram2d)
def histogram2d(
    x: Array,
    y: Array,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Array | None = None,
) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if _is_sequence(bins) and len(bins) > 2:
        bins = [bins, bins]  # the edges of both
    n, edges = histogramdd([x, y], bins, range, density, weights)
    return n, edges[0], edges[1]
