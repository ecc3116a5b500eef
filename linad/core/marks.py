"""Marks that refusals leave on the trace whose value was refused.

``try: float(x)`` followed by ``except TypeError`` swallows a refusal and goes another way than
with plain numbers. So each refusal is noted where it arises, and a function that returns
nevertheless raises; see `linad.arrays.traces.Trace`. A function that raises takes its marks with
it.
"""

from contextvars import ContextVar
from typing import Any, NamedTuple

from linad.core.callers import Place, place_of, refused_frame, user_frame

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
    place: Place
    user: Place
    error: Exception


NOWHERE = Place("<unknown>", 0, "<unknown>")


def mark(error: Exception, kind: str, trace: Any = None) -> None:
    """Note a refusal on a trace; on the running one where it is of no value in particular."""
    trace = trace or running.get()
    if trace is None or trace.finished:
        return
    asked, user = refused_frame(), user_frame()
    place = NOWHERE if asked is None else place_of(asked)
    trace.marks.append(Mark(kind, place, NOWHERE if user is None else place_of(user), error))
