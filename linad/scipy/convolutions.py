"""Convolution and correlation of scipy.signal, traced. `linad.scipy.signal` has them all.

direct   Σ_j a_{k-j} v_j, entry by entry (`linad.rules.filters`)
fft      the inverse Fourier transform of the product of Fourier transforms, with zeros behind

Modes "same" and "valid" are parts of the full convolution; correlation is convolution with the
second argument conjugated and backwards.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axes
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.filters import convolve_
from linad.rules.shaping import astype, concrete, form
from linad.scipy.fft import fftn, ifftn, irfftn, rfftn
from linad.scipy.mirror import inexact, traced_form

MODES = ("full", "valid", "same")


def _check_mode(name: str, mode: Any) -> None:
    if mode not in MODES:
        raise ValueError(
            f"{name}: acceptable mode flags are 'valid', 'same' or 'full', got {mode!r}"
        )


def _operands(name: str, in1: Array, in2: Array) -> tuple[Any, Any]:
    in1, in2 = asarray(in1), asarray(in2)
    if in1.ndim != in2.ndim:
        raise ValueError(
            f"{name}: in1 and in2 should have the same number of axes, got {in1.shape} and "
            f"{in2.shape}"
        )
    return in1, in2


def _swapped(
    name: str, mode: str, s1: tuple[Any, ...], s2: tuple[Any, ...], axes: Sequence[int]
) -> bool:
    """Whether in mode "valid" the second operand is the larger one."""
    if mode != "valid" or not s1:
        return False
    if all(s1[k] >= s2[k] for k in axes):
        return False
    if all(s2[k] >= s1[k] for k in axes):
        return True
    raise ValueError(
        f"{name}: for 'valid' mode, one must be at least as large as the other in every "
        f"dimension, got {s1} and {s2}"
    )


def _centered(y: Array, shape: Sequence[int]) -> Any:
    """The middle of an array."""
    start = [(n - m) // 2 for n, m in zip(y.shape, shape, strict=True)]
    return y[tuple([slice(k, k + m) for k, m in zip(start, shape, strict=True)])]


def _direct(in1: Array, in2: Array, mode: str) -> Any:
    part = "valid" if mode == "valid" else "full"
    if not in1.size or not in2.size:
        raise ShapeError(f"convolve: empty operands, of shapes {in1.shape} and {in2.shape}")
    y = convolve_(in1, in2, mode=part, axes=in1.ndim)
    return _centered(y, in1.shape) if mode == "same" else y


@traced_form(scipy.signal.fftconvolve)
def fftconvolve(in1: Array, in2: Array, mode: str = "full", axes: Any = None) -> Any:
    in1, in2 = _operands("fftconvolve", in1, in2)
    if in1.ndim == 0:
        return in1 * in2
    if not in1.size or not in2.size:
        return np.zeros(0)
    _check_mode("fftconvolve", mode)
    chosen = normalize_axes(axes, in1.ndim, "fftconvolve")
    if not chosen:
        raise ValueError("fftconvolve: when provided, axes cannot be empty")
    chosen = tuple([k for k in chosen if in1.shape[k] != 1 and in2.shape[k] != 1])
    rest = [k for k in range(in1.ndim) if k not in chosen]
    if any(in1.shape[k] != in2.shape[k] and 1 not in (in1.shape[k], in2.shape[k]) for k in rest):
        raise ValueError(
            f"fftconvolve: incompatible shapes for in1 and in2: {in1.shape} and {in2.shape}"
        )
    if _swapped("fftconvolve", mode, in1.shape, in2.shape, chosen):
        in1, in2 = in2, in1
    shape = [max(p, q) for p, q in zip(in1.shape, in2.shape, strict=True)]
    for k in chosen:
        shape[k] = in1.shape[k] + in2.shape[k] - 1
    y = _product(inexact(in1), inexact(in2), chosen, shape)
    if mode == "full":
        return y
    if mode == "same":
        return _centered(y, in1.shape)
    for k in chosen:
        shape[k] = in1.shape[k] - in2.shape[k] + 1
    return _centered(y, shape)


def _product(in1: Array, in2: Array, axes: tuple[int, ...], shape: Sequence[int]) -> Any:
    """The full convolution along some axes, by the Fourier transform."""
    if not axes:
        return in1 * in2
    real = in1.dtype.kind != "c" and in2.dtype.kind != "c"
    lengths = [scipy.fft.next_fast_len(shape[k], real) for k in axes]
    forward, back = (rfftn, irfftn) if real else (fftn, ifftn)
    product = forward(in1, lengths, axes=axes) * forward(in2, lengths, axes=axes)
    return back(product, lengths, axes=axes)[tuple([slice(n) for n in shape])]


@traced_form(scipy.signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    return fftconvolve(in1, in2, mode, axes)  # the same sum, in one block


@traced_form(scipy.signal.convolve)
def convolve(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Any:
    in1, in2 = _operands("convolve", in1, in2)
    if in1.ndim == 0:
        return in1 * in2
    _check_mode("convolve", mode)
    if _swapped("convolve", mode, in1.shape, in2.shape, range(in1.ndim)):
        in1, in2 = in2, in1
    if method == "auto":
        # Sizes decide, and how large integers are.
        exact = in1.dtype.kind in "biu" and in2.dtype.kind in "biu"
        plain = concrete if exact else form
        method = scipy.signal.choose_conv_method(plain(in1), plain(in2), mode)
    if method == "direct":
        return _direct(in1, in2, mode)
    if method == "fft":
        return astype(fftconvolve(in1, in2, mode), np.result_type(in1.dtype, in2.dtype), copy=False)
    raise ValueError(
        f"convolve: acceptable method flags are 'auto', 'direct' or 'fft', got {method!r}"
    )


@traced_form(scipy.signal.correlate)
def correlate(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Any:
    in1, in2 = _operands("correlate", in1, in2)
    if in1.ndim == 0:
        return in1 * np.conj(in2)
    return convolve(in1, np.conj(np.flip(in2)), mode, method)
