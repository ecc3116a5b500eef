"""`scipy.signal.resample`, traced: another number of samples, by way of the spectrum.

Bins that both spectra have are kept. The one in the middle, at half the lower rate, stands for a
pair: going down it takes both, going up it is shared among both.
"""

from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.scipy.fft import fft, ifft, irfft, rfft
from linad.scipy.mirror import bound_form, inexact


def _weights(window: Any, n: int) -> Any:
    """A window over the bins of the spectrum, in the order of `scipy.fft.fft`."""
    if window is None:
        return np.ones(n)
    if callable(window):
        return np.asarray(window(scipy.fft.fftfreq(n)))
    if isinstance(window, np.ndarray):
        if window.shape != (n,):
            raise ShapeError(
                f"resample: window must have a weight for each of the {n} bins, got shape "
                f"{window.shape}"
            )
        return window
    return scipy.fft.fftshift(scipy.signal.get_window(window, n))


@bound_form(scipy.signal.resample)
def resample(x: Array, num: int, t: Any, axis: int, window: Any) -> Any:
    x = inexact(x)
    axis = normalize_axis(axis, x.ndim, "resample")
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    m, scale = min(num, n), n / num
    weights = _weights(window, n)
    if x.dtype.kind == "c":
        y = _of_complex(x, weights, num, m) / scale
    else:
        y = _of_real(x, weights, num, m) / scale
    y = np.moveaxis(y, -1, axis)
    return y if t is None else (y, t[0] + (t[1] - t[0]) * scale * np.arange(num))


def _of_real(x: Array, weights: Array, num: int, m: int) -> Any:
    n = x.shape[-1]
    kept = m // 2 + 1
    both = 0.5 * (weights + np.roll(weights[::-1], 1))[:kept]  # bins k and -k
    both[0] = weights[0]
    if m % 2 == 0 and num != n:
        both[m // 2] *= 2 if num < n else 0.5
    real = np.finfo(x.dtype).dtype
    return irfft(rfft(x)[..., :kept] * both.astype(real), num)


def _of_complex(x: Array, weights: Array, num: int, m: int) -> Any:
    n = x.shape[-1]
    spectrum = fft(x) * weights.astype(np.finfo(x.dtype).dtype)
    kept = m // 2 + 1
    front, back = spectrum[..., :kept], spectrum[..., n - (m - kept) :]
    if m % 2 == 0 and num < n:
        middle = spectrum[..., m // 2] + spectrum[..., n - m // 2]
        front = np.concatenate([front[..., : m // 2], middle[..., None]], axis=-1)
    if m % 2 == 0 and n < num:
        half = 0.5 * spectrum[..., m // 2, None]
        front = np.concatenate([front[..., : m // 2], half], axis=-1)
        back = np.concatenate([half, back], axis=-1)
    missing = num - front.shape[-1] - back.shape[-1]
    zeros = np.zeros((*x.shape[:-1], missing), x.dtype)
    return ifft(np.concatenate([front, zeros, back], axis=-1))
