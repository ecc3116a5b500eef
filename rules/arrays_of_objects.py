"""Plain arrays whose entries are objects, traced numbers among them."""

from typing import Any

import numpy as np

from linad.core.primitive import Traced


def objects_of(nested: Any) -> Any:
    """A plain array of objects, each a number: those of traced arrays, and of lists, are traced."""
    made = np.array(_described(nested), dtype=object)
    for index in np.ndindex(made.shape):
        entry, rest = nested, index
        while isinstance(entry, (list, tuple)) and rest:
            entry, rest = entry[rest[0]], rest[1:]
        made[index] = entry[rest] if rest else entry
    return made


def _described(nested: Any) -> Any:
    """What NumPy takes in place of traced arrays, to find the shape."""
    if isinstance(nested, (list, tuple)):
        return type(nested)(map(_described, nested)) if type(nested) in (list, tuple) else nested
    return np.empty(nested.shape) if isinstance(nested, Traced) else nested
