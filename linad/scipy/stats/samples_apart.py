"""Distances of the distribution functions of two samples, where values are equal.

d_p = (∫ |U - V|^p dx)^(1/p) = (Σ_k |U_k - V_k|^p (x_k+1 - x_k))^(1/p)

over the values x of both samples in order; p is 1 for the Wasserstein distance, and 2 for the
energy distance. SciPy counts in U_k all values that are not above x_k. Between equal values the
piece has no width, and any height will do; but its height is the slope as they come apart. Here
each value counts from its own place in the order on. Of equal values any may come first: the mean
of an order and of its reverse is the derivative, where there is one, and the mean of both sides at
the kinks of |x - y|.
"""

from typing import Any

import numpy as np
import scipy.stats
from scipy.stats import _stats_py

from linad.arrays.roots import rooted
from linad.core.array_type import Array
from linad.rules.kinks import root
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import stands_for, twin_of


def _of_one_order(p: int, values: Array, of_u: Array, of_v: Array) -> Any:
    """The integral, with equal values in the order given, and weights in each of the samples."""
    order = np.argsort(values, kind="stable")
    u, v = (np.cumsum(w[order])[:-1] / np.sum(w) for w in (of_u, of_v))
    heights = np.abs(u - v) if p == 1 else np.square(u - v)
    return np.sum(heights * np.diff(values[order]))


def _integral(p: int, u: Array, v: Array, of_u: Array, of_v: Array) -> Any:
    arrays = (
        np.concatenate([u, v]),
        np.concatenate([of_u, np.zeros(v.shape)]),
        np.concatenate([np.zeros(u.shape), of_v]),
    )
    return (_of_one_order(p, *arrays) + _of_one_order(p, *[a[::-1] for a in arrays])) / 2


def _cdf_distance(
    p: int, u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    checked = twin_of(_stats_py._validate_distribution)
    (u, of_u), (v, of_v) = checked(u_values, u_weights), checked(v_values, v_weights)
    of_u = np.ones(u.shape) if of_u is None else of_u
    of_v = np.ones(v.shape) if of_v is None else of_v
    total = _integral(p, u, v, of_u, of_v)
    return total if p == 1 else rooted(root(total), _integral, p, u, v, of_u, of_v)


stands_for(_stats_py._cdf_distance, _cdf_distance)

energy_distance = form_by_twin(scipy.stats.energy_distance)
wasserstein_distance = form_by_twin(scipy.stats.wasserstein_distance)
