"""scipy.ndimage, traced: filters, and sampling between the pixels.

A filter extends the input at its ends (`linad.scipy.boundaries`) and convolves with its weights
(`linad.rules.filters`): linear in the input and in the weights, and differentiable in both. A
Gaussian is differentiable in sigma also; its radius, a number of samples, is a constant. Sampling
is in `linad.scipy.sampling`, filters by order in `linad.scipy.rankfilters`.
"""

import functools
import operator
from typing import Any

import numpy as np
import scipy.ndimage

from linad.api.derivatives import stop_gradient
from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.filters import convolve_, running_mean_
from linad.rules.kinks import root
from linad.rules.shaping import astype
from linad.scipy.boundaries import check_mode, chosen_axes, each, filter_form, padded
from linad.scipy.genericfilters import (
    fourier_ellipsoid as fourier_ellipsoid,
    fourier_gaussian as fourier_gaussian,
    fourier_shift as fourier_shift,
    fourier_uniform as fourier_uniform,
    generic_filter as generic_filter,
    generic_filter1d as generic_filter1d,
)
from linad.scipy.measurements import maximum as maximum, median as median, minimum as minimum
from linad.scipy.mirror import traced_form
from linad.scipy.rankfilters import (
    black_tophat as black_tophat,
    grey_closing as grey_closing,
    grey_dilation as grey_dilation,
    grey_erosion as grey_erosion,
    grey_opening as grey_opening,
    maximum_filter as maximum_filter,
    maximum_filter1d as maximum_filter1d,
    median_filter as median_filter,
    minimum_filter as minimum_filter,
    minimum_filter1d as minimum_filter1d,
    morphological_gradient as morphological_gradient,
    morphological_laplace as morphological_laplace,
    percentile_filter as percentile_filter,
    rank_filter as rank_filter,
    white_tophat as white_tophat,
)
from linad.scipy.sampling import (
    affine_transform as affine_transform,
    geometric_transform as geometric_transform,
    map_coordinates as map_coordinates,
    rotate as rotate,
    shift as shift,
    zoom as zoom,
)
from linad.scipy.splinefilters import (
    spline_filter as spline_filter,
    spline_filter1d as spline_filter1d,
)
from linad.scipy.twinforms import form_by_twin, twins_among


@traced_form(scipy.ndimage.standard_deviation)
def standard_deviation(input: Array, labels: Any = None, index: Any = None) -> Any:
    """Regions whose entries are equal have the slope 0, as of `numpy.std`."""
    return root(form_by_twin(scipy.ndimage.variance)(input, labels, index))


TWINS = (
    *("extrema", "generic_gradient_magnitude", "generic_laplace", "histogram"),
    "labeled_comprehension",
    *("maximum_position", "minimum_position"),
    *("center_of_mass", "mean", "sum", "sum_labels", "variance"),
    "vectorized_filter",
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.ndimage, twins_among(scipy.ndimage, TWINS))


# Along one axis.


def _reach(name: str, size: int, origin: Any) -> tuple[int, int]:
    """How many samples a filter needs before and after each sample."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError(
            f"{name}: origin must satisfy -(size // 2) <= origin <= (size - 1) // 2, got {origin} "
            f"for size {size}"
        )
    return before, size - 1 - before


def _weighted(
    name: str,
    input: Array,
    weights: Array,
    axis: int = -1,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """y_i = Σ_j w_j x_{i+j-before} along an axis."""
    if weights.ndim != 1 or not weights.shape[0]:
        raise ShapeError(f"{name}: the weights must be a row of numbers, got {weights.shape}")
    check_mode(name, mode)
    axis = normalize_axis(axis, input.ndim, name)
    before, after = _reach(name, weights.shape[0], origin)
    x = padded(np.moveaxis(input, axis, -1), before, after, mode, cval)
    return np.moveaxis(convolve_(x, weights[::-1], mode="valid"), -1, axis)


def _weights(weights: Any) -> Any:
    """Weights as SciPy has them, in double precision."""
    weights = asarray(weights)
    return astype(weights, np.result_type(weights.dtype, float), copy=False)


@filter_form(scipy.ndimage.correlate1d)
def correlate1d(input: Array, weights: Any, **along: Any) -> Any:
    return _weighted("correlate1d", input, np.conj(_weights(weights)), **along)


@filter_form(scipy.ndimage.convolve1d)
def convolve1d(input: Array, weights: Array, origin: int, **along: Any) -> Any:
    weights = np.atleast_1d(_weights(weights))
    origin = -origin - (weights.shape[0] % 2 == 0)
    return _weighted("convolve1d", input, weights[::-1], origin=origin, **along)


@filter_form(scipy.ndimage.uniform_filter1d)
def uniform_filter1d(input: Array, size: int, axis: int, mode: str, cval: Any, origin: int) -> Any:
    axis = normalize_axis(axis, input.ndim, "uniform_filter1d")
    check_mode("uniform_filter1d", mode)
    if size < 1:
        raise ValueError(f"uniform_filter1d: size must be at least 1, got {size}")
    before, after = _reach("uniform_filter1d", size, origin)
    x = padded(np.moveaxis(input, axis, -1), before, after, mode, cval)
    return np.moveaxis(running_mean_(x, size=int(size)), -1, axis)


# Gaussians.


def _gaussian(sigma: Array, order: int, radius: int) -> Any:
    """A Gaussian with sum 1, or a derivative of it: φ^(k) = p_k φ, p_{k+1} = p_k' - x/σ^2 p_k."""
    x = np.arange(-radius, radius + 1)
    variance = sigma * sigma
    bell = np.exp(-0.5 / variance * (x * x))
    bell = bell / np.sum(bell)
    if not order:
        return bell
    zero = 0.0 * variance
    p = [zero + 1.0]
    for _ in range(order):
        slopes = [*[k * c for k, c in enumerate(p)][1:], zero, zero]
        lower = [zero] + [c / variance for c in p]
        p = [s - c for s, c in zip(slopes, lower, strict=True)]
    factor = zero
    for c in reversed(p):
        factor = factor * x + c
    return factor * bell


@filter_form(scipy.ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Array, sigma: Array, order: int, truncate: float, radius: int | None, **along: Any
) -> Any:
    if order < 0:
        raise ValueError(f"gaussian_filter1d: order must be non-negative, got {order}")
    if radius is None:
        radius = int(truncate * float(stop_gradient(sigma)) + 0.5)
    if radius < 0 or radius != int(radius):
        raise ValueError(f"gaussian_filter1d: radius must be a non-negative integer, got {radius}")
    weights = _gaussian(sigma, order, int(radius))[::-1]
    return _weighted("gaussian_filter1d", input, weights, **along)


@filter_form(scipy.ndimage.gaussian_filter)
def gaussian_filter(
    input: Array, sigma: Any, order: Any, mode: Any, radius: Any, axes: Any, **ends: Any
) -> Any:
    name = "gaussian_filter"
    along = chosen_axes(name, axes, input.ndim)
    columns = [each(name, value, len(along)) for value in (sigma, order, mode, radius)]
    for axis, s, k, m, r in zip(along, *columns, strict=True):
        if stop_gradient(s) > 1e-15:
            input = gaussian_filter1d(input, s, axis, k, mode=m, radius=r, **ends)
    return input


# Along several axes.


@filter_form(scipy.ndimage.uniform_filter)
def uniform_filter(input: Array, size: Any, mode: Any, origin: Any, axes: Any, **ends: Any) -> Any:
    name = "uniform_filter"
    along = chosen_axes(name, axes, input.ndim)
    columns = [each(name, value, len(along)) for value in (size, mode, origin)]
    for axis, s, m, o in zip(along, *columns, strict=True):
        if s > 1:
            input = uniform_filter1d(input, int(s), axis, mode=m, origin=o, **ends)
    return input


def _grid(
    name: str,
    convolves: bool,
    input: Array,
    weights: Array,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> Any:
    """Correlation with weights over several axes, or convolution, which turns them around."""
    along = chosen_axes(name, axes, input.ndim)
    if weights.ndim != len(along) or not weights.size:
        raise ShapeError(
            f"{name}: the weights must have {len(along)} axes, one for each of the input's "
            f"that is filtered, and entries; got {weights.shape}"
        )
    if not isinstance(mode, str):
        raise ValueError(f"{name}: a sequence of modes is not supported, got {mode!r}")
    check_mode(name, mode)
    kernel = weights if convolves else np.flip(np.conj(weights))
    x = np.moveaxis(input, along, range(-len(along), 0)) if along else input
    for k, o in enumerate(each(name, origin, len(along))):
        size = kernel.shape[k]
        before, after = _reach(name, size, -o - (size % 2 == 0) if convolves else o)
        ends = padded(np.moveaxis(x, k - len(along), -1), before, after, mode, cval)
        x = np.moveaxis(ends, -1, k - len(along))
    if not along:
        return input * weights
    y = convolve_(x, kernel, mode="valid", axes=len(along))
    return np.moveaxis(y, range(-len(along), 0), along)


@filter_form(scipy.ndimage.correlate)
def correlate(input: Array, weights: Array, **placing: Any) -> Any:
    return _grid("correlate", False, input, _weights(weights), **placing)


@filter_form(scipy.ndimage.convolve)
def convolve(input: Array, weights: Array, **placing: Any) -> Any:
    return _grid("convolve", True, input, _weights(weights), **placing)


# Edges.


def _difference(name: str, input: Array, across: list[int], axis: int, mode: Any, cval: Any) -> Any:
    """Central differences along an axis, smoothed along the others."""
    axis = normalize_axis(axis, input.ndim, name)
    modes = each(name, mode, input.ndim)
    for k in (axis, *[k for k in range(input.ndim) if k != axis]):
        weights = [-1.0, 0.0, 1.0] if k == axis else across
        input = correlate1d(input, weights, k, None, modes[k], cval)
    return input


@filter_form(scipy.ndimage.prewitt)
def prewitt(input: Array, axis: int, mode: Any, cval: Any) -> Any:
    return _difference("prewitt", input, [1, 1, 1], axis, mode, cval)


@filter_form(scipy.ndimage.sobel)
def sobel(input: Array, axis: int, mode: Any, cval: Any) -> Any:
    return _difference("sobel", input, [1, 2, 1], axis, mode, cval)


@filter_form(scipy.ndimage.laplace)
def laplace(input: Any, mode: Any, cval: Any, axes: Any = None) -> Any:
    along = chosen_axes("laplace", axes, input.ndim)
    modes = each("laplace", mode, len(along))
    parts = [
        correlate1d(input, [1.0, -2.0, 1.0], k, None, m, cval)
        for k, m in zip(along, modes, strict=True)
    ]
    return functools.reduce(operator.add, parts) if parts else input


def _gaussian_slopes(
    name: str,
    order: int,
    input: Array,
    sigmas: list[Any],
    along: tuple[int, ...],
    mode: Any = "reflect",
    cval: Any = 0.0,
    **options: Any,
) -> list[Any]:
    """The derivatives along some axes of the input, smoothed by a width for each of its axes."""
    slopes = []
    for k, m in zip(along, each(name, mode, len(along)), strict=True):
        orders = [0] * input.ndim
        orders[k] = order
        slopes.append(gaussian_filter(input, sigmas, orders, None, m, cval, **options))
    return slopes


@filter_form(scipy.ndimage.gaussian_laplace)
def gaussian_laplace(input: Array, sigma: Array, axes: Any = None, **smoothing: Any) -> Any:
    """Smoothed along the axes that it differentiates along, and no others."""
    name = "gaussian_laplace"
    along = chosen_axes(name, axes, input.ndim)
    sigmas: list[Any] = [0] * input.ndim
    for k, s in zip(along, each(name, sigma, len(along)), strict=True):
        sigmas[k] = s
    parts = _gaussian_slopes(name, 2, input, sigmas, along, **smoothing)
    return functools.reduce(operator.add, parts) if parts else input


@filter_form(scipy.ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Array, sigma: Any, axes: Any = None, **smoothing: Any
) -> Any:
    """Smoothed along all axes, whichever it differentiates along: as SciPy's is.

    It is a norm, whose derivative at 0, in a flat image, is 0; of complex slopes the squares are
    summed.
    """
    name = "gaussian_gradient_magnitude"
    along = chosen_axes(name, axes, input.ndim)
    slopes = _gaussian_slopes(name, 1, input, each(name, sigma, input.ndim), along, **smoothing)
    if not slopes:
        return input
    if input.dtype.kind == "c":
        return np.sqrt(functools.reduce(operator.add, [g * g for g in slopes]))
    return np.linalg.norm(np.stack(slopes), axis=0)
