"""The probability that a normal vector lies in a box, in up to three dimensions.

With Σ = L L^T and y = L w the components of w are independent, and the box is, one after another,

    (a_k - Σ_{j<k} L_kj w_j) / L_kk  <=  w_k  <=  (b_k - Σ_{j<k} L_kj w_j) / L_kk

The last integral is a difference of Φ, the others are Gaussian rules between these ends; what lies
beyond `REACH` counts for nothing. The rules are finer where L_kk is small beside its row.

Source: A. Genz, "Numerical computation of multivariate normal probabilities", Journal of
Computational and Graphical Statistics 1, 1992.
"""

import math
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.rules.shaping import form, still

REACH = 9.0
FAR = 60.0
"""In standard deviations, where an infinite end is: beyond what the components before it shift."""

NODES = 64
MOST = {2: 2048, 3: 384}
"""Nodes of a rule at most, by the number of dimensions."""


def box_probability(factor: Array, low: Array, high: Array) -> Any:
    """The probabilities (q,) of boxes.

    Parameters
    ----------
    factor : array (d, d)
        L, of d = 1, 2 or 3.
    low, high : array (q, d)
        The ends, less the mean.
    """
    far = FAR * np.sqrt(np.max(np.sum(still(factor) ** 2, axis=1)))
    low, high = [
        np.where(np.isinf(still(side)), np.sign(still(side)) * far, side) for side in (low, high)
    ]
    return _inner(factor, low, high, 0, np.zeros(low.shape[:1]), [])


def _rule(factor: Array) -> tuple[Array, Array]:
    """Nodes and weights for 0 to 1."""
    plain, d = form(factor), factor.shape[0]
    below = np.abs(np.tril(plain, -1))
    steep = float(np.max(below / np.diagonal(plain)[:, None], initial=0.0))
    count = min(int(NODES * max(1.0, steep)), MOST[d]) if steep < np.inf else MOST[d]
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (1 + nodes), 0.5 * weights


def _inner(factor: Array, low: Array, high: Array, k: int, like: Array, w: list[Any]) -> Any:
    """The integral over w_k and all after it, for values of those before."""
    axes = (slice(None),) + (None,) * (like.ndim - 1)
    shift: Any = sum([factor[k, j] * value for j, value in enumerate(w)], start=like)
    start, end = [(side[:, k][axes] - shift) / factor[k, k] for side in (low, high)]
    if k == factor.shape[0] - 1:
        return _between(start, end)
    start, end = np.clip(start, -REACH, REACH), np.clip(end, -REACH, REACH)
    nodes, weights = _rule(factor)
    width = (end - start)[..., None]
    here = start[..., None] + width * nodes
    density = np.exp(-0.5 * here * here) / math.sqrt(2 * math.pi)
    earlier = [value[..., None] for value in w]
    rest = _inner(factor, low, high, k + 1, like[..., None], [*earlier, here])
    return np.sum(weights * width * density * rest, axis=-1)


def _between(start: Any, end: Any) -> Any:
    """Φ(end) - Φ(start), by the tails where both are large."""
    right = start > 0
    start, end = np.where(right, -start, start), np.where(right, -end, end)
    gap = scipy.special.ndtr(end) - scipy.special.ndtr(start)
    return np.where(right, -gap, gap)
