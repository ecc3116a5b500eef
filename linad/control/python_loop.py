"""``for i in linad.loop(n)``: a few repetitions are recorded, all others run compiled.

That all repetitions do the same is the user's promise. It is checked as far as it can be seen:

    operations   two repetitions are compared equation by equation, with their operands:
                 made in the same repetition, made by the same place of an earlier one (a
                 carry), one value from outside, equal constants, or the loop's own i
    Python       what can be reached from the frame of the loop (`control.python_state`)
    values       nobody holds more traced values after one repetition than after the one before

While the body runs, operations on values of the traces around it are recorded here. Then the
loop is one operation of those traces, and the traced values that the function still holds are
given what they are after the last repetition.
"""

import sys
from collections.abc import Iterator
from typing import Any

from linad.arrays.traces import interrupt_pending, running_trace
from linad.control.loop_recording import FEWEST, Recording
from linad.core.options import count, takes
from linad.core.settings import settings


@takes(n=count(0))
def loop(n: int) -> Iterator[Any]:
    """Yield 0 to n - 1, as ``range(n)`` does; where values are traced the loop is compiled.

    Parameters
    ----------
    n : int
        Number of repetitions.

    Yields
    ------
    i : int
        Traced where the loop is compiled.

    Raises
    ------
    BrokenPromiseError
        If the repetitions are seen to differ: a number that changes, a list that grows, another
        path. It names what differs.
    GuardError
        If a decision on a traced value would be taken otherwise in a later repetition.

    Notes
    -----
    The promise: all repetitions do the same operations. Then the body runs three times (more
    often where it looks back further than one repetition), and never again; so does what it does
    besides computing, such as printing. Compute what changes from ``i``: ``t = h * i``
    instead of ``t += h``. Values of all repetitions come from `linad.scan`.

    ``linad.config(check_loops=True)`` runs every repetition and compares it with the one before:
    it sees all that breaks the promise, and costs as much as a loop in Python.

    Where no trace runs it is ``range(n)``.

    Examples
    --------
    >>> import numpy as np, linad
    >>> def f(y):
    ...     for i in linad.loop(1000):
    ...         y = y + 0.001 * np.cos(0.001 * i) * y
    ...     return y
    >>> print(f"{linad.grad(f)(1.0):.6f}")
    2.319049
    """
    return _repetitions(int(n))


def _repetitions(n: int) -> Iterator[Any]:
    around = running_trace()
    if around is None or n <= FEWEST:
        yield from range(n)
        return
    interrupt_pending()
    recording = Recording(n)
    try:
        recording.start(sys._getframe(1))
        for k in range(n):
            yield recording.begin(k)
            recording.end(k, sys._getframe(1))
            if recording.settled and not settings().check_loops:
                break
        recording.leave()
        recording.finish()
    except GeneratorExit:  # break, return or an exception in the body
        recording.break_off()
    finally:
        recording.leave()
        recording.hooks.methods.clear()  # they refer to the recording
