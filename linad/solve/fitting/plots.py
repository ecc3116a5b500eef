"""A picture of a fit: data, model with its band, residuals. matplotlib is imported here alone."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.showing import shown
from linad.errors import ArgumentError
from linad.solve.fitting.curves import MOST, Curve, curves_by_number, curves_over
from linad.solve.fitting.image_plots import Pixels, draw_image, draw_residuals, grid_of
from linad.solve.fitting.model_curves import at_the_data, between

LEAST = 3
"""Points of a data set among others in one array."""

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


class Captions(NamedTuple):
    """What is written beside a picture; None is what linad writes."""

    xlabel: str | None
    ylabel: str | None
    title: str | None


def plot(fit: Any, axes: Any, t: float, words: Captions) -> Any:
    """Draw a fit; the axes: a pair, or the one that was given."""
    residuals = [np.asarray(r) for r in tree.flatten(fit.residuals)[0]]
    over = curves_over(fit.xdata, residuals)
    grid = grid_of(fit.xdata, residuals) if fit.data is not None and not over else None
    axes = _new_axes(grid is not None, fit.data is None) if axes is None else axes
    above, below = _pair(axes)
    kind = "residuals / sigma" if fit.data and fit.data.scaled else "residuals"
    if grid is not None:
        _draw_image(above, below, fit, grid, residuals[0], kind)
    elif fit.data is None:
        if below is not None:
            _draw_distribution(above, residuals, kind)
        drawn = below or above
        scale = _draw_residuals(drawn, fit, curves_by_number(residuals))
        if scale:
            drawn.set_ylabel(kind + scale)
    else:
        curves = over or curves_by_number(residuals)
        _draw_data(above, fit, curves)
        if over:
            _draw_model(above, fit, curves, t)
        else:
            _draw_values(above, fit, curves)
        above.legend()
        if below is not None:
            below.set_ylabel(kind + _draw_residuals(below, fit, curves))
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
            f"{shown(axes)}{_meant(axes)}"
        )
    return above, below


def _meant(axes: Any) -> str:
    """What to write where a file, a figure or a look was given in the place of axes."""
    if isinstance(axes, (str, os.PathLike)):
        path = Path(axes)
        if path.suffix:
            return f"; to save it, fit.plot()[0].figure.savefig({str(path)!r})"
        return "; what it looks like is set on the axes that it returns, or by title=, xlabel="
    if hasattr(axes, "subplots"):
        return "; a pair of a figure's is fig.subplots(2, 1)"
    return ""


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


def _draw_image(above: Any, below: Any, fit: Any, grid: Pixels, residual: Array, kind: str) -> None:
    (data,) = fit.data.leaves
    (weights,) = fit.data.weights
    counts = np.broadcast_to(weights != 0, data.shape)
    model = np.broadcast_to(fit.predict(fit.xdata), data.shape)
    seen = grid.image(np.where(counts, data, np.nan))  # a pixel without weight may be anything
    draw_image(above, seen, grid.image(model), _model_name(fit), grid)
    if below is not None:
        draw_residuals(below, grid.image(np.where(counts, residual, np.nan)), kind, grid)


def _draw_residuals(axes: Any, fit: Any, curves: list[Curve]) -> str:
    """Draw them; what is to be said of their scale."""
    axes.axhline(0.0, color="0.6", lw=1)
    most = 0.0
    for k, curve in enumerate(curves):
        counts = np.ones(len(curve.x), bool) if fit.data is None else _counts(fit, curve)
        shown_here = curve.residual[counts]
        axes.plot(curve.x[counts], shown_here, "o", ms=4, color=f"C{k}")
        most = max(most, np.abs(shown_here).max(initial=0.0))
    if fit.loss is not None and FAR * fit.loss.scale < most < np.inf:
        near = NEAR * fit.loss.scale
        axes.set_yscale("symlog", linthresh=near, linscale=0.7)
        powers = np.arange(np.ceil(np.log10(2 * near)), np.floor(np.log10(most)) + 1)
        ticks = np.concatenate([[near], 10.0**powers if len(powers) else [most]])
        ticks = np.concatenate([-ticks[::-1], [0.0], ticks])
        axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks], minor=False)
        axes.set_yticks([], minor=True)
        return f"\nlog beyond ±{near:.3g}"
    return ""


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


# Data.


def _bars(fit: Any, curve: Curve, scale: float) -> Any:
    """Standard deviations of data, where there are any; of a covariance, from its diagonal."""
    if not fit.data.scaled:
        return None
    weight, y = fit.data.weights[curve.leaf], fit.data.leaves[curve.leaf]
    if fit.data.variances is not None:
        weight = np.where(weight > 0, fit.data.variances**-0.5, 0.0)
    bars = np.broadcast_to(scale / np.where(weight > 0, weight, np.nan), y.shape)
    return curve.of(bars + 1j * bars if np.iscomplexobj(y) else bars)


def _scale_of_bars(fit: Any) -> float:
    """By what sigma is to be multiplied; 1 if it is absolute, or nothing is known."""
    scale = float(np.sqrt(fit._variance))
    return scale if fit.data.scaled and 0.0 < scale < np.inf else 1.0


def _draw_data(axes: Any, fit: Any, curves: list[Curve]) -> None:
    scale = _scale_of_bars(fit)
    said = "data" if 0.995 < scale < 1.005 else f"data ± {scale:.2g} sigma"
    for k, curve in enumerate(curves):
        y, counts = curve.of(fit.data.leaves[curve.leaf]), _counts(fit, curve)
        bars = _bars(fit, curve, scale)
        bars = None if bars is None else bars[counts]
        label = said if len(curves) == 1 or (k == 0 and said != "data") else None
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


def _edges(values: Array) -> Any:
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
    at_data, took = at_the_data(fit, t)
    smooth = between(fit, curves, at_data, t, took)
    places, values, spreads = smooth or (None, *at_data)
    for k, curve in enumerate(curves):
        x = curve.x if places is None else places[curve.leaf]
        y, spread = curve.of(values[curve.leaf]), curve.of(spreads[curve.leaf])
        color = "C1" if len(curves) == 1 else f"C{k}"
        label: str | None = _name(fit, curve)
        for part in _runs(x):
            _draw_line(axes, x[part], y[part], spread[part], color=color, label=label)
            label = None


def _draw_line(axes: Any, x: Array, y: Array, spread: Array, **kind: Any) -> None:
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


def _runs(x: Array) -> list[Any]:
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


def _is_ambiguous(x: Array, y: Array) -> bool:
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
