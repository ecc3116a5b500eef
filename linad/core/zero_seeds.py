"""Derivatives that are recorded on seeds of zero.

A push or a pull is recorded by running it once, on zeros: it is linear, so whatever it gives is
zero as well. To run a loop for that, which may take a thousand repetitions and has to be compiled
first, would be work for a result that is known.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.core.primitive import Traced

_zero_seeds: ContextVar[bool] = ContextVar("linad_zero_seeds", default=False)
_known_results: ContextVar[bool] = ContextVar("linad_known_results", default=False)


@contextmanager
def zero_seeds() -> Iterator[None]:
    """What is pushed or pulled here is zero."""
    before = _zero_seeds.set(True)
    try:
        yield
    finally:
        _zero_seeds.reset(before)


@contextmanager
def linear_in_seeds(given: Iterable[Any]) -> Iterator[None]:
    """What is called here gives zeros if these seeds are zeros, in all results that are read.

    A rule may push others than those that it is given: unit vectors, to find a matrix.
    """
    zeros = _zero_seeds.get() and all([t is None or _is_zero(t) for t in given])
    before = _known_results.set(zeros)
    try:
        yield
    finally:
        _known_results.reset(before)


def _is_zero(seed: Any) -> bool:
    return not np.any(seed.concrete if isinstance(seed, Traced) else seed)


@contextmanager
def unread_results() -> Iterator[None]:
    """Of what is called here only shapes and dtypes are looked at."""
    before = _known_results.set(True)
    try:
        yield
    finally:
        _known_results.reset(before)


@contextmanager
def read_results() -> Iterator[None]:
    """A recording of its own, inside of one that is about zeros: rules decide on its values."""
    before = _zero_seeds.set(False), _known_results.set(False)
    try:
        yield
    finally:
        _zero_seeds.reset(before[0])
        _known_results.reset(before[1])


def results_are_zeros() -> bool:
    """Whether zeros may stand for the results of the loop that is called."""
    return _known_results.get()
