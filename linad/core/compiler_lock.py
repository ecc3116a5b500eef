"""The lock under which linad compiles, which a fork waits for.

A process that is forked has the thread that forked it, and no other. A lock that another thread
held at that moment is never given back there, so the child would wait for ever at its first
compiled call. So a fork takes the lock before, and both processes give it back afterwards.
Numba's own lock is treated in the same way.

Modules that need Numba are imported with the lock held, too, where a function first asks for one.
Numba's modules import each other in circles: two threads that begin to import it at the same
moment find parts of it that are not there yet. And to compile is part of importing some modules of
linad's, so a thread that imported one without the lock would wait for a thread that waits for that
import.
"""

import os
import sys
import threading
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

compiling = threading.RLock()
"""Held by who compiles, or imports the compiler. A thread may take it several times."""

books = threading.RLock()
"""Held for a moment, by whoever looks up or adds a path of a jitted function."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def made_once(
    known: MutableMapping[_Key, _Value], key: _Key, make: Callable[[], _Value]
) -> _Value:
    """What is known under a key; what is not is made, by one thread, and known from then on."""
    value = known.get(key)
    if value is None:
        with compiling:
            value = known.get(key)  # another thread may have made it meanwhile
            if value is None:
                value = known[key] = make()
    return value


_taken: list[Any] = []


def _before() -> None:
    compiling.acquire()
    books.acquire()
    module = sys.modules.get("numba.core.compiler_lock")
    lock = getattr(module, "global_compiler_lock", None)
    if lock is not None:
        lock.acquire()
        _taken.append(lock)


def _after() -> None:
    while _taken:
        _taken.pop().release()
    books.release()
    compiling.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
