"""Whether traced values can be reached from some values, through what these hold."""

import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from linad.adoption.results import holds_array
from linad.arrays.tracer import Tracer

_MOST = 1000
"""So many objects are looked at; from more of them a traced value may be reached."""

_CLOSED = (type, types.ModuleType, types.FunctionType, np.ndarray, np.generic, str, bytes)
"""What is not looked into."""


def reaches_traced(values: Iterable[Any]) -> bool:
    """Whether a traced value is among some values, in their containers or attributes."""
    stack, seen = list(values), set()
    while stack:
        value = stack.pop()
        if type(value) is Tracer or holds_array(value):
            return True
        if id(value) in seen or isinstance(value, _CLOSED):
            continue
        seen.add(id(value))
        if len(seen) > _MOST:
            return True
        stack.extend(_inside(value))
    return False


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    yield from getattr(value, "__dict__", {}).values()
    for cls in type(value).__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            yield getattr(value, name, None)
