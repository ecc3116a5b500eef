"""Plain arrays from outside that are operands of a program while it is recorded.

Where one of them meets a traced value, the traced array that stands for it takes its place.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linad.core.array_type import Array

STANDING: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
"""By thread and id: arrays, and what stands for them; the last counts. Empty most of the time."""


@contextmanager
def standing(arrays: Sequence[Any], tracers: Sequence[Any]) -> Iterator[None]:
    """Let traced arrays stand for plain ones, in this thread."""
    thread = threading.get_ident()
    keys = [(thread, id(a)) for a in arrays]
    for key, a, t in zip(keys, arrays, tracers, strict=True):
        STANDING.setdefault(key, []).append((a, t))
    try:
        yield
    finally:
        for key in keys:
            STANDING[key].pop()
            if not STANDING[key]:
                del STANDING[key]


def stand_in(x: Any) -> Any:
    """What stands for a plain array here; itself otherwise."""
    found = STANDING.get((threading.get_ident(), id(x)))
    return found[-1][1] if found else x


def stand_in_of_view(x: Array) -> Any:
    """What stands for the one array that a plain one shows whole, or is; itself otherwise."""
    thread, place = threading.get_ident(), memory_of(x)
    found = [
        known[-1][1]
        for (owner, _), known in list(STANDING.items())
        if owner == thread and memory_of(known[-1][0]) == place
    ]
    return found[0] if len(found) == 1 else x


def memory_of(x: Array) -> tuple[Any, ...]:
    """Where the entries of a plain array are, and what they are."""
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype
