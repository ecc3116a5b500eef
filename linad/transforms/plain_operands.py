"""Plain arrays beside traced values: what an operator keeps of them must not change.

The rule of a product refers to the plain array in it. When the function overwrites that array
afterwards (a workspace, say), the operator would be silently wrong. So an array is copied when it
is met, and the copy is shared as long as the array stays as it was. Only a large array, whose
copy would cost as much as the operation, is kept by reference; it is watched: a sample of its
entries is taken when it is met and compared when the function returns.
"""

from typing import Any

import numpy as np

from linad.core.settings import settings
from linad.errors import OverwrittenError

_TINY = 2**12  # bytes that are copied faster than they are compared
_COLUMNS = 1021  # a prime, so that entries at regular distances fall into different columns
_STRIDE = 509  # entries between two of a sample: about a page of memory
_WORDS = (np.uint64, np.uint32, np.uint8)


class PlainOperands:
    """The plain arrays that the operations of one trace refer to."""

    __slots__ = ("_copies", "_watched")

    def __init__(self) -> None:
        self._copies: dict[int, tuple[np.ndarray, bytes, np.ndarray]] = {}
        self._watched: dict[int, tuple[np.ndarray, bytes]] = {}

    def keep(self, a: np.ndarray) -> np.ndarray:
        """The array as an operator may keep it."""
        if a.nbytes <= _TINY:
            return a.copy("K")
        if is_frozen(a):
            return a
        if a.nbytes > settings().snapshot_bytes:
            if id(a) not in self._watched:
                self._watched[id(a)] = (a, sample(a))
            return a
        now = fingerprint(a)
        known = self._copies.get(id(a))
        if known is None or known[1] != now:
            known = self._copies[id(a)] = (a, now, a.copy("K"))
        return known[2]

    def check(self) -> None:
        """Raise OverwrittenError if one of the large arrays has changed since it was met."""
        for a, before in self._watched.values():
            if sample(a) != before:
                raise OverwrittenError(
                    f"a plain array of shape {a.shape} was used beside traced values and "
                    f"overwritten before the function returned, which would make the derivative "
                    f"wrong; use a copy of it (w.copy()), or make it with np.zeros_like(x) so "
                    f"that linad sees the writes"
                )


def is_frozen(a: Any) -> bool:
    """Whether nobody can write into an array: neither it nor what it is a view of."""
    while isinstance(a, np.ndarray):
        if a.flags.writeable:
            return False
        a = a.base
    return True


def fingerprint(a: np.ndarray) -> bytes:
    """Sums that tell two states of an array apart, at the cost of reading it once."""
    flat = a.reshape(-1) if a.flags.c_contiguous else a.ravel("K")
    words = flat.view(next(t for t in _WORDS if flat.itemsize % np.dtype(t).itemsize == 0))
    rows = words.size // _COLUMNS
    body = words[: rows * _COLUMNS].reshape(rows, _COLUMNS)
    sums = np.add.reduce(body, axis=0, dtype=np.uint64)
    return sums.tobytes() + words[rows * _COLUMNS :].tobytes()


def sample(a: np.ndarray) -> bytes:
    """Every 509th entry: sees an array overwritten as a whole or in runs, not a single entry."""
    flat = a.reshape(-1) if a.flags.c_contiguous else a.flat
    return flat[::_STRIDE].tobytes()
