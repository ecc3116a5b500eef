"""The bytes of traced arrays in adopted code, by which it keeps or copies what it has computed.

cache[x.tobytes()]            a key that no other is equal to: it is not found, and the value
                              computed
sha1(x.tobytes()).digest()    as well, a digest that no other array has; and ``sha1(x)``
np.frombuffer(x.tobytes())    the array, flat
"""

import functools
import hashlib
import itertools
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.memory import constant_under
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.tree import bare
from linad.errors import UnsupportedError


class BytesOfTraced:
    """What stands for the bytes of a traced array: a key.

    Equal values may have unlike derivatives, so it is equal to itself alone, and no hash or digest
    of one is given again: code that keeps ``hash(x.tobytes())`` finds nothing of another value.
    """

    _counter = itertools.count()
    _of_process = os.urandom(16)  # digests may be kept in files

    def __init__(self, array: Array) -> None:
        self.array = array
        self._number = next(self._counter)

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self._number))

    def __len__(self) -> int:
        return int(self.array.nbytes)

    def to_digest(self) -> bytes:
        """Bytes that nothing else has."""
        return self._of_process + self._number.to_bytes(8, "little")


def tobytes(x: Array, order: Any = "C") -> Any:
    """As `numpy.ndarray.tobytes` of a constant; of what depends on arguments, a key."""
    plain = constant_under(x)
    if plain is not None:
        return plain.tobytes(order)
    return BytesOfTraced(np.copy(x).ravel(order))  # as it is now: x may be written into


@functools.wraps(np.frombuffer)  # whose text `numpy.ma` reads
def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, **like: Any
) -> Any:
    if type(buffer) is not BytesOfTraced:
        return np.frombuffer(buffer, dtype, count, offset, **like)
    array, size = buffer.array, buffer.array.dtype.itemsize
    if np.dtype(dtype) != array.dtype or offset % size:
        raise UnsupportedError(
            f"frombuffer: the bytes of a traced array of {array.dtype} are read as such, from the "
            f"start of a number on, not as {np.dtype(dtype)} from byte {offset} on"
        )
    rest = array[offset // size :]
    if count > len(rest):
        raise ValueError("buffer is smaller than requested size")
    return rest if count < 0 else rest[:count]


# Digests.


def _to_digest(x: Any) -> Any:
    x = bare(x)
    if type(x) is Tracer:
        plain = constant_under(x)
        x = BytesOfTraced(x) if plain is None else plain
    return x.to_digest() if type(x) is BytesOfTraced else x


def _digest(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def form(*args: Any, **kwargs: Any) -> Any:
        named = {name: _to_digest(value) for name, value in kwargs.items()}
        return original(*map(_to_digest, args), **named)

    return form


_NAMES = sorted(hashlib.algorithms_guaranteed)

DIGESTS = {name: _digest(getattr(hashlib, name)) for name in (*_NAMES, "new")}
"""The functions of `hashlib` that take bytes."""

_KINDS = {type(hashlib.new(name, usedforsecurity=False)) for name in _NAMES}


def updates_a_digest(f: Any) -> bool:
    """Whether a function is the method ``update`` of what `hashlib` makes."""
    is_method = type(f) is types.BuiltinMethodType
    return is_method and f.__name__ == "update" and type(f.__self__) in _KINDS


def update_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """The method, of a traced array's bytes as well."""
    return lambda data: f(_to_digest(data))
