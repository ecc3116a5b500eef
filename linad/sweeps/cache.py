"""Kernels on disk: a second process compiles nothing.

A kernel's source decides everything about it, so a hash of the source, of the modules it is
written with and of the versions involved is its name. Sources go to files of these names in
a folder that only the user can write; Numba keeps the machine code beside them. A changed
kernel is another name, so nothing stale is ever found.

Numba's own rules for its index (time stamp, size, bytecode) would take two sources that
differ in a constant for the same; names by content make that impossible.
"""

import functools
import hashlib
import logging
import os
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import cfunc

from linad.config import settings
from linad.sweeps import complexes, native, numbers, special, vecmath

log = logging.getLogger("linad")


def default_folder() -> Path:
    """Where kernels are kept unless ``LINAD_CACHE_DIR`` says otherwise."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "linad"


@functools.cache
def toolchain() -> str:
    """What, beside its source, a kernel's machine code depends on."""
    parts = [f"python {sys.version_info[:2]} numba {numba.__version__} {llvmlite.__version__}"]
    for module in (native, vecmath, numbers, complexes, special):
        assert module.__file__ is not None
        parts.append(Path(module.__file__).read_text(encoding="utf-8"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def key_of(source: str, fast: bool = False) -> str:
    """The name under which a kernel of that source, and those options, is kept."""
    kind = "fast" if fast else "exact"
    return hashlib.sha256((toolchain() + kind + source).encode()).hexdigest()[:24]


@functools.cache
def usable_folder(path: str) -> Path | None:
    """The folder, made and private, or None, with a warning, where kernels cannot be kept."""
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if hasattr(os, "getuid"):
            if found.st_uid != os.getuid():
                raise PermissionError("it belongs to another user")
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError("others can write to it")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        warnings.warn(
            f"linad keeps no compiled kernels on disk: {folder} cannot be used ({problem}); "
            f"set LINAD_CACHE_DIR to a folder of your own",
            stacklevel=2,
        )
        return None
    return folder


def folder() -> Path | None:
    """Where kernels are kept now, or None."""
    if not settings().cache:
        return None
    return usable_folder(os.environ.get("LINAD_CACHE_DIR") or str(default_folder()))


def write_source(path: Path, source: str) -> None:
    """Put a source file in place at once, whatever other processes do."""
    if path.exists() and path.read_text(encoding="utf-8") == source:
        return
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8"
    ) as f:
        f.write(source)
    # Numba tells files apart by their time; the content is in the name already.
    os.utime(f.name, (1_000_000_000, 1_000_000_000))
    Path(f.name).replace(path)


class Counts:
    """What compiling has cost in this process.

    Attributes
    ----------
    compiled, loaded : int
        Kernels compiled here, and kernels found on disk.
    seconds : float
        Time spent on both.
    """

    def __init__(self) -> None:
        self.compiled = self.loaded = 0
        self.seconds = 0.0


counts = Counts()

NAMESPACE: dict[str, Any] = {
    "np": np,
    **{n: getattr(native, n) for n in ("operand", "number", "select", "clipped", "word")},
    "call_by_address": native.call_by_address,
    "accumulate": native.accumulate,
    "accumulate_product": native.accumulate_product,
    **native.GETTERS,
    **native.SETTERS,
    **vecmath.FUNCTIONS,
    **numbers.NAMES,
    **complexes.NAMES,
    **special.NAMES,
    **{f"to_{name}": kind for name, kind in native.DTYPES.items()},
}
"""Names that the source of a kernel may use."""

_kernels: dict[tuple[str, bool], Any] = {}


def kernel(source: str, fast: bool = False) -> int:
    """Return the address of the kernel that ``source`` defines, compiled or found.

    Parameters
    ----------
    source : str
        Of a function ``kernel(p, start, stop)`` in the names of `NAMESPACE`.
    fast : bool
        Whether arithmetic may be reordered, and NaN and infinity ignored.

    Notes
    -----
    Costs about 50 ms where it has to be compiled, 3 ms where it is on disk, and a look-up
    where this process has it.
    """
    found = _kernels.get((source, fast))
    if found is None:
        found = _kernels[source, fast] = _load(source, fast)
    return int(found.address)


def _load(source: str, fast: bool) -> Any:
    started = time.perf_counter()
    vecmath.libraries_loaded()
    special.register(source)
    options = {"error_model": "numpy", "fastmath": fast}
    name = f"k{key_of(source, fast)}"
    text = source.replace("def kernel(", f"def {name}(", 1)
    home = folder()
    if home is not None:
        path = home / f"{name}.py"
        try:
            write_source(path, text)
            function = _define(text, name, str(path))
            compiled = cfunc(native.KERNEL, cache=True, **options)(function)
        except (OSError, EOFError, ValueError, KeyError, AttributeError, ImportError) as problem:
            # A damaged file, or a folder that went away: the kernel itself is not at fault.
            log.warning("linad: kernel %s is not kept on disk: %s", name, problem)
            home = None
    if home is None:
        function = _define(text, name, f"<linad kernel {name}>")
        compiled = cfunc(native.KERNEL, **options)(function)
    from_disk = compiled.cache_hits > 0
    spent = time.perf_counter() - started
    counts.loaded += from_disk
    counts.compiled += not from_disk
    counts.seconds += spent
    log.debug("kernel %s %s in %.1f ms", name, "loaded" if from_disk else "compiled", spent * 1e3)
    return compiled


def _define(text: str, name: str, filename: str) -> Callable[..., Any]:
    # Numba looks its module up by name in the process that loads it from disk.
    scope = dict(NAMESPACE, __name__="linad.sweeps.cache")
    exec(compile(text, filename, "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]
