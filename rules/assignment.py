"""Functions that write into their first argument: np.put, np.copyto, np.add.at and their kind.

Each is one write, or a few, of the kind ``x[index] = values``, which `linad.arrays.buffers`
differentiates. A traced value cannot be written into a plain array: its entries have no
derivative.

    add.at      x[i] += v       an entry named k times collects k values
    others      k rounds        x[i_r] = f(x[i_r], v_r), round r taking what is named the r-th time
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linad.arrays.out_argument import copy_to
from linad.arrays.written_values import as_written
from linad.arrays.zero_dim import is_number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.indices import Index
from linad.core.primitive import Traced
from linad.core.traced_positions import is_position
from linad.errors import TracerError
from linad.rules.gathering import added_at
from linad.rules.indexing import add_at
from linad.rules.shaping import as_array, broadcast_to, ravel

implements(np.copyto)(copy_to)


def _writable(target: Array, name: str) -> Any:
    if not isinstance(target, Traced):
        raise TracerError(
            f"{name} would write a traced value into a plain NumPy array and lose its derivative; "
            f"make the array with np.zeros_like(x) or linad.numpy.zeros"
        )
    return target


def _array(target: Array, name: str) -> Any:
    """As `_writable`, for functions that refuse numbers. Others write into a copy of one."""
    if is_number(target):
        raise TypeError(f"{name}: the first argument must be an array, got a number")
    return _writable(target, name)


def _check_cast(a: Array, values: Any, name: str) -> None:
    """Refuse arrays that NumPy does not cast here; numbers and lists it does."""
    is_array = isinstance(values, np.ndarray) or (
        isinstance(values, Traced) and not is_number(values)
    )
    if is_array and not np.can_cast(values.dtype, a.dtype, "safe"):
        raise TypeError(
            f"{name}: cannot cast values of {values.dtype} to {a.dtype} by NumPy's rule 'safe'; "
            f"pass values.astype(a.dtype)"
        )


def _plain_integers(indices: Any, name: str) -> Any:
    indices = np.asarray(indices)
    if indices.size and indices.dtype.kind not in "iub":
        raise TypeError(f"{name}: indices must be integers, got dtype {indices.dtype}")
    return indices.astype(np.intp)


def _given(a: Array, values: Any) -> Any:
    """The values in a row, those of a list as they are written into ``a``."""
    return ravel(values if isinstance(values, Traced) else as_written(values, a.dtype))


def _in_turn(values: Array, places: Array) -> Any:
    """Value ``k % n`` of the n values for each place k."""
    if not places.size:
        return 0
    return values[0] if values.size == 1 else values[places % values.size]


@implements(np.put)
def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    a = _writable(a, "put")
    flat = _plain_integers(ind, "put").ravel()
    if mode == "wrap":
        flat = flat % max(a.size, 1)
    elif mode == "clip":
        flat = np.clip(flat, 0, a.size - 1)
    elif mode != "raise":
        raise ValueError(f"put: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    values = _given(a, v)
    if not values.size:
        flat = flat[:0]
    a.flat[flat] = _in_turn(values, np.arange(flat.size))  # a write, even of none


@implements(np.place)
def place(arr: Array, mask: Array, vals: Any) -> None:
    arr = _array(arr, "place")
    _check_cast(arr, vals, "place")
    mask = np.asarray(mask)
    if mask.size != arr.size:
        raise ValueError(f"place: mask {mask.shape} and arr {arr.shape} must have the same size")
    flat = np.flatnonzero(mask)
    values = _given(arr, vals)
    if flat.size and not values.size:
        raise ValueError("place: cannot insert from an empty array")
    arr.flat[flat] = _in_turn(values, np.arange(flat.size))


@implements(np.putmask)
def putmask(a: Array, /, mask: Array, values: Any) -> None:
    a = _array(a, "putmask")
    _check_cast(a, values, "putmask")
    mask = np.asarray(mask)
    if mask.shape != a.shape:
        raise ValueError(f"putmask: mask {mask.shape} and a {a.shape} must have the same shape")
    flat, values = np.flatnonzero(mask), _given(a, values)
    if not values.size:
        flat = flat[:0]
    a.flat[flat] = _in_turn(values, flat)  # a write, even of no entries


@implements(np.put_along_axis)
def put_along_axis(arr: Array, indices: Array, values: Array, axis: int | None = -1) -> None:
    arr = _writable(arr, "put_along_axis")
    if axis is None or not is_position(indices):
        indices = _plain_integers(indices, "put_along_axis")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("put_along_axis: with axis=None, indices must have one axis")
        if not arr.flags.c_contiguous:
            raise ValueError(
                "put_along_axis: with axis=None, the array must lie in memory in C order, as NumPy "
                "demands; write arr.flat[indices] = values"
            )
        arr.flat[indices] = values
        return
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(
            f"put_along_axis: indices {indices.shape} must have as many axes as arr {arr.shape}"
        )
    grid = list(np.ogrid[tuple([slice(n) for n in arr.shape])])
    grid[axis] = indices
    arr[tuple(grid)] = values


@implements(np.fill_diagonal)
def fill_diagonal(a: Array, val: Array, wrap: bool = False) -> None:
    a = _writable(a, "fill_diagonal")
    if a.ndim < 2:
        raise ValueError("fill_diagonal: expected an array of at least two axes")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: all axes must have the same length, got {a.shape}")
    shape = a.shape
    step = sum([int(np.prod(shape[k:])) for k in range(1, a.ndim)]) + 1
    end = a.size if wrap or a.ndim > 2 else min(a.size, shape[1] * shape[1])
    a.flat[np.arange(0, end, step)] = val


@implements(np.ufunc.at)
def update_at(ufunc: Any, x: Array, index: Any, *operands: Any) -> None:
    """``x[index] = ufunc(x[index], *operands)``, once for each time an entry is named.

    Notes
    -----
    Sums cost one such step, anything else as many as the entry named most often has.
    """
    x = _array(x, f"{ufunc.__name__}.at")
    if ufunc in (np.add, np.subtract) and is_position(index) and x.ndim and _keeps(x, operands):
        # x[i] += v as one sum, at positions that are values of a program
        terms = broadcast_to(as_array(operands[0]), (*index.shape, *x.shape[1:]))
        terms = np.astype(terms, np.result_type(x.dtype, terms.dtype))
        x[...] = ufunc(x, added_at(terms, index, x.shape))
        return
    if isinstance(index, (Traced, list)):
        index = np.asarray(index)
        index = index if index.size else index.astype(np.intp)  # of [] NumPy makes floats
    numbers = np.arange(x.size).reshape(x.shape)[index]
    if not np.ndim(numbers) or np.unique(numbers).size == numbers.size:
        x[index] = ufunc(x[index], *operands)
        return
    flat = numbers.reshape(-1)
    values = [ravel(broadcast_to(as_array(v), numbers.shape)) for v in operands]
    if ufunc in (np.add, np.subtract) and _keeps(x, values):
        flat, groups = np.unique(flat, return_inverse=True)
        terms = np.astype(values[0], np.result_type(x.dtype, values[0].dtype))
        total = add_at(terms, index=Index((groups,)), shape=flat.shape)
        x.flat[flat] = ufunc(x.flat[flat], total)
        return
    for chosen in _rounds(flat):
        x.flat[flat[chosen]] = ufunc(x.flat[flat[chosen]], *[v[chosen] for v in values])


def _keeps(x: Array, values: Any) -> bool:
    """Whether the dtype of an array takes up that of values that are added: NumPy casts after each
    step, which whole numbers show."""
    return x.dtype.kind not in "biu" or all([as_array(v).dtype.kind in "biu" for v in values])


def _rounds(flat: np.ndarray) -> Iterator[np.ndarray]:
    """Positions in ``flat`` of the first time each number comes, of the second, and so on."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(starts, np.arange(flat.size), 0))
    turn = np.arange(flat.size) - first
    for k in range(int(turn.max()) + 1):
        yield order[turn == k]
