"""What a value carries along that its identity does not tell: code, memory, a place in a file."""

import enum
import functools
import gc
import types
from collections import deque
from collections.abc import Iterator
from io import IOBase
from typing import Any

import numpy as np

from linad.core.transformed_functions import Transformed
from linad.jit.process_state import is_data, is_environment
from linad.jit.state_walk import HOLDERS, is_sparse
from linad.jit.static_values import PLAIN, is_users
from linad.jit.traced_results import is_jitted

FOLLOWED = (types.FunctionType, types.MethodType, functools.partial, Transformed, type)
"""Callables whose code is looked into."""

CONTAINERS = {list, tuple, dict, set, frozenset, deque}


def moves(value: Any) -> bool:
    """Whether a value is an iterator of which nobody can tell how far it has gone."""
    if type(value).__name__ == "SimpleQueue":
        return True
    return isinstance(value, Iterator) and not (is_users(type(value)) or isinstance(value, IOBase))


def is_bound(value: Any) -> bool:
    """Whether it is a method of one object, written in C: ``table.get``."""
    if not isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        return False
    return not isinstance(value.__self__, (types.ModuleType, type, types.NoneType))


def called_by(value: Any) -> Any:
    """The function that one of `numpy.frompyfunc` calls; None for others."""
    if not isinstance(value, np.ufunc):
        return None
    held = gc.get_referents(value)
    return next((x for x in held if isinstance(x, types.FunctionType)), None)


def has_memory(value: Any) -> bool:
    """Whether a value owns memory that others may write into: a bytearray, a file in memory."""
    try:
        return not memoryview(value).readonly or isinstance(value, memoryview)
    except (TypeError, ValueError, BufferError):  # ValueError: it is closed
        return False


def has_code(x: Any, depth: int = 4) -> bool:
    """Whether an argument brings code along, which may read more from outside, or holds what its
    identity does not tell."""
    kind = type(x)
    if kind in PLAIN or isinstance(x, np.ndarray):
        return False
    if isinstance(x, (*FOLLOWED, *HOLDERS, types.ModuleType)) or is_users(kind) or is_data(kind):
        return True
    if kind in CONTAINERS and depth:
        parts = (*x, *x.values()) if kind is dict else x
        return any([has_code(part, depth - 1) for part in parts])
    if is_bound(x) or called_by(x) is not None:
        return True
    return is_jitted(x) or is_sparse(x) or is_environment(x) or moves(x) or has_memory(x)


def has_state(x: Any) -> bool:
    """Whether an argument is an object of a user's class, known by itself and its attributes."""
    kind: Any = type(x)
    plain = kind.__hash__ is object.__hash__ and not hasattr(kind, "__array__")
    return plain and is_users(kind) and not isinstance(x, enum.Enum)
