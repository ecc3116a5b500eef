"""Discrete Fourier transforms.

y_k = c Σ_j x_j exp(-2πi jk/n)      linear: the Jacobian is the transform, its adjoint the
                                    transform in the other direction with the same factor c

The functions of numpy.fft come down to four primitives: crop or pad to the wanted length;
the complex transform over several axes; rfft; irfft. A real argument of a complex
transform becomes complex first. hfft and ihfft are irfft and rfft of the conjugate.

Source: J. Cooley, P. Lewis and P. Welch, "The finite Fourier transform", 1969.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, normalize_axes, normalize_axis, with_length
from linad.core.ufunc_keywords import refuse_out
from linad.operators.base import JacobianOperator
from linad.operators.dft import OPPOSITE, CropOrPad, Fourier, HermitianFourier, Norm, RealFourier
from linad.rules.floating import as_floats
from linad.rules.shaping import as_array, astype, laid_as

# Crop and pad.


def _fit(x: Array, *, shape: Shape) -> Any:
    return CropOrPad(shape, x.shape, x.dtype).pushforward(x)


fit_ = Primitive("fit", _fit)


@fit_.jacobian(wrt=0)
def fit_wrt_x(y: Array, x: Array, *, shape: Shape) -> JacobianOperator:
    return CropOrPad(shape, x.shape, y.dtype)


def _fitted(x: Array, n: int, axis: int) -> Any:
    """x with ``n`` entries along ``axis``, its axes in memory as they were."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if x.shape[axis] == n:
        return x
    return laid_as(fit_(x, shape=with_length(x.shape, axis, n)), x)


# The three transforms. Axes are counted from the end.


def _transform(x: Array, *, axes: tuple[int, ...], inverse: bool, norm: Norm) -> Any:
    if len(axes) == 1:
        return (np.fft.ifft if inverse else np.fft.fft)(x, axis=axes[0], norm=norm)
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes, norm=norm)


fourier_ = Primitive("fourier", _transform)
rfft_ = Primitive("rfft", lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm))
irfft_ = Primitive("irfft", lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis, norm))


@fourier_.jacobian(wrt=0)
def fourier_wrt_x(
    y: Array, x: Array, *, axes: tuple[int, ...], inverse: bool, norm: Norm
) -> JacobianOperator:
    return Fourier(axes, inverse, norm, y.shape, y.dtype)


@rfft_.jacobian(wrt=0)
def rfft_wrt_x(y: Array, x: Array, *, axis: int, norm: Norm) -> JacobianOperator:
    return RealFourier(axis, norm, y.shape, x.shape, y.dtype, x.dtype)


@irfft_.jacobian(wrt=0)
def irfft_wrt_x(y: Array, x: Array, *, n: int, axis: int, norm: Norm) -> JacobianOperator:
    return HermitianFourier(axis, norm, y.shape, x.shape, x.dtype, y.dtype)


# NumPy's functions.


def _norm(norm: Any) -> Norm:
    if norm is None:
        return "backward"
    if norm not in OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm


def _complex(x: Array) -> Any:
    if x.dtype.kind == "c":
        return x
    return astype(x, np.result_type(x.dtype, np.complex64))


def _complex_fft(name: str, inverse: bool) -> Any:
    """fft or ifft."""

    def transform(
        a: Array, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
    ) -> Any:
        if out is not None:
            refuse_out(name, (out,))
        axis = normalize_axis(axis, a.ndim, name)
        x = _complex(_fitted(a, a.shape[axis] if n is None else n, axis))
        return fourier_(x, axes=(axis - x.ndim,), inverse=inverse, norm=_norm(norm))

    transform.__name__ = transform.__qualname__ = name
    return transform


fft = implements(np.fft.fft)(_complex_fft("fft", False))
ifft = implements(np.fft.ifft)(_complex_fft("ifft", True))


@implements(np.fft.rfft)
def rfft(a: Array, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    if out is not None:
        refuse_out("rfft", (out,))
    axis = normalize_axis(axis, a.ndim, "rfft")
    x = _fitted(a, a.shape[axis] if n is None else n, axis)
    return rfft_(x, axis=axis - x.ndim, norm=_norm(norm))


@implements(np.fft.irfft)
def irfft(a: Array, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    if out is not None:
        refuse_out("irfft", (out,))
    axis = normalize_axis(axis, a.ndim, "irfft")
    if n is None:
        n = 2 * (a.shape[axis] - 1)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    x = _complex(_fitted(a, n // 2 + 1, axis))
    y = irfft_(x, n=n, axis=axis - x.ndim, norm=_norm(norm))
    return astype(y, a.dtype) if a.dtype == np.float16 else y  # what is not a complex number stays


@implements(np.fft.hfft)
def hfft(a: Array, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return irfft(np.conj(a), n, axis, OPPOSITE[_norm(norm)], out)


@implements(np.fft.ihfft)
def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return np.conj(rfft(a, n, axis, OPPOSITE[_norm(norm)], out))


# Over several axes.


def _lengths_and_axes(
    a: Array, s: Sequence[int] | None, axes: Sequence[int] | None, name: str, half: bool = False
) -> tuple[list[int], list[int]]:
    """NumPy's defaults; ``half``: the last axis holds n//2 + 1 coefficients."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    places = [normalize_axis(k, a.ndim, name) for k in axes]
    if s is None:
        lengths = [a.shape[k] for k in places]
        if half and lengths:
            lengths[-1] = 2 * (lengths[-1] - 1)
    else:
        lengths = list(s)
    if len(lengths) != len(places):
        raise ValueError(f"{name}: s and axes have different lengths, {s!r} and {axes!r}")
    pairs = zip(lengths, places, strict=True)
    return [a.shape[k] if n in (-1, None) else n for n, k in pairs], places


def _transform_axes(
    a: Array, lengths: Sequence[int], places: Sequence[int], norm: Any, inverse: bool
) -> Any:
    """The complex transform, over distinct axes in one go."""
    if not places:
        return a
    a = as_floats(a)
    if len(set(places)) < len(places):
        # An axis named twice is transformed twice, in NumPy's order.
        for n, k in reversed(list(zip(lengths, places, strict=True))):
            a = _transform_axes(a, [n], [k], norm, inverse)
        return a
    for n, k in zip(lengths, places, strict=True):
        a = _fitted(a, n, k)
    x = _complex(a)
    axes = tuple([k - x.ndim for k in normalize_axes(tuple(places), x.ndim, "fftn")])
    return fourier_(x, axes=axes, inverse=inverse, norm=_norm(norm))


def _complex_fftn(name: str, inverse: bool, default: tuple[Any, ...] | None) -> Any:
    """fftn, ifftn and their two-dimensional forms."""

    def transform(
        a: Array,
        s: tuple[Any, ...] | None = None,
        axes: Any = default,
        norm: Any = None,
        out: Any = None,
    ) -> Any:
        if out is not None:
            refuse_out(name, (out,))
        lengths, places = _lengths_and_axes(a, s, axes, name)
        return _transform_axes(a, lengths, places, norm, inverse)

    transform.__name__ = transform.__qualname__ = name
    return transform


fftn = implements(np.fft.fftn)(gives(array)(_complex_fftn("fftn", False, None)))
ifftn = implements(np.fft.ifftn)(gives(array)(_complex_fftn("ifftn", True, None)))
fft2 = implements(np.fft.fft2)(_complex_fftn("fft2", False, (-2, -1)))
ifft2 = implements(np.fft.ifft2)(_complex_fftn("ifft2", True, (-2, -1)))


@implements(np.fft.rfftn)
def rfftn(
    a: Array, s: Any = None, axes: tuple[Any, ...] | None = None, norm: Any = None, out: Any = None
) -> Any:
    if out is not None:
        refuse_out("rfftn", (out,))
    lengths, places = _lengths_and_axes(a, s, axes, "rfftn")
    y = rfft(a, lengths[-1], places[-1], norm)
    return _transform_axes(y, lengths[:-1], places[:-1], norm, inverse=False)


@implements(np.fft.irfftn)
def irfftn(
    a: Array, s: Any = None, axes: tuple[Any, ...] | None = None, norm: Any = None, out: Any = None
) -> Any:
    if out is not None:
        refuse_out("irfftn", (out,))
    lengths, places = _lengths_and_axes(a, s, axes, "irfftn", half=True)
    y = _transform_axes(a, lengths[:-1], places[:-1], norm, inverse=True)
    return irfft(y, lengths[-1], places[-1], norm)


@implements(np.fft.rfft2)
def rfft2(
    a: Array, s: Any = None, axes: tuple[Any, ...] = (-2, -1), norm: Any = None, out: Any = None
) -> Any:
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(
    a: Array, s: Any = None, axes: tuple[Any, ...] = (-2, -1), norm: Any = None, out: Any = None
) -> Any:
    return irfftn(a, s, axes, norm, out)


# Shifts.


def _shift_axes(x: Array, axes: Any, name: str) -> tuple[int, ...]:
    return normalize_axes(tuple(axes) if np.iterable(axes) else axes, x.ndim, name)


@implements(np.fft.fftshift)
def fftshift(x: Array, axes: Any = None) -> Any:
    places = _shift_axes(as_array(x), axes, "fftshift")
    return np.roll(x, tuple([x.shape[k] // 2 for k in places]), places)


@implements(np.fft.ifftshift)
def ifftshift(x: Array, axes: Any = None) -> Any:
    places = _shift_axes(as_array(x), axes, "ifftshift")
    return np.roll(x, tuple([-(x.shape[k] // 2) for k in places]), places)
