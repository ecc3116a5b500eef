"""Exceptions that a handler of a signal raises: an alarm, in whatever line it comes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception came out of a signal's handler, and not of what was running.

    What linad tries in one way and then in another must let it pass: the other way does not raise
    it again. `KeyboardInterrupt` passes by itself.
    """
    handlers = {getattr(signal.getsignal(s), "__code__", None) for s in signal.valid_signals()}
    return any(frame.f_code in handlers for frame, _ in walk_tb(error.__traceback__))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let what is changed in here be changed as a whole: Ctrl-C counts when it is done."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, Any]] = []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number, frame in came[:1]:
            handler(number, frame)
