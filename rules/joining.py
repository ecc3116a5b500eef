"""Putting arrays together and taking them apart.

Y = [X_1 ... X_n]      dY = [dX_1 ... dX_n]      J_i pads with zeros, J_i^H cuts out part i

Everything else here is a concatenation or an index: stack adds an axis first, split reads
slices, insert concatenates and puts the entries in order.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from linad.arrays.written_values import as_written
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import normalize_axis, with_length
from linad.core.ufunc_keywords import refuse_out
from linad.operators.base import JacobianOperator
from linad.operators.placement import Pad
from linad.rules.indexing import along, take
from linad.rules.leastaxes import atleast_1d, atleast_2d, atleast_3d
from linad.rules.shaping import (
    as_array,
    astype,
    broadcast_to,
    concrete,
    copy_,
    form,
    laid_plainly,
    moveaxis,
    ravel,
    reshape_,
    transpose,
)

concatenate_ = Primitive(
    "concatenate", lambda *arrays, axis: np.concatenate(arrays, axis), captures_args=False
)


@concatenate_.jacobian(wrt="each")
def concatenate_wrt_array(i: int, y: Array, *arrays: Array, axis: int) -> JacobianOperator:
    before = [0] * y.ndim
    for k in range(i):
        before[axis] += arrays[k].shape[axis]
    return Pad(before, y.shape, arrays[i].shape, y.dtype)


@implements(np.concatenate)
def concatenate(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    if out is not None:
        refuse_out("concatenate", (out,))
    parts = [as_part(a) for a in arrays]
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    if parts and parts[0].ndim:
        axis = normalize_axis(axis, parts[0].ndim, "concatenate")
    return _join(_cast(parts, dtype, casting, "concatenate"), axis)


def as_part(a: Array) -> Any:
    """An array as it is joined with others: what is a Python int is one of integers."""
    a = as_array(a)
    return as_array(a.astype(int)) if isinstance(a, Traced) and a._whole else a


AT_ONCE = 32


def _join(parts: list[Any], axis: int) -> Any:
    """Concatenate; many arrays in groups, and then the groups.

    The rule of each argument is called with all of them: n arrays at once would cost n^2.
    Groups cost 32 n log_32(n).
    """
    if len(parts) > AT_ONCE:
        dtype = np.result_type(*[a.dtype for a in parts])
        parts = [astype(a, dtype, copy=False) for a in parts]
    while len(parts) > AT_ONCE:
        starts = range(0, len(parts), AT_ONCE)
        parts = [concatenate_(*parts[k : k + AT_ONCE], axis=axis) for k in starts]
    return concatenate_.on(tuple(parts), {"axis": axis})


def _cast(parts: list[Any], dtype: Any, casting: Any, name: str) -> list[Any]:
    """Each array in a dtype, not by way of the one that all have in common: int64 and uint64
    make float64, which has not all of their numbers."""
    if dtype is None:
        return parts
    for part in parts:
        if not np.can_cast(part.dtype, dtype, casting):
            raise TypeError(f"{name}: cannot cast {part.dtype} to {np.dtype(dtype)} by {casting!r}")
    return [astype(part, dtype, copy=False) for part in parts]


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    parts = [as_part(a) for a in arrays]
    if not parts:
        raise ValueError("stack: need at least one array to stack")
    if len({a.shape for a in parts}) > 1:
        shapes = ", ".join(str(a.shape) for a in parts[:4])
        raise ValueError(f"stack: all arrays must have the same shape, got {shapes}")
    axis = normalize_axis(axis, parts[0].ndim + 1, "stack")
    shape = parts[0].shape
    shape = (*shape[:axis], 1, *shape[axis:])
    parts = [reshape_.on((a,), {"shape": shape}) for a in parts]
    if out is not None:
        refuse_out("stack", (out,))
    return _join(_cast(parts, dtype, casting, "stack"), axis)


def _listed(result: Any) -> list[Any]:
    """What atleast_nd returned for any number of arrays, as a list."""
    return list(result) if isinstance(result, tuple) else [result]


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return concatenate(_listed(atleast_2d(*tup)), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = _listed(atleast_1d(*tup))
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return concatenate(_listed(atleast_3d(*tup)), 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    parts = [as_array(a) for a in tup]
    return concatenate([transpose(atleast_2d(a)) if a.ndim < 2 else a for a in parts], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    if depth == 0:
        return copy_(as_array(arrays), layout="C")
    ndim = max(depth, _highest(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    """How deep the lists are nested; the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError("block: expected nested lists, got a tuple")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: a list is empty")
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ValueError(f"block: list depths are mismatched, {sorted(depths)} side by side")
    return 1 + depths.pop()


def _highest(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max([_highest(a) for a in arrays])
    return np.ndim(form(arrays))


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        a = as_array(arrays)
        return reshape_(a, shape=(1,) * (ndim - a.ndim) + a.shape)
    return concatenate([_block(a, depth - 1, ndim) for a in arrays], ndim - depth)


# Taking apart.


@implements(np.array_split)
def array_split(ary: Array, indices_or_sections: Array, axis: int = 0) -> Any:
    ary = as_array(ary)
    axis = normalize_axis(axis, ary.ndim, "array_split")
    n = ary.shape[axis]
    if np.ndim(indices_or_sections):
        bounds = [0, *[int(k) for k in indices_or_sections], n]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError(f"array_split: sections must be larger than 0, got {sections}")
        each, extras = divmod(n, sections)
        bounds = np.cumsum([0, *[each + 1] * extras, *[each] * (sections - extras)]).tolist()
    return [along(ary, axis, slice(a, b)) for a, b in pairwise(bounds)]


@implements(np.split)
def split(ary: Array, indices_or_sections: Array, axis: int = 0) -> Any:
    ary = as_array(ary)
    if np.ndim(indices_or_sections) == 0:
        n = ary.shape[normalize_axis(axis, ary.ndim, "split")]
        if n % indices_or_sections:
            raise ValueError(
                f"split: {n} entries do not divide into {indices_or_sections} equal sections"
            )
    return array_split(ary, indices_or_sections, axis)


def _split_along(numpy_function: Callable[..., Any], ndim: int, axis: int) -> None:
    name = numpy_function.__name__

    def function(ary: Array, indices_or_sections: Any) -> Any:
        if ary.ndim < ndim:
            raise ValueError(f"{name}: expected an array of at least {ndim} axes, got {ary.ndim}")
        return split(ary, indices_or_sections, min(axis, ary.ndim - 1))

    function.__name__ = function.__qualname__ = name
    implements(numpy_function)(function)


_split_along(np.hsplit, 1, 1)
_split_along(np.vsplit, 2, 0)
_split_along(np.dsplit, 3, 2)


@implements(np.unstack)
def unstack(x: Array, /, *, axis: int = 0) -> Any:
    if x.ndim == 0:
        raise ValueError("unstack: expected an array of at least one axis")
    axis = normalize_axis(axis, x.ndim, "unstack")
    return tuple([along(x, axis, k) for k in range(x.shape[axis])])


# Putting in and leaving out.


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        return concatenate(
            tuple([a if a.ndim == 1 else ravel(a) for a in map(as_array, (arr, values))])
        )
    return concatenate((arr, values), axis)


def _flat_or_axis(arr: Array, axis: int | None, name: str) -> tuple[Any, int]:
    """The array and a non-negative axis; with axis=None, the flat array and 0."""
    arr = as_array(arr)
    return (ravel(arr), 0) if axis is None else (arr, normalize_axis(axis, arr.ndim, name))


@implements(np.delete)
def delete(arr: Array, obj: Any, axis: int | None = None) -> Any:
    arr, axis = _flat_or_axis(arr, axis, "delete")
    obj = concrete(obj)
    y = along(arr, axis, np.delete(np.arange(arr.shape[axis]), obj))
    # NumPy copies what is left around one place or a slice, and takes entries by a mask elsewhere.
    whole = isinstance(obj, slice) or (np.size(obj) == 1 and np.asarray(obj).dtype != bool)
    return laid_plainly(y, arr) if whole else y


@implements(np.insert)
def insert(arr: Array, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr, axis = _flat_or_axis(arr, axis, "insert")
    n, obj = arr.shape[axis], concrete(obj)
    if not isinstance(values, Traced):
        values = as_written(values, arr.dtype)
    if isinstance(values, Traced):
        values = astype(values, arr.dtype, copy=False)
    single = not isinstance(obj, slice) and np.size(obj) == 1 and np.asarray(obj).dtype != bool
    if single:
        values = reshape_(values, shape=(1,) * (arr.ndim - values.ndim) + values.shape)
        if np.ndim(obj) == 0:
            # a[:, 0, :] = values broadcasts from its first axis, not from the one it names.
            values = moveaxis(values, 0, axis)
        count = values.shape[axis]
        obj = np.full(count, np.asarray(obj).item())
    else:
        count = np.insert(np.arange(n), obj, 0).size - n
    # NumPy finds the places: what it inserts into 0 ... n-1 are the numbers that follow.
    order = np.insert(np.arange(n), obj, np.arange(n, n + count))
    values = broadcast_to(values, with_length(arr.shape, axis, count))
    return laid_plainly(take(concatenate((arr, values), axis), order, axis), arr)
