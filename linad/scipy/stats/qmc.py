"""scipy.stats.qmc, traced: how evenly points fill a box.

A discrepancy compares the numbers of points in boxes with the volumes of the boxes, over all boxes
of a kind. With products over the axes, and a = |x - 1/2|, each is a constant, a sum over the n
points and a sum over their pairs:

    CD         (13/12)^d - 2/n Σ_i Π (1 + a_i/2 - a_i²/2)
               + 1/n² Σ_ik Π (1 + a_i/2 + a_k/2 - |x_i - x_k|/2)
    WD         -(4/3)^d + 1/n² Σ_ik Π (3/2 - |x_i - x_k| (1 - |x_i - x_k|))
    MD         (19/12)^d - 2/n Σ_i Π (5/3 - a_i/4 - a_i²/4)
               + 1/n² Σ_ik Π (15/8 - a_i/4 - a_k/4 - 3/4 |x_i - x_k| + 1/2 |x_i - x_k|²)
    L2-star    the root of 3^-d - 2^(1-d)/n Σ_i Π (1 - x_i²)
               + 1/n² Σ_ik Π (1 - (x_i + x_k + |x_i - x_k|)/2)

Sources: K.-T. Fang, R. Li, A. Sudjianto, "Design and Modeling for Computer Experiments", 2006.
Y.-D. Zhou, K.-T. Fang, J.-H. Ning, "Mixture discrepancy for quasi-random point sets", Journal of
Complexity 29, 2013. T. T. Warnock, "Computational investigations of low discrepancy point sets",
1972.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.stats.qmc
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import squareform

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.mirrored_names import mirrored_names
from linad.errors import ArgumentError
from linad.scipy.mirror import bound_form, inexact
from linad.scipy.plain_results import by_scipy
from linad.scipy.spatial.distance import pdist
from linad.scipy.twinforms import twins_among

TWINS = ("scale",)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


class _Discrepancy(NamedTuple):
    """A constant, the weight of the points, and what is multiplied over the axes: for a point, and
    for two of them, whose distance along each axis is the third argument."""

    constant: Callable[[int], float]
    weight: Callable[[int], float]
    of_point: Callable[[Array], Any]
    of_pair: Callable[[Array, Array, Any], Any]


def _aside(x: Array) -> Any:
    return abs(x - 0.5)


DISCREPANCIES = {
    "CD": _Discrepancy(
        lambda d: (13 / 12) ** d,
        lambda d: -2.0,
        lambda x: 1 + 0.5 * _aside(x) - 0.5 * _aside(x) ** 2,
        lambda x, z, apart: 1 + 0.5 * (_aside(x) + _aside(z) - apart),
    ),
    "WD": _Discrepancy(
        lambda d: -((4 / 3) ** d),
        lambda d: 0.0,
        np.ones_like,
        lambda x, z, apart: 1.5 + 0 * x - apart * (1 - apart),
    ),
    "MD": _Discrepancy(
        lambda d: (19 / 12) ** d,
        lambda d: -2.0,
        lambda x: 5 / 3 - 0.25 * _aside(x) - 0.25 * _aside(x) ** 2,
        lambda x, z, apart: (
            1.875 - 0.25 * (_aside(x) + _aside(z)) - 0.75 * apart + 0.5 * apart**2
        ),
    ),
    "L2-star": _Discrepancy(
        lambda d: 3.0**-d,
        lambda d: -(2.0 ** (1 - d)),
        lambda x: 1 - x**2,
        lambda x, z, apart: 1 - 0.5 * (x + z + apart),
    ),
}


def _points(name: str, sample: Any) -> Any:
    """Points in the unit box, as SciPy wants them, in double precision."""
    sample = inexact(sample).astype(np.float64)
    if sample.ndim != 2:
        raise ArgumentError(f"{name}: expected an array of points (n, d), got {sample.shape}")
    if np.any(sample < 0) or np.any(sample > 1):
        raise ArgumentError(f"{name}: the sample is not in the unit hypercube; use qmc.scale")
    return sample


@bound_form(scipy.stats.qmc.discrepancy)
def discrepancy(sample: Any, iterative: bool, method: str, workers: Any) -> Any:
    x = _points("discrepancy", sample)
    if method not in DISCREPANCIES:
        raise ArgumentError(
            f"discrepancy: method must be one of {[*DISCREPANCIES]}, got {method!r}"
        )
    kind, d = DISCREPANCIES[method], x.shape[1]
    n = x.shape[0] + bool(iterative)
    i, k = np.triu_indices(x.shape[0], 1)
    points = np.sum(np.prod(kind.of_point(x), axis=1))
    # A point is no distance from itself: |x - x| would have a kink there.
    alone = np.sum(np.prod(kind.of_pair(x, x, 0.0), axis=1))
    pairs = np.sum(np.prod(kind.of_pair(x[i], x[k], abs(x[i] - x[k])), axis=1))
    found = kind.constant(d) + kind.weight(d) / n * points + (alone + 2 * pairs) / n**2
    return np.sqrt(found) if method == "L2-star" else found


@bound_form(scipy.stats.qmc.update_discrepancy)
def update_discrepancy(x_new: Any, sample: Any, initial_disc: Any) -> Any:
    x = _points("update_discrepancy", sample)
    new = _points("update_discrepancy", inexact(x_new)[None])
    if new.shape[1] != x.shape[1]:
        raise ArgumentError(
            f"update_discrepancy: x_new and sample must have as many axes, got {new.shape[1]} and "
            f"{x.shape[1]}"
        )
    kind, n = DISCREPANCIES["CD"], x.shape[0] + 1
    point = np.prod(kind.of_point(new))
    alone = np.prod(kind.of_pair(new, new, 0.0))
    pairs = np.sum(np.prod(kind.of_pair(new, x, abs(new - x)), axis=1))
    return initial_disc + kind.weight(x.shape[1]) / n * point + (alone + 2 * pairs) / n**2


def _counting(distances: np.ndarray, method: str) -> Any:
    """Which of the distances between points count: the least, or those of the shortest tree."""
    if np.any(distances == 0):
        warn_user("geometric_discrepancy: the sample has a point twice")
    if method == "mindist":
        positive = np.where(distances > 0, distances, np.inf)
        return np.arange(distances.size) == np.argmin(positive)
    tree = minimum_spanning_tree(squareform(distances)).toarray()  # one of two triangles
    return squareform(np.maximum(tree, tree.T)) > 0


@bound_form(scipy.stats.qmc.geometric_discrepancy)
def geometric_discrepancy(sample: Any, method: str, metric: str) -> Any:
    x = _points("geometric_discrepancy", sample)
    if x.shape[0] < 2:
        raise ArgumentError("geometric_discrepancy: expected at least two points, got one")
    if method not in ("mindist", "mst"):
        raise ArgumentError(
            f"geometric_discrepancy: method must be 'mindist' or 'mst', got {method!r}"
        )
    distances = pdist(x, metric)
    counts = by_scipy(_counting, distances, method=method)
    return np.sum(np.where(counts, distances, 0.0)) / np.sum(counts)


__getattr__, __dir__ = mirrored_names(scipy.stats.qmc, twins_among(scipy.stats.qmc, TWINS))
