"""Functions of linad's own that Numba compiles once, and keeps in the user's cache folder.

Numba by itself keeps machine code beside the source, in the folder of the package. There no
installer knows of it: it is left behind when the package is removed, and an empty package of
the same name with it, which hides the next one.
"""

import functools
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linad.core.compiler_lock import compiling
from linad.core.private_folders import check_contents, default_folder, private_folder

log = logging.getLogger("linad")


def places() -> Iterator[Path]:
    """The folders in which functions may be kept, the best first."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        yield Path(given)
    for base in (default_folder(), os.environ.get("LINAD_CACHE_DIR")):
        if base:
            yield Path(base) / "functions"


@functools.cache
def place() -> Path | None:
    """The first of these that can be written, and by the user only; None if there is none."""
    for path in places():
        try:
            folder = private_folder(path)
            check_contents(folder)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as problem:
            log.info("linad keeps no compiled functions in %s: %s", path, problem)
    return None


@contextmanager
def numba_keeps_in(folder: str) -> Iterator[None]:
    """Numba keeps what is compiled in the block there."""
    with compiling:
        from numba import config

        given = config.CACHE_DIR, getattr(config, "CACHE_LOCATOR_CLASSES", "")
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = folder, ""
        try:
            yield
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = given


def kept_on_disk(*signature: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function as `numba.njit` does, and keep the machine code on disk.

    The place is ``NUMBA_CACHE_DIR``, or the user's cache folder, or ``LINAD_CACHE_DIR``: the
    first that others cannot write to. Where there is none, each process compiles for itself.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        with compiling:
            import numba

            folder = place()
            if folder is not None:
                try:
                    with numba_keeps_in(str(folder)):
                        return numba.njit(*signature, cache=True, **options)(function)
                except (RuntimeError, OSError) as problem:  # no source, or a folder that went away
                    log.info("linad: %s is not kept on disk: %s", function.__name__, problem)
            return numba.njit(*signature, **options)(function)

    return compiled
