"""Numbers for what a trace keeps, from an iterator that looks at the clock now and then.

A loop that never ends without a trace does not end in one either, and keeps ever more. So a line
names the loops that a long trace is in, one of a function that has come to its end before much
later; and the garbage collector waits for its end, lest it look
through all that is kept again and again. What comes before is counted in C.
"""

import itertools
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from linad.core.collection_pause import pause
from linad.core.marks import running
from linad.core.patience import Patience
from linad.core.running_loops import described, running_loops

FEW = 1_000
"""Operations that nobody waits for, and that the collector looks through in no time."""

BETWEEN = 500
"""Operations between two looks at the clock."""

SLOWER = 1000.0
"""Than a run that has come to its end, in plain Python perhaps, one that is traced can be."""

ended_after: ContextVar[float] = ContextVar("ended_after", default=0.0)
"""Seconds of the longest run, so far, of a function that a solver runs again and again."""

_told: set[str] = set()  # loops that were named before


class _Watched:
    """The numbers that follow, each look at the clock between two of them."""

    def __iter__(self) -> Iterator[int]:
        _pause_until_its_end(running.get())
        patience = Patience()
        patience.seconds = max(patience.seconds, SLOWER * ended_after.get())
        for n in itertools.count(FEW):
            if n % BETWEEN == 0 and (seconds := patience.spent()) is not None:
                _tell(patience, seconds, n)
            yield n


def _pause_until_its_end(trace: Any) -> None:
    """Put the collector off until a trace ends; the iterator, which it holds, does not hold it."""
    if trace is not None and not trace.paused:
        trace.paused = True
        pause()


NUMBERS = (range(FEW), _Watched())
"""``itertools.chain(*NUMBERS)`` is 0, 1, 2 ...; a line is printed where they take long."""


def _tell(patience: Patience, seconds: float, operations: int) -> None:
    loops = running_loops()
    if not loops or loops[-1] in _told:
        patience.said = True
        return
    _told.add(loops[-1])
    patience.say(
        f"{described(loops)} has been traced for {seconds:.0f} s, {operations} operations so far; "
        f"if it does not end, look at what should end it; linad.jit compiles long loops whose "
        f"steps are alike"
    )
