"""What a compiled loop asks of Python while it runs.

A loop of machine code hears no Ctrl-C, and no alarm: Python runs the handlers of signals between
two of its own instructions. So long loops call `looked` once a second. That is enough for
handlers, which Python runs then; what they raise ends the loop. In other threads, to which no
signal comes, it says that they run.

A caller may allow loops no more than a number of repetitions: a fit, at its trial points. Loops in
machine code that go beyond call `looked` as well, if they run in the main thread; those in Python
call `count`.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

import numpy as np

from linad.core.during import during
from linad.core.frames import place
from linad.core.patience import say
from linad.core.settings import settings
from linad.errors import LoopLimitError

FIRST, AGAIN = 5.0, 10.0
"""Seconds after which a line says that loops run, and by how much longer until the next does."""

PAUSE, TURNS = 2.5, 20
"""Seconds without a look after which loops had ended; and by how many times longer they are where
other threads look as well, one of all of them a second."""


STEADY = 2.0
"""By how much the speed of a loop may change, from one look to the next."""


class _Running:
    """The loop that looked up last; one that has come on at its speed is still the same."""

    def __init__(self, pause: float = PAUSE) -> None:
        self.pause = pause
        self.repetitions, self.speed = 0, 0.0
        self.began = self.seen = 0.0
        self.due: dict[str, float] = {}

    def look(self, repetitions: int) -> None:
        """Say that a loop has been running for long, if it has; seldom again."""
        now = time.perf_counter()
        since = max(now - self.seen, 1e-9)
        speed = (repetitions - self.repetitions) / since
        goes_on = speed * self.speed > 0 and 1 / STEADY < speed / self.speed < STEADY
        if not goes_on or since > self.pause:
            self.began = now
        self.repetitions, self.speed, self.seen = repetitions, speed, now
        seconds = now - self.began
        if seconds < FIRST or not settings().progress:
            return
        at = place()
        if seconds < self.due.get(at, FIRST):
            return
        self.due[at] = AGAIN * seconds
        where = f" (at {at})" if at else ""
        say(
            f"a compiled loop has been running for {seconds:.0f} s{where} and gone round "
            f"{abs(repetitions):,} times; {_stops()}"
        )


def _stops() -> str:
    """What ends a loop: signals come to the main thread alone."""
    thread = threading.current_thread()
    if thread is threading.main_thread():
        return "Ctrl-C stops it"
    return f"it is in thread {thread.name}, which Ctrl-C does not stop"


class _OfThread(threading.local):
    """What runs in each thread."""

    def __init__(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        self.running = _Running(PAUSE if main else TURNS * PAUSE)


_threads = _OfThread()


NO_LIMIT = 1 << 62

MOST = np.array([NO_LIMIT])
"""Repetitions beyond which a compiled loop of the main thread calls `looked`."""

NOTED = 1024
"""Repetitions from which on they are counted."""


class Allowance:
    """How often loops may go round within a block, and how often they do.

    Attributes
    ----------
    most : int
        The most repetitions that one has been seen to take, 0 if fewer than `NOTED`.
    error : LoopLimitError or None
        What has ended one that took more.
    """

    def __init__(self, limit: int = NO_LIMIT) -> None:
        self.limit, self.most = limit, 0
        self.error: LoopLimitError | None = None

    def count(self, repetitions: int) -> None:
        """Note that a loop has come so far; raise where it may not."""
        self.most = max(self.most, repetitions)
        if repetitions > self.limit:
            self.give_up(f"a loop has gone round {repetitions} times")

    def give_up(self, words: str) -> NoReturn:
        """Raise: something in the block will not end."""
        self.error = LoopLimitError(words)
        raise self.error


_allowance: ContextVar[Allowance | None] = ContextVar("linad_allowance", default=None)


@contextmanager
def allowing(allowance: Allowance) -> Iterator[None]:
    """Count the repetitions of loops in here."""
    try:
        with during(_allowance, allowance):
            _set_most()
            yield
    finally:
        _set_most()


def _set_most() -> None:
    """From which repetition on compiled loops of the main thread ask; other threads' never do."""
    if threading.current_thread() is threading.main_thread():
        allowance = _allowance.get()
        MOST[0] = NO_LIMIT if allowance is None else min(NOTED, allowance.limit)


def count(repetitions: int) -> None:
    """A loop, or an integration, in Python has come so far; raises where it may not."""
    allowance = _allowance.get()
    if allowance is not None and repetitions >= NOTED:
        allowance.count(repetitions)


def counting() -> Allowance | None:
    """Who counts, if somebody does."""
    return _allowance.get()


def looked(repetitions: int) -> None:
    """A loop that has run so many times looks up; what this raises ends it.

    Below zero stand the repetitions of one whose number was known when it began.
    """
    _threads.running.look(repetitions)
    allowance = _allowance.get()
    if allowance is not None and repetitions > 0:
        allowance.count(repetitions)
        MOST[0] = max(MOST[0], min(2 * repetitions, allowance.limit))
