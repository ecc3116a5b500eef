"""The entries of an array in C order, one after the other: what ``x.flat`` is."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linad.core.shapes import size_of


class Flat:
    """Reads, iterates over and writes a traced array as if it had one axis.

    NumPy functions see a flat copy of it.

    Parameters
    ----------
    base : Tracer
    """

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        # What is written to the entry of a number stays in this array.
        self.base: Any = base if base.ndim else np.reshape(base, (1,))

    def _places(self, key: Any) -> Any:
        """The index into the array for an index into its entries."""
        if np.ndim(key) == 0 and isinstance(key, (bool, np.bool_, np.ndarray)):
            key = np.asarray(key)
            if key.dtype.kind == "b":  # NumPy takes the first entry, or none
                key = 0 if key else slice(0)
        numbers = np.arange(size_of(self.base.shape))[key]
        return np.unravel_index(numbers, self.base.shape)

    def __len__(self) -> int:
        return size_of(self.base.shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.flatten())

    def __getitem__(self, key: Any) -> Any:
        key = _alone(key)
        return self.base.flatten() if key is Ellipsis else self.base[self._places(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = _alone(key)
        places = self._places(slice(None) if key is Ellipsis else key)
        count = np.size(places[0])
        value = np.ravel(value)
        if value.size > 1 and value.size != count:
            value = np.resize(value, count)  # NumPy starts again at the first value
        if np.ndim(places[0]) == 0 or (count and value.size == 1):
            value = value[0]
        self.base[places] = value

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
    return x.copy() if isinstance(x, Flat) else x
