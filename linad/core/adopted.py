"""What the engine knows of adopted code: which modules it is, and who watches its traces.

`linad.adoption` fills both; while nobody adopts anything they are empty and cost one look.
"""

import dis
import functools
import traceback
import weakref
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from linad.errors import InternalError

SPACES: dict[int, dict[str, Any]] = {}
"""The globals of adopted modules, by their id."""

METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of traced arrays that only adopted code may call."""

ATTRIBUTES: dict[str, Callable[..., Any]] = {}
"""Attributes of traced arrays that only adopted code may read, in so many words."""

CODES: dict[int, Any] = {}
"""Code objects of functions that were adopted alone, by their id."""

WRITTEN: weakref.WeakKeyDictionary[CodeType, CodeType] = weakref.WeakKeyDictionary()
"""The code of adopted functions as it was written, by the code that they have instead."""

ENDED: weakref.WeakSet[CodeType] = weakref.WeakSet()
"""The code of functions whose adoption has ended."""

ENDED_NAMES: set[str] = set()
"""The same of modules, by their names."""

WATCHERS: list[Any] = []
"""Told when a trace starts (``enter``) and ends (``leave``): none, or one."""


class RunAgain(BaseException):
    """Ends a run that starts again with more code adopted. Not an error: nobody is to catch it.

    Parameters
    ----------
    instead : exception or None
        What ended the run.
    """

    def __init__(self, instead: BaseException | None) -> None:
        self.instead = instead


_MOST_RUNS = 64
"""A run goes on to the next file that has to be compiled anew."""

_MOST_AT_ONE_PLACE = 4
"""Code that is made anew in each run (by ``exec``) is never adopted in time."""

Place = tuple[tuple[str, int], ...]


def is_adopted(frame: FrameType) -> bool:
    """Whether a frame runs adopted code."""
    return id(frame.f_globals) in SPACES or id(frame.f_code) in CODES


def was_adopted(frame: FrameType) -> bool:
    """Whether the code of a frame has been adopted, and is no more."""
    name = frame.f_globals.get("__name__", "")
    ended = frame.f_code in ENDED or not ENDED_NAMES.isdisjoint((name, name.partition(".")[0]))
    return ended and not is_adopted(frame)


def as_written(code: CodeType) -> CodeType:
    """The code of a function as it was before it was adopted: what that reads, it reads."""
    return WRITTEN.get(code, code) if WRITTEN else code


def is_read_by_adopted(frame: FrameType, name: str) -> bool:
    """Whether the code of a frame is adopted and at ``x.name``, not at a call that looks for it."""
    code = frame.f_code
    at = code.co_code[frame.f_lasti]
    return at == _LOAD_ATTR and name in code.co_names and is_adopted(frame)


_LOAD_ATTR = dis.opmap["LOAD_ATTR"]


def repeated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that runs another on traced values start anew when it is asked to."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not WATCHERS:
            return function(*args, **kwargs)
        ends: Counter[Place] = Counter()
        for _ in range(_MOST_RUNS):
            try:
                return function(*args, **kwargs)
            except RunAgain as end:
                if any([getattr(a, "finished", False) for a in args]):
                    raise  # the trace was made above, and so must be the next one
                refused = end.instead
            if refused is not None:
                ends[_place(refused)] += 1
                if ends[_place(refused)] == _MOST_AT_ONE_PLACE:
                    break
        raise refused or InternalError(
            f"adopt: after {_MOST_RUNS} runs there is new code still that is not adopted, made in "
            f"each of them (by exec, say); make it once, outside of the function"
        )

    return run


def _place(error: BaseException) -> Place:
    """Where an error was raised: the files and lines of its traceback."""
    steps = traceback.walk_tb(error.__traceback__)
    return tuple([(frame.f_code.co_filename, line) for frame, line in steps])
