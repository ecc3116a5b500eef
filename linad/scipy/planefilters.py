"""Filters of scipy.signal for images, which SciPy has compiled, traced.

convolve2d       the "valid" convolution of the image continued beyond its edges
medfilt2d        the median of each neighbourhood, with zeros outside
"""

from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.scipy.convolutions import MODES, convolve
from linad.scipy.mirror import bound_form, inexact
from linad.scipy.rankfilters import median_filter

_CONTINUED = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap"}
_CONTINUED |= {"symm": "symmetric", "symmetric": "symmetric"}


def _planes(name: str, in1: Array, in2: Array, mode: str, boundary: str) -> tuple[Any, Any]:
    in1, in2 = asarray(in1), asarray(in2)
    if in1.ndim != 2 or in2.ndim != 2:
        raise ShapeError(f"{name}: inputs must both be 2d arrays, got {in1.shape}, {in2.shape}")
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be 'valid', 'same' or 'full', got {mode!r}")
    if boundary not in _CONTINUED:
        raise ValueError(
            f"{name}: boundary must be 'fill', 'wrap', 'circular' or 'symm', got {boundary!r}"
        )
    return in1, in2


def _filtered(
    in1: Array, in2: Array, mode: str, boundary: str, fillvalue: Any, turned: int = 0
) -> Any:
    """Convolution, of planes of which the first is the larger one in mode "valid".

    The middle, in mode "same", is that of a kernel that was turned, where ``turned`` is 1.
    """
    if mode == "valid":
        return convolve(in1, in2, "valid", method="direct")
    reach = [(k - 1, k - 1) for k in in2.shape]
    how: Any = _CONTINUED[boundary]
    edges: Any = {"constant_values": fillvalue} if how == "constant" else {}
    y = convolve(np.pad(in1, reach, mode=how, **edges), in2, "valid", method="direct")
    if mode == "full":
        return y
    start = [(k - 1 + turned) // 2 for k in in2.shape]
    return y[tuple([slice(s, s + n) for s, n in zip(start, in1.shape, strict=True)])]


def _is_smaller(in1: Array, in2: Array, mode: str) -> bool:
    """Whether in mode "valid" the second plane is the larger one."""
    if mode != "valid" or all(n >= k for n, k in zip(in1.shape, in2.shape, strict=True)):
        return False
    if all(n <= k for n, k in zip(in1.shape, in2.shape, strict=True)):
        return True
    raise ValueError(
        f"for 'valid' mode, one must be at least as large as the other in every dimension, got "
        f"{in1.shape} and {in2.shape}"
    )


@bound_form(scipy.signal.convolve2d)
def convolve2d(in1: Array, in2: Array, mode: str, boundary: str, fillvalue: Any) -> Any:
    in1, in2 = _planes("convolve2d", in1, in2, mode, boundary)
    if _is_smaller(in1, in2, mode):
        in1, in2 = in2, in1
    return _filtered(in1, in2, mode, boundary, fillvalue)


@bound_form(scipy.signal.correlate2d)
def correlate2d(in1: Array, in2: Array, mode: str, boundary: str, fillvalue: Any) -> Any:
    in1, in2 = _planes("correlate2d", in1, in2, mode, boundary)
    if _is_smaller(in1, in2, mode):
        # What SciPy conjugates is the smaller plane here, too.
        return np.flip(_filtered(in2, np.conj(np.flip(in1)), mode, boundary, fillvalue))
    return _filtered(in1, np.conj(np.flip(in2)), mode, boundary, fillvalue, 1)


@bound_form(scipy.signal.medfilt2d)
def medfilt2d(input: Any, kernel_size: Any) -> Any:
    image = inexact(input)
    size = np.broadcast_to(np.asarray(kernel_size), 2)
    if np.any(size % 2 != 1):
        raise ValueError(f"medfilt2d: each element of kernel_size should be odd, got {kernel_size}")
    return median_filter(image, size=tuple(size.tolist()), mode="constant")
