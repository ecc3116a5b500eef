"""The filters of Savitzky and Golay of scipy.signal, traced.

savgol_filter       the polynomial fitted to each window, at its middle: a correlation; next to the
                    ends the one fitted to the first or last window
"""

import math
from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.scipy.mirror import bound_form, check_real, inexact
from linad.scipy.ndimage import convolve1d


def _fitted_at(places: Any, window: int, degree: int, deriv: int, delta: Any) -> Any:
    """The matrix from a window to its fitted polynomial, or a derivative of it, at places."""
    fit = np.linalg.pinv(np.vander(np.arange(window), degree + 1, increasing=True))
    powers = np.arange(deriv, degree + 1)
    factors = np.array([math.perm(p, deriv) for p in powers])
    values = factors * np.asarray(places)[:, None] ** (powers - deriv)
    return values @ fit[deriv:] / delta**deriv


@bound_form(scipy.signal.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int,
    delta: float,
    axis: int,
    mode: str,
    cval: Any,
) -> Any:
    x = inexact(x)
    check_real("savgol_filter", x=x)
    axis = normalize_axis(axis, x.ndim, "savgol_filter")
    real = np.finfo(x.dtype).dtype
    coefficients = scipy.signal.savgol_coeffs(window_length, polyorder, deriv, delta).astype(real)
    if mode != "interp":
        return convolve1d(x, coefficients, axis=axis, mode=mode, cval=cval)
    x = np.moveaxis(x, axis, -1)
    n, window = x.shape[-1], len(coefficients)
    if window > n:
        raise ValueError(
            f"savgol_filter: with mode='interp' window_length must be at most the {n} samples, "
            f"got {window}"
        )
    half = window // 2
    middle = convolve1d(x, coefficients, axis=-1, mode="constant")[..., half : n - half]
    start = _fitted_at(np.arange(half), window, polyorder, deriv, delta)
    end = _fitted_at(np.arange(window - half, window), window, polyorder, deriv, delta)
    ends = [
        np.einsum("...j,ij->...i", part, M.astype(real))
        for part, M in ((x[..., :window], start), (x[..., n - window :], end))
    ]
    return np.moveaxis(np.concatenate([ends[0], middle, ends[1]], axis=-1), -1, axis)


@bound_form(scipy.signal.savgol_coeffs)
def savgol_coeffs(
    window_length: int, polyorder: int, deriv: int, delta: Array, **options: Any
) -> Any:
    check_real("savgol_coeffs", delta=delta)
    return scipy.signal.savgol_coeffs(window_length, polyorder, deriv, **options) / delta**deriv
