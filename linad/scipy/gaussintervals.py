"""Gauss's rule of 21 nodes on intervals of a range, and which intervals it is good on."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.rules.creation import asarray

Interval = tuple[float, float]
Values = Callable[[Array], Array]
"""A function of nodes, each with a row of the result."""

_X, _W = np.polynomial.legendre.leggauss(21)
HALVES = 2
"""Each interval is cut into so many, for the integrand's derivatives vary more than it does."""

LAST = _W * np.polynomial.legendre.legvander(_X, 20)[:, 17:].T * (np.arange(17, 21)[:, None] + 0.5)
"""What the last four coefficients in Legendre polynomials are of the values at the nodes."""

SMALL = 1e-13
"""What part of the whole they may be, times the length of the interval. Unlike two sums that are
compared, they do not agree by chance, as over a step in the middle."""

LEAST = 1e-13
"""The shortest interval, of a range of 1."""

MOST = 100
"""How many intervals there are at most, beside those that there have been."""


def nodes(starts: Array, ends: Array, parts: int = HALVES) -> tuple[Array, Array]:
    """The nodes and weights of the rule on halves of intervals, or on other parts of them."""
    edges = np.linspace(starts, ends, parts + 1, axis=-1)
    left, right = edges[..., :-1, None], edges[..., 1:, None]
    half = (right - left) / 2
    return ((left + right) / 2 + half * _X).ravel(), (half * _W).ravel()


def _looked_at(f: Values, intervals: list[Interval]) -> list[tuple[Interval, Array, Array]]:
    """Each interval, with the integral of the absolute value there, and with what the last
    coefficients are, times the length; of each entry of a result."""
    starts, ends = np.array(intervals).reshape(-1, 2).T
    values = f(nodes(starts, ends, 1)[0]).reshape(len(starts), len(_X), -1)
    half = ((ends - starts) / 2)[:, None]
    sizes, tails = half * (_W @ np.abs(values)), half * np.max(np.abs(LAST @ values), axis=1)
    return list(zip(intervals, sizes, tails, strict=True))


def broken(a: Array, b: Array, points: Any) -> list[tuple[Any, Any]]:
    """The parts of a range between break points, from a to b; all may be traced."""
    points = () if points is None else points
    low, high, *places = [float(concrete(asarray(p))[()]) for p in (a, b, *points)]
    given = dict(zip(places, points, strict=True))
    within = [p for p in given if min(low, high) < p < max(low, high)]
    ends = [a, *[given[p] for p in sorted(within, reverse=low > high)], b]
    return list(itertools.pairwise(ends))


def resolved(f: Values, starts: Array, ends: Array, low: Any, high: Any) -> tuple[Array, Array]:
    """The intervals of 0 to 1, to which a part of the range is mapped, that the rule is good on.

    Parameters
    ----------
    f : callable
        The plain integrand over 0 to 1, of one result or several: takes an array of nodes, and
        gives a row for each.
    starts, ends : ndarray
        Of the intervals that SciPy has found: of the range where the part is finite, and of 0 to 1
        where it is not.
    low, high : float
        The ends of the part.
    """
    if low == high:
        return np.zeros(1), np.ones(1)
    if np.isfinite(low) and np.isfinite(high):
        starts, ends = _in_unit(starts, ends, low, high)
    return _refined(f, starts, ends)


def _in_unit(starts: Array, ends: Array, low: Any, high: Any) -> tuple[Array, Array]:
    """The intervals within a part of a finite range, as parts of 0 to 1. They ascend also where it
    goes from high to low."""
    middles = (starts + ends) / 2
    here = (min(low, high) < middles) & (middles < max(low, high))
    u, v = (starts[here] - low) / (high - low), (ends[here] - low) / (high - low)
    return np.minimum(u, v), np.maximum(u, v)


def _refined(f: Values, starts: Array, ends: Array) -> tuple[Array, Array]:
    """Intervals of 0 to 1, halved until the rule resolves the integrand on each.

    SciPy stops where the integral is as accurate as was asked for. Beside a kink or a steep step
    its derivatives are not, then: they are less smooth by one order.
    """
    waiting = _looked_at(f, list(zip(starts, ends, strict=True)))
    allowed, most = SMALL * sum([size for _, size, _ in waiting]), len(waiting) + MOST
    done: list[Interval] = []
    while waiting:
        halves: list[Interval] = []
        for k, ((start, end), _, tail) in enumerate(waiting):
            known = len(done) + len(halves) + len(waiting) - k - 1
            # NaN, which no interval resolves, is not more.
            if np.any(tail > allowed) and end - start > LEAST and known < most:
                halves += itertools.pairwise((start, (start + end) / 2, end))
            else:
                done.append((start, end))
        waiting = _looked_at(f, halves) if halves else []
    found = np.array(sorted(done))
    return found[:, 0], found[:, 1]
