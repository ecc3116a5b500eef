"""Object arrays that hold traced numbers.

NumPy computes with them entry by entry, in Python: ``o * 2`` and ``np.sum(o)`` are right as they
are. Where it asks the entries for plain numbers, or has no loop for objects, they become a traced
array of numbers first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.conversions import held
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.rules.creation import asarray
from linad.rules.shaping import gives_traced, of_holder


def is_of_numbers(a: Array) -> bool:
    """Whether an array is one of objects, all of them numbers, one at least of them traced."""
    return type(a) is np.ndarray and a.dtype.kind == "O" and type(of_holder(a)) is Tracer


def gathered(a: Any) -> Any:
    """A list or object array of traced numbers as a traced array; all else as it is."""
    if type(a) in (list, tuple):
        return asarray(a) if held(a) else a
    return of_holder(a) if type(a) is np.ndarray and a.dtype.kind == "O" else a


def gathered_to_write(v: Any) -> Any:
    """As `gathered`; an object that is an array, and no more than that, as well."""
    v = gathered(v)
    return of_holder(v) if gives_traced(v) else v


NAMES = ("astype", "clip", "dot", "mean", "round", "std", "trace", "var")
"""Methods that ask objects for plain numbers."""


def method_of(f: Any) -> Callable[..., Any]:
    """A bound method of an array; that of the traced numbers where it asks for plain ones."""
    if f.__name__ not in NAMES or not is_of_numbers(f.__self__):
        return f  # type: ignore[no-any-return]
    return getattr(gathered(f.__self__), f.__name__)  # type: ignore[no-any-return]
