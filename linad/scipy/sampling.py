"""Sampling an image between its pixels, as scipy.ndimage does: nearest and linear, traced.

At coordinates c = i + t, with i = floor(c) and 0 <= t < 1, on each axis

    order 0    x_[c + 1/2]
    order 1    (1 - t) x_i + t x_{i+1}        dy = (x_{i+1} - x_i) dc + (1 - t) dx_i + t dx_{i+1}

and the product of that over the axes. Beyond the ends a coordinate is moved back first, to ±c + s,
by the rules of its mode. On a grid point the derivative in c is that from above. Orders 2 to 5 are
splines, whose coefficients SciPy finds by a recursion; they are not traced.
"""

import itertools
import warnings
from typing import Any

import numpy as np
import scipy.ndimage

from linad.core.shapes import is_real_float
from linad.errors import DTypeError, ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import concrete, still
from linad.scipy.boundaries import beyond, check_mode, delivered, each, image
from linad.scipy.mirror import inexact, traced_form


def _check_order(name: str, order: Any) -> None:
    if order not in (0, 1):
        raise UnsupportedError(
            f"{name}: order={order!r} is not traced by linad; pass order=1 (linear) or order=0 "
            f"(nearest)"
        )


def _real(name: str, what: str, c: Any) -> Any:
    c = inexact(c)
    if not is_real_float(c.dtype):
        raise DTypeError(f"{name}: {what} must be real, got {c.dtype}")
    return c


def _moved(c: Any, n: int, mode: str) -> tuple[Any, Any]:
    """How a mode moves coordinates back to the axis, c -> sign c + shift: both arrays."""
    sign, shift = np.ones(c.shape), np.zeros(c.shape)
    below, above = c < 0, c > n - 1
    if n == 1 and mode not in ("nearest", "constant", "grid-constant"):
        return np.where(below | above, 0.0, sign), shift
    if mode in ("reflect", "grid-mirror", "mirror"):
        period = 2.0 * n - 2 if mode == "mirror" else 2.0 * n
        edge = 0 if mode == "mirror" else 1  # how far the mirror stands beyond the last point
        turns = period * np.trunc(np.abs(c) / period)
        rest = np.abs(c) - turns  # in [0, period)
        # Below: c + turns = -rest; above: c - turns = rest.
        far = rest >= n - 1 if mode == "mirror" else rest > n
        sign = np.where(below & ~far, -1.0, sign)
        shift = np.where(below, np.where(far, turns + period, -turns - edge), shift)
        turned = above & (rest >= n)
        sign = np.where(turned, -1.0, sign)
        shift = np.where(above, np.where(turned, period - edge + turns, -turns), shift)
    elif mode == "wrap":
        shift = np.where(below, (n - 1) * (np.trunc(-c / (n - 1)) + 1), shift)
        shift = np.where(above, -(n - 1) * np.trunc(c / (n - 1)), shift)
    elif mode == "grid-wrap":
        shift = np.where(below, n * (np.trunc((-1 - c) / n) + 1), shift)
        shift = np.where(above, -n * np.trunc(c / n), shift)
    elif mode == "nearest":
        sign = np.where(below | above, 0.0, sign)
        shift = np.where(above, n - 1.0, shift)
    return sign, shift


def sampled(x: Any, coordinates: list[Any], order: int, mode: str, cval: Any) -> Any:
    """The values of an image at points.

    Parameters
    ----------
    x : array (n_1, ..., n_d)
    coordinates : list of d arrays of one shape
    order : {0, 1}
    mode : str
    cval : number
        Outside of the image, in the modes "constant" and "grid-constant".

    Returns
    -------
    array of that shape

    Notes
    -----
    2^d reads of the image at order 1, one at order 0.
    """
    outside = np.zeros(coordinates[0].shape, bool)
    ends = []
    for c, n in zip(coordinates, x.shape, strict=True):
        here = still(c)
        lost = ~np.isfinite(here)
        if mode == "constant":
            lost = lost | (here < 0) | (here > n - 1)
        outside = outside | lost
        # A lost coordinate is not read.
        sign, shift = _moved(np.where(lost, 0.0, here), n, mode)
        place = np.where(lost, 0.0, sign * np.where(lost, 0.0, c) + shift)
        first = np.floor(still(place) + (0.0 if order else 0.5))
        t = place - first
        start = first.astype(np.intp)
        ends.append([(start, None)] if not order else [(start, 1 - t), (start + 1, t)])
    fill = asarray(cval)
    total: Any = None
    for corner in itertools.product(*ends):
        index = tuple([beyond(i, n, mode) for (i, _), n in zip(corner, x.shape, strict=True)])
        term = x[index]
        if mode == "grid-constant":
            off = np.zeros(term.shape, bool)
            for (i, _), n in zip(corner, x.shape, strict=True):
                off |= (i < 0) | (i >= n)
            term = np.where(off, fill, term)
        for _, weight in corner:
            term = term if weight is None else weight * term
        total = term if total is None else total + term
    return np.where(outside, fill, total) if np.any(outside) else total


@traced_form(scipy.ndimage.map_coordinates)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    name = "map_coordinates"
    _check_order(name, order)
    check_mode(name, mode)
    input = image(name, input)
    coordinates = _real(name, "the coordinates", coordinates)
    if input.ndim < 1 or coordinates.ndim < 2 or coordinates.shape[0] != input.ndim:
        raise ShapeError(
            f"{name}: an input of {input.ndim} axes needs coordinates of shape "
            f"({input.ndim}, ...), got {coordinates.shape}"
        )
    places = [coordinates[k] for k in range(input.ndim)]
    return delivered(name, sampled(input, places, order, mode, cval), input, output)


def _grid(shape: Any) -> list[Any]:
    return list(np.indices(shape, dtype=float, sparse=True))


@traced_form(scipy.ndimage.affine_transform)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    name = "affine_transform"
    _check_order(name, order)
    check_mode(name, mode)
    input, matrix = image(name, input), _real(name, "the matrix", matrix)
    d = input.ndim
    shape = input.shape if output_shape is None else tuple(output_shape)
    if d < 1 or not shape:
        raise ShapeError(f"{name}: input and output need at least one axis")
    if matrix.shape in ((d, d + 1), (d + 1, d + 1)):
        if matrix.shape[0] == d + 1 and np.any(still(matrix)[d] != [0] * d + [1]):
            raise ValueError(f"{name}: the last row of a homogeneous matrix must be 0, ..., 0, 1")
        offset = matrix[:d, d]
        matrix = matrix[:d, :d]
    if matrix.shape not in ((d,), (d, len(shape))):
        raise ShapeError(
            f"{name}: an input of {d} axes and an output of {len(shape)} need a matrix "
            f"({d}, {len(shape)}), got {matrix.shape}"
        )
    grid, offsets = _grid(shape), each(name, offset, d)
    if matrix.ndim == 1:
        rows = [matrix[k] * grid[k] + offsets[k] for k in range(d)]
    else:
        rows = [sum([matrix[k, j] * g for j, g in enumerate(grid)], offsets[k]) for k in range(d)]
    places = [np.broadcast_to(row, shape) for row in rows]
    return delivered(name, sampled(input, places, order, mode, cval), input, output)


@traced_form(scipy.ndimage.shift)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    name = "shift"
    _check_order(name, order)
    check_mode(name, mode)
    input = image(name, input)
    steps = each(name, shift, input.ndim)
    places = [
        np.broadcast_to(g - s, input.shape) for g, s in zip(_grid(input.shape), steps, strict=True)
    ]
    return delivered(name, sampled(input, places, order, mode, cval), input, output)


@traced_form(scipy.ndimage.zoom)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    name = "zoom"
    _check_order(name, order)
    check_mode(name, mode)
    input = image(name, input)
    factors = [concrete(z) for z in each(name, zoom, input.ndim)]
    shape = tuple([round(float(n * z)) for n, z in zip(input.shape, factors, strict=True)])
    if grid_mode and mode in ("constant", "wrap"):
        warnings.warn(f"zoom: mode='grid-{mode}' is recommended with grid_mode=True", stacklevel=3)
    places = []
    for g, n, m in zip(_grid(shape), input.shape, shape, strict=True):
        if grid_mode:
            place = (g + 0.5) * (n / m) - 0.5 if m else g
        else:
            place = g * ((n - 1) / (m - 1)) if m > 1 else g
        places.append(np.broadcast_to(place, shape))
    return delivered(name, sampled(input, places, order, mode, cval), input, output)
