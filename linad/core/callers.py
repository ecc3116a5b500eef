"""Who asks: the frames on the stack, and which of them are the user's own code."""

import sys
import warnings
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from linad.core.frames import defining_module, shown_file
from linad.core.installed import is_installed, package_of_file

ENGINES = frozenset({"linad", "numpy", "scipy"})
"""Packages whose lines nobody can change for the sake of a derivative."""

AWARE = ENGINES | {"pandas", "xarray", "numba", "optree", "dask", "pint"}
"""Packages that ask for the type of an operand in order to leave it to its own operators."""

_ISSCALAR = np.isscalar.__globals__["__name__"]
PASSES_AS_PLAIN: dict[str, bool] = {}
"""What `passes_as_plain` has answered to a module before."""

_BETWEEN = frozenset({"abc", "functools", "typing"})
"""Modules that ask in the name of their caller: ``isinstance(s, numbers.Number)``."""


class SourceLine(NamedTuple):
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
        return f"{shown_file(self.file)}:{self.line}, in {self.function}"


def package_of(frame: FrameType) -> str:
    """The name of the package, or of the module outside of any, whose code a frame runs.

    Code that a package runs by ``exec`` may have no name; it is known by its file.
    """
    name: str = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] or package_of_file(frame.f_code.co_filename)


def defining_package(thing: Any) -> str:
    """The package in which a class or function is defined; "" where it does not say."""
    return defining_module(thing).split(".", 1)[0]


def refused_frame() -> FrameType | None:
    """The innermost frame that is not of an engine of the calculation."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and package_of(frame) in ENGINES:
        frame = frame.f_back
    return frame


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


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's own code that is running."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    space = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=space.get("__name__"),
        registry=space.setdefault("__warningregistry__", {}),
    )


def calls_of_engines(traceback: TracebackType | None) -> set[SourceLine]:
    """The lines, on the way of an exception, at which other code called NumPy's or SciPy's."""
    calls, line = set(), None
    while traceback is not None:
        frame = traceback.tb_frame
        package = package_of(frame)
        if package not in ENGINES:
            line = SourceLine(frame.f_code.co_filename, traceback.tb_lineno, frame.f_code.co_name)
        elif package != "linad" and line is not None:
            calls.add(line)
        traceback = traceback.tb_next
    return calls


def place_of(frame: FrameType) -> SourceLine:
    """The line that a frame is at."""
    return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def passes_as_plain(frame: FrameType, name: str) -> bool:
    """Whether to tell the module of that name, in that frame, that a traced value is a plain one.

    The user's code and most packages take by it the branch that they take with plain values.
    SciPy, pandas and xarray know values that are neither arrays nor numbers, and handle them
    better; NumPy does, but for `numpy.polynomial` and `numpy.isscalar`.
    """
    asker: FrameType | None = frame
    while asker is not None and name in _BETWEEN:
        asker = asker.f_back
        name = "" if asker is None else asker.f_globals.get("__name__", "")
    package = name.partition(".")[0]
    if package == "numpy" and asker is not None and asker.f_code.co_name == "isscalar":
        return asker.f_back is not None and package_of(asker.f_back) not in AWARE
    answer = package not in AWARE or name.startswith("numpy.polynomial.")
    if asker is frame and name != _ISSCALAR:
        PASSES_AS_PLAIN[name] = answer
    return answer


def innermost(error: BaseException | None) -> TracebackType | None:
    """Where an error was raised."""
    place = None if error is None else error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place
