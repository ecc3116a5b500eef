"""Repeating, shifting and turning arrays, and reading them in windows.

roll, flip, rot90     permutations of the entries       J^H = J^-1
tile, repeat          entries read several times         J^H sums the copies
spread                broadcast to memory of its own     J^H sums the copies
windows               Y[.., i, .., k] = X[.., i + k]     J^H adds the windows up where they overlap

The windows and their overlapping sum are each other's adjoint, so both are primitives.
"""

import sys
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from linad.arrays.zero_dim import as_its_method
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.former_names import class_from
from linad.core.frames import frames_above
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, normalize_axes, normalize_axis, size_of
from linad.errors import UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.placement import Roll
from linad.operators.relation_shapes import moved
from linad.operators.relations import Gather
from linad.operators.reordering import Broadcast
from linad.rules.indexing import getitem, take
from linad.rules.shaping import (
    as_array,
    as_shape,
    ravel,
    reshape_,
    transpose,
)

roll_ = Primitive("roll", lambda x, *, shifts, axes: np.roll(x, shifts, axes))


@roll_.jacobian(wrt=0)
def roll_wrt_x(
    y: Array, x: Array, *, shifts: tuple[Any, ...], axes: tuple[Any, ...]
) -> JacobianOperator:
    return Roll(shifts, axes, y.shape, y.dtype)


@implements(np.roll)
def roll(a: Array, shift: Any, axis: Any = None) -> Any:
    a = as_array(a)
    if axis is None:
        moved = {"shifts": (sum(as_shape(shift)),), "axes": (0,)}
        if a.ndim == 1:
            return roll_.on((a,), moved)
        return reshape_(roll_(ravel(a), **moved), shape=a.shape)
    if type(shift) is int and type(axis) is int:
        place = normalize_axis(axis, a.ndim, "roll")
        return roll_.on((a,), {"shifts": (shift,), "axes": (place,)})
    shifts, axes = np.broadcast_arrays(as_shape(shift), as_shape(axis))
    places = tuple([normalize_axis(k, a.ndim, "roll") for k in axes.tolist()])
    return roll_(a, shifts=tuple(shifts.tolist()), axes=places)


@implements(np.flip)
def flip(m: Array, axis: Any = None) -> Any:
    m = as_array(m)
    axes = normalize_axes(None if axis is None else as_shape(axis), m.ndim, "flip")
    return getitem(m, tuple([slice(None, None, -1 if k in axes else 1) for k in range(m.ndim)]))


@implements(np.flipud)
def flipud(m: Array) -> Any:
    if m.ndim < 1:
        raise ValueError("flipud: expected an array of at least one axis")
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Array) -> Any:
    if m.ndim < 2:
        raise ValueError(f"fliplr: expected an array of at least two axes, got shape {m.shape}")
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Array, k: int = 1, axes: tuple[Any, ...] = (0, 1)) -> Any:
    m = as_array(m)
    if len(axes) != 2:
        raise ValueError(f"rot90: expected two axes, got {axes!r}")
    i, j = (normalize_axis(axis, m.ndim, "rot90") for axis in axes)
    if i == j:
        raise ValueError(f"rot90: the axes must be different, got {axes!r}")
    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return flip(m, (i, j))
    order = list(range(m.ndim))
    order[i], order[j] = j, i
    if k == 1:
        return transpose(flip(m, j), order)
    return flip(transpose(m, order), j)


# Repeating.

spread = Primitive("spread", lambda x, *, shape: np.array(np.broadcast_to(x, shape), order="C"))


@spread.jacobian(wrt=0)
def spread_wrt_x(y: Array, x: Array, *, shape: Shape) -> JacobianOperator:
    return Broadcast(y.shape, x.shape, y.dtype)


@implements(np.repeat)
def repeat(a: Array, repeats: Any, axis: int | None = None) -> Any:
    a = as_array(a)
    if axis is None or not a.ndim:
        a, axis = a if a.ndim == 1 else ravel(a), axis or 0
    axis = normalize_axis(axis, a.ndim, "repeat")
    n = a.shape[axis]
    if type(repeats) is not int and np.size(repeats) != 1:
        return take(a, np.repeat(np.arange(n), repeats), axis)
    count = repeats if type(repeats) is int else int(np.asarray(repeats).item())
    if count < 0:
        raise ValueError("repeat: repeats may not be negative")
    before, after = a.shape[: axis + 1], a.shape[axis + 1 :]
    copies = spread(reshape_(a, shape=(*before, 1, *after)), shape=(*before, count, *after))
    return reshape_(copies, shape=(*a.shape[:axis], n * count, *after))


@implements(np.tile)
def tile(A: Array, reps: Any) -> Any:
    A = as_array(A)
    counts = as_shape(reps)
    ndim = max(A.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - A.ndim) + A.shape
    pairs = [m for n in shape for m in (1, n)]
    copied = [m for count, n in zip(counts, shape, strict=True) for m in (count, n)]
    copies = spread(reshape_(A, shape=tuple(pairs)), shape=tuple(copied))
    return reshape_(copies, shape=tuple([k * n for k, n in zip(counts, shape, strict=True)]))


@implements(np.resize)
def resize(a: Array, new_shape: Any) -> Any:
    shape = as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"resize: all lengths must be non-negative, got {new_shape!r}")
    flat = ravel(as_array(a))
    if flat.size == 0 or size_of(shape) == 0:
        return np.zeros_like(flat, shape=shape)
    return reshape_(take(flat, np.arange(size_of(shape)) % flat.size), shape=shape)


@implements(np.trim_zeros)
@as_its_method
def trim_zeros(filt: Array, trim: str = "fb", axis: Any = None) -> Any:
    if _is_of_polynomial(sys._getframe(1)):
        return filt
    where = trim.lower()
    if where not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros: trim must be made of 'f' and 'b', got {trim!r}")
    axes = normalize_axes(axis, filt.ndim, "trim_zeros")
    found = np.asarray(np.argwhere(filt))
    index = [slice(None)] * filt.ndim
    for k in axes:
        if not len(found):
            index[k] = slice(0, 0)
            continue
        first, last = int(found[:, k].min()), int(found[:, k].max())
        index[k] = slice(first if "f" in where else None, last + 1 if "b" in where else None)
    return getitem(filt, (..., *index))


_KEEPS_COEFFICIENTS = np.poly1d.__init__.__code__


def _is_of_polynomial(frame: Any) -> bool:
    """Whether `numpy.poly1d` asks, whose coefficients in front move with what is traced."""
    return any(above.f_code is _KEEPS_COEFFICIENTS for above in islice(frames_above(frame), 6))


# Windows.


def _overlap_add(windows: Any, *, window: Shape, axes: tuple[int, ...], shape: Shape) -> Any:
    return add_windows(windows, np.zeros(shape, windows.dtype), window, axes)


def add_windows(windows: Any, total: Any, window: Shape, axes: tuple[int, ...]) -> Any:
    """Add windows to a total where they lie in it, an entry of them at a time."""
    counts = windows.shape[: total.ndim]
    for offsets in product(*[range(n) for n in window]):
        starts = [0] * total.ndim
        for axis, offset in zip(axes, offsets, strict=True):
            starts[axis] += offset
        place = tuple([slice(i, i + n) for i, n in zip(starts, counts, strict=True)])
        total[place] += windows[(..., *offsets)]
    return total


windows_ = Primitive(
    "windows", lambda x, *, window, axes: sliding_window_view(x, window, axes), view=True
)
overlap_add = Primitive("overlap_add", _overlap_add)


class SlidingWindows(JacobianOperator):
    """y = sliding windows over x; the adjoint adds them up where they overlap.

    Parameters
    ----------
    window : tuple of int
        Lengths of the window, y's last axes.
    axes : tuple of int
        The axes of x they slide along, counted from the end; one may come twice.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The pushforward is a view. The pullback costs one addition an entry of y, in as many
    steps as the window has entries.
    """

    copies = True
    unknown = UNSTRUCTURED

    def __init__(
        self,
        window: Shape,
        axes: tuple[int, ...],
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.window, self.axes = window, axes
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return windows_(tangent, window=self.window, axes=self.axes)

    def pullback(self, cotangent: Array) -> Array:
        shape = cotangent.shape[: cotangent.ndim - len(self.out_shape)] + self.in_shape
        return overlap_add(cotangent, window=self.window, axes=self.axes, shape=shape)

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self.window, self.axes


@windows_.jacobian(wrt=0)
def windows_wrt_x(
    y: Array, x: Array, *, window: tuple[Any, ...], axes: tuple[Any, ...]
) -> JacobianOperator:
    return SlidingWindows(window, axes, y.shape, x.shape, y.dtype)


@overlap_add.jacobian(wrt=0)
def overlap_add_wrt_windows(
    y: Array, windows: Array, *, window: tuple[Any, ...], axes: tuple[Any, ...], shape: Shape
) -> JacobianOperator:
    return SlidingWindows(window, axes, windows.shape, shape, y.dtype).H


@implements(sliding_window_view)
def sliding_windows(
    x: Array, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable:
        raise UnsupportedError("sliding_window_view: writeable=True is not supported")
    window = as_shape(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else as_shape(axis)
    if len(window) != len(axes):
        raise ValueError(
            f"sliding_window_view: window_shape {window} must have one length for each of the "
            f"axes {axes}"
        )
    # Counted from the end, so that leading seed axes do not move them.
    places = tuple([normalize_axis(k, x.ndim, "sliding_window_view") - x.ndim for k in axes])
    return windows_(x, window=window, axes=places)


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)
