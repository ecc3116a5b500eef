"""Slopes that make cubics of values at breakpoints: local, monotone, or smooth.

With h = dx and m = dy / h, those of `CubicSpline` make the second derivative continuous, a
tridiagonal system

    h_i s_{i-1} + 2 (h_{i-1} + h_i) s_i + h_{i-1} s_{i+1} = 3 (h_i m_{i-1} + h_{i-1} m_i)

with a row for each end; those of `PchipInterpolator` are weighted harmonic means of neighbouring m.

Sources: C. de Boor, "A Practical Guide to Splines", 2001; F. Fritsch and J. Butland, "A Method for
Constructing Local Monotone Piecewise Cubic Interpolants", SIAM J. Sci. Stat. Comput. 5, 1984.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.rules.banded import solve_banded_
from linad.rules.shaping import astype, still


def column(h: Array, like: Array) -> Any:
    """A row of numbers with axes behind for the values at each."""
    return h.reshape(h.shape + (1,) * (like.ndim - 1))


def local_slopes(x: Array, y: Array, method: str) -> Any:
    """Means of the slopes to both sides, each weighted by how much they change on the other.

    Source: H. Akima, "A new method of interpolation and smooth curve fitting based on local
    procedures", J. ACM 17, 1970.
    """
    m = (y[1:] - y[:-1]) / column(x[1:] - x[:-1], y)
    if y.shape[0] == 2:
        return np.concatenate([m, m], axis=0)
    before, after = 2 * m[0] - m[1], 2 * m[-1] - m[-2]
    ends = (2 * before - m[0], before), (after, 2 * after - m[-1])
    m = np.concatenate([np.stack(ends[0]), m, np.stack(ends[1])], axis=0)
    change = np.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = change[:-2], change[2:]
    total = left + right
    flat = still(total) <= 1e-9 * np.max(still(total), initial=0.0)
    share = left / np.where(flat, 1.0, total)
    mean = 0.5 * (m[3:] + m[:-3])
    return np.where(flat, mean, m[1:-2] + share * (m[2:-1] - m[1:-2]))


def monotone_slopes(x: Array, y: Array) -> Any:
    """Harmonic means of the slopes to both sides, 0 where their signs differ."""
    h = column(x[1:] - x[:-1], y)
    m = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m], axis=0)
    flat = np.sign(still(m[1:])) * np.sign(still(m[:-1])) <= 0
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
    first = _end_slope(h[0], h[1], m[0], m[1])
    last = _end_slope(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], mean, last[None]], axis=0)


def _end_slope(h0: Array, h1: Array, m0: Array, m1: Array) -> Any:
    """The slope of the parabola through three points, limited so that it stays monotone."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    turns = np.sign(still(d)) != np.sign(still(m0))
    steep = (np.sign(still(m0)) != np.sign(still(m1))) & (
        np.abs(still(d)) > 3.0 * np.abs(still(m0))
    )
    return np.where(turns, 0.0, np.where(steep, 3.0 * m0, d))


def _tridiagonal(lower: list[Any], main: list[Any], upper: list[Any], b: Array) -> Any:
    """Solve with diagonals that are given in parts; lower and upper are one shorter."""
    zero = np.zeros(1)
    rows = [[zero, *upper], main, [*lower, zero]]
    ab = np.stack([np.concatenate([np.atleast_1d(part) for part in row]) for row in rows])
    ab = astype(ab, np.result_type(ab.dtype, b.dtype), copy=False)
    x = solve_banded_(ab, b.reshape((b.shape[0], -1)), l_and_u=(1, 1))
    return x.reshape(b.shape)


def smooth_slopes(x: Array, y: Array, ends: list[Any]) -> Any:
    """The slopes that make the second derivative continuous."""
    n = x.shape[0]
    h = x[1:] - x[:-1]
    hc = column(h, y)
    m = (y[1:] - y[:-1]) / hc
    if n == 2:
        ends = [(1, m[0]) if isinstance(end, str) else end for end in ends]
    if n == 3 and ends == ["not-a-knot"] * 2:  # one parabola
        bend = (m[1] - m[0]) / (hc[0] + hc[1])
        return np.stack([m[0] - hc[0] * bend, m[0] + hc[0] * bend, m[1] + hc[1] * bend])
    if ends[0] == "periodic":
        return _periodic_slopes(h, hc, m, n)
    inner = 3 * (hc[1:] * m[:-1] + hc[:-1] * m[1:])
    first, beside_first, b_first = _end_row(ends[0], h, hc, m, y, 0)
    last, beside_last, b_last = _end_row(ends[1], h[::-1], hc[::-1], m[::-1], y, -1)
    return _tridiagonal(
        [h[1:], beside_last],
        [first, 2 * (h[:-1] + h[1:]), last],
        [beside_first, h[:-1]],
        np.concatenate([b_first[None], inner, b_last[None]], axis=0),
    )


def _end_row(end: Any, h: Array, hc: Array, m: Array, y: Array, side: int) -> tuple[Any, Any, Any]:
    """The row of the system at an end, seen from there: entry of that end, of its neighbour, b."""
    if end == "not-a-knot":
        d, dc = h[0] + h[1], hc[0] + hc[1]
        b = ((hc[0] + 2 * dc) * hc[1] * m[0] + hc[0] * hc[0] * m[1]) / dc
        return h[1], d, b
    order, value = end
    if order == 1:
        return np.ones(1), np.zeros(1), value + 0 * y[0]
    # Of the last end y falls towards the inside.
    sign = 1.0 if side else -1.0
    return 2 * h[0], h[0], sign * 0.5 * value * hc[0] * hc[0] + 3 * m[0] * hc[0]


def _periodic_slopes(h: Any, hc: Any, m: Any, n: int) -> Any:
    """The cyclic system, by elimination of its last unknown."""
    if n == 3:
        t = np.sum(m / hc, axis=0) / np.sum(1 / hc, axis=0)
        return np.stack([t, t, t])
    first = 3 * (hc[0] * m[-1] + hc[-1] * m[0])
    b = np.concatenate([first[None], 3 * (hc[1:] * m[:-1] + hc[:-1] * m[1:])], axis=0)
    main = [2 * (h[-1] + h[0]), 2 * (h[:-1] + h[1:])[:-1]]
    lower, upper = [h[1:-1]], [h[-1], h[: n - 4]]
    edge = [-h[0:1], np.zeros(n - 4), -h[n - 4 : n - 3]]
    border = column(np.concatenate(edge), m)
    s1 = _tridiagonal(lower, main, upper, b[:-1])
    s2 = _tridiagonal(lower, main, upper, border)
    closing = (b[-1] - hc[-2] * s1[0] - hc[-1] * s1[-1]) / (
        2 * (hc[-1] + hc[-2]) + hc[-2] * s2[0] + hc[-1] * s2[-1]
    )
    s = s1 + closing * s2
    return np.concatenate([s, closing[None], s[:1]], axis=0)
