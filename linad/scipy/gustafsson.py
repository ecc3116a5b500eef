"""Filtering to and fro from the initial states that make both orders alike, traced.

F filters from zero states, O holds the outputs of unit states and no input, R turns time around:

    first forward      y = R F R (F x + O u) + R O v
    first backward     F R (F R x + O v) + O u

u and v are the least squares of the difference. Of long signals the states are felt at the ends
only, for ``irlen`` samples: u at the first, v at the last ones.

Source: F. Gustafsson, "Determining the initial states in forward-backward filtering", IEEE
Transactions on Signal Processing 44, 1996.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.scipy.linearfilters import lfilter


def both_ways_alike(b: Array, a: Array, x: Array, irlen: Any) -> Any:
    """`scipy.signal.filtfilt` with ``method="gust"``, along the last axis."""
    order, n = max(b.shape[0], a.shape[0]) - 1, x.shape[-1]
    if not order:
        return (b[0] / a[0]) ** 2 * x
    reach = n if irlen is None or n <= 2 * irlen else int(irlen)

    def forward(x: Array) -> Any:
        return lfilter(b, a, x)

    def backward(x: Array) -> Any:
        return forward(x[..., ::-1])[..., ::-1]

    y, other = backward(forward(x)), forward(backward(x))
    rest = np.zeros((order, reach), y.dtype)
    ringing = lfilter(b, a, rest, zi=np.eye(order, dtype=y.dtype))[0]  # O^T
    of_u, of_v = backward(ringing), ringing[:, ::-1]
    apart = of_u - ringing, of_v - forward(of_v)
    if reach == n:
        states = (other - y) @ np.linalg.pinv(np.concatenate(apart))
        return y + states @ np.concatenate([of_u, of_v])
    gap = other - y
    start = gap[..., :reach] @ np.linalg.pinv(apart[0]) @ of_u
    end = gap[..., -reach:] @ np.linalg.pinv(apart[1]) @ of_v
    between = np.zeros((*x.shape[:-1], n - 2 * reach), y.dtype)
    return y + np.concatenate([start, between, end], axis=-1)
