"""Derivatives that are recorded on seeds of zero.

A push or a pull is recorded by running it once, on zeros: it is linear, so whatever it gives is
zero as well. To run a loop for that, which may take a thousand repetitions and has to be compiled
first, would be work for a result that is known.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.during import during
from linad.core.primitive import Traced

_zero_seeds: ContextVar[bool] = ContextVar("linad_zero_seeds", default=False)
_known_results: ContextVar[bool] = ContextVar("linad_known_results", default=False)


def zero_seeds() -> AbstractContextManager[None]:
    """What is pushed or pulled here is zero."""
    return during(_zero_seeds, True)


def seeds_are_zeros() -> bool:
    """Whether what is pushed or pulled here is zero, and no example of what will be."""
    return _zero_seeds.get()


def linear_in_seeds(given: Iterable[Any]) -> AbstractContextManager[None]:
    """What is called here gives zeros if these seeds are zeros, in all results that are read.

    A rule may push others than those that it is given: unit vectors, to find a matrix.
    """
    zeros = _zero_seeds.get() and all([t is None or _is_zero(t) for t in given])
    return during(_known_results, zeros)


def _is_zero(seed: Array) -> bool:
    return not np.any(seed.concrete if isinstance(seed, Traced) else seed)


def unread_results() -> AbstractContextManager[None]:
    """Of what is called here only shapes and dtypes are looked at."""
    return during(_known_results, True)


def read_results() -> AbstractContextManager[None]:
    """A recording of its own, inside of one that is about zeros: rules decide on its values."""
    return during(_zero_seeds, False, _known_results, False)


def results_are_zeros() -> bool:
    """Whether zeros may stand for the results of the loop that is called."""
    return _known_results.get()
