"""A picture of a fit: data, model with its band, residuals. matplotlib is imported here alone."""

from typing import Any

import numpy as np

from linad.core import tree
from linad.errors import ArgumentError

POINTS = 400
"""Where a curve is drawn."""


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
    residuals = np.concatenate([np.ravel(r) for r in tree.flatten(fit.residuals)[0]])
    alone = fit.data is not None and tree.is_leaf(fit.data.structure)
    x = _abscissa(fit.xdata, residuals) if alone else None
    places = np.arange(residuals.size) if x is None else x
    if x is not None:
        _draw_curve(above, fit, x, t)
    elif fit.data is not None:
        y = np.concatenate([np.ravel(leaf) for leaf in fit.data.leaves])
        model = tree.flatten(fit.predict(fit.xdata))[0]
        above.plot(places, y, "o", ms=4, label="data")
        pairs = zip(model, fit.data.leaves, strict=True)
        shown = np.concatenate([np.ravel(np.broadcast_to(v, leaf.shape)) for v, leaf in pairs])
        above.plot(places, shown, "-", label=fit.title)
    if fit.data is not None:
        above.legend()
    below.axhline(0.0, color="0.6", lw=1)
    below.plot(places, residuals.real, "o", ms=4)
    below.set_ylabel("residuals / sigma" if fit.data and fit.data.weighted else "residuals")
    return axes


def _abscissa(xdata: Any, residuals: Any) -> Any:
    """One number a residual, where xdata is that; else None."""
    if np.iscomplexobj(residuals):
        return None
    leaves = tree.flatten(xdata)[0]
    if len(leaves) != 1:
        return None
    x = np.asarray(leaves[0])
    return x if x.shape == residuals.shape and x.dtype.kind in "iuf" else None


def _draw_curve(axes: Any, fit: Any, x: Any, t: float) -> None:
    (y,), (weight,) = fit.data.leaves, fit.data.weights
    bars = None
    if fit.data.weighted and fit.data.whiten is None:
        bars = np.broadcast_to(1.0 / np.where(weight > 0, weight, np.nan), y.shape)
    axes.errorbar(x, y, bars, fmt="o", ms=4, label="data")
    fine = np.linspace(x.min(), x.max(), POINTS)
    try:
        curve = np.broadcast_to(fit.predict(fine), fine.shape)
        spread = t * np.broadcast_to(fit.prediction_errors(fine), fine.shape)
    except (ValueError, IndexError, TypeError):  # a model of these very points
        order = np.argsort(x)
        fine, curve = x[order], np.broadcast_to(fit.predict(fit.xdata), x.shape)[order]
        spread = t * np.broadcast_to(fit.prediction_errors(fit.xdata), x.shape)[order]
    axes.plot(fine, curve, "-", label=fit.title)
    if np.isfinite(spread).all():
        axes.fill_between(fine, curve - spread, curve + spread, alpha=0.25, lw=0)
