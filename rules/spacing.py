"""Evenly spaced numbers between traced ends, and functions applied along axes.

linspace     y_k = a + k (b - a) / (n - 1)       rounded as in NumPy, so that its floor is the same
logspace     y_k = base^linspace(a, b)_k
geomspace    y_k = a (b / a)^(k / (n - 1))       the last entry is b itself

A function given to apply_along_axis runs on traced lanes, one after the other.
"""

from collections.abc import Callable
from operator import index as as_index
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.shapes import normalize_axis
from linad.rules.shaping import as_array, astype


def _dtype(*ends: Any) -> Any:
    """What numbers between the ends are of: a Python number takes the kind of the other end."""
    known = [v if type(v) in (int, float, complex) else as_array(v).dtype for v in ends]
    dtype = np.result_type(*known)
    return np.dtype(float) if dtype.kind in "biu" else dtype


def _counted(start: Array, stop: Array, num: Any, axis: int) -> tuple[Any, int]:
    """The numbers k, shaped to broadcast, and where their axis goes."""
    num = as_index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    real = np.finfo(_dtype(start, stop)).dtype
    ndim = max([as_array(end).ndim for end in (start, stop)])
    axis = normalize_axis(axis, ndim + 1, "linspace")
    return np.arange(num, dtype=real).reshape((num,) + (1,) * ndim), axis


def _ended(y: Array, stop: Array, endpoint: bool) -> Any:
    """The same with ``stop`` as its last entry, unless it is the first as well."""
    if not endpoint or y.shape[0] < 2:
        return y
    if stop.shape != y.shape[1:]:
        stop = np.broadcast_to(stop, y.shape[1:])
    return np.concatenate([y[:-1], stop[None]])


def _placed(y: Array, axis: int, dtype: np.dtype[Any] | None) -> Any:
    y = np.moveaxis(y, 0, axis) if axis else y
    return y if dtype is None else np.astype(y, dtype)


@implements(np.linspace)
def linspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: np.dtype[Any] | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    k, axis = _counted(start, stop, num, axis)
    ends = _dtype(start, stop)
    start, stop = (astype(as_array(v), ends, copy=False) for v in (start, stop))
    parts = as_index(num) - bool(endpoint)
    step = (stop - start) / parts if parts > 0 else np.full(np.shape(stop - start), np.nan)
    y = _ended(k * (step if parts > 0 else stop - start) + start, stop, endpoint)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        y = np.floor(y)
    y = _placed(y, axis, dtype)
    return (y, step) if retstep else y


@implements(np.logspace)
def logspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    base: Array = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    if np.ndim(base):
        ndim = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = (
            np.reshape(v, (1,) * (ndim - np.ndim(v)) + np.shape(v))
            for v in (as_array(start), as_array(stop), as_array(base))
        )
        base = np.expand_dims(base, axis)
    y = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else np.astype(y, dtype)


@implements(np.geomspace)
def geomspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    start, stop = as_array(start), as_array(stop)
    if (start == 0).any() or (stop == 0).any():
        raise ValueError("Geometric sequence cannot include zero")
    double = np.result_type(start.dtype, stop.dtype, np.float64)  # as NumPy computes it
    start, stop = [astype(end, double, copy=False) for end in (start, stop)]
    k, axis = _counted(start, stop, num, axis)
    t = k / max(as_index(num) - bool(endpoint), 1)
    y = _ended(start * np.power(stop / start, t), stop, endpoint)
    return _placed(y, axis, double if dtype is None else dtype)


# Functions along axes.


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Array, *args: Any, **kwargs: Any
) -> Any:
    arr = as_array(arr)
    axis = normalize_axis(axis, arr.ndim, "apply_along_axis")
    lanes = np.moveaxis(arr, axis, -1)
    lead = lanes.shape[:-1]
    positions = list(np.ndindex(lead))
    if not positions:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [as_array(func1d(lanes[k], *args, **kwargs)) for k in positions]
    shape = results[0].shape
    y = np.stack(results).reshape(lead + shape)
    # The axes of the results go where the axis was.
    source = tuple(range(len(lead), len(lead) + len(shape)))
    return np.moveaxis(y, source, tuple(range(axis, axis + len(shape))))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Array, axes: Any) -> Any:
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        axis = axis + a.ndim if axis < 0 else axis  # which ``func`` checks
        y = func(a, axis)
        if y.ndim != a.ndim:
            y = np.expand_dims(y, axis)
            if y.ndim != a.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        a = y
    return a
