"""Seconds for which Numba has compiled: they are none that a compiled function would save."""

import sys
from functools import cache
from typing import Any


def compiled_seconds() -> float:
    """Those of this process, from the first time on that somebody asks with Numba imported."""
    if "numba" not in sys.modules:
        return 0.0
    listener = _listener()
    return float(listener.duration) if listener.done else 0.0


@cache
def _listener() -> Any:
    from numba.core import event

    listener = event.TimingListener()
    event.register("numba:compile", listener)
    return listener
