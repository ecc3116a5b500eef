"""A picture of a fit: data, model with its band, residuals. matplotlib is imported here alone."""

import functools
import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.showing import shown
from linad.errors import ArgumentError
from linad.solve.fitting.image_plots import Pixels, draw_image, draw_residuals, grid_of
from linad.solve.problems import quiet

POINTS, FEWER, SLOW = 400, 100, 0.3
"""Where a curve is drawn, of a model as well that takes more seconds at the data."""

WIDE = 100.0
"""Ratio of the ends of positive abscissae beyond which somebody may look on a logarithmic scale."""

MOST = 10
"""Columns of data that are curves; more are too many colours."""

LEAST = 3
"""Points of a data set among others in one array."""

APART = 0.01
"""By how much the model at the data may change if it is asked for more points, of its range."""

BEND, ROUNDS, DENSE = 0.002, 5, 4000
"""Of the model's range: how far a point may lie from the chord of its neighbours, before places
beside it are halved; how often, and up to how many points."""

FAR, NEAR = 10.0, 3.0
"""Of a robust fit, in units of f_scale: an outlier for which residuals are drawn on a scale that is
logarithmic, and up to where it is linear."""

SPREAD = 5.0
"""How many interquartile ranges from the quartiles a histogram has bars of one width."""

POINT = {"fmt": "o", "ms": 4, "alpha": 0.7, "zorder": 2}
"""Data lie under the model, however many they are."""

LEVEL = {"fmt": "_", "ms": 10, "mew": 2, "zorder": 3}
"""The model where no line can be drawn through its values, or none says anything."""

SAME = 1e-9
"""Of the model's range: a difference of its values at one x that is none."""


class Curve(NamedTuple):
    """A row of residuals: where they stand, which leaf of the data they are of, and what of it."""

    x: Any
    residual: Any
    leaf: int
    of: Callable[[Any], Any]
    suffix: str


class Captions(NamedTuple):
    """What is written beside a picture; None is what linad writes."""

    xlabel: str | None
    ylabel: str | None
    title: str | None


def plot(fit: Any, axes: Any, t: float, words: Captions) -> Any:
    """Draw a fit; the axes: a pair, or the one that was given."""
    residuals = [np.asarray(r) for r in tree.flatten(fit.residuals)[0]]
    over = _curves(fit.xdata, residuals)
    grid = grid_of(fit.xdata, residuals) if fit.data is not None and not over else None
    axes = _new_axes(grid is not None, fit.data is None) if axes is None else axes
    above, below = _pair(axes)
    kind = "residuals / sigma" if fit.data and fit.data.scaled else "residuals"
    if grid is not None:
        _draw_image(above, below, fit, grid, residuals[0], kind)
    elif fit.data is None:
        if below is not None:
            _draw_distribution(above, residuals, kind)
        _draw_residuals(below or above, fit, _by_number(residuals))
    else:
        curves = over or _by_number(residuals)
        _draw_data(above, fit, curves)
        if over:
            _draw_model(above, fit, curves, t)
        else:
            _draw_values(above, fit, curves)
        above.legend()
        if below is not None:
            _draw_residuals(below, fit, curves)
            below.set_ylabel(kind)
    if not over and grid is None:
        (below or above).set_xlabel("index in the data" if fit.data else "index in the residuals")
    _write(words, above, below, beside=fit.data is None or grid is not None)
    return axes


def _pair(axes: Any) -> tuple[Any, Any]:
    """Axes for the model and for residuals; of one alone, None for these."""
    if hasattr(axes, "axhline"):
        return axes, None
    try:
        above, below = axes
    except (TypeError, ValueError):
        above = below = None
    if not (hasattr(above, "axhline") and hasattr(below, "axhline")):
        raise ArgumentError(
            f"plot: axes must be a pair of matplotlib's axes, or one for data and model alone, got "
            f"{shown(axes)}"
        )
    return above, below


def _write(words: Captions, above: Any, below: Any, beside: bool) -> None:
    """Labels and a title: the abscissa of two axes one over the other is written once."""
    if words.xlabel is not None:
        (below or above).set_xlabel(words.xlabel)
        if beside and below is not None:
            above.set_xlabel(words.xlabel)
    if words.ylabel is not None:
        above.set_ylabel(words.ylabel)
    if words.title is not None:
        above.set_title(words.title)


def _draw_image(above: Any, below: Any, fit: Any, grid: Pixels, residual: Any, kind: str) -> None:
    (data,) = fit.data.leaves
    (weights,) = fit.data.weights
    counts = np.broadcast_to(weights != 0, data.shape)
    model = np.broadcast_to(fit.predict(fit.xdata), data.shape)
    seen = grid.image(np.where(counts, data, np.nan))  # a pixel without weight may be anything
    draw_image(above, seen, grid.image(model), _model_name(fit), grid)
    if below is not None:
        draw_residuals(below, grid.image(np.where(counts, residual, np.nan)), kind, grid)


def _draw_residuals(axes: Any, fit: Any, curves: list[Curve]) -> None:
    axes.axhline(0.0, color="0.6", lw=1)
    most = 0.0
    for k, curve in enumerate(curves):
        counts = np.ones(len(curve.x), bool) if fit.data is None else _counts(fit, curve)
        shown_here = curve.residual[counts]
        axes.plot(curve.x[counts], shown_here, "o", ms=4, color=f"C{k}")
        most = max(most, np.abs(shown_here).max(initial=0.0))
    if fit.loss is not None and FAR * fit.loss.scale < most < np.inf:
        near = NEAR * fit.loss.scale
        axes.set_yscale("symlog", linthresh=near, linscale=2)
        powers = np.arange(np.ceil(np.log10(2 * near)), np.floor(np.log10(most)) + 1)
        ticks = 10.0**powers if len(powers) else np.array([most])
        ticks = np.concatenate([-ticks[::-1], [0.0], ticks])
        axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks], minor=False)
        axes.set_yticks([], minor=True)


def _new_axes(image: bool, residuals: bool) -> Any:
    """A pair in a figure of its own: one over the other; for an image, or residuals alone, side by
    side."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ArgumentError("plot: matplotlib is not installed; pip install matplotlib") from error
    if image:
        return plt.subplots(1, 2, sharex=True, sharey=True, layout="constrained", figsize=(9, 4))[1]
    if residuals:
        return plt.subplots(
            1, 2, sharey=True, width_ratios=(1, 3), layout="constrained", figsize=(7.5, 4)
        )[1]
    return plt.subplots(
        2, 1, sharex=True, height_ratios=(3, 1), layout="constrained", figsize=(6.4, 5.2)
    )[1]


# What is drawn, and where.


def _curves(xdata: Any, residuals: list[Any]) -> list[Curve]:
    """Residuals over xdata, columns of a matrix one by one; none if xdata does not say where."""
    places = [np.asarray(leaf) for leaf in tree.flatten(xdata)[0]]
    if len(places) == 1:
        places *= len(residuals)
    if len(places) != len(residuals):
        return []
    found: list[Curve] = []
    for leaf, (x, r) in enumerate(zip(places, residuals, strict=True)):
        if x.ndim != 1 or x.dtype.kind not in "iuf":
            return []
        if r.shape == x.shape:
            found += _parts(Curve(x, r, leaf, np.asarray, ""))
        elif r.ndim == 2 and len(x) in r.shape and r.size <= MOST * len(x):
            for curve in _columns(x, r, leaf):
                found += _parts(curve)
        else:
            return []
    return found


def _parts(curve: Curve) -> list[Curve]:
    """A curve, or those of its real and imaginary parts."""
    if not np.iscomplexobj(curve.residual):
        return [curve]
    return [
        Curve(
            curve.x,
            part(curve.residual),
            curve.leaf,
            functools.partial(_part_of, part, curve.of),
            ", ".join(name for name in (curve.suffix, said) if name),
        )
        for part, said in ((np.real, "real part"), (np.imag, "imaginary part"))
    ]


def _part_of(part: Any, of: Any, values: Any) -> Any:
    return part(of(values))


def _columns(x: Any, r: Any, leaf: int) -> list[Curve]:
    """A curve for each column of a matrix, or row, whichever is as long as x."""
    along = _axis(x, r.shape)
    found = []
    for k in range(r.shape[1 - along]):
        of = functools.partial(np.take, indices=k, axis=1 - along)
        found.append(Curve(x, of(r), leaf, of, f"row {k + 1}" if along else f"column {k + 1}"))
    return found


def _axis(x: Any, shape: Any) -> int:
    """The axis of data that x belongs to: the first of its length."""
    return int(shape.index(len(x)))


def _by_number(residuals: list[Any]) -> list[Curve]:
    """Residuals in their order, one data set after the other."""
    ends = np.cumsum([0, *[r.size for r in residuals]])
    return [
        curve
        for leaf, ((a, b), r) in enumerate(zip(itertools.pairwise(ends), residuals, strict=True))
        for curve in _parts(Curve(np.arange(a, b), np.ravel(r), leaf, np.ravel, ""))
    ]


# Data.


def _bars(fit: Any, curve: Curve) -> Any:
    """Standard deviations of data, where there are any; of a covariance, from its diagonal."""
    if not fit.data.scaled:
        return None
    weight, y = fit.data.weights[curve.leaf], fit.data.leaves[curve.leaf]
    if fit.data.variances is not None:
        weight = np.where(weight > 0, fit.data.variances**-0.5, 0.0)
    bars = np.broadcast_to(1.0 / np.where(weight > 0, weight, np.nan), y.shape)
    return curve.of(bars + 1j * bars if np.iscomplexobj(y) else bars)


def _draw_data(axes: Any, fit: Any, curves: list[Curve]) -> None:
    for k, curve in enumerate(curves):
        y, counts = curve.of(fit.data.leaves[curve.leaf]), _counts(fit, curve)
        bars = _bars(fit, curve)
        bars = None if bars is None else bars[counts]
        label = "data" if len(curves) == 1 else None
        axes.errorbar(curve.x[counts], y[counts], bars, **POINT, color=f"C{k}", label=label)


def _counts(fit: Any, curve: Curve) -> Any:
    """Which points have a weight: those without may be anything, and would spoil the scale."""
    y = fit.data.leaves[curve.leaf]
    weight = np.broadcast_to(fit.data.weights[curve.leaf], y.shape)
    return curve.of(weight + 1j * weight if np.iscomplexobj(y) else weight) != 0


def _draw_distribution(axes: Any, residuals: list[Any], kind: str) -> None:
    """How many residuals are how large, where there are no data to draw."""
    parts = [part for r in residuals for part in (np.real(r), np.imag(r))[: 1 + np.iscomplexobj(r)]]
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values)]
    if values.size:
        edges = _edges(values)
        axes.hist(values, edges, orientation="horizontal", color="0.8", edgecolor="white")
    axes.set_xlabel("count")
    axes.set_ylabel(kind)


def _edges(values: Any) -> Any:
    """Of the bars of a histogram; outliers, which would make it one of thousands, share the first
    and the last."""
    low, high = np.quantile(values, [0.25, 0.75])
    reach = SPREAD * (high - low)
    inner = values[(values >= low - reach) & (values <= high + reach)]
    edges = np.histogram_bin_edges(inner, "auto")
    return np.union1d(edges, [values.min(), values.max()])


# The model.


def _draw_model(axes: Any, fit: Any, curves: list[Curve], t: float) -> None:
    """A line and its band for each curve, through many points if the model can be asked there."""
    begun = time.perf_counter()
    at_data = _evaluated(fit, fit.xdata, None, t)
    slow = time.perf_counter() - begun > SLOW
    smooth = _between(fit, curves, at_data, t, slow)
    places, values, spreads = smooth or (None, *at_data)
    for k, curve in enumerate(curves):
        x = curve.x if places is None else places[curve.leaf]
        y, spread = curve.of(values[curve.leaf]), curve.of(spreads[curve.leaf])
        color = "C1" if len(curves) == 1 else f"C{k}"
        label: str | None = _name(fit, curve)
        for part in _runs(x):
            _draw_line(axes, x[part], y[part], spread[part], color=color, label=label)
            label = None


def _draw_line(axes: Any, x: Any, y: Any, spread: Any, **kind: Any) -> None:
    """A model with its band; marks where no line can be drawn through its values."""
    known = bool(np.isfinite(spread).all())
    if _is_ambiguous(x, y):
        axes.errorbar(x, y, spread if known else None, **LEVEL, **kind)
        return
    axes.plot(x, y, "-", zorder=3, **kind)
    if known:
        axes.fill_between(
            x, y - spread, y + spread, color=kind["color"], alpha=0.25, lw=0, zorder=3
        )


def _runs(x: Any) -> list[Any]:
    """Places in the order in which they are joined by lines.

    Data sets that lie end to end in one array are one each: between them x steps back, and only
    there. A path that goes to and fro, as that of a load, is followed. All else is sorted.
    """
    signs = np.sign(np.diff(x))
    moves = np.flatnonzero(signs)
    turns = moves[1:][signs[moves[1:]] != signs[moves[:-1]]]  # steps with which x turns
    jumps = turns[:-1][np.diff(turns) == 1]  # and at once turns back
    parts = np.split(np.arange(len(x)), jumps + 1)
    ways = np.diff(np.concatenate([[0], np.setdiff1d(turns, jumps), [len(x)]]))
    if len(ways) <= MOST and min(map(len, parts)) >= LEAST and ways.min() >= LEAST:
        return parts
    return [np.argsort(x, kind="stable")]


def _is_ambiguous(x: Any, y: Any) -> bool:
    """Whether a model has several values at one x: it knows more of its points, as their groups."""
    jumps = np.abs(np.diff(y))[np.diff(x) == 0]
    return bool((jumps > SAME * np.ptp(y)).any())


def _draw_values(axes: Any, fit: Any, curves: list[Curve]) -> None:
    """The model at the data, where nothing says what lies between."""
    values = fit.data.sets(fit.predict(fit.xdata))
    for k, curve in enumerate(curves):
        y = np.broadcast_to(values[curve.leaf], fit.data.leaves[curve.leaf].shape)
        color = "C1" if len(curves) == 1 else f"C{k}"
        axes.errorbar(curve.x, curve.of(y), **LEVEL, color=color, label=_name(fit, curve))


def _name(fit: Any, curve: Curve) -> str:
    """What a legend calls a curve: its data set, or the model where there is one curve."""
    said = [name for name in (fit.data.names[curve.leaf], curve.suffix) if name]
    return ", ".join(said) if said else _model_name(fit)


def _model_name(fit: Any) -> str:
    return "model" if fit.title == "<lambda>" else str(fit.title)


def _evaluated(
    fit: Any, xdata: Any, shapes: list[Any] | None, t: float
) -> tuple[list[Any], list[Any]]:
    """The model and half of its band at xdata, in the shapes of the data sets or in others."""
    shapes = shapes or [y.shape for y in fit.data.leaves]
    values, errors = (
        [np.broadcast_to(v, s) for v, s in zip(fit.data.sets(said), shapes, strict=True)]
        for said in fit._with_errors(xdata)
    )
    return values, [t * error for error in errors]


def _between(
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
            shape[_axis(x, y.shape)] = len(new)
            shapes.append(tuple(shape))
        return said(tree.unflatten(structure, places), shapes)

    try:
        with quiet():
            if not slow:
                places = _bisected(places, curves, lambda x: at(x, functools.partial(_values, fit)))
            found = at(places, lambda x, shapes: _evaluated(fit, x, shapes, t))
    except (ValueError, IndexError, TypeError):
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


def _bends(x: Any, y: Any) -> Any:
    """At which inner points a curve is seen to leave the chord of their neighbours."""
    part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    chord = y[:-2] + part * (y[2:] - y[:-2])
    return np.abs(y[1:-1] - chord) > BEND * np.ptp(y)


def _agrees(curve: Curve, smooth: Any, values: list[Any]) -> bool:
    """Whether the model among many places is at the data what it is for the data alone."""
    there, here = curve.of(smooth[1][curve.leaf]), curve.of(values[curve.leaf])
    there = there[np.searchsorted(smooth[0][curve.leaf], curve.x)]
    return bool((np.abs(there - here) <= APART * np.ptp(here) + np.finfo(float).tiny).all())


def _fine(x: Any, points: int) -> Any:
    """Points between the ends, as dense on a logarithmic scale if the data are spread so."""
    low, high = x.min(), x.max()
    even = np.linspace(low, high, points)
    if low > 0 and high > WIDE * low:
        return np.union1d(even, np.geomspace(low, high, points))
    return even
