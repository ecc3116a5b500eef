"""The coefficients of the spline through the pixels of an image, as scipy.ndimage has them; traced.

Along an axis Σ_j b_j a_i+j = x_i, where b are the B-spline of an order at the integers, and a is
continued beyond its ends as the mode says. The system is banded, and cyclic for "grid-wrap".

Source: M. Unser, "Splines: A Perfect Fit for Signal and Image Processing", 1999.
"""

from typing import Any

import numpy as np
import scipy.interpolate
import scipy.ndimage

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import DTypeError
from linad.rules.banded import solve_banded_
from linad.rules.shaping import astype
from linad.scipy.boundaries import beyond, check_mode, check_order, image
from linad.scipy.mirror import bound_form

FILTERED_AS = {
    "grid-constant": "mirror",
    "constant": "mirror",
    "wrap": "mirror",
    "nearest": "reflect",
}
"""The mode that the coefficients are found in; others have their own."""


_SHORT = 32
"""Below this length SciPy's recursion for "reflect" is off by more than rounding."""


def filtered(x: Array, order: int, axis: int, mode: str) -> Any:
    """The coefficients of the spline through x along an axis."""
    n = x.shape[axis]
    if order < 2 or n < 2:
        return x
    mode = FILTERED_AS.get(mode, mode)
    if mode in ("reflect", "grid-mirror") and n < _SHORT:
        matrix = scipy.ndimage.spline_filter1d(np.eye(n), order, axis=0, mode=mode)
        return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
    reach = order // 2
    places = np.arange(-reach, reach + 1)
    taps = scipy.interpolate.BSpline.basis_element(np.arange(order + 2) - (order + 1) / 2)(places)
    x = np.moveaxis(x, axis, 0)
    flat = x.reshape((n, -1))
    if mode == "grid-wrap":
        row = np.zeros(n)
        np.add.at(row, places % n, taps)
        spectrum = np.fft.fft(row)[:, None]
        a = np.fft.ifft(np.fft.fft(flat, axis=0) / spectrum, axis=0)
        a = a if flat.dtype.kind == "c" else np.real(a)
    else:
        band = np.zeros((2 * reach + 1, n))
        for k, tap in zip(places, taps, strict=True):
            rows = np.arange(n)
            columns = beyond(rows + k, n, mode)
            np.add.at(band, (reach + rows - columns, columns), tap)
        a = solve_banded_(astype(band, flat.dtype, copy=False), flat, l_and_u=(reach, reach))
    return np.moveaxis(a.reshape(x.shape), 0, axis)


def _filter(name: str, input: Array, order: int, axes: Any, output: Any, mode: str) -> Any:
    check_order(name, order)
    check_mode(name, mode)
    y = image(name, input)
    wanted = np.dtype(output)
    if wanted.kind not in "fc":
        raise DTypeError(f"{name}: output={output!r} cannot hold a result of {y.dtype}")
    double = np.complex128 if y.dtype.kind == "c" else np.float64
    y = astype(y, double, copy=False)
    for axis in axes:
        y = filtered(y, order, axis, mode)
    return astype(y, np.result_type(wanted, np.complex64) if y.dtype.kind == "c" else wanted)


@bound_form(scipy.ndimage.spline_filter1d)
def spline_filter1d(input: Array, order: int, axis: int, output: Any, mode: str) -> Any:
    axis = normalize_axis(axis, input.ndim, "spline_filter1d")
    return _filter("spline_filter1d", input, order, [axis], output, mode)


@bound_form(scipy.ndimage.spline_filter)
def spline_filter(input: Array, order: int, output: Any, mode: str) -> Any:
    if order < 2:
        raise ValueError(f"spline_filter: order must be an integer from 2 to 5, got {order!r}")
    return _filter("spline_filter", input, order, range(input.ndim), output, mode)
