"""NumPy's warnings of a division by zero and its kind, at the user's line.

NumPy gives such a warning at the innermost line of Python, which is one of linad's while a function
is traced. To follow each operation would cost each one; a filter of warnings costs only where there
is a warning. This filter stands behind all others: what was asked of warnings before it ("error",
"always") goes first. It takes the warning from linad's line and gives it again at the user's, where
the filters are asked once more.
"""

import re
import threading
import warnings
from typing import Any

from linad.core.callers import user_frame, warn_user

_ARITHMETIC = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered in ")

_last = threading.local()
"""The text that Python has just asked about; it asks about the module next."""


class _Text:
    """The pattern for what a warning says."""

    def match(self, text: str) -> bool:
        _last.text = text if _ARITHMETIC.match(text) else ""
        return bool(_last.text)


class _Module:
    """The pattern for the module that gives a warning: one of linad's, in a call of the user's."""

    def match(self, module: str) -> bool:
        text: str = _last.text
        if not text or module.partition(".")[0] != "linad" or user_frame() is None:
            return False
        warn_user(text, RuntimeWarning)
        return True


# `warnings.filterwarnings` takes texts alone, of which it makes patterns.
FILTER: Any = ("ignore", _Text(), RuntimeWarning, _Module(), 0)


def move_to_user_lines() -> None:
    """Have warnings of arithmetic in linad's lines given at the user's from here on.

    The filters are those in force: ``with warnings.catch_warnings()`` ends with the ones before it.
    """
    filters: Any = warnings.filters
    if FILTER not in filters:
        filters.append(FILTER)
