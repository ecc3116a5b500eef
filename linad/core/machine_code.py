"""Functions of linad's own that Numba compiles once, and keeps in the user's cache folder.

Numba by itself keeps machine code beside the source, in the folder of the package. There no
installer knows of it: it is left behind when the package is removed, and an empty package of
the same name with it, which hides the next one.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def default_folder() -> Path:
    """Where kernels are kept unless ``LINAD_CACHE_DIR`` says otherwise."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "linad"


def kept(*signature: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function as `numba.njit` does, and keep the machine code on disk.

    The place is ``NUMBA_CACHE_DIR``, or the user's cache folder; where that cannot be written,
    the folder of the source. Where none can, each process compiles for itself.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        from numba import config, njit

        given = config.CACHE_DIR
        config.CACHE_DIR = given or str(default_folder() / "functions")
        try:
            return njit(*signature, cache=True, **options)(function)
        except (RuntimeError, OSError):  # no place, or one that went away
            return njit(*signature, **options)(function)
        finally:
            config.CACHE_DIR = given

    return compiled
