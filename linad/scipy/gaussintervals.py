"""Gauss's rule of 21 nodes on intervals of a range, and which intervals it is good on."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.rules.creation import asarray

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


def nodes(starts: Any, ends: Any, parts: int = HALVES) -> Any:
    """The nodes and weights of the rule on halves of intervals, or on other parts of them."""
    for start, end in zip(starts, ends, strict=True):
        edges = np.linspace(start, end, parts + 1)
        for left, right in itertools.pairwise(edges):
            half = (right - left) / 2
            yield from zip((left + right) / 2 + half * _X, half * _W, strict=True)


def _looked_at(f: Callable[[float], Any], start: float, end: float) -> tuple[Array, Array]:
    """The integral of the absolute value, and what the last coefficients are, times the length;
    of each entry of a result."""
    values = np.array([f(x) for x, _ in nodes([start], [end], 1)]).reshape(len(_X), -1)
    half = (end - start) / 2
    return half * (_W @ np.abs(values)), half * np.max(np.abs(LAST @ values), axis=0)


def broken(a: Any, b: Any, points: Any) -> list[tuple[Any, Any]]:
    """The parts of a range between break points, from a to b; all may be traced."""
    points = () if points is None else points
    low, high, *places = [float(concrete(asarray(p))[()]) for p in (a, b, *points)]
    given = dict(zip(places, points, strict=True))
    within = [p for p in given if min(low, high) < p < max(low, high)]
    ends = [a, *[given[p] for p in sorted(within, reverse=low > high)], b]
    return list(itertools.pairwise(ends))


def resolved(
    f: Callable[[float], Any], starts: Array, ends: Array, low: Any, high: Any
) -> tuple[Array, Array]:
    """The intervals of 0 to 1, to which a part of the range is mapped, that the rule is good on.

    Parameters
    ----------
    f : callable
        The plain integrand over 0 to 1, of one result or several.
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


def _refined(f: Callable[[float], Any], starts: Array, ends: Array) -> tuple[Array, Array]:
    """Intervals of 0 to 1, halved until the rule resolves the integrand on each.

    SciPy stops where the integral is as accurate as was asked for. Beside a kink or a steep step
    its derivatives are not, then: they are less smooth by one order.
    """
    waiting = [(s, e, *_looked_at(f, s, e)) for s, e in zip(starts, ends, strict=True)]
    allowed, most = SMALL * sum([size for *_, size, _ in waiting]), len(waiting) + MOST
    done: list[tuple[float, float]] = []
    while waiting:
        start, end, _, tail = waiting.pop(0)
        # NaN, which no interval resolves, is not more.
        rough = np.any(tail > allowed)
        if rough and end - start > LEAST and len(done) + len(waiting) < most:
            halves = itertools.pairwise((start, (start + end) / 2, end))
            waiting += [(s, e, *_looked_at(f, s, e)) for s, e in halves]
        else:
            done.append((start, end))
    found = np.array(sorted(done))
    return found[:, 0], found[:, 1]
