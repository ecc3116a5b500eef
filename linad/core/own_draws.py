"""Random numbers that an operation draws for itself, whenever it runs.

SciPy estimates norms with such in its logarithm of a matrix. They are none that a function which
is traced has drawn, and would be given again by the program that is made of it.
"""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol


class DrawWatch(Protocol):
    """Who looks for random numbers that are drawn."""

    def look(self) -> None:
        """Note what was drawn since the start."""

    def start(self) -> None:
        """Forget what was drawn until now."""


WATCHES: ContextVar[tuple[DrawWatch, ...]] = ContextVar("watches", default=())


def draws_for_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; what it draws goes unseen by those who watch."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        watches = WATCHES.get()
        for watch in watches:
            watch.look()
        try:
            return function(*args, **kwargs)
        finally:
            for watch in watches:
                watch.start()

    return run
