"""Compiled functions of packages, where adopted code calls them with arrays that it has made.

    y = np.zeros(n)         in adopted code a traced constant, to be written into
    solve_rows(A, y)        Cython, which takes arrays alone, and may write into them

They get the numbers of constants in arrays of their own; what they have written into these is
written into the constants. While such an array is kept, a write into the constant raises
(`linad.arrays.lending`). A value that is not a constant is theirs to refuse.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.lending import note_lent
from linad.arrays.memory import constant_under
from linad.arrays.tracer import Tracer
from linad.core.callers import ENGINES, defining_package
from linad.core.failures import HANDS_ON

_KINDS = frozenset(
    {"builtin_function_or_method", "cython_function_or_method", "fused_cython_function"}
)
HANDS_ON.add(__name__)
_OTHERS = ENGINES | sys.stdlib_module_names | {""}


def is_compiled(f: Any) -> bool:
    """Whether a value is a compiled function of a package."""
    return type(f).__name__ in _KINDS and defining_package(f) not in _OTHERS


def of_constants(f: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that takes the traced constants of adopted code for arrays."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [a for a in (*args, *kwargs.values()) if type(a) is Tracer]
        plain = {id(a): constant_under(a) for a in given}
        if not given or any(value is None for value in plain.values()):
            return f(*args, **kwargs)
        taken = {key: np.array(value) for key, value in plain.items()}
        result = f(
            *[taken.get(id(a), a) for a in args],
            **{name: taken.get(id(a), a) for name, a in kwargs.items()},
        )
        for a in given:
            array = taken[id(a)]
            if not np.array_equal(array, plain[id(a)], equal_nan=True):
                a[...] = array
            if result is array:
                result = a
            note_lent(a, array)  # which ``f`` may keep, and what it returns may be a view of
        return result

    return call
