"""Histograms and weighted counts.

y_k = Σ of w_i over the i that fall into bin k

Linear in the weights: the adjoint of reading bin k_i for each i. Which bin an entry falls
into is constant wherever its derivative exists, so counts without weights are plain integers.
Bin edges that NumPy places between the least and the largest entry move with those two.
"""

from typing import Any

import numpy as np

from linad.dispatch import implements
from linad.errors import DTypeError, TracerError
from linad.primitive import Traced
from linad.rules.indexing import add_at
from linad.rules.indices import Index
from linad.rules.shaping import as_array, concrete, ravel
from linad.shapes import is_inexact


def tally(weights: Any, bins: Any, n: int) -> Any:
    """Σ of the weights in each of n bins."""
    return add_at(weights, index=Index((bins,)), shape=(n,))


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    if isinstance(x, Traced):
        raise DTypeError("bincount: x must hold integers, which a traced array of floats is not")
    counts = np.bincount(x, minlength=minlength)
    if weights is None:
        return counts
    weights = as_array(weights)
    if weights.dtype.kind == "c":
        raise TypeError("Cannot cast weights data from complex to float64")
    if weights.shape != np.shape(x):
        raise ValueError("The weights and list don't have the same length.")
    return tally(np.astype(weights, np.float64), np.asarray(x, np.intp), counts.size)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if isinstance(bins, Traced):
        return bins
    plain = np.asarray(concrete(a))
    edges = np.histogram_bin_edges(plain, bins, range, concrete(weights))
    placed = isinstance(bins, str) or np.ndim(bins) == 0
    if not (placed and range is None and isinstance(a, Traced) and plain.size):
        return edges
    least, largest = a.min(), a.max()  # type: ignore[attr-defined]
    if plain.min() == plain.max():
        least, largest = least - 0.5, largest + 0.5
    return np.linspace(least, largest, edges.size)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if isinstance(range, Traced) or any(isinstance(v, Traced) for v in range or ()):
        raise TracerError(
            "histogram: range= cannot be traced; pass bins=np.linspace(low, high, n + 1)"
        )
    edges = histogram_bin_edges(a, bins, range, weights)
    fixed = concrete(edges)
    values = np.asarray(concrete(a)).ravel()
    if weights is None:
        n = np.histogram(values, fixed)[0]
    else:
        weights = as_array(weights)
        if weights.shape != np.shape(a):
            raise ValueError("weights should have the same shape as a.")
        # The last bin includes its right edge, the others do not.
        bin_ = np.searchsorted(fixed, values, side="right") - 1
        bin_[values == fixed[-1]] = fixed.size - 2
        inside = np.flatnonzero((bin_ >= 0) & (bin_ < fixed.size - 1))
        n = tally(ravel(weights)[inside], bin_[inside], fixed.size - 1)
    if not density:
        return n, edges
    if not is_inexact(n.dtype):
        n = n.astype(float)
    return n / np.diff(edges) / np.sum(n), edges
