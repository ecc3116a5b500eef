"""Loops that NumPy runs while a function is recorded, as far as that costs less than compiling.

A recording computes values once, and the program that is made of it is compiled as a whole; a loop
would be compiled by itself for this one run. Which takes less is known before of a loop that says
how often it repeats itself, and else is seen on the way: NumPy begins, and gives up when it has
done as many operations as it does in the time that compiling takes.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from linad.control.bodies import Body, run_tape
from linad.core.shapes import size_of

WORTH = 300
"""Operations on numbers that NumPy does in the time in which one of a loop is compiled: 0.7 ms.
That takes 0.3 ms where the kernels are on disk and 3 ms where they are not."""

LARGE = 1000
"""Entries of an array on which an operation takes as long again as on a number."""


def worth_compiling(parts: Sequence[Body]) -> int:
    """How many operations take as long as compiling a loop or a branch of these bodies."""
    return WORTH * sum([_written(body) for body in parts])


def _written(body: Body) -> int:
    """Operations that a body consists of, with those of loops in it."""
    inner = [getattr(e.primitive, "parts", ()) for e in body.tape.equations]
    return len(inner) + sum([_written(b) for parts in inner for b in parts])


class UsedUp(BaseException):
    """Ends a run by NumPy; no ``except Exception`` around an operation takes it."""


class FirstRun:
    """Runs bodies by NumPy, until all that it may do is done.

    Parameters
    ----------
    left : int
        Operations that may be done.
    """

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, body: Body, values: Sequence[Any]) -> list[Any]:
        if self.left < 0:
            raise UsedUp
        self.left -= operations_of(body)
        return run_tape(body, list(values))


def operations_of(body: Body) -> int:
    """How many operations a run of a body counts as, loops in it as one."""
    return body.once("operations", lambda: _operations(body))  # type: ignore[no-any-return]


def _operations(body: Body) -> int:
    results = [v for e in body.tape.equations for v in e.outputs]
    return 1 + sum([1 + size_of(v.shape) // LARGE for v in results])


first_run: ContextVar[FirstRun | None] = ContextVar("linad_first_run", default=None)
"""That of the loop around which runs by NumPy, if one does."""
