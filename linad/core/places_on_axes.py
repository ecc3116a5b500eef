"""Where the entries that an index names lie along each axis, counted from its start."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape


def along_each_axis(index: Any, shape: Shape) -> list[Any]:
    """Where the entries that an advanced index names lie along each axis."""
    entries = index if isinstance(index, tuple) else (index,)
    entries = tuple([np.asarray(e) if isinstance(e, list) else e for e in entries])
    if len(entries) == len(shape) and all([_is_integer(e) for e in entries]):
        # As many integers as there are axes: no longer than the index itself.
        places = [from_start(e, n, k) for k, (e, n) in enumerate(zip(entries, shape, strict=True))]
        return list(np.broadcast_arrays(*places))
    axes = []
    for k, n in enumerate(shape):
        numbers = np.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - k))
        axes.append(np.broadcast_to(numbers, shape)[index])
    return axes


def _is_integer(entry: Array) -> bool:
    return isinstance(entry, (int, np.integer, np.ndarray)) and np.asarray(entry).dtype.kind in "iu"


def from_start(entry: Array, n: int, axis: int) -> Any:
    """Integers of an index, counted from the start of an axis of length n.

    Raises
    ------
    IndexError
        In NumPy's words, if one is out of bounds.
    """
    entry = np.asarray(entry)
    outside = (entry < -n) | (entry >= n)
    if outside.any():
        first = entry.flat[np.argmax(outside)]
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {n}")
    return np.where(entry < 0, entry + n, entry)
