"""A picture of a fit to an image: data with the model as contours, and residuals beside it."""

from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import Shape

SIDE = 8
"""The least that an image has of rows and of columns; a few rows are curves."""

LONG = 4
"""Ratio of the sides beyond which pixels are not drawn as squares."""


class Pixels(NamedTuple):
    """Where the pixels of an image are: as they come, or places in the plane in some order."""

    order: Any = ...
    shape: Any = None
    extent: Any = None

    @property
    def drawn(self) -> dict[str, Any]:
        """What matplotlib is told of the places."""
        return {} if self.extent is None else {"extent": self.extent, "origin": "lower"}

    def image(self, values: Array) -> Any:
        """Values at the pixels as a matrix."""
        return values if self.shape is None else np.ravel(values)[self.order].reshape(self.shape)


def grid_of(xdata: Any, residuals: list[Any]) -> Pixels | None:
    """The pixels of one real image: a matrix, or a vector over the places of an even grid, which
    is how a model that ends with ``.ravel()`` has it."""
    (r, *others) = residuals
    if others or np.iscomplexobj(r):
        return None
    places = _coordinates(xdata)
    if r.ndim == 2:
        if min(r.shape) < SIDE:
            return None
        across_and_down = _across_and_down(places, r.shape)
        return (across_and_down and _even_grid(*across_and_down)) or Pixels()
    places = [np.ravel(place) for place in places]
    if r.ndim != 1 or len(places) != 2 or any(place.shape != r.shape for place in places):
        return None
    return _even_grid(*places)


def _even_grid(x: Array, y: Array) -> Pixels | None:
    """Pixels at places that fill a grid of even steps, in any order."""
    columns, rows = np.unique(x), np.unique(y)
    if len(columns) * len(rows) != x.size or min(len(columns), len(rows)) < SIDE:
        return None
    order, shape = np.lexsort((x, y)), (len(rows), len(columns))
    full = (x[order].reshape(shape) == columns).all()
    if not (full and _is_even(columns) and _is_even(rows)):
        return None
    ends = [end for along in (columns, rows) for end in _ends(along)]
    return Pixels(order, shape, ends)


def _across_and_down(places: list[Any], shape: Shape) -> tuple[Any, Any] | None:
    """Places of a matrix, as vectors, if one changes along its rows and the other down its columns
    and they are more than the numbers of the pixels, whose rows are counted from above."""
    if len(places) != 2 or any(place.ndim != 2 for place in places):
        return None
    try:
        first, second = (np.broadcast_to(place, shape) for place in places)
    except ValueError:
        return None
    for x, y in ((first, second), (second, first)):
        if (x == x[:1]).all() and (y == y[:, :1]).all():
            rows, columns = np.indices(shape)
            numbered = np.array_equal(x, columns) and np.array_equal(y, rows)
            return None if numbered else (x.ravel(), y.ravel())
    return None


def _coordinates(xdata: Any) -> list[Any]:
    """Two coordinates, one each array, row or column."""
    places = [np.asarray(leaf) for leaf in tree.flatten(xdata)[0]]
    if len(places) == 1 and places[0].ndim > 1:
        (place,) = places
        places = list(place.T if place.ndim == 2 and place.shape[1] == 2 else place)
    return places if all(place.dtype.kind in "iuf" for place in places) else []


def _is_even(values: Array) -> bool:
    steps = np.diff(values)
    return bool(np.allclose(steps, steps.mean(), rtol=1e-3))


def _ends(values: Array) -> tuple[float, float]:
    """Half a pixel beyond the first and the last."""
    half = 0.5 * (values[-1] - values[0]) / (len(values) - 1)
    return float(values[0] - half), float(values[-1] + half)


def draw_image(axes: Any, image: Array, model: Array, name: str, grid: Pixels) -> None:
    """Data in shades, and lines of the model over them."""
    _shades(axes, image, "viridis", None, grid)
    if np.ptp(model) > 0 and np.isfinite(model).all():
        axes.contour(model, colors="white", linewidths=0.8, **grid.drawn)
    axes.set_title(f"data; lines: {name}")


def draw_residuals(axes: Any, residuals: Array, title: str, grid: Pixels) -> None:
    """Residuals in shades, white where there are none."""
    _shades(axes, residuals, "RdBu_r", np.nanmax(np.abs(residuals)), grid)
    axes.set_title(title)


def _shades(axes: Any, values: Array, colors: str, most: Any, grid: Pixels) -> None:
    rows, columns = values.shape
    left, right, below, above = grid.extent or (0, columns, 0, rows)
    short, long = sorted((right - left, above - below))
    aspect: Any = "equal" if long <= LONG * short else "auto"
    low = None if most is None else -most
    drawn = axes.imshow(values, cmap=colors, vmin=low, vmax=most, aspect=aspect, **grid.drawn)
    axes.figure.colorbar(drawn, ax=axes, shrink=0.7)
