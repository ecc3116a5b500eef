"""Values in messages: on one line, and cut between items where they are long."""

import re
from typing import Any

_NUMPY_NUMBER = re.compile(r"\bnp\.(?:float|int|uint)\d+\(([^()'\"]*)\)")
"""NumPy's numbers in a container, ``np.float64(1.5)``: people read and write 1.5."""

MOST = 60
"""Characters of a value that are shown; what closes its brackets comes on top."""

_CLOSING = {"[": "]", "(": ")", "{": "}"}


def shown(value: Any) -> str:
    """The representation of a value; a long one ends after an item: ``[1.5, 2.5, ...]``."""
    text = _NUMPY_NUMBER.sub(r"\1", " ".join(repr(value).split()))
    if len(text) <= MOST:
        return text
    end, open_ones = _last_item(text)
    if not end:
        return f"{text[:MOST]}..."
    separator = "" if text[end - 1] in _CLOSING else " "
    return f"{text[:end]}{separator}...{''.join(reversed(open_ones))}"


def _last_item(text: str) -> tuple[int, list[str]]:
    """Where the last item that may be shown has ended, and what closes the brackets open there.

    An item ends at a space that is in brackets and not in quotes. 0 where none ends in time.
    """
    brackets: list[str] = []
    quote = ""
    found: tuple[int, list[str]] = (0, [])
    for k, c in enumerate(text[: MOST + 1]):
        if quote:
            quote = "" if c == quote and text[k - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        elif c in _CLOSING:
            brackets.append(_CLOSING[c])
        elif brackets and c == brackets[-1]:
            brackets.pop()
        elif c == " " and brackets:
            found = k, list(brackets)
    return found
