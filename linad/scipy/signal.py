"""scipy.signal, traced: convolution, linear filters, spectra, trends, the analytic signal."""

from typing import Any

import numpy as np
import scipy.signal

from linad.core.frames import public_names
from linad.core.shapes import normalize_axis
from linad.errors import DTypeError
from linad.rules.creation import asarray
from linad.scipy.convolutions import (
    convolve as convolve,
    correlate as correlate,
    fftconvolve as fftconvolve,
    oaconvolve as oaconvolve,
)
from linad.scipy.fft import fft, ifft
from linad.scipy.linearfilters import (
    detrend as detrend,
    lfilter as lfilter,
    lfilter_zi as lfilter_zi,
    sosfilt as sosfilt,
)
from linad.scipy.mirror import traced_form
from linad.scipy.resampling import resample as resample
from linad.scipy.smoothing import (
    filtfilt as filtfilt,
    savgol_filter as savgol_filter,
    sosfiltfilt as sosfiltfilt,
)
from linad.scipy.spectra import (
    coherence as coherence,
    csd as csd,
    periodogram as periodogram,
    spectrogram as spectrogram,
    stft as stft,
    welch as welch,
)
from linad.scipy.systems import (
    cont2discrete as cont2discrete,
    freqz as freqz,
    freqz_sos as freqz_sos,
    sosfreqz as sosfreqz,
    tf2ss as tf2ss,
    tf2zpk as tf2zpk,
)


def __getattr__(name: str) -> Any:
    return getattr(scipy.signal, name)


def __dir__() -> list[str]:
    return public_names(scipy.signal)


# The analytic signal.


@traced_form(scipy.signal.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    x = asarray(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"hilbert: x must be real, got {x.dtype}")
    axis = normalize_axis(axis, x.ndim, "hilbert")
    N = x.shape[axis] if N is None else N
    if N <= 0:
        raise ValueError(f"hilbert: N must be positive, got {N}")
    weights = np.zeros(N, x.dtype)
    weights[0] = 1
    weights[1 : (N + 1) // 2] = 2
    if N % 2 == 0:
        weights[N // 2] = 1
    shape = [1] * x.ndim
    shape[axis] = N
    return ifft(fft(x, N, axis=axis) * weights.reshape(shape), axis=axis)
