"""The region of a NumPy view: which entries of an array it shows.

The address and the strides of the view, counted in entries of the array, are a window or a grid
(`linad.core.regions`). Where they are neither, the entries are numbered, and the numbers are looked
at through the view.
"""

import numpy as np

from linad.core.memory_layouts import laid
from linad.core.regions import Grid, Part, Positions, Region, Window, long_strides
from linad.core.shapes import Shape, size_of
from linad.errors import UnsupportedError


def region_of(view: np.ndarray, base: np.ndarray) -> Region:
    """The entries of ``base`` that a NumPy view of it shows.

    Raises
    ------
    UnsupportedError
        If it reads them as another dtype, or lies across gaps in the memory of ``base``.
    """
    offset = _address(view) - _address(base)
    if view.dtype == base.dtype:
        return _region(offset, view.shape, view.strides, base)
    size = view.itemsize
    if base.dtype.kind == "c" and view.dtype == np.empty(0, base.dtype).real.dtype:
        imaginary = offset // size % 2 if view.size else 0
        inner = _region(offset - imaginary * size, view.shape, view.strides, base)
        return Part(inner, "imag" if imaginary else "real")
    raise UnsupportedError(
        f"a view of dtype {view.dtype} of a traced array of dtype {base.dtype} is not supported; "
        f"use astype, which copies"
    )


def _region(offset: int, shape: Shape, strides: Shape, base: np.ndarray) -> Region:
    if not size_of(shape):
        offset, strides = 0, (0,) * len(shape)
    if base.flags.c_contiguous:
        size = base.itemsize
        return Window(offset // size, shape, tuple([s // size for s in strides]), base.ndim)
    return _grid(offset, shape, strides, base) or _positions(offset, shape, strides, base)


def _grid(offset: int, shape: Shape, strides: Shape, base: np.ndarray) -> Grid | None:
    """The region as a grid, if each step along an axis moves every index by as much."""
    start = _decode(offset, base)
    if start is None:
        return None
    steps, low, high = [], list(start), list(start)
    for n, stride in zip(shape, strides, strict=True):
        end = _decode(offset + (n - 1) * stride, base) if n > 1 else start
        if end is None:
            return None
        moved = [b - a for a, b in zip(start, end, strict=True)]
        if any([m % (n - 1) for m in moved] if n > 1 else ()):
            return None
        for k, m in enumerate(moved):
            low[k] += min(m, 0)
            high[k] += max(m, 0)
        steps.append(tuple([m // (n - 1) if n > 1 else 0 for m in moved]))
    if min(low, default=0) < 0 or any([h >= n for h, n in zip(high, base.shape, strict=True)]):
        return None
    return Grid(start, tuple(steps), shape)


def _decode(offset: int, base: np.ndarray) -> Shape | None:
    """The index in ``base`` of what lies ``offset`` bytes after its first entry."""
    index = [0] * base.ndim
    axes = [k for k, n in enumerate(base.shape) if n > 1]
    for k in axes:  # count from the lowest address
        if base.strides[k] < 0:
            offset -= base.strides[k] * (base.shape[k] - 1)
    for k in sorted(axes, key=lambda k: -abs(base.strides[k])):
        if not base.strides[k]:
            return None
        index[k], offset = divmod(offset, abs(base.strides[k]))
        if base.strides[k] < 0:
            index[k] = base.shape[k] - 1 - index[k]
    inside = all([0 <= i < max(n, 1) for i, n in zip(index, base.shape, strict=True)])
    return tuple(index) if inside and offset == 0 else None


def _positions(offset: int, shape: Shape, strides: Shape, base: np.ndarray) -> Positions:
    """The region as a list: number the entries, and look at the numbers through the view."""
    size = base.itemsize
    if any([s % size for s in (offset, *base.strides, *strides)]):
        raise UnsupportedError(
            "a view of an array whose entries do not lie at multiples of their size is not "
            "supported here; copy it first"
        )
    numbers, memory, first = laid(base.shape, [s // size for s in base.strides], np.intp)
    memory[...] = -1
    numbers[...] = np.arange(base.size).reshape(base.shape)
    scale = numbers.itemsize
    scaled = tuple([s // size * scale for s in strides])
    flat = np.ndarray(shape, np.intp, memory, (first + offset // size) * scale, scaled)
    if flat.size and flat.min() < 0:
        raise UnsupportedError(
            "a view that shows gaps in the memory of a traced array is not supported; copy it first"
        )
    dense = first == 0 and memory.size == base.size
    where = (long_strides(base), offset if dense else None, strides) if flat.size else None
    return Positions(flat.copy(), base.ndim, where)


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def repeats(view: np.ndarray) -> bool:
    """Whether a view may show an entry twice, as a broadcast one and overlapping windows do."""
    reach = view.itemsize
    for stride, n in sorted([(abs(s), n) for s, n in zip(view.strides, view.shape, strict=True)]):
        if n > 1:
            if stride < reach:
                return view.size > 0
            reach += stride * (n - 1)
    return False
