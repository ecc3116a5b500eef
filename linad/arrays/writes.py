"""Writes into traced arrays: ``x[index] = value``, and what in-place operations come to.

What a write is to storage and views is in `linad.arrays.buffers`.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import (
    RepeatedView,
    View,
    concrete,
    counted,
    own_storage,
    refresh,
    root_of,
    with_parent,
)
from linad.arrays.lending import check_not_lent
from linad.arrays.moving import moves, moving_region, names_a_part
from linad.arrays.written_values import as_written, axes_of_nested, fitting, number_within
from linad.core.array_type import Array
from linad.core.frames import called_function, place
from linad.core.moving_regions import Moving, in_a_body
from linad.core.options import is_integer
from linad.core.primitive import Traced, lifted
from linad.core.regions import Region, Window
from linad.core.shapes import Shape
from linad.core.traced_positions import has_positions, is_position, last_written
from linad.core.view_regions import region_of, repeats
from linad.errors import TracerError, UnsupportedError

# Writing.


def write(x: Array, index: Any, value: Array) -> None:
    """``x[index] = value`` for a traced ``x``, as NumPy does it.

    Parameters
    ----------
    x : Tracer
    index : object
        Anything NumPy takes as an index; with an entry named twice the last write stays.
    value : array_like
        Broadcasts to the entries.

    Raises
    ------
    ShapeError
        If it does not broadcast.
    TracerError
        If it belongs to a derivative inside the one that made ``x``.

    Notes
    -----
    Costs what the same write costs in NumPy, and an equation of the trace. The first write
    into an array copies it.
    """
    if type(concrete(x)) is not ndarray:
        name = type(concrete(x)).__name__
        raise TypeError(f"{name!r} object does not support item assignment")
    root = root_of(x)
    own_storage(root)
    found = _target(x, root, index, value)
    if found is None:
        return
    region, shape, last = found
    dtype = region.dtype_in(root.dtype)
    if dtype.kind in "iu" and _is_basic(index):
        value = number_within(value, dtype)
    if not isinstance(value, Traced) and isinstance(value, (list, tuple)):
        axes = axes_of_nested(value)
        if axes > len(shape) and _is_basic(index):
            as_number = not shape and not _has_ellipsis(_entries(index))
            kind = TypeError if dtype.kind in "iuc" and as_number else ValueError
            raise kind(
                f"setting an array element with a sequence: a list of {axes} axes into entries "
                f"of shape {shape}"
            )
        value = as_written(value, dtype)
    if getattr(value, "ndim", 0):
        _check_sequence(x, index, value.ndim)
    value = fitting(value, shape, dtype)
    if last is not None and value.shape:
        value = value.reshape(-1)[last]
    write_into(root, region, value)


def _write_at_positions(x: Array, index: Any, value: Any) -> None:
    """``x[index] = value`` with arrays of integers in the index that are traced: all of ``x`` is
    written, with what is there or the last of the values that go there."""
    _check_writable(x, concrete(x))
    entries = index if type(index) is tuple else (index,)
    position = next(e for e in entries if is_position(e))
    numbers = lifted(np.arange(x.size).reshape(x.shape), position)[index]
    if not isinstance(value, Traced) and isinstance(value, (list, tuple)):
        value = as_written(value, x.dtype)
    value = fitting(value, numbers.shape, x.dtype)
    if not numbers.size:
        return
    last = last_written(numbers.reshape(-1), size=x.size)
    if value.shape:
        value = lifted(value, last).reshape(-1)[np.maximum(last, 0)]
    x[...] = np.where(last >= 0, value, x.reshape(-1)).reshape(x.shape)


REFUSES_SEQUENCES = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
"""Whether NumPy takes an array of one entry for no number any more."""


def _check_sequence(x: Array, index: Any, ndim: int) -> None:
    """Raise where NumPy wants a number, or one entry per place, and gets ``ndim`` axes."""
    entries = _entries(index)
    takes_arrays = x.dtype.kind == "b" or not REFUSES_SEQUENCES
    if len(entries) == x.ndim and not takes_arrays and all(map(_is_integer, entries)):
        kind = TypeError if x.dtype.kind == "c" else ValueError
        raise kind("setting an array element with a sequence.")
    mask = entries[0] if len(entries) == 1 and ndim > 1 else None
    if mask is not None and getattr(mask, "dtype", None) == "bool" and mask.ndim == x.ndim:
        raise TypeError(
            f"NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
            f"has {ndim} dimensions"
        )


def _is_integer(entry: Any) -> bool:
    """Whether an entry of an index is one integer, an array without axes or traced included."""
    if type(entry) is slice:
        return False
    dtype = getattr(entry, "dtype", None)
    return is_integer(entry) or (dtype is not None and dtype.kind in "iu" and not entry.shape)


def _target(x: Array, root: Array, index: Any, value: Array) -> tuple[Region, Shape, Any] | None:
    """The region of the root that ``x[index]`` names, the shape a value must have there, and
    which of the values stay where an entry is named twice (None: all).

    None if nothing is left to write: the value is a view of these very entries, which is what is
    left of ``x[index] += v``; or it went to positions that are traced.
    """
    array = concrete(x)
    base = array if x is root else concrete(root)
    if in_a_body.get() and moves(index):
        if not base.flags.c_contiguous:
            raise UnsupportedError(
                "writing at an index that moves with a loop, into an array that does not lie in "
                "memory in C order, is not supported; write into x.copy()"
            )
        moving, target = moving_region(index, array, base)
        _check_writable(x, target)
        return with_parent(x, moving), moving.shape, None
    if type(index) is int and x is root and array.ndim == 1 and base.flags.c_contiguous:
        n = len(array)
        if -n <= index < n:  # as `counted` does, at a third of the cost
            return Window(index % n, (), (), 1), (), None
    part = counted(x, base, _entries(index))
    if part is not None:
        if _shows_root(value, root):
            if _is_part(value, part):
                return None
            if part.shape and len(part.shape) < array.ndim:
                _check_no_swap(x, value, root)
        return part, part.shape, None
    if has_positions(index):
        if not names_a_part(index):
            _write_at_positions(x, index, value)
            return None
        if base.flags.c_contiguous:
            moving, target = moving_region(index, array, base)
            _check_writable(x, target)
            return with_parent(x, moving), moving.shape, None
    index = _plain_index(index)
    if _is_basic(index):
        full = _entries(index)
        target = array[full if _has_ellipsis(full) else (*full, ...)]
        _check_writable(x, target)
        if _is_view_of(value, root, target):
            return None
        if target.ndim and target.ndim < array.ndim and isinstance(value, Traced):
            _check_no_swap(x, value, root)
        region = with_parent(x, region_of(target, base))
        return region, region.shape, None
    _check_writable(x, array)
    region = region_of(array, base)
    flat = region.numbers_at(index, base.shape)
    unique, first = np.unique(flat.reshape(-1)[::-1], return_index=True)
    if unique.size == flat.size:
        return with_parent(x, region.among(flat)), flat.shape, None
    # Of several writes to one entry the last stays.
    return with_parent(x, region.among(unique)), flat.shape, flat.size - 1 - first


def _entries(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _has_ellipsis(index: tuple[Any, ...]) -> bool:
    return any([entry is Ellipsis for entry in index])


def _shows_root(value: Array, root: Array) -> bool:
    """Whether a value is a view of an array."""
    return (
        isinstance(value, Traced)
        and type(value._buffer) is View  # type: ignore[attr-defined]
        and value._buffer.root is root  # type: ignore[attr-defined]
    )


def _is_part(value: Any, part: Window) -> bool:
    """Whether a view of the array shows these entries of it, in this order."""
    shown = value._buffer.where()
    return type(shown) is Window and shown.same(part)


def _is_view_of(value: Any, root: Any, target: np.ndarray) -> bool:
    """Whether a value is a view of the very entries it is to be written to."""
    if not _shows_root(value, root) or type(value._buffer.where()) is Moving:
        return False
    refresh(value)
    array = concrete(value)
    return (  # the real parts of complex entries lie where these do
        array.dtype == target.dtype
        and array.shape == target.shape
        and array.strides == target.strides
        and array.__array_interface__["data"] == target.__array_interface__["data"]
    )


def _check_writable(x: Any, target: np.ndarray) -> None:
    if repeats(target) or (type(x._buffer) is View and type(x._buffer.where()) is RepeatedView):
        raise ValueError("assignment destination is read-only")


def _check_no_swap(x: Array, value: Array, root: Array) -> None:
    """Raise where compiled code swaps rows: ``x[i], x[j] = x[j], x[i]``, where both are views.

    `numpy.random.Generator.shuffle` has a buffer for an array's rows, and does this with all else.
    In Python the same line repeats rows in NumPy as well.
    """
    if _shows_root(value, root):
        name = called_function().rpartition(".")[2]
        if name not in ("", "setitem", "__setitem__"):
            raise UnsupportedError(
                f"{name}: rows of a traced array of shape {x.shape} are swapped by code that takes "
                f"views of them for copies, so that rows are lost; write "
                f"x = x[rng.permutation(len(x))], or x[...] = of the same to write into x (at "
                f"{place()})"
            )


def _is_basic(index: Any) -> bool:
    for e in _entries(index):
        if e is None or e is Ellipsis or isinstance(e, slice):
            continue
        if isinstance(e, (bool, np.bool_)) or not isinstance(e, (int, np.integer)):
            return False
    return True


def _plain_index(index: Any) -> Any:
    """An index without traced integers or masks."""
    if isinstance(index, tuple):
        return tuple([_plain_index(e) for e in index])
    return np.asarray(index) if isinstance(index, Traced) else index


def write_into(root: Any, region: Region, value: Any) -> None:
    """Write a value that broadcasts to the region into a traced array."""
    inner = []
    for v in (value, *region.operands):
        if isinstance(v, Traced) and v._trace.level > root._trace.level:
            v._trace.written_out(root)
            inner.append(v)
    trace = root._trace
    trace.check_alive()
    if inner and any([v._trace.level > trace.level for v in inner]):
        raise TracerError(
            "a value of an inner derivative was written into an array made outside of it; make "
            "the array inside the differentiated function"
        )
    around = root.shape
    shape = around[: len(around) - region.ndim] + region.shape
    if 0 in shape and not isinstance(value, Traced):
        count_as_written(root)
        return
    own_storage(root)
    trace.written_to()
    if trace.lent:
        check_not_lent(root)
    if isinstance(value, Traced) and value.shape != shape:  # type: ignore[attr-defined]
        value = np.broadcast_to(value, shape)  # type: ignore[call-overload]
    trace.write(root, region, value)
    root._buffer.version += 1


def count_as_written(x: Array) -> None:
    """Take note of a write that changes nothing, which NumPy refuses for a read-only array."""
    root = root_of(x)
    own_storage(root)
    root._trace.written_to()
    root._buffer.version += 1


def write_value(root: Any, region: Region, value: Any) -> None:
    """Write into the storage of a root, whatever it is made of."""
    root._value = region.home(lifted(root._value, value))
    region.assign(root._value, _apart(value, root._value))


def _apart(value: Array, array: Array) -> Any:
    """The value, or a copy of it if it is a view of the array's storage.

    NumPy 2.5 and older overlook some overlaps: ``a[:, 3] = a[1]`` reads ``a[1, 3]`` when it is new.
    """
    if type(value) is not ndarray or type(array) is not ndarray or value.base is None:
        return value
    return value.copy() if np.may_share_memory(value, array) else value


def overwrite(x: Any, value: Any) -> None:
    """Replace all entries of a traced array: what ``x += v`` and ``out=x`` do."""
    if (
        x._buffer is None
        and isinstance(value, Traced)
        and value._buffer is None  # type: ignore[attr-defined]
        and _same_layout(concrete(x), concrete(value))
        and (x._trace is value._trace or value._trace.takes_over(x))
    ):
        x._trace.check_alone(x)
        x._trace.written_to()
        x._node, x._value, x._square = value._node, value._value, None
    else:
        write(x, ..., value)


def _same_layout(a: Array, b: Array) -> bool:
    return (
        type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
    )
