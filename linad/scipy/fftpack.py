"""scipy.fftpack, traced: the older names of `linad.scipy.fft`.

Transforms of cosines and sines, and Fourier transforms of complex numbers, are the same. Those of
real numbers come packed, y = (Re Y_0, Re Y_1, Im Y_1, Re Y_2, ...), with the Y of `scipy.fft.rfft`;
inverses of those of cosines and sines have no factor.
"""

from typing import Any

import numpy as np
import scipy.fftpack

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.shapes import normalize_axis
from linad.errors import DTypeError, ShapeError
from linad.scipy import fft as names
from linad.scipy.mirror import Function, bound_form, inexact

__getattr__, __dir__ = mirrored_names(scipy.fftpack)


def _check_lengths(name: str, x: Array, shape: Any, axes: Any) -> None:
    """Raise for lengths of some axes where nothing says of which."""
    if shape is not None and axes is None and np.size(shape) != np.ndim(x):
        raise ShapeError(
            f"{name}: shape must have one length for each of {np.ndim(x)} axes where axes is None, "
            f"got {shape!r}"
        )


def _along_one(name: str) -> Function:
    @bound_form(getattr(scipy.fftpack, name))
    def form(x: Any, n: Any, axis: int) -> Any:
        return getattr(names, name)(inexact(x), n, axis)

    return form


def _along_many(name: str) -> Function:
    @bound_form(getattr(scipy.fftpack, name))
    def form(x: Array, shape: Any, axes: Any) -> Any:
        _check_lengths(name, x, shape, axes)
        return getattr(names, name)(inexact(x), shape, axes)

    return form


_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _cosine(name: str) -> Function:
    """An inverse is the transform of the other type, without a factor."""
    forward, inverse = name.lstrip("i"), name.startswith("i")

    @bound_form(getattr(scipy.fftpack, name))
    def one_axis(x: Array, type: int, n: Any, axis: int, norm: Any) -> Any:
        return getattr(names, forward)(
            inexact(x), _INVERSE.get(type, type) if inverse else type, n, axis, norm
        )

    @bound_form(getattr(scipy.fftpack, name))
    def many_axes(x: Array, type: int, shape: Any, axes: Any, norm: Any) -> Any:
        _check_lengths(name, x, shape, axes)
        return getattr(names, forward)(
            inexact(x), _INVERSE.get(type, type) if inverse else type, shape, axes, norm
        )

    return many_axes if name.endswith("n") else one_axis


fft, ifft = _along_one("fft"), _along_one("ifft")
fft2, ifft2 = _along_many("fft2"), _along_many("ifft2")
fftn, ifftn = _along_many("fftn"), _along_many("ifftn")
dct, idct, dst, idst = map(_cosine, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_cosine, ("dctn", "idctn", "dstn", "idstn"))
fftshift, ifftshift = names.fftshift, names.ifftshift


def _check_real(name: str, x: Array) -> Any:
    x = inexact(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{name}: x must be real, got {x.dtype}")
    return x


@bound_form(scipy.fftpack.rfft)
def rfft(x: Array, n: Any, axis: int) -> Any:
    x = _check_real("rfft", x)
    axis = normalize_axis(axis, x.ndim, "rfft")
    n = x.shape[axis] if n is None else n
    y = np.moveaxis(names.rfft(x, n, axis), axis, -1)
    pairs = np.stack([np.real(y), np.imag(y)], axis=-1).reshape((*y.shape[:-1], 2 * y.shape[-1]))
    packed = np.concatenate([pairs[..., :1], pairs[..., 2 : n + 1]], axis=-1)
    return np.moveaxis(packed, -1, axis)


@bound_form(scipy.fftpack.irfft)
def irfft(x: Array, n: Any, axis: int) -> Any:
    x = _check_real("irfft", x)
    axis = normalize_axis(axis, x.ndim, "irfft")
    n = x.shape[axis] if n is None else n
    packed = np.moveaxis(x, axis, -1)[..., :n]
    short = np.zeros((*packed.shape[:-1], n - packed.shape[-1]), packed.dtype)
    packed = np.concatenate([packed, short], axis=-1) if short.shape[-1] else packed
    real = np.concatenate([packed[..., :1], packed[..., 1::2]], axis=-1)
    imag = packed[..., 2::2]
    zeros = np.zeros((*packed.shape[:-1], 1), packed.dtype)
    ends = [zeros] * (real.shape[-1] - imag.shape[-1] - 1)
    y = real + 1j * np.concatenate([zeros, imag, *ends], axis=-1)
    return np.moveaxis(names.irfft(y, n, -1), -1, axis)
