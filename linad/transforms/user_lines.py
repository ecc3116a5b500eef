"""The line of the user's program that an operation comes from, looked up at each operation."""

import sys
from types import CodeType, FrameType

from linad.core.tape import Source


def user_line() -> Source | None:
    """The innermost line on the stack that is neither linad's nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        known = _codes.get(id(code)) or _looked_up(frame)
        lines = known[1]
        if lines is not None:
            at = frame.f_lasti
            source = lines.get(at)
            if source is None:
                source = lines[at] = Source(code.co_filename, frame.f_lineno)
            return source
        frame = frame.f_back
    return None


_codes: dict[int, tuple[CodeType, dict[int, Source] | None]] = {}
"""By the id of code, which is kept so that the id stays its own: its lines, by the place of an
instruction; None for linad's and NumPy's. To find out takes longer than many operations."""

_MOST_CODES = 20_000
"""Programs that make code without end are not to fill the memory with it."""


def _looked_up(frame: FrameType) -> tuple[CodeType, dict[int, Source] | None]:
    if len(_codes) > _MOST_CODES:
        _codes.clear()
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    lines: dict[int, Source] | None = None if package in ("linad", "numpy") else {}
    found = frame.f_code, lines
    _codes[id(frame.f_code)] = found
    return found
