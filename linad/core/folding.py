"""Tracebacks without linad's own frames: what is left is the user's code, and what it called.

A public function is one line of a traceback, and what runs inside of it is left out. Frames are
taken out of the traceback itself, so that plain Python, pytest and a notebook show the same.
``LINAD_TRACEBACK=full`` in the environment keeps all of them, as a comment on the line that is left
says: a note on the error would be in the way of tests that compare its text.
"""

import os
from types import FrameType

from linad.errors import LinadError

FULL = os.environ.get("LINAD_TRACEBACK", "") == "full"


def _is_own(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    return name == "linad" or name.startswith("linad.")


def fold(error: BaseException) -> bool:
    """Leave linad's frames out of a traceback, but for that of the function that calls this.

    Where the error is not one of linad's, the frames that it was raised in stay: there is no
    other line that says what went wrong.

    Returns
    -------
    bool
        For ``__tracebackhide__``, by which pytest and IPython leave out that last frame.
    """
    entry = error.__traceback__
    if FULL or entry is None:
        return False
    keeps_last = not isinstance(error, LinadError)
    while entry is not None:
        after = entry.tb_next
        while after is not None and _is_own(after.tb_frame):
            after = after.tb_next
        if after is None and keeps_last:
            break
        entry.tb_next = after
        entry = after
    return True
