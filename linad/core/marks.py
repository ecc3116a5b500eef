"""Marks that refusals leave on the trace whose value was refused.

``try: float(x)`` followed by ``except TypeError`` swallows a refusal and goes another way than
with plain numbers. So each refusal is noted where it arises, and a function that returns
nevertheless raises; see `linad.arrays.traces.Trace`. A function that raises takes its marks with
it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from typing import Any, NamedTuple

from linad.core.callers import SourceLine, place_of, refused_frame, user_frame
from linad.core.during import during

running: ContextVar[Any] = ContextVar("linad_running_trace", default=None)
"""The innermost trace whose function runs in this context; None outside of any."""


class Mark(NamedTuple):
    """A refusal, as its trace keeps it.

    Attributes
    ----------
    kind : str
        What was refused: the name of the error class, or "float", "int", "complex", "array",
        "item", "tolist".
    place : Place
        File, line and function of the code that asked, be it the user's or a package's.
    user : Place
        The line of the user's own code that this came from; often the same.
    error : Exception
        What was raised.
    """

    kind: str
    place: SourceLine
    user: SourceLine
    error: Exception


NOWHERE = SourceLine("<unknown>", 0, "<unknown>")


def mark(error: Exception, kind: str, trace: Any = None) -> None:
    """Note a refusal on a trace; on the running one where it is of no value in particular."""
    trace = trace or running.get()
    if trace is None or trace.finished:
        return
    asked, user = refused_frame(), user_frame()
    place = NOWHERE if asked is None else place_of(asked)
    trace.marks.append(Mark(kind, place, NOWHERE if user is None else place_of(user), error))


def outside_of_traces() -> AbstractContextManager[None]:
    """What runs here on plain values is in no trace: `linad.numpy.zeros` makes plain arrays."""
    return during(running, None)


def running_traces() -> Iterator[Any]:
    """The traces whose functions run in this context, from the innermost on."""
    trace = running.get()
    while trace is not None:
        yield trace
        around = trace._around.old_value
        trace = None if around is Token.MISSING else around


class Attempt:
    """What linad itself tries from here on: it may catch a refusal, and go another way.

    The user's function has swallowed nothing then, so the marks must go. In ``with`` it ends the
    block at an error of the classes named, and forgets.
    """

    def __init__(self, *errors: type[Exception]) -> None:
        self._errors = errors
        self._before = [(trace, len(trace.marks)) for trace in running_traces()]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> bool:
        failed = kind is not None and issubclass(kind, self._errors)
        if failed:
            self.forget()
        return failed

    def forget(self) -> None:
        """Take back the marks that refusals have left since."""
        for trace, count in self._before:
            del trace.marks[count:]
