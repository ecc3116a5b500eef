"""What Python remembers from one repetition of a loop to the next.

The body of a loop may read and change what linad cannot trace: a counter, a list, an attribute, a
variable of a function around it. `state_of` writes down all of it that can be reached from the
frame of the loop, by name, so that two repetitions can be compared.
"""

import collections
import contextlib
import operator
import random
import sys
import types
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from linad.core.callers import defining_package
from linad.core.frames import names_in
from linad.core.showing import shown
from linad.transforms.plain_operands import fingerprint, sample

MOST = 20_000
"""Things that are looked at; what lies beyond is not seen."""

SUMMED_UP = 2**20
"""Bytes up to which all entries of an array count; of larger ones a sample does."""

_PLAIN = (type(None), bool, int, str, bytes, range, slice, type(...), np.dtype)
_ROOTS = {*sys.stdlib_module_names, "linad", "numpy", "scipy", "numba", "llvmlite", "optree"}


def state_of(frame: types.FrameType, traced: Callable[[Any], Any]) -> dict[str, Any]:
    """What can be reached from a frame.

    Parameters
    ----------
    frame : frame
        Of the function that holds the loop.
    traced : callable
        Says of a value that it is traced, and which one, or gives None.

    Returns
    -------
    state : dict
        By name, as ``self.steps`` or ``path[2]``, something that is equal if and only if the
        thing is the same.
    """
    return _StateWalk(traced).state(frame)


class _StateWalk:
    def __init__(self, traced: Callable[[Any], Any]) -> None:
        self.traced = traced
        self.found: dict[str, Any] = {}
        self.seen: dict[int, Any] = {}  # things by number; held, so that numbers stay theirs

    def state(self, frame: types.FrameType) -> dict[str, Any]:
        waiting = collections.deque(_names(frame.f_code, frame.f_locals, frame.f_globals))
        while waiting and len(self.found) < MOST:
            name, value = waiting.popleft()
            waiting.extend(self._visited(name, value))
        return self.found

    def _visited(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Write down a thing; return the parts of it that are still to be looked at."""
        known = self.traced(value)
        if known is None:
            known = _token(value)
        if known is not None:
            self.found[name] = known
            return []
        if id(value) in self.seen:
            self.found[name] = "see", self.seen[id(value)][0]
            return []
        self.seen[id(value)] = name, value
        parts = list(_parts(name, value))
        self.found[name] = type(value), len(parts)
        return parts


def _names(code: CodeType, local: Any, around: Any) -> Iterator[tuple[str, Any]]:
    """The variables of a function, and those of its module that it names."""
    if local is not around:
        yield from list(local.items())
    yield from [(n, around[n]) for n in dict.fromkeys(names_in(code)) if n in around]


def _token(value: Any) -> Any:
    """What tells a simple thing from others; None for a thing with parts."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind in (float, complex) or isinstance(value, np.generic):
        return kind, repr(value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return None if value.dtype == object else (kind, id(value))
        return kind, (fingerprint if value.nbytes <= SUMMED_UP else sample)(value)
    if isinstance(value, np.random.Generator):
        return kind, repr(value.bit_generator.state)
    if isinstance(value, random.Random):
        return kind, hash(value.getstate())
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
        return kind, id(value)
    if kind.__module__ == "itertools":
        return kind, repr(value)
    return None


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a thing, with names as Python would say them."""
    if isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield f"{name}.__self__", value.__self__
        yield f"{name}.__func__", value.__func__
    elif isinstance(value, types.GeneratorType):
        if value.gi_frame is not None:
            yield f"{name}.gi_lasti", value.gi_frame.f_lasti
            yield from [(f"{name}: {n}", v) for n, v in value.gi_frame.f_locals.items()]
    elif isinstance(value, dict):
        yield from [(f"{name}[{shown(key)}]", v) for key, v in list(value.items())]
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        yield from [(f"{name}[{k}]", v) for k, v in enumerate(value)]
    elif isinstance(value, np.ndarray):
        yield from [(f"{name}[{k}]", v) for k, v in enumerate(value.flat)]
    elif isinstance(value, Iterator):
        yield f"what is left of {name}", operator.length_hint(value, -1)
    if not isinstance(value, types.FunctionType) and not _is_library(type(value)):
        for kind in type(value).__mro__:
            if not _is_library(kind):
                yield from _of_class(name, kind, value)
    own = getattr(value, "__dict__", None)
    if type(own) is dict and not _is_library(type(value)):
        yield from [(f"{name}.{key}", v) for key, v in list(own.items())]


def _of_function(f: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    if _is_library(f):
        return
    for key, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            yield f"{f.__name__}: {key}", cell.cell_contents
    around = f.__globals__
    yield from [(n, around[n]) for n in dict.fromkeys(names_in(f.__code__)) if n in around]
    yield from [(f"{f.__name__}: default {k}", v) for k, v in enumerate(f.__defaults__ or ())]
    yield from [(f"{f.__name__}.{key}", v) for key, v in vars(f).items()]


def _of_class(name: str, kind: type, value: Any) -> Iterator[tuple[str, Any]]:
    """What a class of the user's adds to its instances."""
    for key, held in vars(kind).items():
        if isinstance(held, types.MemberDescriptorType):  # a slot
            with contextlib.suppress(AttributeError):  # it has no value yet
                yield f"{name}.{key}", held.__get__(value)
        elif not key.startswith("__") or isinstance(held, types.FunctionType):
            yield f"{kind.__name__}.{key}", held


def _is_library(thing: Any) -> bool:
    return (defining_package(thing) or "builtins") in _ROOTS
