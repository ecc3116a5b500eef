"""What a value is where it is written into an array: broadcast, and cast, as NumPy does it."""

from typing import Any

import numpy as np
from numpy import generic

from linad.arrays.zero_dim import is_number
from linad.core.array_type import Array
from linad.core.primitive import Traced, lists_traced
from linad.core.shapes import Shape
from linad.core.tree import bare
from linad.errors import ShapeError, TracerError, UnsupportedError


def fitting(value: Array, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """``value`` broadcast to a shape and cast to a dtype, as assignment does; a plain number stays
    one."""
    if not isinstance(value, Traced) and not isinstance(value := bare(value), Traced):
        value = as_written(value, dtype)
    if value.dtype != dtype:
        value = in_dtype(value, dtype)
    if value.shape != shape and (value.shape or isinstance(value, Traced)):
        extra = value.ndim - len(shape)
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = value.reshape(value.shape[extra:])
        try:
            value = np.broadcast_to(value, shape)
        except ValueError:
            raise ShapeError(
                f"could not broadcast a value of shape {value.shape} into entries of shape {shape}"
            ) from None
    return value


def number_within(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number that is written at a place of integers, where NumPy takes it for a Python number.

    Raises
    ------
    OverflowError, ValueError
        As NumPy does, for a number that the signed dtype does not have; in an unsigned one numbers
        of NumPy's wrap. A traced number is asked at each call.
    """
    if isinstance(value, generic) and value.dtype.kind in "biuf":
        written = np.empty((), dtype)
        written[()] = value
        return written
    if not isinstance(value, Traced) or not is_number(value) or value.dtype.kind not in "iuf":
        return value
    if dtype.kind == "i" and not np.can_cast(value.dtype, dtype):
        if value.dtype.kind == "f" and np.isnan(value):
            raise ValueError("cannot convert float NaN to integer")
        if _is_outside(value, np.iinfo(dtype)):
            raise OverflowError(f"a number is out of bounds for {dtype}")
    return value


def _is_outside(value: Array, ends: Any) -> bool:
    """Whether a number, its fraction cut off, is below or above some integers."""
    if value.dtype.kind == "f":
        past = -float(ends.min)  # 2^63 is a float, 2^63 - 1 is not
        return bool(np.trunc(value) < -past or np.trunc(value) >= past)
    return bool(value < ends.min or value > ends.max)


def in_dtype(value: Array, dtype: np.dtype[Any]) -> Any:
    """An array, plain or traced, in the dtype that it is written in."""
    if value.dtype == dtype:
        return value
    _check_part(value.dtype, dtype)
    return value.astype(dtype)


def _check_part(given: np.dtype[Any], dtype: np.dtype[Any]) -> None:
    if given.kind == "c" and dtype.kind != "c":
        raise TracerError(
            f"assigning complex values to an array of {dtype} would discard the imaginary part; "
            f"take .real, or make the array complex"
        )


def as_written(value: Array, dtype: np.dtype[Any]) -> Any:
    """What NumPy writes into an array of a dtype for a number, a list of numbers or a plain array.

    Of a list with traced values an array of them, in the dtype that comes of them.

    Raises
    ------
    OverflowError, ValueError
        From NumPy, for Python's numbers that the dtype does not have: 300 or NaN for int8. NumPy's
        own numbers and arrays wrap.
    """
    if isinstance(value, (list, tuple)) and lists_traced(value):
        return stacked(parts_as_written(value, dtype))
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    _check_part(array.dtype, dtype)
    return np.asarray(value, dtype)


def parts_as_written(value: Any, dtype: np.dtype[Any]) -> Any:
    """Nested lists with traced values as they are written: each number alone, not as a dtype that
    all of them have in common."""
    if isinstance(value, (list, tuple)):
        return [parts_as_written(part, dtype) for part in value]
    if not isinstance(value, Traced):
        return as_written(value, dtype)
    return in_dtype(number_within(value, dtype), dtype) if dtype.kind in "iu" else value


def refuse_records(dtype: np.dtype[Any]) -> None:
    """Raise of an array with fields, which is to hold traced values."""
    if dtype.names is not None:
        fields = ", ".join([f"{name!r}: np.stack([...])" for name in dtype.names[:2]])
        more = ", ..." if len(dtype.names) > 2 else ""
        raise UnsupportedError(
            f"an array with fields ({', '.join(dtype.names)}) does not hold traced values; keep a "
            f"dict with an array for each field, {{{fields}{more}}}"
        )


def stacked(nested: Any) -> Any:
    """Nested lists as an array, traced where one of them holds something traced."""
    if lists_traced(nested):
        return np.array(nested, like=_first_traced(nested))
    return np.asarray(nested)


def axes_of_nested(nested: Any) -> int:
    """How many axes an array of nested lists has, by the first entry of each."""
    if isinstance(nested, (list, tuple)):
        return 1 + (axes_of_nested(nested[0]) if nested else 0)
    return np.ndim(nested)


def _first_traced(value: Any) -> Any:
    """One of the traced values in nested lists that have some."""
    while not isinstance(value, Traced):
        value = next(part for part in value if lists_traced(part))
    return value
