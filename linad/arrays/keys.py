"""Traced numbers as keys of dictionaries and sets, where adopted code makes them such.

    {x: 1}, seen.add(x)     the hash of x is that of its value, and counts as a decision on it: a
                            recorded program holds for this value alone
    x in table              a decision as ``x == y`` is, with the keys that have its hash
    table[x], set([x, y])   x may stand for y, a key of the same value, if it has its derivative
                            as well: raises otherwise

Two numbers have the same derivative if they are one object, if neither depends on an argument, or
if both are computed alike from the same entries. A plain key of the same value has none. Where a
function keeps what it has computed (`linad.core.memo_tables`), numbers of unlike derivatives are
unlike, and so are plain ones that earlier calls have left: it computes anew.
"""

import dis
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linad.arrays.memory import constant_under
from linad.core.adopted import WATCHERS, is_adopted
from linad.core.failures import HANDS_ON
from linad.core.frames import frames_above, library_of
from linad.core.installed import line_of
from linad.core.memo_tables import is_memo
from linad.core.primitive import Traced
from linad.errors import UnsupportedError

HANDS_ON.add(__name__)

KEYS: dict[int, weakref.ref[Any]] = {}
"""The traced numbers that were hashed, by their ids, while they live."""

_COMPARE = dis.opmap["COMPARE_OP"]
_YES_OR_NO = {_COMPARE, dis.opmap["CONTAINS_OP"]}
"""What asks for yes or no, and for nothing that a table holds."""


def hash_of(x: Any) -> int:
    """The hash of a traced number, in adopted code; a TypeError elsewhere, and of arrays."""
    value = x.concrete
    if id(x) not in KEYS:
        if not isinstance(value, np.generic) or not _is_asked_by_adopted(sys._getframe(1)):
            raise TypeError("unhashable type: 'Tracer'")
        _keep(x)
    if not x._trace.finished:
        _ = x.decided
    return hash(value)


hash_of.__name__ = "__hash__"


def _keep(x: Any) -> None:
    key = id(x)
    KEYS[key] = found = weakref.ref(x, lambda _: KEYS.pop(key, None))
    if not x._trace.keys:
        x._trace.keys = []
    x._trace.keys.append(found)


def _is_asked_by_adopted(frame: Any) -> bool:
    """Whether adopted code asks, by a class of the standard library or by a form perhaps."""
    if not WATCHERS:
        return False
    for above in frames_above(frame):
        if not _is_of_forms(above) and library_of(above) != "library":
            return is_adopted(above)
    return False


def compared(equal: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x == y``, by ``equal(x, y)``, where a table may take one for the other as its key.

    Raises where what it keeps for one would be taken for the other's, which has another derivative.
    Where a function keeps what it has computed they are told apart, and it computes anew. Keys of
    a trace that has ended are equal to nothing.
    """
    return x is y if _outlived(x, y) else _met(x, y, equal(x, y))


def _outlived(x: Any, y: Any) -> bool:
    """Whether a table asks for a key of a trace that has ended."""
    ended = [a for a in (x, y) if isinstance(a, Traced) and id(a) in KEYS and a._trace.finished]
    if not ended:
        return False
    return any([_operation(frame) != _COMPARE for frame in _asking_frames()])


def _met(x: Any, y: Any, answer: Any) -> Any:
    traced = [a for a in (x, y) if isinstance(a, Traced)]
    if not all([id(a) in KEYS for a in traced]):
        return answer
    equal = getattr(answer, "concrete", answer)
    if equal is NotImplemented or np.ndim(equal) or not equal:
        return answer
    if x is y or all(map(_has_no_derivative, traced)):
        return answer
    both = len(traced) == 2
    if both and x._trace is y._trace and x._trace.same(x, y):
        return answer
    asking = list(_asking_frames())
    if len(asking) == 1 and is_memo(asking[0]):
        for a in traced:
            a._trace.told_apart = True
        return np.False_
    if all([_operation(frame) in _YES_OR_NO for frame in asking]):
        return answer
    where = asking[-1]
    raise UnsupportedError(
        f"{line_of(where.f_code.co_filename, where.f_lineno)}: a dictionary, set or cache takes a "
        f"traced number for another key of the same value, {traced[0].concrete!s}, "
        f"{_OF_TRACED if both else _OF_PLAIN}",
        kind="key",
        trace=traced[0]._trace,
    )


_OF_TRACED = (
    "which has another derivative; keep such numbers in a list, or take "
    "float(linad.stop_gradient(s)) for a key where what is kept does not depend on it"
)
_OF_PLAIN = (
    "which is plain and has no derivative; clear what was kept before the derivative is taken, or "
    "only ask, as s == k and s in table do"
)


def _has_no_derivative(x: Any) -> bool:
    return x.dtype.kind in "biu" or x._trace.is_detached(x) or constant_under(x) is not None


def _asking_frames() -> Iterator[Any]:
    """The frames whose instructions compare, from the innermost on: what asks a table, and above
    an ``__eq__`` what has called that."""
    above = itertools.dropwhile(_is_linads, frames_above(sys._getframe(1)))
    by_eq = True
    for frame in itertools.takewhile(lambda f: _is_of_forms(f) or not _is_linads(f), above):
        if by_eq:
            yield frame
        by_eq = frame.f_code.co_name == "__eq__"


def _operation(frame: Any) -> int:
    return frame.f_code.co_code[frame.f_lasti]  # type: ignore[no-any-return]


def _is_linads(frame: Any) -> bool:
    return (frame.f_globals.get("__name__") or "").startswith("linad.")


def _is_of_forms(frame: Any) -> bool:
    """Whether linad's code runs in the place of adopted code."""
    return (frame.f_globals.get("__name__") or "").startswith("linad.adoption.")
