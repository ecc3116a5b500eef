"""What a compiled loop asks of Python while it runs.

A loop of machine code hears no Ctrl-C, and no alarm: Python runs the handlers of signals between
two of its own instructions. So long loops call `looked` once a second. That is enough for
handlers, which Python runs then; what they raise ends the loop.
"""

import time

from linad.core.frames import place
from linad.core.patience import say
from linad.core.settings import settings

FIRST, AGAIN = 5.0, 10.0
"""Seconds after which a line says that loops run, and by how much longer until the next does."""

PAUSE = 2.5
"""Seconds without a look after which loops had ended."""


class _Running:
    """Compiled loops that run one after the other, in one call or in many of the same line."""

    def __init__(self) -> None:
        self.place, self.began, self.seen = "", 0.0, 0.0
        self.due: dict[str, float] = {}

    def look(self) -> None:
        """Say that loops have been running for long, where they have; seldom again."""
        now = time.perf_counter()
        at = place()
        if at != self.place or now - self.seen > PAUSE:
            self.place, self.began = at, now
        self.seen = now
        seconds = now - self.began
        if seconds < self.due.get(at, FIRST) or not settings().progress:
            return
        self.due[at] = AGAIN * seconds
        where = f" (at {at})" if at else ""
        say(f"compiled loops have been running for {seconds:.0f} s{where}; Ctrl-C stops them")


_running = _Running()


def looked(repetitions: int) -> None:
    """A loop that has run so many times looks up; what this raises ends it."""
    _running.look()
