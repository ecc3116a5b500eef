"""Telling people that something takes long: a line on the standard error, once."""

import sys
import time

from linad.core.settings import settings

SECONDS = 2.0
"""How long one waits in silence."""


def say(line: str) -> None:
    """Print a line, and how to have none."""
    print(f"linad: {line} (linad.config(progress=False) prints nothing)", file=sys.stderr)


class Patience:
    """Runs from when it is made, where ``config(progress=)`` asks for a line at all."""

    def __init__(self) -> None:
        self.seconds = SECONDS
        self.started = time.perf_counter()
        self.said = not settings().progress

    def spent(self) -> float | None:
        """The seconds so far, if they are too many and nothing has been said yet."""
        seconds = time.perf_counter() - self.started
        return None if self.said or seconds < self.seconds else seconds

    def say(self, line: str) -> None:
        self.said = True
        say(line)

    def again(self, seconds: float) -> None:
        """Be as patient once more, until this many seconds from the beginning."""
        self.seconds, self.said = seconds, not settings().progress
