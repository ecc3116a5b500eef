"""`numpy.lib.stride_tricks.as_strided` of a traced array: the entries that its strides lead to.

A traced array has no memory to be read beyond its entries: what lies between them, or behind, is
refused. The entries are copied, so the result is read-only unless it is all of the array.
"""

import functools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as _as_strided

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.errors import UnsupportedError


def _offsets(shape: Shape, strides: tuple[Any, ...]) -> Any:
    """Where each entry of an array begins, in bytes from the first one."""
    total: Any = np.zeros(shape, np.intp)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        total = total + (np.arange(n) * stride).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return total


@functools.wraps(_as_strided)
def as_strided(
    x: Array,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    **options: Any,
) -> Any:
    if not isinstance(x, Traced):
        return _as_strided(x, shape, strides, subok, writeable, **options)
    shape = x.shape if shape is None else tuple(np.atleast_1d(np.asarray(shape, np.intp)).tolist())
    strides = x.strides if strides is None else tuple([int(stride) for stride in strides])
    have = _offsets(x.shape, x.strides).ravel()
    order = np.argsort(have, kind="stable")
    want = _offsets(shape, strides)
    found = np.minimum(np.searchsorted(have, want, sorter=order), max(len(have) - 1, 0))
    places = order[found] if len(order) else found
    if want.size and not (len(have) and np.array_equal(have[places], want)):
        raise UnsupportedError(
            f"as_strided: shape {shape} and strides {strides} lead to memory that is not an "
            f"entry of the traced array (shape {x.shape}, strides {x.strides}); use "
            f"np.lib.stride_tricks.sliding_window_view, or an index"
        )
    if want.shape == x.shape and np.array_equal(want.ravel(), have):
        return x.view()
    return np.broadcast_to(x.ravel()[places], want.shape)  # read-only: no write reaches x
