"""The names that callers have for an array, where it becomes another.

    def flow(F, flux):      F += flux       two names for one array: F here and, while flow
        F += flux           return F        runs, mass in its caller
    mass = flow(mass, flux)

A name counts if it is a local variable of adopted code that waits for the write. Whatever else
refers to the array (a list, an attribute, a closure, a value not yet used) is not counted, so who
compares the count with all references learns whether all names are known.
"""

import ctypes
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from linad.core.adopted import is_adopted

_WRITES_THROUGH = sys.version_info >= (3, 13)
"""Whether ``f_locals`` is the variables themselves (PEP 667), or a copy of them."""


def _callers(frame: Any) -> Iterator[Any]:
    """The frames of adopted code that wait for one, up to the first of other code."""
    frame = frame.f_back
    while frame is not None and is_adopted(frame):
        yield frame
        frame = frame.f_back


def _own_names(code: CodeType) -> list[str]:
    """Local variables that no closure shares."""
    shared = {*code.co_cellvars, *code.co_freevars}
    return [name for name in code.co_varnames if name not in shared]


def rebound(y: Any, new: Any, frame: FrameType, count: int) -> bool:
    """Let the names that callers have for an array stand for another value.

    Parameters
    ----------
    y, new : object
        What they stand for, and are to stand for.
    frame : frame
        The code that asks; its own names are left to it.
    count : int
        How many references there are beside those of ``frame``.

    Returns
    -------
    done : bool
        False, and nothing is changed, if something else refers to ``y`` as well.
    """
    found = []
    for caller in _callers(frame):
        variables = caller.f_locals
        names = [name for name in _own_names(caller.f_code) if variables.get(name) is y]
        found.append((caller, variables, names))
    known = count == sum([len(names) for _, _, names in found])
    for caller, variables, names in found:
        if known and names:
            variables.update(dict.fromkeys(names, new))
            if not _WRITES_THROUGH:
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(caller), ctypes.c_int(0))
        if not _WRITES_THROUGH:
            variables.clear()  # the copy, which would be one more reference to each of them
    return known
