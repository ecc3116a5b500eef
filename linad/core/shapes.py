"""Arithmetic on shapes and axes, and the few array helpers every floor needs."""

import functools
import math
from collections.abc import Sequence
from operator import index as as_index
from typing import Any

import numpy as np
from numpy import ndarray

from linad.core.array_type import Array
from linad.core.showing import shown
from linad.errors import ArgumentError, ShapeError

Shape = tuple[int, ...]

EVERY_AXIS = [tuple(range(ndim)) for ndim in range(65)]
"""By the number of axes, of which NumPy's arrays have 64 at most."""


def size_of(shape: Sequence[int]) -> int:
    """Number of entries of an array of this shape; 1 for ()."""
    return math.prod(shape)


def with_length(shape: Sequence[int], axis: int, n: int) -> Shape:
    """A shape with another length along a non-negative axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def normalize_axis(axis: Any, ndim: int, name: str) -> int:
    """Return ``axis`` as an int in ``range(ndim)``."""
    try:
        k = as_index(axis)
    except TypeError:
        raise ShapeError(f"{name}: axis must be an integer, got {axis!r}") from None
    if not -ndim <= k < ndim:
        raise np.exceptions.AxisError(k, ndim, name)
    return k % ndim


def normalize_axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Return ``axis`` (None, an int or a sequence) as a sorted tuple of distinct axes."""
    if axis is None:
        return EVERY_AXIS[ndim]
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(normalize_axis(k, ndim, name) for k in given))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: repeated axis in {axis!r}")
    return axes


@functools.lru_cache(4096)
def reduced(shape: Shape, axes: tuple[int, ...]) -> tuple[tuple[int, ...], Shape, Shape]:
    """``axes`` counted from the end, and the shape of a reduction over them with and without
    keepdims."""
    ndim = len(shape)
    return tuple([k - ndim for k in axes]), keep_axes(shape, axes), drop_axes(shape, axes)


def keep_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """``shape`` with each of ``axes`` set to 1: the result shape of keepdims=True."""
    if len(axes) == len(shape):
        return (1,) * len(shape)
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def drop_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """``shape`` without ``axes``."""
    if len(axes) == len(shape):
        return ()
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def matrix_transpose(a: Array) -> Any:
    """Swap the last two axes."""
    return np.swapaxes(a, -1, -2)


def memory_of(array: Array) -> int:
    """A number of the memory an array lives in: views of one array have the same."""
    holder: Any = array
    while True:
        kind = type(holder)
        if kind is ndarray:
            below = holder.base
        elif kind is memoryview:
            below = holder.obj
        elif hasattr(kind, "_view_of"):  # a traced one is asked without its taking note of it
            below = holder._view_of
        else:
            below = getattr(holder, "base", None)
        if below is None:
            return id(holder)
        holder = below


def sum_to_shape(x: Array, shape: Shape, full_ndim: int) -> Any:
    """Undo a broadcast of ``shape`` to an array of ``full_ndim`` axes: sum what it repeated.

    Parameters
    ----------
    x : array (*seeds, *full)
        What to sum; any number of leading seed axes.
    shape : tuple of int
        The shape before broadcasting.
    full_ndim : int
        Number of axes of ``full``.

    Returns
    -------
    array (*seeds, *shape)
        ``x`` itself when nothing had been repeated.
    """
    seeds = x.ndim - full_ndim
    added = full_ndim - len(shape)
    if added:
        x = np.sum(x, axis=tuple(range(seeds, seeds + added)))
    axes = tuple(seeds + k for k, n in enumerate(shape) if n == 1 and x.shape[seeds + k] != 1)
    return np.sum(x, axis=axes, keepdims=True) if axes else x


def is_real_float(dtype: np.dtype[Any]) -> bool:
    """Whether dtype is a real floating dtype."""
    return bool(dtype.kind == "f")


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether dtype is floating or complex: the dtypes that have derivatives."""
    return dtype.kind in "fc"


def name_of(f: Any) -> str:
    """What to call a function in a message."""
    while isinstance(f, functools.partial) or isinstance(
        getattr(f, "__wrapped__", None), functools.partial
    ):
        f = f.func if isinstance(f, functools.partial) else f.__wrapped__
    return getattr(f, "__name__", None) or type(f).__name__


FIRST = "the first argument"

NOT_CALLED = "; the function comes first, and is not called there: f, and not f(x)"


def check_function(name: str, f: Any, what: str = FIRST) -> None:
    """Raise if what ``linad.<name>`` was given in place of a function is not one."""
    if not callable(f):
        hint = NOT_CALLED if what == FIRST else ""
        raise ArgumentError(f"{name}: {what} must be a function, got {shown(f)}{hint}")


def align(x: Array, ndim: int, full_ndim: int) -> Any:
    """Insert axes after the seeds so that (*seeds, *shape) broadcasts to (*seeds, *full)."""
    if full_ndim == ndim or x.ndim == ndim:
        return x
    seeds = x.ndim - ndim
    return x.reshape(x.shape[:seeds] + (1,) * (full_ndim - ndim) + x.shape[seeds:])
