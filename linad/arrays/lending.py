"""What has no derivative lends its numbers to code that takes plain arrays.

In adopted code ``np.eye(3)`` is traced, to be written into, and depends on nothing. SciPy's own
code and compiled code get its numbers, in an array to read only: a copy, which does not see what is
written into the constant afterwards. Where somebody still holds it then, the write raises. So it is
with integers of a recorded program, which any code gets.
"""

import weakref
from typing import Any, NamedTuple

import numpy as np

from linad.arrays.buffers import root_of
from linad.core.array_type import Array
from linad.errors import OverwrittenError, UnsupportedError


class Lent(NamedTuple):
    """Numbers that plain code was given.

    Attributes
    ----------
    owner : weakref.ref
        Of the traced array whose numbers they are.
    holder : weakref.ref
        Of the array that was handed out, which lives as long as any view of it.
    memory, before : ndarray or None
        What the array lies in, and the numbers that were in it.
    """

    owner: weakref.ref[Any]
    holder: weakref.ref[Any]
    memory: np.ndarray | None = None
    before: np.ndarray | None = None


class _Memory(np.ndarray):
    """What an array lies in that was handed out: of another type, lest NumPy take it for the base
    of a view of that array."""


def lent(x: Array, plain: Array, dtype: np.dtype[Any] | None, copy: bool | None) -> np.ndarray:
    """The numbers ``plain`` of a constant ``x``, as ``__array__`` gives them."""
    found = np.array(plain, dtype)
    return found if copy else handed_out(x, found)


def handed_out(x: Any, numbers: np.ndarray, writeable: bool = False) -> np.ndarray:
    """An array with the numbers of ``x``, which has no derivative.

    A write into it is lost: plain NumPy would see it in ``x``. So it is to be read only, and it is
    looked at once more when nobody holds it, or at the end, since ``np.add.at`` and its kind write
    into what is read only as well (until NumPy 2.4).
    """
    memory = numbers.copy("K").view(_Memory)
    found = memory.view(np.ndarray)
    found.flags.writeable = writeable
    given = Lent(weakref.ref(root_of(x)), weakref.ref(found), memory, numbers)
    x._trace.lent = [*_still_lent(x._trace), given]
    return found


def note_lent(x: Any, found: np.ndarray) -> None:
    """Note that an array with the numbers of ``x``, which has no derivative, is handed out."""
    given = Lent(weakref.ref(root_of(x)), weakref.ref(found))
    x._trace.lent = [*_still_lent(x._trace), given]


def _still_lent(trace: Any) -> list[Lent]:
    still = []
    for given in trace.lent:
        if given.owner() is not None and given.holder() is not None:
            still.append(given)
        else:
            _check_unwritten(given)
    return still


def check_unwritten(trace: Any) -> None:
    """Raise if somebody has written into numbers that were handed out."""
    given, trace.lent = trace.lent, ()
    for one in given:
        _check_unwritten(one)


def _check_unwritten(given: Lent) -> None:
    memory, before = given.memory, given.before
    if memory is None or before is None:
        return
    if not np.array_equal(memory, before, equal_nan=memory.dtype.kind in "fc"):
        raise OverwrittenError(
            "a plain array that np.asarray or its kind made of a traced array, to be read only, "
            "was written into, by np.add.at or another ufunc's at, which do not heed that, or "
            "after np.require(..., 'W'); the traced array does not see it: leave np.asarray and "
            "np.require out, or write into a copy, np.array(a)"
        )


def check_not_lent(root: Any) -> None:
    """Raise where somebody holds the numbers of a constant that is written into."""
    trace = root._trace
    trace.lent = _still_lent(trace)
    if any([given.owner() is root for given in trace.lent]):
        raise UnsupportedError(
            "an array of constants or of integers is written into while code that takes plain "
            "arrays holds its numbers, which would not change with it; hand over a copy, a.copy()"
        )


READ_ONLY = (
    "linad: np.asarray and its kind hand out the numbers of a traced array of integers to be read "
    "only, since it would not see what is written into them; leave np.asarray out, or write into "
    "a copy, np.array(a)"
)


def written_to_read_only(trace: Any, error: BaseException) -> bool:
    """Whether NumPy has refused a write into what may be numbers that were handed out."""
    return bool(trace.lent) and isinstance(error, ValueError) and "read-only" in str(error)
