"""A picture of a fit: data, model with its band, residuals. matplotlib is imported here alone."""

import itertools
from typing import Any

import numpy as np

from linad.core import tree
from linad.errors import ArgumentError

POINTS = 400
"""Where a curve is drawn."""

POINT = {"fmt": "o", "ms": 4, "alpha": 0.7, "zorder": 2}
"""Data lie under the model, however many they are."""


def plot(fit: Any, axes: Any, t: float) -> Any:
    """Draw a fit; the pair of axes."""
    if axes is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ArgumentError(
                "plot: matplotlib is not installed; pip install matplotlib"
            ) from error
        axes = plt.subplots(
            2, 1, sharex=True, height_ratios=(3, 1), layout="constrained", figsize=(6.4, 5.2)
        )[1]
    try:
        above, below = axes
    except (TypeError, ValueError):
        above = below = None
    if not (hasattr(above, "axhline") and hasattr(below, "axhline")):
        raise ArgumentError(f"plot: axes must be a pair of matplotlib's axes, got {axes!r:.60}")
    parts = [np.ravel(r) for r in tree.flatten(fit.residuals)[0]]
    places = _abscissae(fit.xdata, parts)
    if fit.data is not None and tree.is_leaf(fit.data.structure) and places is not None:
        _draw_curve(above, fit, places[0], t)
    elif fit.data is not None:
        _draw_sets(above, fit, places or _numbers(parts))
    if fit.data is not None:
        above.legend()
    below.axhline(0.0, color="0.6", lw=1)
    for k, (x, part) in enumerate(zip(places or _numbers(parts), parts, strict=True)):
        below.plot(x, part.real, "o", ms=4, color=f"C{k}")
    below.set_ylabel("residuals / sigma" if fit.data and fit.data.weighted else "residuals")
    return axes


def _abscissae(xdata: Any, parts: list[Any]) -> list[Any] | None:
    """One number a residual for each data set, where xdata is that; else None."""
    leaves = [np.asarray(leaf) for leaf in tree.flatten(xdata)[0]]
    if len(leaves) == 1:
        leaves *= len(parts)
    if len(leaves) != len(parts):
        return None
    pairs = list(zip(leaves, parts, strict=True))
    if any(np.iscomplexobj(r) or x.shape != r.shape or x.dtype.kind not in "iuf" for x, r in pairs):
        return None
    return leaves


def _numbers(parts: list[Any]) -> list[Any]:
    """Numbers of the residuals, one data set after the other."""
    ends = np.cumsum([0, *[part.size for part in parts]])
    return [np.arange(a, b) for a, b in itertools.pairwise(ends)]


def _bars(fit: Any, y: Any, weight: Any) -> Any:
    """Standard deviations of data, where there are any."""
    if not fit.data.weighted or fit.data.whiten is not None:
        return None
    return np.broadcast_to(1.0 / np.where(weight > 0, weight, np.nan), y.shape).ravel()


def _draw_sets(axes: Any, fit: Any, places: list[Any]) -> None:
    """Each data set in a colour of its own, and the model at its points."""
    model = tree.flatten(fit.predict(fit.xdata))[0]
    names = [fit.title + path for path in tree.leaf_paths(fit.data.structure)]
    sets = zip(places, fit.data.leaves, fit.data.weights, model, names, strict=True)
    for k, (x, y, weight, shown, name) in enumerate(sets):
        shown = np.ravel(np.broadcast_to(shown, y.shape)).real
        order = np.argsort(x)
        axes.errorbar(x, np.ravel(y).real, _bars(fit, y, weight), **POINT, color=f"C{k}")
        axes.plot(x[order], shown[order], "-", color=f"C{k}", zorder=3, label=name)


def _draw_curve(axes: Any, fit: Any, x: Any, t: float) -> None:
    (y,), (weight,) = fit.data.leaves, fit.data.weights
    axes.errorbar(x, y, _bars(fit, y, weight), **POINT, label="data")
    fine = np.linspace(x.min(), x.max(), POINTS)
    try:
        curve = np.broadcast_to(fit.predict(fine), fine.shape)
        spread = t * np.broadcast_to(fit.prediction_errors(fine), fine.shape)
    except (ValueError, IndexError, TypeError):  # a model of these very points
        order = np.argsort(x)
        fine, curve = x[order], np.broadcast_to(fit.predict(fit.xdata), x.shape)[order]
        spread = t * np.broadcast_to(fit.prediction_errors(fit.xdata), x.shape)[order]
    axes.plot(fine, curve, "-", zorder=3, label=fit.title)
    if np.isfinite(spread).all():
        band = curve - spread, curve + spread
        axes.fill_between(fine, *band, color="C1", alpha=0.25, lw=0, zorder=3)
