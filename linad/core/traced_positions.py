"""Positions that are values of a program: integers that it computes, or that it is given.

q = counted(p)         positions as NumPy counts them, from the start of an axis, checked
w = last_written(q)    for each entry which of the positions names it last, -1 where none does
"""

from typing import Any

import numpy as np

from linad.core.moving_regions import in_a_body
from linad.core.places_on_axes import from_start
from linad.core.primitive import Primitive, Traced


def is_position(entry: Any) -> bool:
    """Whether part of an index is integers that are traced."""
    return isinstance(entry, Traced) and entry.dtype.kind in "iu"


def _counted(positions: Any, *, size: int, axis: int) -> Any:
    given = np.asarray(positions).astype(np.int64)
    if in_a_body.get():  # those of an example: a repetition that runs will be checked
        given = np.where((given < -size) | (given >= size), 0, given)
        return np.where(given < 0, given + size, given)[()]
    return from_start(given, size, axis)[()]


counted = Primitive("counted", _counted, constant=True)
counted.partial = "within the axis"
counted.bounds = ("size", "axis")


def _last_written(positions: Any, *, size: int) -> Any:
    found = np.full(size, -1, np.int64)
    found[positions] = np.arange(len(positions))  # of several at one place the last stays
    return found


last_written = Primitive("last_written", _last_written, constant=True)


def has_positions(index: Any) -> bool:
    """Whether an index has traced integers in it, and nothing else that is traced."""
    entries = index if type(index) is tuple else (index,)
    return any([is_position(e) for e in entries]) and not any([_is_decided(e) for e in entries])


def _is_decided(entry: Any) -> bool:
    """Whether which entries part of an index names, and how many, is for Python to decide."""
    if type(entry) is slice:
        return any([isinstance(end, Traced) for end in (entry.start, entry.stop, entry.step)])
    return isinstance(entry, Traced) and not is_position(entry)
