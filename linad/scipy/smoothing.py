"""Filters of scipy.signal that run over the data twice, or fit polynomials to it; traced.

filtfilt            y = R F R F x, with F the filter started at rest at the first value and R the
                    reversal, on data continued beyond its ends
savgol_filter       the polynomial fitted to each window, at its middle: a correlation; next to the
                    ends the one fitted to the first or last window
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.shaping import still
from linad.scipy.gustafsson import both_ways_alike
from linad.scipy.linearfilters import lfilter, lfilter_zi, sosfilt
from linad.scipy.mirror import bound_form, check_real, inexact
from linad.scipy.ndimage import convolve1d
from linad.scipy.twinforms import form_by_twin


def _continued(name: str, x: Array, padtype: Any, padlen: int) -> Any:
    """``x`` continued by ``padlen`` samples on both sides of the last axis."""
    if padtype is None or padlen == 0:
        return x
    if x.shape[-1] <= padlen:
        raise ShapeError(
            f"{name}: x has {x.shape[-1]} samples along the axis; more than padlen = {padlen} are "
            f"needed"
        )
    before, after = x[..., padlen:0:-1], x[..., -2 : -padlen - 2 : -1]
    first, last = x[..., :1], x[..., -1:]
    if padtype == "odd":
        before, after = 2 * first - before, 2 * last - after
    elif padtype == "constant":
        before, after = first + 0 * before, last + 0 * after
    elif padtype != "even":
        raise ValueError(
            f"{name}: padtype must be 'odd', 'even', 'constant' or None, got {padtype!r}"
        )
    return np.concatenate([before, x, after], axis=-1)


def _twice(
    name: str,
    run: Callable[..., Any],
    state: Callable[..., Any],
    x: Array,
    axis: int,
    padtype: Any,
    padlen: int,
) -> Any:
    """Filter forth and back; ``run(x, zi)`` filters along the last axis."""
    x = inexact(x)
    if padlen < 0:
        raise ValueError(f"{name}: padlen must be 0 or more, got {padlen}")
    axis = normalize_axis(axis, x.ndim, name)
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    pad = 0 if padtype is None else padlen
    y = _continued(name, x, padtype, pad)
    for _ in range(2):
        y = run(y, state(y[..., :1]))[..., ::-1]
    return np.moveaxis(y[..., pad : pad + n], -1, axis)


@bound_form(scipy.signal.filtfilt)
def filtfilt(
    b: Any, a: Any, x: Array, axis: int, padtype: Any, padlen: Any, method: str, irlen: Any
) -> Any:
    if method not in ("pad", "gust"):
        raise ValueError(f"filtfilt: method must be 'pad' or 'gust', got {method!r}")
    b, a = np.atleast_1d(asarray(b)), np.atleast_1d(asarray(a))
    if method == "gust":
        x = inexact(x)
        axis = normalize_axis(axis, x.ndim, "filtfilt")
        return np.moveaxis(both_ways_alike(b, a, np.moveaxis(x, axis, -1), irlen), -1, axis)
    padlen = 3 * max(a.shape[0], b.shape[0]) if padlen is None else padlen
    zi = lfilter_zi(b, a)

    def run(x: Array, state: Array) -> Any:
        return lfilter(b, a, x, zi=state)[0]

    return _twice("filtfilt", run, lambda first: zi * first, x, axis, padtype, padlen)


@bound_form(scipy.signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int, padtype: Any, padlen: Any) -> Any:
    sos = asarray(sos)
    fixed = still(sos)
    sections = fixed.shape[0]
    if padlen is None:
        trivial = min(int(np.sum(fixed[:, 2] == 0)), int(np.sum(fixed[:, 5] == 0)))
        padlen = 3 * (2 * sections + 1 - trivial)
    zi = form_by_twin(scipy.signal.sosfilt_zi)(sos)

    def state(first: Any) -> Any:
        return zi.reshape((sections, *[1] * (first.ndim - 1), 2)) * first[None]

    def run(x: Any, zi: Any) -> Any:
        return sosfilt(sos, x, zi=zi)[0]

    return _twice("sosfiltfilt", run, state, x, axis, padtype, padlen)


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
