"""Building large tapes without the garbage collector looking through them again and again."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """Put cyclic garbage collection off for a ``with`` block, in whatever thread.

    A tape is made of objects that stay; each of the collector's passes visits all of them, so
    that n equations cost more than O(n).
    """
    global _inside, _was_enabled
    with _lock:
        if _inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_enabled:
                gc.enable()
