"""Sampling an image between its pixels, as scipy.ndimage does, traced.

At coordinates c = i + t, with i = floor(c) and 0 <= t < 1, on each axis

    order 0    x_[c + 1/2]
    order 1    (1 - t) x_i + t x_{i+1}        dy = (x_{i+1} - x_i) dc + (1 - t) dx_i + t dx_{i+1}
    order k    Σ_j w_j(t) a_{i+j-(k-1)/2}     a spline; i + t = c + 1/2 and a_{i+j-k/2} for even k

and the product of that over the axes. Beyond the ends a coordinate is moved back first, to ±c + s,
by the rules of its mode. On a grid point the derivative in c is that from above. The weights are
B-splines at distance 1, and a is x filtered so that the spline goes through x
(`linad.scipy.splinefilters`).
"""

import functools
import itertools
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.shapes import Shape, is_real_float, normalize_axis
from linad.errors import DTypeError, ShapeError
from linad.rules.creation import asarray
from linad.rules.shaping import concrete, still
from linad.scipy.boundaries import (
    beyond,
    check_border,
    check_mode,
    check_order,
    each,
    filter_form,
    padded,
)
from linad.scipy.mirror import inexact
from linad.scipy.splinefilters import filtered

_PAD = 12
"""Pixels that SciPy adds on each side where a mode has no filter of its own."""


def _real(name: str, what: str, c: Any) -> Any:
    c = inexact(c)
    if not is_real_float(c.dtype):
        raise DTypeError(f"{name}: {what} must be real, got {c.dtype}")
    return c


def _moved(c: Array, n: int, mode: str) -> tuple[Any, Any]:
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


def _weights(t: Array, order: int) -> list[Any]:
    """The B-splines that are not 0 at t in [0, 1), as in `linad.scipy.bsplines`."""
    values: list[Any] = [1.0]
    for r in range(1, order + 1):
        carried: Any = 0.0
        raised = []
        for j, value in enumerate(values):
            part = value / r
            raised.append(carried + (j + 1 - t) * part)
            carried = (t + r - 1 - j) * part
        values = [*raised, carried]
    return values


def interpolated_at(
    x: Array, coordinates: list[Any], order: int, mode: str, cval: Any, prefilter: bool
) -> Any:
    """As `sampled`, of the spline through the image if ``prefilter`` is set."""
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            for k in range(x.ndim):
                x = np.moveaxis(padded(np.moveaxis(x, k, -1), _PAD, _PAD, mode, cval), -1, k)
            coordinates = [c + _PAD for c in coordinates]
        for k in range(x.ndim):
            x = filtered(x, order, k, mode)
    return sampled(x, coordinates, order, mode, cval)


def sampled(x: Array, coordinates: list[Any], order: int, mode: str, cval: Any) -> Any:
    """The values of an image at points.

    Parameters
    ----------
    x : array (n_1, ..., n_d)
    coordinates : list of d arrays of one shape
    order : {0, 1, 2, 3, 4, 5}
        Of the spline whose coefficients are x.
    mode : str
    cval : number
        Outside of the image, in the modes "constant" and "grid-constant".

    Returns
    -------
    array of that shape

    Notes
    -----
    (order + 1)^d reads of the image a point.
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
        # For splines SciPy clips the places of coefficients in mode "nearest", not the coordinate.
        free = mode == "nearest" and order > 1
        sign, shift = _moved(np.where(lost, 0.0, here), n, "constant" if free else mode)
        place = np.where(lost, 0.0, sign * np.where(lost, 0.0, c) + shift)
        middle = 0.0 if order % 2 else 0.5
        first = np.floor(still(place) + middle)
        t = place + middle - first
        start = first.astype(np.intp) - order // 2
        ends.append([(start + j, w if order else None) for j, w in enumerate(_weights(t, order))])
    fill = asarray(cval)
    total: Any = None
    # The filter of these modes continues the coefficients so.
    inner = {"constant": "mirror", "wrap": "mirror"}.get(mode, mode) if order > 1 else mode
    for corner in itertools.product(*ends):
        index = tuple([beyond(i, n, inner) for (i, _), n in zip(corner, x.shape, strict=True)])
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


def _read(
    name: str,
    x: Array,
    places: list[Any],
    order: Any = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image at places, a list of d arrays, by the arguments that all functions here have."""
    check_order(name, order)
    check_mode(name, mode)
    check_border(x, cval)
    if 0 in x.shape and 0 not in places[0].shape:
        raise ShapeError(f"{name}: an image of shape {x.shape} has no pixels to sample")
    return interpolated_at(x, places, order, mode, cval, prefilter)


_sampling = functools.partial(filter_form, pixelwise=False)


@_sampling(scipy.ndimage.map_coordinates)
def map_coordinates(input: Array, coordinates: Any, **reading: Any) -> Any:
    name = "map_coordinates"
    coordinates = _real(name, "the coordinates", coordinates)
    if input.ndim < 1 or coordinates.ndim < 2 or coordinates.shape[0] != input.ndim:
        raise ShapeError(
            f"{name}: an input of {input.ndim} axes needs coordinates of shape "
            f"({input.ndim}, ...), got {coordinates.shape}"
        )
    return _read(name, input, [coordinates[k] for k in range(input.ndim)], **reading)


def _grid(shape: Shape) -> list[Any]:
    return list(np.indices(shape, dtype=float, sparse=True))


@_sampling(scipy.ndimage.affine_transform, shaped=True)
def affine_transform(
    input: Array, matrix: Array, offset: Any, output_shape: Any, **reading: Any
) -> Any:
    name = "affine_transform"
    matrix = _real(name, "the matrix", matrix)
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
    return _read(name, input, places, **reading)


@_sampling(scipy.ndimage.shift)
def shift(input: Array, shift: Array, **reading: Any) -> Any:
    name = "shift"
    steps = each(name, shift, input.ndim)
    places = [
        np.broadcast_to(g - s, input.shape) for g, s in zip(_grid(input.shape), steps, strict=True)
    ]
    return _read(name, input, places, **reading)


@_sampling(scipy.ndimage.zoom)
def zoom(input: Array, zoom: Any, grid_mode: bool, **reading: Any) -> Any:
    name = "zoom"
    factors = [concrete(z) for z in each(name, zoom, input.ndim)]
    shape = tuple([round(float(n * z)) for n, z in zip(input.shape, factors, strict=True)])
    mode = reading.get("mode", "constant")
    if grid_mode and mode in ("constant", "wrap"):
        warn_user(f"zoom: mode='grid-{mode}' is recommended with grid_mode=True")
    places = []
    for g, n, m in zip(_grid(shape), input.shape, shape, strict=True):
        if grid_mode:
            place = (g + 0.5) * (n / m) - 0.5 if m else g
        else:
            place = g * ((n - 1) / (m - 1)) if m > 1 else g
        places.append(np.broadcast_to(place, shape))
    return _read(name, input, places, **reading)


@_sampling(scipy.ndimage.rotate)
def rotate(input: Array, angle: Any, axes: Any, reshape: bool, **reading: Any) -> Any:
    name = "rotate"
    if input.ndim < 2 or len(axes) != 2:
        raise ShapeError(f"{name}: two axes of an input of at least two are needed, got {axes!r}")
    plane = tuple(sorted(normalize_axis(k, input.ndim, name) for k in axes))
    if plane[0] == plane[1]:
        raise ValueError(f"{name}: the two axes must differ, got {axes!r}")
    c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    turn = np.stack([np.stack([c, s]), np.stack([-s, c])])
    size = np.array([input.shape[k] for k in plane])
    new = size
    if reshape:
        corners = still(turn) @ [[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]]
        new = (np.ptp(corners, axis=1) + 0.5).astype(int)
    offset = (size - 1) / 2 - turn @ ((new - 1) / 2)
    planes = np.moveaxis(input, plane, (-2, -1))
    rest = planes.shape[:-2]
    flat = planes.reshape((-1, *size))
    turned = [
        affine_transform(flat[i], turn, [offset[0], offset[1]], tuple(new), **reading)
        for i in range(flat.shape[0])
    ]
    y = np.stack(turned).reshape((*rest, *new))
    return np.moveaxis(y, (-2, -1), plane)


@_sampling(scipy.ndimage.geometric_transform)
def geometric_transform(
    input: Any,
    mapping: Any,
    output_shape: Any,
    extra_arguments: Any,
    extra_keywords: Any,
    **reading: Any,
) -> Any:
    name = "geometric_transform"
    shape = input.shape if output_shape is None else tuple(output_shape)
    if not shape:
        raise ShapeError(f"{name}: input and output need at least one axis")
    found = [
        mapping(place, *extra_arguments, **(extra_keywords or {})) for place in np.ndindex(*shape)
    ]
    places = [asarray([row[k] for row in found]).reshape(shape) for k in range(input.ndim)]
    return _read(name, input, [_real(name, "the places", c) for c in places], **reading)
