"""A picture of a fit to an image: data with the model as contours, and residuals beside it."""

from typing import Any

import numpy as np

SIDE = 8
"""The least that an image has of rows and of columns; a few rows are curves."""

LONG = 4
"""Ratio of the sides beyond which pixels are not drawn as squares."""


def is_image(residuals: list[Any]) -> bool:
    """Whether the residuals are those of one real image."""
    (r, *others) = residuals
    return not others and r.ndim == 2 and min(r.shape) >= SIDE and not np.iscomplexobj(r)


def draw_image(axes: Any, image: Any, model: Any, name: str) -> None:
    """Data in shades, and lines of the model over them."""
    _shades(axes, image, "viridis", None)
    if np.ptp(model) > 0 and np.isfinite(model).all():
        axes.contour(model, colors="white", linewidths=0.8)
    axes.set_title(f"data; lines: {name}")


def draw_residuals(axes: Any, residuals: Any, title: str) -> None:
    """Residuals in shades, white where there are none."""
    _shades(axes, residuals, "RdBu_r", np.abs(residuals).max())
    axes.set_title(title)


def _shades(axes: Any, values: Any, colors: str, most: Any) -> None:
    rows, columns = values.shape
    aspect = "equal" if max(rows, columns) <= LONG * min(rows, columns) else "auto"
    low = None if most is None else -most
    drawn = axes.imshow(values, cmap=colors, vmin=low, vmax=most, aspect=aspect)
    axes.figure.colorbar(drawn, ax=axes, shrink=0.7)
