"""Functions of linad's own that Numba compiles once, and keeps beside their source."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kept(*signature: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function as `numba.njit` does, and keep the machine code on disk.

    Numba looks for a place: the folder ``NUMBA_CACHE_DIR``, that of the source, the user's cache
    folder. Where none can be written, each process compiles for itself.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return njit(*signature, cache=True, **options)(function)
        except (RuntimeError, OSError):  # no place, or one that went away
            return njit(*signature, **options)(function)

    return compiled
