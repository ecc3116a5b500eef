"""What has no derivative lends its numbers to code that takes plain arrays.

In adopted code ``np.eye(3)`` is traced, to be written into, and depends on nothing. SciPy's own
code and compiled code get its numbers, in an array to read only: a copy, which does not see what is
written into the constant afterwards. Where somebody still holds it then, the write raises. So it is
with integers of a recorded program, which any code gets.
"""

import weakref
from typing import Any

import numpy as np

from linad.arrays.buffers import root_of
from linad.core.array_type import Array
from linad.errors import UnsupportedError


def lent(x: Array, plain: Array, dtype: np.dtype[Any] | None, copy: bool | None) -> np.ndarray:
    """The numbers ``plain`` of a constant ``x``, as ``__array__`` gives them."""
    found = np.array(plain, dtype)
    if not copy:
        found.flags.writeable = False
        note_lent(x, found)
    return found


def note_lent(x: Any, found: np.ndarray) -> None:
    """Note that an array with the numbers of ``x``, which has no derivative, is handed out."""
    pair = weakref.ref(root_of(x)), weakref.ref(found)
    x._trace.lent = [*_still_lent(x._trace), pair]


def _still_lent(trace: Any) -> list[Any]:
    return [pair for pair in trace.lent if all([known() is not None for known in pair])]


def check_not_lent(root: Any) -> None:
    """Raise where somebody holds the numbers of a constant that is written into."""
    trace = root._trace
    trace.lent = _still_lent(trace)
    if any([owner() is root for owner, _ in trace.lent]):
        raise UnsupportedError(
            "an array of constants or of integers is written into while code that takes plain "
            "arrays holds its numbers, which would not change with it; hand over a copy, a.copy()"
        )
