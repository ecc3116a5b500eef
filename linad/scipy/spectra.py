"""Spectra of scipy.signal, traced: of windowed segments, averaged or one by one.

Segments s_j of x, each less its trend, times the window w and transformed, are X_j. The cross
spectral density is the mean of conj(X_j) Y_j over f_s Σ w^2 ("density"), or over (Σ w)^2
("spectrum"), doubled where only positive frequencies are kept.

Source: P. Welch, "The use of the fast Fourier transform for the estimation of power spectra", IEEE
Transactions on Audio and Electroacoustics 15, 1967.
"""

import math
from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import UnsupportedError
from linad.scipy.fft import fft, rfft
from linad.scipy.linearfilters import detrend as without_trend
from linad.scipy.mirror import bound_form, inexact


def _named(window: Any) -> Any:
    """A window by the name that older versions of SciPy know a periodic one by, too."""
    if isinstance(window, tuple):
        return (_named(window[0]), *window[1:])
    return window.removesuffix("_periodic") if isinstance(window, str) else window


class Segments:
    """How data is cut, weighed and transformed.

    Parameters
    ----------
    n : int
        Samples.
    complex_data : bool
    fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling
        As SciPy's functions take them.
    """

    def __init__(
        self,
        name: str,
        n: int,
        complex_data: bool,
        fs: Any = 1.0,
        window: Any = "hann",
        nperseg: Any = None,
        noverlap: Any = None,
        nfft: Any = None,
        detrend: Any = "constant",
        return_onesided: bool = True,
        scaling: str = "density",
    ) -> None:
        if isinstance(window, (str, tuple)) or np.isscalar(window):
            length = min(256, n) if nperseg is None else min(int(nperseg), n)
            self.window = scipy.signal.get_window(_named(window), length)
        else:
            self.window = np.asarray(window)
            length = self.window.shape[0]
            if nperseg is not None and int(nperseg) != length:
                raise ValueError(f"{name}: nperseg={nperseg} and a window of length {length}")
            if length > n:
                raise ValueError(f"{name}: a window of length {length} and {n} samples")
        overlap = length // 2 if noverlap is None else int(noverlap)
        self.nfft = length if nfft is None else int(nfft)
        if not 0 <= overlap < length or self.nfft < length or length < 1:
            raise ValueError(
                f"{name}: noverlap={overlap} must be less than nperseg={length}, and nfft="
                f"{self.nfft} not"
            )
        self.length, self.step, self.fs, self.detrend = length, length - overlap, fs, detrend
        self.onesided = return_onesided and not complex_data
        if scaling == "density":
            self.scale = 1 / float(fs * np.sum(self.window**2))
        elif scaling == "spectrum":
            self.scale = 1 / float(np.sum(self.window)) ** 2
        else:
            raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
        frequencies = np.fft.rfftfreq if self.onesided else np.fft.fftfreq
        self.frequencies = frequencies(self.nfft, 1 / fs)
        self.starts = np.arange(0, n - length + 1, self.step)

    def transformed(self, x: Array) -> Any:
        """X (..., segments, frequencies) of x (..., n)."""
        parts = x[..., self.starts[:, None] + np.arange(self.length)]
        if callable(self.detrend):
            parts = self.detrend(parts)
        elif self.detrend:
            parts = without_trend(parts, type=self.detrend)
        transform = rfft if self.onesided else fft
        return transform(parts * self.window.astype(np.finfo(x.dtype).dtype), n=self.nfft)

    def density(self, x: Array, y: Array | None = None) -> Any:
        """conj(X) Y, scaled: (..., frequencies, segments)."""
        X = self.transformed(x)
        if y is None:
            P = np.real(X) ** 2 + np.imag(X) ** 2
        else:
            P = np.conj(X) * self.transformed(y)
        factors = np.full(self.frequencies.shape, self.scale, np.finfo(P.dtype).dtype)
        if self.onesided:
            factors[1 : None if self.nfft % 2 else -1] *= 2
        return np.moveaxis(P * factors, -2, -1)


def _samples(name: str, x: Array, y: Array | None, axis: int) -> tuple[Any, Any, int]:
    x = inexact(x)
    axis = normalize_axis(axis, x.ndim, name)
    x = np.moveaxis(x, axis, -1)
    if y is None:
        return x, None, axis
    y = np.moveaxis(inexact(y), axis, -1)
    if y.shape != x.shape:
        raise UnsupportedError(
            f"{name}: x and y of different shapes, {x.shape} and {y.shape}, are not traced by "
            f"linad; fill one with zeros"
        )
    return x, y, axis


def _is_complex(*arrays: Any) -> bool:
    return any(a is not None and a.dtype.kind == "c" for a in arrays)


def _median_bias(n: int) -> float:
    """What the median of n spectra is of their mean, in expectation."""
    odd = np.arange(2 * ((n - 1) // 2), 0, -2)
    return float(1 + np.sum(1 / (odd + 1.0) - 1 / odd))


def _averaged(name: str, P: Array, average: str) -> Any:
    if P.shape[-1] == 1:
        return P[..., 0]
    if average == "mean":
        return np.mean(P, axis=-1)
    if average != "median":
        raise ValueError(f"{name}: average must be 'median' or 'mean', got {average!r}")
    bias = _median_bias(P.shape[-1])
    if P.dtype.kind != "c":
        return np.median(P, axis=-1) / bias
    return (np.median(np.real(P), axis=-1) + 1j * np.median(np.imag(P), axis=-1)) / bias


def _cross(
    name: str, x: Array, y: Array | None, axis: int = -1, average: str = "mean", **cutting: Any
) -> Any:
    x, y, axis = _samples(name, x, y, axis)
    cut = Segments(name, x.shape[-1], _is_complex(x, y), **cutting)
    P = _averaged(name, cut.density(x, y), average)
    return cut.frequencies, np.moveaxis(P, -1, axis)


@bound_form(scipy.signal.csd)
def csd(x: Array, y: Array, **cutting: Any) -> Any:
    return _cross("csd", x, y, **cutting)


@bound_form(scipy.signal.welch)
def welch(x: Array, **cutting: Any) -> Any:
    return _cross("welch", x, None, **cutting)


@bound_form(scipy.signal.periodogram)
def periodogram(x: Any, window: Any, nfft: Any, axis: int, **cutting: Any) -> Any:
    x = inexact(x)
    n = x.shape[axis]
    if nfft is not None and int(nfft) < n:
        raise UnsupportedError(
            f"periodogram: nfft={nfft} cuts off samples, which is not traced by linad; pass the "
            f"part of x"
        )
    cutting |= {"window": window or "boxcar", "nperseg": n, "noverlap": 0, "nfft": nfft}
    return _cross("periodogram", x, None, axis, **cutting)


@bound_form(scipy.signal.coherence)
def coherence(x: Array, y: Array, **cutting: Any) -> Any:
    f, xx = _cross("coherence", x, None, **cutting)
    _, yy = _cross("coherence", y, None, **cutting)
    _, xy = _cross("coherence", x, y, **cutting)
    return f, (np.real(xy) ** 2 + np.imag(xy) ** 2) / xx / yy


@bound_form(scipy.signal.spectrogram)
def spectrogram(
    x: Array,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    axis: int,
    mode: Any,
    **cutting: Any,
) -> Any:
    if mode not in _MODES:
        raise ValueError(f"spectrogram: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    x, _, axis = _samples("spectrogram", x, None, axis)
    n = x.shape[-1]
    length = min(256 if nperseg is None else int(nperseg), n)
    if nperseg is None and not isinstance(window, (str, tuple)):
        length = len(window)
    noverlap = length // 8 if noverlap is None else noverlap
    cut = Segments("spectrogram", n, _is_complex(x), fs, window, length, noverlap, **cutting)
    times = (cut.starts + cut.length / 2) / fs
    at = axis if axis >= 0 else axis - 1  # of the frequencies; times come last
    if mode == "psd":
        return cut.frequencies, times, np.moveaxis(cut.density(x), -2, at)
    Z = np.moveaxis(np.moveaxis(cut.transformed(x) * math.sqrt(cut.scale), -2, -1), -2, at)
    if mode == "magnitude":
        Z = np.abs(Z)
    elif mode != "complex":
        Z = np.angle(Z) if mode == "angle" else np.unwrap(np.angle(Z), axis=at)
    return cut.frequencies, times, Z


_MODES = ("psd", "complex", "magnitude", "angle", "phase")


@bound_form(scipy.signal.stft)
def stft(
    x: Any,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    boundary: Any,
    padded: bool,
    axis: int,
    scaling: str,
    **cutting: Any,
) -> Any:
    if boundary not in ("zeros", None):
        raise UnsupportedError(
            f"stft: boundary={boundary!r} is not traced by linad; use 'zeros' or None"
        )
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"stft: scaling must be 'spectrum' or 'psd', got {scaling!r}")
    x, _, axis = _samples("stft", x, None, axis)
    n = x.shape[-1]
    length = min(int(nperseg), n) if isinstance(window, (str, tuple)) else len(window)
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError(f"stft: noverlap must be less than nperseg, got {overlap} and {length}")
    edge = length // 2 if boundary else 0
    behind = -(n + 2 * edge - length) % (length - overlap) % length if padded else 0
    widths = [(0, 0)] * (x.ndim - 1) + [(edge, edge + behind)]
    x = np.pad(x, widths)
    kind = "spectrum" if scaling == "spectrum" else "density"
    cutting = {"detrend": False, **cutting, "scaling": kind}
    cut = Segments("stft", x.shape[-1], _is_complex(x), fs, window, length, overlap, **cutting)
    Z = np.moveaxis(cut.transformed(x) * math.sqrt(cut.scale), -2, -1)
    times = (cut.starts + cut.length / 2 - edge) / fs
    return cut.frequencies, times, np.moveaxis(Z, -2, axis if axis >= 0 else axis - 1)
