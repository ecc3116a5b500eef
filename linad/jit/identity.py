"""Which arguments are one object, or share memory: what ``x is y`` and its kind ask.

A recorded function sees traced values in the place of its arrays. Where its code compares objects
by ``is``, arguments that are one array are one traced value, and the program holds for calls
whose arguments are the same ones. ``np.shares_memory``, ``x.flags`` and ``x.base`` say themselves
that they were asked.
"""

import dis
import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import root_of
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.callers import defining_package
from linad.core.view_regions import repeats
from linad.jit.random_draws import DEPTH, FUNCTIONS, referred, wraps_function

IS = dis.opmap["IS_OP"]
CONSTANT = dis.opmap["LOAD_CONST"]

INSTALLED = {"linad", "numpy", "scipy", "numba", *sys.stdlib_module_names} - {"__main__"}


def compares_objects(f: Callable[..., Any]) -> bool:
    """Whether the code of a function, or of users' functions that it refers to, says ``is``."""
    return any([says_is(code) for code in _codes(f, DEPTH, set())])


def _codes(f: Any, depth: int, seen: set[int]) -> list[types.CodeType]:
    if not depth or id(f) in seen:
        return []
    seen.add(id(f))
    found = []
    if isinstance(f, types.FunctionType) and _is_users(f):
        found.append(f.__code__)
    for x in referred(f):
        if isinstance(x, FUNCTIONS) or wraps_function(x):
            found += _codes(x, depth - 1, seen)
    return found


def _is_users(f: types.FunctionType) -> bool:
    return defining_package(f) not in INSTALLED


@functools.lru_cache(1024)
def says_is(code: types.CodeType) -> bool:
    """Whether two objects are compared; None and other constants are nobody's arrays."""
    words = code.co_code
    for k in range(2, len(words), 2):
        if words[k] == IS and words[k - 2] != CONSTANT:
            return True
    return any([says_is(c) for c in code.co_consts if isinstance(c, types.CodeType)])


def first_of_each(arrays: Sequence[Any]) -> list[int]:
    """For each argument the number of the first that is the same object."""
    first: dict[int, int] = {}
    return [
        first.setdefault(id(a), k) if isinstance(a, (np.ndarray, Tracer)) else k
        for k, a in enumerate(arrays)
    ]


def memory_of_all(arrays: Sequence[Any]) -> list[Any]:
    """Equal for arguments that share memory with each other in the same way, and have the same
    flags."""
    return [
        (same, *_flags_of(a), [_offset(a, b) for b in arrays[:k]])
        for k, (a, same) in enumerate(zip(arrays, first_of_each(arrays), strict=True))
    ]


def _plain(x: Array) -> Any:
    return x.concrete if isinstance(x, Tracer) else x


def _flags_of(a: Array) -> tuple[bool, bool]:
    a = _plain(a)
    if not isinstance(a, np.ndarray):
        return True, True
    return a.flags.writeable, a.flags.owndata


def _offset(a: Array, b: Array) -> int | None:
    """Bytes between the first entries of arrays that may have some in common."""
    a, b = _plain(a), _plain(b)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return None
    if not np.may_share_memory(a, b):
        return None
    return a.__array_interface__["data"][0] - b.__array_interface__["data"][0]


def share_memory(arrays: Sequence[Any], written: Sequence[int]) -> bool:
    """Whether one of the arrays that are written into is in another argument as well, or has
    an entry twice itself (a broadcast one, or overlapping windows), or is read-only."""
    for k in written:
        x = arrays[k]
        if isinstance(x, np.ndarray) and (not x.flags.writeable or repeats(x)):
            return True
        for j, other in enumerate(arrays):
            if j != k and _overlap(arrays[k], other):
                return True
    return False


def _overlap(a: Array, b: Array) -> bool:
    if isinstance(a, Tracer) and isinstance(b, Tracer):
        return root_of(a) is root_of(b)
    plain = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return plain and np.may_share_memory(a, b) and np.shares_memory(a, b)
