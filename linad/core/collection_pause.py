"""Building large tapes without the garbage collector looking through them again and again."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = False


def pause() -> None:
    """Put cyclic garbage collection off, in whatever thread, until `resume` is called as often."""
    global _inside, _was_enabled
    with _lock:
        if _inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1


def resume() -> None:
    """End a pause; the last one that ends turns the collector on, if it was."""
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0 and _was_enabled:
            gc.enable()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Put cyclic garbage collection off for a ``with`` block, in whatever thread.

    A tape is made of objects that stay; each of the collector's passes visits all of them, so
    that n equations cost more than O(n).
    """
    pause()
    try:
        yield
    finally:
        resume()
