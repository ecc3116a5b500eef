"""What lies on the diagonals of sparse arrays, and what may be written there."""

from typing import Any

from linad.core.array_type import Array
from linad.rules.creation import asarray
from linad.rules.shaping import as_array


def length_of(shape: tuple[int, int], k: int) -> int:
    """How many entries the k-th diagonal has."""
    m, n = shape
    return max(min(m + min(k, 0), n - max(k, 0)), 0)


def fitting(shape: tuple[int, int], values: Array, k: int) -> tuple[int, Any]:
    """How many entries of the k-th diagonal are written, and with what: a number, or values, as
    many of which count as fit."""
    length, values = length_of(shape, k), as_array(asarray(values))
    if not length:
        raise ValueError(f"setdiag: an array of shape {shape} has no diagonal {k}")
    if values.ndim:
        length = min(length, values.shape[0])
        values = values[:length]
    return length, values
