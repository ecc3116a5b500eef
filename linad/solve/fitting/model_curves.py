"""The model of a fit between its data, at places as dense as it bends.

A picture is to be there in seconds. So the model is asked for its values at as many places as it
gives soon; and for its band, which takes a derivative, where it gives that soon, and else at the
data alone.
"""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.patience import say
from linad.core.settings import config, settings
from linad.solve.fitting.curves import Curve, axis_of
from linad.solve.problems import quiet

POINTS, SLOW = (25, 100, 400), 0.3
"""At how many places a curve is drawn, and seconds for as many of them as are more than one asks a
model for at once."""

LONG = 2.0
"""Seconds for all values between the data, and again for the band there."""

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


class Seconds(NamedTuple):
    """What the model takes at the data: its values, and its band."""

    values: float
    band: float


def at_the_data(fit: Any, t: float) -> tuple[Any, Seconds]:
    """What `evaluated` gives at the data, and how long it takes."""
    begun = time.perf_counter()
    fit.predict(fit.xdata)
    valued = time.perf_counter()
    with config(progress=False):  # of the derivative a line of its own tells
        found = evaluated(fit, fit.xdata, None, t)
    took = Seconds(valued - begun, time.perf_counter() - valued)
    if took.band > LONG and settings().progress:
        say(
            f"plot: {fit.title} took {took.band:.0f} s for its band at the data, where it is drawn "
            f"from; its values alone {took.values:.2g} s"
        )
    return found, took


def between(
    fit: Any, curves: list[Curve], at_data: Any, t: float, took: Seconds
) -> tuple[list[Any], list[Any], list[Any]] | None:
    """The data's places and many between them for each data set, with model and band there.

    None if the model refuses them, or is another one there: it takes x for its grid.
    """
    leaves, structure = tree.flatten(fit.xdata)
    given = [np.asarray(leaf) for leaf in leaves]
    times = len(fit.data.leaves) // len(given)

    def at(places: list[Any], said: Callable[..., Any]) -> Any:
        """What ``said(xdata, shapes)`` has at the places."""
        shapes = []
        for y, x, new in zip(fit.data.leaves, given * times, places * times, strict=True):
            shape = list(y.shape)
            shape[axis_of(x, y.shape)] = len(new)
            shapes.append(tuple(shape))
        return said(tree.unflatten(structure, places), shapes)

    def model(places: list[Any]) -> Any:
        return at(places, functools.partial(_values, fit))

    try:
        with quiet():
            places, values, seconds = _dense(given, model, took.values)
            if seconds < SLOW:
                places = _bisected(places, curves, model)
            if took.band * max(1.0, seconds / max(took.values, 1e-9)) < LONG:
                values, spreads = at(places, lambda x, shapes: evaluated(fit, x, shapes, t))
            else:
                values = model(places) if seconds < SLOW else values
                joined = zip(given * times, places * times, at_data[1], strict=True)
                spreads = [_joined(x, new, spread) for x, new, spread in joined]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    smooth = places * times, values, spreads
    return smooth if all(_agrees(curve, smooth, at_data[0]) for curve in curves) else None


def _dense(
    given: list[Any], model: Callable[[Any], Any], seconds: float
) -> tuple[list[Any], Any, float]:
    """As many places as the model has soon, its values there, and the seconds they took."""
    begun, values = time.perf_counter(), None
    for points in POINTS if seconds > SLOW / len(POINTS) / 4 else POINTS[-1:]:
        since = time.perf_counter()
        if values is not None and since - begun + 4 * seconds > LONG:
            break
        places = [np.union1d(x, _fine(x, points)) for x in given]
        values = model(places)
        seconds = time.perf_counter() - since
    return places, values, seconds


def _joined(x: Array, places: Array, spread: Array) -> Any:
    """The band between the data, joined by lines."""
    axis = axis_of(x, spread.shape)
    x, first = np.unique(x, return_index=True)
    held = np.take(spread, first, axis)
    return np.apply_along_axis(lambda row: np.interp(places, x, row), axis, held)


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
