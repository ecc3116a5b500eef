"""Filters of scipy.ndimage that are functions of the user's, and filters in Fourier space, traced.

``generic_filter`` calls the function with the pixels around each pixel, ``generic_filter1d`` with
each line and a line to write into, as SciPy does. A Fourier filter multiplies by factors along each
axis, at the frequencies k of the transform, and is differentiable in the widths σ, s as well:

    gaussian   exp(-2 π² σ² k²)       uniform   sin(π s k) / (π s k)       shift   exp(-2 π i s k)

The factors of an ellipsoid are no product of such; SciPy's are taken, and its sizes are constants.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.ndimage

import linad.numpy
from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import UnsupportedError
from linad.rules.shaping import astype
from linad.scipy.boundaries import check_mode, delivered, each, filter_form, image, padded
from linad.scipy.mirror import bound_form, check_real, holds_traced
from linad.scipy.rankfilters import neighbourhoods


@filter_form(scipy.ndimage.generic_filter)
def generic_filter(
    input: Any,
    function: Callable[..., Any],
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    **places: Any,
) -> Any:
    windows, _ = neighbourhoods("generic_filter", input, **places)
    rows = windows.reshape(-1, windows.shape[-1])
    keywords = extra_keywords or {}
    values = [function(row, *extra_arguments, **keywords) for row in rows]
    return linad.numpy.array(values).reshape(input.shape)


@filter_form(scipy.ndimage.generic_filter1d)
def generic_filter1d(
    input: Any,
    function: Callable[..., Any],
    filter_size: int,
    axis: int = -1,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    name = "generic_filter1d"
    check_real(name, input=input)
    check_mode(name, mode)
    before = filter_size // 2 + origin
    if filter_size < 1 or not 0 <= before < filter_size:
        raise ValueError(
            f"{name}: expected a filter_size of 1 or more and an origin within it, got "
            f"{filter_size} and {origin}"
        )
    lines = np.moveaxis(input, normalize_axis(axis, input.ndim, name), -1)
    long = padded(lines, before, filter_size - 1 - before, mode, cval)
    made = []
    for line in long.reshape(-1, long.shape[-1]):
        written = np.zeros_like(line[: lines.shape[-1]])
        function(line, written, *extra_arguments, **(extra_keywords or {}))
        made.append(written)
    return np.moveaxis(np.stack(made).reshape(lines.shape), -1, axis)


# In Fourier space.


def _frequencies(name: str, x: Array, n: int, axis: int) -> list[Any]:
    """The frequencies along each axis, to broadcast; with ``n`` one axis is of a real transform."""
    found, n = [], operator.index(n)
    along = normalize_axis(axis, x.ndim, name)
    for k, length in enumerate(x.shape):
        half = n >= 0 and k == along
        f = np.arange(length) / n if half else np.fft.fftfreq(length) if length else np.zeros(0)
        found.append(f.reshape([-1 if j == k else 1 for j in range(x.ndim)]))
    return found


def _filtered(
    name: str, x: Array, width: Any, factor: Callable[..., Any], n: int, axis: int
) -> Any:
    widths = each(name, width, x.ndim)
    for s, k in zip(widths, _frequencies(name, x, n, axis), strict=True):
        x = x * factor(s, k)
    return x


@filter_form(scipy.ndimage.fourier_gaussian)
def fourier_gaussian(input: Array, sigma: Any, n: int = -1, axis: int = -1) -> Any:
    def factor(s: Any, k: Any) -> Any:
        return np.exp(-2 * math.pi**2 * s**2 * k**2)

    return _filtered("fourier_gaussian", input, sigma, factor, n, axis)


@filter_form(scipy.ndimage.fourier_uniform)
def fourier_uniform(input: Array, size: Any, n: int = -1, axis: int = -1) -> Any:
    return _filtered("fourier_uniform", input, size, lambda s, k: np.sinc(s * k), n, axis)


@bound_form(scipy.ndimage.fourier_shift)
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """Complex, and of a real image in double precision."""
    name = "fourier_shift"
    x = image(name, input)
    x = x if x.dtype.kind == "c" else astype(x, np.complex128)
    y = _filtered(name, x, shift, lambda s, k: np.exp(-2j * math.pi * s * k), n, axis)
    return delivered(name, y, x, output)


@filter_form(scipy.ndimage.fourier_ellipsoid)
def fourier_ellipsoid(input: Any, size: Any, **options: Any) -> Any:
    if holds_traced(size):
        raise UnsupportedError(
            "fourier_ellipsoid: size= is not traced by linad; pass linad.stop_gradient of it"
        )
    factors = scipy.ndimage.fourier_ellipsoid(np.ones(input.shape, input.dtype), size, **options)
    return input * factors
