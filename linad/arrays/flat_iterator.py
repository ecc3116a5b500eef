"""The entries of an array in C order, one after the other: what ``x.flat`` is."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linad.arrays.buffers import in_memory, share_storage
from linad.arrays.writes import REFUSES_SEQUENCES
from linad.arrays.written_values import as_written, in_dtype
from linad.arrays.zero_dim import is_number
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import size_of


class FlatIterator:
    """Reads, iterates over and writes a traced array as if it had one axis.

    NumPy functions see a flat copy of it.

    Parameters
    ----------
    base : Tracer
    """

    __slots__ = ("base",)

    def __init__(self, base: Array) -> None:
        # What is written to the entry of a number stays in this array.
        self.base: Any = base if base.ndim else np.reshape(base, (1,))

    def _numbers(self, key: Any) -> Any:
        """Which entries an index means, by their numbers."""
        if np.ndim(key) == 0 and isinstance(key, (bool, np.bool_, np.ndarray)):
            key = np.asarray(key)
            if key.dtype.kind == "b":  # NumPy takes the first entry, or none
                key = 0 if key else slice(0)
        return np.arange(size_of(self.base.shape))[key]

    def _places(self, numbers: Array) -> Any:
        """The index into the array for entries with these numbers."""
        return np.unravel_index(numbers, self.base.shape)

    def __len__(self) -> int:
        return size_of(self.base.shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.flatten())

    def __getitem__(self, key: Any) -> Any:
        key = _alone(key)
        return (
            self.base.flatten() if key is Ellipsis else self.base[self._places(self._numbers(key))]
        )

    def __setitem__(self, key: Any, value: Array) -> None:
        key = _alone(key)
        if isinstance(key, (list, np.ndarray)):
            key = self._inside(np.asarray(key), value)
        numbers = self._numbers(slice(None) if key is Ellipsis else key)
        if np.ndim(numbers) == 0 and np.ndim(value):
            self._check_single(value)
        if self.reads_itself(value):
            # NumPy reads as it writes: what it has written is what it reads later on.
            entries = FlatIterator(value)
            for i, number in enumerate(np.ravel(numbers)):
                self.base[self._places(number)] = entries[i % len(entries)]
            return
        places = self._places(numbers)
        count = np.size(places[0])
        if isinstance(value, (int, float, complex, list, tuple)):
            value = as_written(value, self.base.dtype)
        elif isinstance(value, Traced) and not is_number(value):
            value = in_dtype(value, self.base.dtype)
        value = np.ravel(value)
        if value.size > 1 and value.size != count:
            value = np.resize(value, count)  # NumPy starts again at the first value
        if np.ndim(places[0]) == 0 or (count and value.size == 1):
            value = value[0]
        try:
            self.base[places] = value
        except OverflowError as problem:  # as NumPy's flat says it
            raise ValueError("Error setting single item of array.") from problem

    def _inside(self, key: np.ndarray, value: Array) -> np.ndarray:
        """An index of which all entries are there.

        NumPy looks at each when it comes to it: what stands before the first one that is not there
        is written, and then it raises.
        """
        if key.ndim == 1 and key.dtype.kind in "iu":
            wrong = np.flatnonzero((key >= len(self)) | (key < -len(self)))
            if wrong.size:
                self[key[: wrong[0]]] = value
                raise IndexError(
                    f"index {key[wrong[0]]} is out of bounds for an array of {len(self)} entries"
                )
        return key

    def _check_single(self, value: Any) -> None:
        """Raise where NumPy wants a number for one entry, and gets values with axes."""
        takes_arrays = self.base.dtype.kind == "b" or not REFUSES_SEQUENCES
        if isinstance(value, (list, tuple)) or np.size(value) != 1 or not takes_arrays:
            raise ValueError(
                f"Error setting single item of array: expected a number, got values of shape "
                f"{np.shape(value)}"
            )

    def reads_itself(self, value: Array) -> bool:
        """Whether a value of several entries stands in the same memory, in the same dtype."""
        base = self.base
        if not isinstance(value, Traced) or value.size < 2 or value.dtype != base.dtype:
            return False
        return share_storage(value, base) and share_storage(in_memory(value), in_memory(base))

    def copy(self) -> Any:
        """The entries as an array of one axis."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.__array__(dtype, copy).ravel()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*[_plain(x) for x in inputs], **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        kwargs = {name: _plain(x) for name, x in kwargs.items()}
        return func(*[_plain(x) for x in args], **kwargs)


def _alone(key: Any) -> Any:
    """The one entry of an index; ``...`` where there is none."""
    if not isinstance(key, tuple):
        return key
    if len(key) > 1:
        raise IndexError("unsupported iterator index")
    return key[0] if key else Ellipsis


def _plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_plain(part) for part in x])
    return x.copy() if isinstance(x, FlatIterator) else x
