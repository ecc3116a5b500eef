"""The model of a fit between its data, at places as dense as it bends."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.solve.fitting.curves import Curve, axis_of
from linad.solve.problems import quiet

POINTS, FEWER, SLOW = 400, 100, 0.3
"""Where a curve is drawn, of a model as well that takes more seconds at the data."""

WIDE = 100.0
"""Ratio of the ends of positive abscissae beyond which somebody may look on a logarithmic scale."""

APART = 0.01
"""By how much the model at the data may change if it is asked for more points, of its range."""

BEND, ROUNDS, DENSE = 0.002, 5, 4000
"""Of the model's range: how far a point may lie from the chord of its neighbours, before places
beside it are halved; how often, and up to how many points."""


def evaluated(
    fit: Any, xdata: Any, shapes: list[Any] | None, t: float
) -> tuple[list[Any], list[Any]]:
    """The model and half of its band at xdata, in the shapes of the data sets or in others."""
    shapes = shapes or [y.shape for y in fit.data.leaves]
    values, errors = (
        [np.broadcast_to(v, s) for v, s in zip(fit.data.sets(said), shapes, strict=True)]
        for said in fit._at(xdata)
    )
    return values, [t * error for error in errors]


def between(
    fit: Any, curves: list[Curve], at_data: Any, t: float, slow: bool
) -> tuple[list[Any], list[Any], list[Any]] | None:
    """The data's places and many between them for each data set, with model and band there.

    None if the model refuses them, or is another one there: it takes x for its grid.
    """
    leaves, structure = tree.flatten(fit.xdata)
    given = [np.asarray(leaf) for leaf in leaves]
    times = len(fit.data.leaves) // len(given)
    places = [np.union1d(x, _fine(x, FEWER if slow else POINTS)) for x in given]

    def at(places: list[Any], said: Callable[..., Any]) -> Any:
        """What ``said(xdata, shapes)`` has at the places."""
        shapes = []
        for y, x, new in zip(fit.data.leaves, given * times, places * times, strict=True):
            shape = list(y.shape)
            shape[axis_of(x, y.shape)] = len(new)
            shapes.append(tuple(shape))
        return said(tree.unflatten(structure, places), shapes)

    try:
        with quiet():
            if not slow:
                places = _bisected(places, curves, lambda x: at(x, functools.partial(_values, fit)))
            found = at(places, lambda x, shapes: evaluated(fit, x, shapes, t))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    smooth = places * times, *found
    return smooth if all(_agrees(curve, smooth, at_data[0]) for curve in curves) else None


def _values(fit: Any, xdata: Any, shapes: list[Any]) -> list[Any]:
    """The model at xdata, in the shapes of data sets."""
    values = fit.data.sets(fit.predict(xdata))
    return [np.broadcast_to(v, shape) for v, shape in zip(values, shapes, strict=True)]


def _bisected(places: list[Any], curves: list[Curve], model: Callable[[Any], Any]) -> list[Any]:
    """More places where a curve bends, as long as that takes no time to speak of."""
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        values, count = model(places), len(places)
        if time.perf_counter() - begun > SLOW:
            break
        halved = [np.zeros(max(len(x) - 1, 0), bool) for x in places]
        for curve in curves:
            x = places[curve.leaf % count]
            bends = _bends(x, curve.of(values[curve.leaf]))
            halved[curve.leaf % count][:-1] |= bends
            halved[curve.leaf % count][1:] |= bends
        finer = [
            np.union1d(x, 0.5 * (x[:-1] + x[1:])[halve])
            for x, halve in zip(places, halved, strict=True)
        ]
        grown = sum(map(len, finer))
        if grown == sum(map(len, places)) or grown > DENSE * count:
            break
        places = finer
    return places


def _bends(x: Array, y: Array) -> Any:
    """At which inner points a curve is seen to leave the chord of their neighbours."""
    part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    chord = y[:-2] + part * (y[2:] - y[:-2])
    return np.abs(y[1:-1] - chord) > BEND * np.ptp(y)


def _agrees(curve: Curve, smooth: tuple[Any, ...], values: list[Any]) -> bool:
    """Whether the model among many places is at the data what it is for the data alone."""
    there, here = curve.of(smooth[1][curve.leaf]), curve.of(values[curve.leaf])
    there = there[np.searchsorted(smooth[0][curve.leaf], curve.x)]
    return bool((np.abs(there - here) <= APART * np.ptp(here) + np.finfo(float).tiny).all())


def _fine(x: Array, points: int) -> Any:
    """Points between the ends, as dense on a logarithmic scale if the data are spread so."""
    low, high = x.min(), x.max()
    even = np.linspace(low, high, points)
    if low > 0 and high > WIDE * low:
        return np.union1d(even, np.geomspace(low, high, points))
    return even
