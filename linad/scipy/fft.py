"""scipy.fft, traced, and a backend with which scipy.fft itself traces.

>>> import scipy.fft
>>> from linad.scipy.fft import backend
>>> with scipy.fft.set_backend(backend):
...     y = scipy.fft.fft([1.0, 2.0])

Fourier transforms are those of `linad.rules.fourier`; ``workers``, ``plan`` and
``overwrite_x`` change no value and are ignored. dct and dst along axis, types 1 to 4:

norm "backward" scales the inverse by 1/M, "forward" the transform, "ortho" both by 1/sqrt(M),
M = 2N, for the types 1 2(N - 1) (dct) and 2(N + 1) (dst). With orthogonalize (the default of
"ortho") the ends are weighted so that the matrix is orthogonal.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from linad.core.array_type import Array
from linad.core.dispatch import FUNCTIONS
from linad.core.mirrored_names import mirrored_names
from linad.core.shapes import normalize_axes, normalize_axis, with_length
from linad.errors import UnsupportedError
from linad.rules.cosines import cosines_
from linad.rules.creation import asarray
from linad.rules.fourier import fit_
from linad.scipy import fftlog
from linad.scipy.mirror import Function, called_as, holds_traced, inexact, traced_form

TRACED: dict[str, Function] = {}


__getattr__, __dir__ = mirrored_names(scipy.fft)


def _register(name: str, form: Function) -> Function:
    original = getattr(scipy.fft, name)
    TRACED[name] = called_as(original, form)
    return traced_form(original)(TRACED[name])


def _lengths_and_axes(s: Any, axes: Any) -> tuple[Any, Any]:
    """Both as tuples; lengths without axes are those of the last ones."""
    s = (s,) if isinstance(s, int) else s
    axes = (axes,) if isinstance(axes, int) else axes
    return s, tuple(range(-len(s), 0)) if s is not None and axes is None else axes


def _fourier(name: str) -> Function:
    numpy_function = getattr(np.fft, name)

    def one_axis(x: Array, n: int | None, axis: int, norm: Any) -> Any:
        return FUNCTIONS[numpy_function](x, n, axis, norm)

    def many_axes(x: Any, s: Any, axes: Any, norm: Any) -> Any:
        s, axes = _lengths_and_axes(s, axes)
        return FUNCTIONS[numpy_function](x, s, axes, norm)

    return _register(name, many_axes if name[-1] in "2n" else one_axis)


fft = _fourier("fft")
ifft = _fourier("ifft")
rfft = _fourier("rfft")
irfft = _fourier("irfft")
hfft = _fourier("hfft")
ihfft = _fourier("ihfft")
fft2 = _fourier("fft2")
ifft2 = _fourier("ifft2")
rfft2 = _fourier("rfft2")
irfft2 = _fourier("irfft2")
fftn = _fourier("fftn")
ifftn = _fourier("ifftn")
rfftn = _fourier("rfftn")
irfftn = _fourier("irfftn")


_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward"}
"""Which norm the inverse transform has."""


def _hermitian(name: str) -> Function:
    """Along several axes: hfftn x = irfftn x*, ihfftn x = (rfftn x)*, but for the norm."""
    real = FUNCTIONS[np.fft.rfftn if name.startswith("i") else np.fft.irfftn]

    def many_axes(x: Array, s: Any, axes: Any, norm: Any) -> Any:
        s, axes = _lengths_and_axes(s, axes)
        norm = _OPPOSITE.get(norm, norm)
        if name.startswith("i"):
            return np.conj(real(x, s, axes, norm))
        return real(np.conj(x), s, axes, norm)

    return _register(name, many_axes)


hfft2 = _hermitian("hfft2")
ihfft2 = _hermitian("ihfft2")
hfftn = _hermitian("hfftn")
ihfftn = _hermitian("ihfftn")


@traced_form(scipy.fft.fftshift)
def fftshift(x: Array, axes: Any = None) -> Any:
    return np.fft.fftshift(asarray(x), axes)


@traced_form(scipy.fft.ifftshift)
def ifftshift(x: Array, axes: Any = None) -> Any:
    return np.fft.ifftshift(asarray(x), axes)


# Cosines and sines.


def _ends(x: Array, axis: int, first: float, last: float) -> Any:
    """``x`` with its first and last entries along an axis scaled."""
    n = x.shape[axis]
    weights = np.ones(n, np.dtype(x.dtype.char.lower()))
    weights[0] *= first
    weights[-1] *= last
    return x * weights.reshape((n,) + (1,) * (x.ndim - axis - 1))


ROOT = math.sqrt(2)
# (kind, type): weights of the ends of what comes in, and of what goes out.
ORTHOGONAL = {
    ("dct", 1): ((ROOT, ROOT), (1 / ROOT, 1 / ROOT)),
    ("dct", 2): ((1.0, 1.0), (1 / ROOT, 1.0)),
    ("dct", 3): ((ROOT, 1.0), (1.0, 1.0)),
    ("dst", 2): ((1.0, 1.0), (1.0, 1 / ROOT)),
    ("dst", 3): ((1.0, ROOT), (1.0, 1.0)),
}


def _along(
    x: Any, kind: str, type: int, axis: int, norm: Any, orthogonalize: Any, inverse: bool
) -> Any:
    """A transform along one axis of x."""
    if type not in (1, 2, 3, 4):
        raise ValueError(f"{kind}: type must be 1, 2, 3 or 4, got {type!r}")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"{kind}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    if inverse:
        type = {1: 1, 2: 3, 3: 2, 4: 4}[type]
    n = x.shape[axis]
    m = 2 * (n - 1 if kind == "dct" else n + 1) if type == 1 else 2 * n
    scale = 1.0
    if norm == "ortho":
        scale = 1 / math.sqrt(m)
    elif (norm == "forward") != inverse:
        scale = 1 / m
    if orthogonalize is None:
        orthogonalize = norm == "ortho"
    ends = ORTHOGONAL.get((kind, type)) if orthogonalize else None
    if ends:
        x = _ends(x, axis, *ends[0])
    y = cosines_(x, kind=kind, type=type, axis=axis - x.ndim)
    if ends:
        y = _ends(y, axis, *ends[1])
    return y * scale if scale != 1 else y


def _resized(x: Array, axis: int, n: int | None) -> Any:
    if n is None or n == x.shape[axis]:
        return x
    return fit_(x, shape=with_length(x.shape, axis, n))


def _cosine(name: str) -> Function:
    inverse, kind = name[0] == "i", name.lstrip("i").rstrip("n")

    def one_axis(
        x: Array, type: int, n: int | None, axis: int, norm: Any, orthogonalize: Any
    ) -> Any:
        x = inexact(x)
        axis = normalize_axis(axis, x.ndim, name)
        return _along(_resized(x, axis, n), kind, type, axis, norm, orthogonalize, inverse)

    def many_axes(x: Array, type: int, s: Any, axes: Any, norm: Any, orthogonalize: Any) -> Any:
        x = inexact(x)
        if axes is None and s is not None:
            axes = tuple(range(-len(s), 0))
        if s is not None and not isinstance(axes, int):
            # In the order given, since lengths belong to axes.
            order = [normalize_axis(k, x.ndim, name) for k in axes]
        else:
            order = list(normalize_axes(axes, x.ndim, name))
            s = [s] if isinstance(s, int) else s
        for k, axis in enumerate(order):
            x = _resized(x, axis, None if s is None else s[k])
            x = _along(x, kind, type, axis, norm, orthogonalize, inverse)
        return x

    return _register(name, many_axes if name.endswith("n") else one_axis)


dct = _cosine("dct")
idct = _cosine("idct")
dst = _cosine("dst")
idst = _cosine("idst")
dctn = _cosine("dctn")
idctn = _cosine("idctn")
dstn = _cosine("dstn")
idstn = _cosine("idstn")


fht = _register("fht", fftlog.fht)
ifht = _register("ifht", fftlog.ifht)


class Backend:
    """A uarray backend: ``scipy.fft.set_backend(linad.scipy.fft.backend)`` makes scipy.fft trace.

    Calls without traced arguments go on to SciPy.
    """

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if not holds_traced((args, kwargs)):
            return NotImplemented
        function = TRACED.get(method.__name__)
        if function is None:
            raise UnsupportedError(f"scipy.fft.{method.__name__} is not traced by linad")
        return function(*args, **kwargs)


backend = Backend()
