"""Plain arrays beside traced values: what an operator keeps of them must not change.

The rule of a product refers to the plain array in it. When the function overwrites that array
afterwards (a workspace, say), the operator would be silently wrong. So a small array is copied
when it is met; a large one, whose copy would cost as much as the operation, is kept by reference
and watched: a fingerprint is taken when it is met and again when the function returns.
"""

from typing import Any

import numpy as np

from linad.config import settings
from linad.errors import OverwrittenError

_WORDS = (np.uint64, np.uint32, np.uint8)
_COLUMNS = 1021  # a prime, so that entries at regular distances fall into different columns


class PlainOperands:
    """The plain arrays that the operations of one trace refer to."""

    __slots__ = ("_watched",)

    def __init__(self) -> None:
        self._watched: dict[int, tuple[np.ndarray, Any]] = {}

    def keep(self, a: np.ndarray) -> np.ndarray:
        """The array as an operator may keep it."""
        if not a.flags.writeable:
            return a
        if a.nbytes <= settings().snapshot_bytes:
            return a.copy("K")
        if id(a) not in self._watched:
            self._watched[id(a)] = (a, fingerprint(a))
        return a

    def check(self) -> None:
        """Raise OverwrittenError if one of the large arrays has changed since it was met."""
        for a, before in self._watched.values():
            if fingerprint(a) != before:
                raise OverwrittenError(
                    f"a plain array of shape {a.shape} was used beside traced values and "
                    f"overwritten before the function returned, which would make the derivative "
                    f"wrong; use a copy of it (w.copy()), or make it with np.zeros_like(x) so "
                    f"that linad sees the writes"
                )


def fingerprint(a: np.ndarray) -> bytes:
    """A number that tells two states of an array apart, at the cost of reading it once."""
    flat = a.reshape(-1) if a.flags.c_contiguous else a.ravel("K")
    words = flat.view(next(t for t in _WORDS if flat.itemsize % np.dtype(t).itemsize == 0))
    rows = words.size // _COLUMNS
    body = words[: rows * _COLUMNS].reshape(rows, _COLUMNS)
    sums = np.add.reduce(body, axis=0, dtype=np.uint64)
    return sums.tobytes() + words[rows * _COLUMNS :].tobytes()
