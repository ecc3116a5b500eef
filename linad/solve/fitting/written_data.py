"""Models that write into their data: ``x -= x.mean()``, in place.

Each evaluation would begin from what the last one has left, and the user's own arrays would change.
So the first one gets a copy, and all others too where that has been written into.
"""

from typing import Any

import numpy as np

_COMPARED = frozenset("biufcmM")
"""Kinds of dtypes whose entries are compared."""


def copied(data: Any) -> Any:
    """Arrays, and columns and tables of pandas' kind, as copies, in containers too."""
    if type(data) is dict:
        return {key: copied(part) for key, part in data.items()}
    if type(data) in (list, tuple):
        return type(data)([copied(part) for part in data])
    labelled = hasattr(data, "to_numpy") and hasattr(data, "copy")
    return data.copy() if labelled or isinstance(data, np.ndarray) else data


def is_written(copy: Any, data: Any) -> bool:
    """Whether a copy is no longer what was copied."""
    if type(data) is dict:
        return copy.keys() != data.keys() or any(is_written(copy[k], data[k]) for k in data)
    if type(data) in (list, tuple):
        return any(is_written(*pair) for pair in zip(copy, data, strict=True))
    if hasattr(data, "columns"):
        if list(copy.columns) != list(data.columns):
            return True
        return any(is_written(copy[name], data[name]) for name in data.columns)
    if copy is data or not (isinstance(data, np.ndarray) or hasattr(data, "to_numpy")):
        return False
    new, old = np.asarray(copy), np.asarray(data)
    if old.dtype.kind not in _COMPARED:
        return False
    return not np.array_equal(new, old, equal_nan=old.dtype.kind in "fcmM")


class OnCopies:
    """A model that is given copies of its data; a class, to be pickled."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, xdata: Any, p: Any) -> Any:
        return self.model(copied(xdata), p)
