"""Who asks: the frames on the stack, and which of them are the user's own code."""

import os
import sys
from functools import lru_cache
from types import FrameType
from typing import NamedTuple

ENGINES = frozenset({"linad", "numpy", "scipy"})
"""Packages whose lines nobody can change for the sake of a derivative."""

_STANDARD = os.path.dirname(os.__file__) + os.sep


class Place(NamedTuple):
    """A line of somebody's source.

    Attributes
    ----------
    file : str
    line : int
    function : str
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


def package_of(frame: FrameType) -> str:
    """The name of the package, or of the module outside of any, whose code a frame runs."""
    name: str = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0]


@lru_cache(4096)
def is_installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package, and not to the user."""
    return file.startswith((_STANDARD, "<frozen ")) or f"{os.sep}site-packages{os.sep}" in file


def user_frame() -> FrameType | None:
    """The innermost frame of the user's own code.

    Where all the code on the stack is installed, that of the innermost package that is not an
    engine of the calculation. None where Python has no frame of either.
    """
    frame: FrameType | None = sys._getframe(1)
    other = None
    while frame is not None:
        if package_of(frame) not in ENGINES:
            if not is_installed(frame.f_code.co_filename):
                return frame
            other = other or frame
        frame = frame.f_back
    return other


def place_of(frame: FrameType) -> Place:
    """The line that a frame is at."""
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
