"""Routines whose result is accurate to a tolerance, told of where somebody asks.

A function that integrates or searches on the way is as accurate as its integrator: where a fit of
it comes no further, that is what to say. `watched_tolerances` lists what a run came by; nothing is
kept elsewhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.core.during import during


class Tolerance(NamedTuple):
    """A routine that ran, the name of its tolerance, and what that was; None where it says none;
    and whether one program can hold it for other values too."""

    routine: str
    option: str
    value: float | None
    one_program: bool = True


_watched: ContextVar[list[Tolerance] | None] = ContextVar("linad_tolerances", default=None)


@contextmanager
def watched_tolerances() -> Iterator[list[Tolerance]]:
    """Collect the routines that run in here, each once; those around see them as well."""
    found: list[Tolerance] = []
    with during(_watched, found):
        yield found
    for told in found:
        tell_tolerance(*told)


def tell_tolerance(
    routine: str, option: str, value: Array | None, one_program: bool = True
) -> None:
    """Say that a routine runs here; of several values the largest is its tolerance."""
    found = _watched.get()
    if found is None:
        return
    largest = None if value is None else float(np.max(value))
    told = Tolerance(routine, option, largest, one_program)
    if told not in found:
        found.append(told)
