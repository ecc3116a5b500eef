"""Exceptions that a handler of a signal raises: an alarm, in whatever line it comes."""

import signal
from traceback import walk_tb


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception came out of a signal's handler, and not of what was running.

    What linad tries in one way and then in another must let it pass: the other way does not raise
    it again. `KeyboardInterrupt` passes by itself.
    """
    handlers = {getattr(signal.getsignal(s), "__code__", None) for s in signal.valid_signals()}
    return any(frame.f_code in handlers for frame, _ in walk_tb(error.__traceback__))
