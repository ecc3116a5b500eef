"""NumPy's warnings of a division by zero and its kind, at the user's line.

NumPy gives such a warning at the innermost line of Python: one of linad's, or of NumPy's that linad
has called. To follow each operation would cost each one; a filter of warnings costs only where
there is a warning. This filter stands before all others. It takes the warning from that line and
gives it again at the user's, where what was asked of warnings ("error", "always") decides. A
warning that a derivative gave, and not the function itself, says so: the square root of 0 is 0, and
its slope there divides by zero.
"""

import re
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from linad.core.callers import ENGINES, package_of, user_frame, warn_user

_ARITHMETIC = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered in ")

_last = threading.local()
"""The text that Python has just asked about; it asks about the module next."""


class _Text:
    """The pattern for what a warning says."""

    def match(self, text: str) -> bool:
        _last.text = text if _ARITHMETIC.match(text) else ""
        return bool(_last.text)


class _Module:
    """The pattern for the module that gives a warning: one that linad runs for the user."""

    def match(self, module: str) -> bool:
        text: str = _last.text
        if not text or module.partition(".")[0] not in ENGINES or user_frame() is None:
            return False
        frames = list(_engine_frames(sys._getframe(1)))
        if all(package_of(frame) != "linad" for frame in frames):
            return False  # the user has called NumPy with plain arrays
        warn_user(text + _derivative(frames), RuntimeWarning)
        return True


# `warnings.filterwarnings` takes texts alone, of which it makes patterns.
FILTER: Any = ("ignore", _Text(), RuntimeWarning, _Module(), 0)


def _engine_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames from the one that warns out to the first that is not of an engine."""
    while frame is not None and package_of(frame) in {"warnings", "_py_warnings"}:
        frame = frame.f_back
    while frame is not None and package_of(frame) in ENGINES:
        yield frame
        frame = frame.f_back


def _derivative(frames: list[FrameType]) -> str:
    """What to add to a warning: "" for one of the function's own arithmetic.

    An operation has its value first; a frame of a transform has a `rule` from there on. The slopes
    that a sweep multiplies have no such frame.
    """
    ruled = False
    for frame in frames:
        module, names = frame.f_globals.get("__name__", ""), frame.f_locals
        if module == "linad.transforms.tape_operator":
            return " (in a derivative)"
        ruled = ruled or (module.startswith("linad.transforms.") and "rule" in names)
        if ruled and "primitive" in names:
            return f" (in the derivative of {names['primitive'].name})"
    return ""


def move_to_user_lines() -> None:
    """Have warnings of arithmetic given at the user's lines from here on.

    The filters are those in force: ``with warnings.catch_warnings()`` ends with the ones before it,
    and each new filter comes first.
    """
    filters: Any = warnings.filters
    if not filters or filters[0] is not FILTER:
        filters[:] = [FILTER, *(f for f in filters if f is not FILTER)]
