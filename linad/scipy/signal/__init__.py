"""scipy.signal, traced: filters and their design, convolution, spectra, systems, peaks, waves."""

import scipy.signal

from linad.core.mirrored_names import mirrored_names
from linad.scipy.chirps import chirp as chirp
from linad.scipy.convolutions import (
    convolve as convolve,
    correlate as correlate,
    fftconvolve as fftconvolve,
    oaconvolve as oaconvolve,
)
from linad.scipy.linearfilters import (
    detrend as detrend,
    lfilter as lfilter,
    lfilter_zi as lfilter_zi,
    lfiltic as lfiltic,
    sosfilt as sosfilt,
)
from linad.scipy.peaks import (
    find_peaks as find_peaks,
    peak_prominences as peak_prominences,
    peak_widths as peak_widths,
)
from linad.scipy.planefilters import (
    convolve2d as convolve2d,
    correlate2d as correlate2d,
    medfilt2d as medfilt2d,
)
from linad.scipy.smoothing import savgol_coeffs as savgol_coeffs, savgol_filter as savgol_filter
from linad.scipy.spectra import (
    coherence as coherence,
    csd as csd,
    periodogram as periodogram,
    spectrogram as spectrogram,
    stft as stft,
    welch as welch,
)
from linad.scipy.systems import (
    bilinear as bilinear,
    dfreqresp as dfreqresp,
    freqresp as freqresp,
    freqz as freqz,
    lp2hp as lp2hp,
    normalize as normalize,
    residue as residue,
    residuez as residuez,
    tf2ss as tf2ss,
    tf2zpk as tf2zpk,
)
from linad.scipy.twinforms import twins_among
from linad.scipy.upsampling import upfirdn as upfirdn

TWINS = (
    # What comes in, and what is measured of it.
    *("ShortTimeFFT", "closest_STFT_dual_window", "czt", "decimate", "deconvolve", "envelope"),
    *("filtfilt", "hilbert", "resample", "sosfiltfilt"),
    *("hilbert2", "istft", "lombscargle", "medfilt", "order_filter", "resample_poly", "wiener"),
    *("sosfilt_zi", "vectorstrength", "zoom_fft"),
    *("cspline1d", "cspline1d_eval", "qspline1d", "qspline1d_eval", "gauss_spline"),
    *("argrelextrema", "gausspulse", "sawtooth", "square", "sweep_poly"),
    # Filters and their design.
    *("bessel", "butter", "cheby1", "cheby2", "ellip", "iirfilter", "iircomb", "iirnotch"),
    *("iirpeak", "buttord", "cheb1ord", "cheb2ord", "ellipord"),
    *("cheb1ap", "cheb2ap", "ellipap", "gammatone", "iirdesign", "CZT", "ZoomFFT"),
    *("bilinear_zpk", "lp2bp", "lp2bp_zpk", "lp2bs", "lp2bs_zpk"),
    *("lp2hp_zpk", "lp2lp", "lp2lp_zpk"),
    *(
        "findfreqs",
        "firls",
        "firwin",
        "firwin2",
        "firwin_2d",
        "kaiser_atten",
        "kaiser_beta",
        "kaiserord",
        "minimum_phase",
    ),
    *("freqs", "freqs_zpk", "freqz_sos", "freqz_zpk", "sosfreqz", "group_delay", "get_window"),
    *("invres", "invresz", "unique_roots"),
    *("sos2tf", "sos2zpk", "ss2tf", "ss2zpk", "tf2sos", "zpk2sos", "zpk2ss", "zpk2tf"),
    # Systems.
    *("StateSpace", "TransferFunction", "ZerosPolesGain", "dlti", "lti", "abcd_normalize"),
    *("bode", "cont2discrete", "dbode", "dimpulse", "dlsim", "dstep"),
    *("impulse", "lsim", "place_poles", "step"),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(
    scipy.signal, twins_among(scipy.signal, TWINS), package=__name__, rooms=("windows",)
)
