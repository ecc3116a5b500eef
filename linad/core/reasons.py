"""Why linad itself asks for a value while a program is recorded, in the words of the routine.

A user who reads of a decision at a line that decides nothing is told what in it does, and what to
write instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from linad.core.during import during

_reason: ContextVar[str] = ContextVar("linad_reason", default="")


@contextmanager
def because(reason: str) -> Iterator[None]:
    """What is asked in here is asked for this reason, unless one is given within."""
    with during(_reason, reason):
        yield


def reason() -> str:
    """Why a value is asked for here; "" where the user's own code asks."""
    return _reason.get()
