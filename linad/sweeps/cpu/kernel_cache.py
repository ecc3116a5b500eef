"""Kernels on disk: a second process compiles nothing.

A kernel's source decides everything about it, so a hash of the source, of the modules it is
written with, of the processor and of the versions involved is its name. Machine code goes to files
of these names in a folder that only the user can write. A changed kernel is another name, so
nothing stale is ever found; a file begins with the digest of what follows, so nothing damaged is
run.
"""

import functools
import hashlib
import logging
import math
import os
import platform
import sys
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from linad.core.callers import warn_user
from linad.core.compiler_lock import made_once
from linad.core.private_folders import (
    chosen_folder,
    is_own_file,
    private_folder,
    remove_oldest,
)
from linad.core.settings import settings
from linad.sweeps.cpu import (
    array_marks,
    atomic,
    complex_numbers as complexes,
    elementary_code,
    kernel_arrays,
    kernel_expressions,
    kernel_functions,
    kernel_language,
    kernel_numbers,
    kernel_statements,
    kernel_variables,
    loop_hints,
    native,
    number_pairs as numbers,
    object_code,
    special_functions as special,
    vector_math as vecmath,
    written_numbers,
)

log = logging.getLogger("linad")

DIGEST = hashlib.sha256().digest_size

WRITTEN_WITH = (
    kernel_language,
    kernel_statements,
    kernel_expressions,
    kernel_variables,
    kernel_numbers,
    kernel_functions,
    kernel_arrays,
    loop_hints,
    array_marks,
    object_code,
    native,
    atomic,
    vecmath,
    elementary_code,
    written_numbers,
    numbers,
    complexes,
    special,
)
"""The modules on which the machine code of a kernel depends."""


@functools.cache
def toolchain() -> str:
    """What, beside its source, a kernel's machine code depends on."""
    parts = [
        f"python {sys.version_info[:2]} numba {numba.__version__} {llvmlite.__version__}",
        f"{platform.libc_ver()} {vecmath.libraries_loaded()} {object_code.processor()}",
    ]
    return digest_of(parts, WRITTEN_WITH)


def digest_of(parts: Iterable[str], modules: Iterable[Any]) -> str:
    """A name for what is made from texts by the code of some modules."""
    files = [file for m in modules if (file := getattr(m, "__file__", None)) is not None]
    texts = [Path(file).read_text(encoding="utf-8") for file in files]
    return hashlib.sha256("\n".join([*parts, *texts]).encode()).hexdigest()


def key_of(source: str, fast: bool = False) -> str:
    """The name under which a kernel of that source, and those options, is kept."""
    kind = "fast" if fast else "exact"
    return hashlib.sha256((toolchain() + kind + source).encode()).hexdigest()[:24]


@functools.cache
def usable_folder(path: str) -> Path | None:
    """The folder, made and private, or None, with a warning, where kernels cannot be kept."""
    try:
        folder = private_folder(Path(path))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        _warn(f"{path} cannot be used ({problem})")
        return None
    return folder


@functools.cache
def _warn(problem: str) -> None:
    warn_user(
        f"linad keeps no compiled kernels on disk: {problem}; set LINAD_CACHE_DIR to a folder of "
        f"your own, or LINAD_CACHE=0"
    )


def folder() -> Path | None:
    """Where kernels are kept now, or None."""
    if not settings().cache:
        return None
    chosen = chosen_folder()
    if chosen is None:
        _warn("there is no home folder")
        return None
    return usable_folder(str(chosen))


class CacheRoom:
    """How much the folder of kernels holds, as far as this process knows."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.held = 0

    def keep_within_limit(self, *files: Path) -> None:
        """Count files that were written, and remove the oldest ones if it is too much."""
        limit, home = settings().cache_bytes, files[0].parent
        if self.folder != home:
            self.folder, self.held = home, limit  # others have written, too: look
        for file in files:
            self.held += file.stat().st_size
        if self.held > limit:
            self.held = remove_oldest(home, limit)


room = CacheRoom()


class CompileCounts:
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

    def add(self, from_disk: bool) -> None:
        """Count a kernel."""
        self.loaded += from_disk
        self.compiled += not from_disk


counts = CompileCounts()

NAMESPACE: dict[str, Any] = {
    "np": np,
    **{n: getattr(native, n) for n in ("operand", "number", "select", "clipped", "word")},
    "call_by_address": native.call_by_address,
    "call_kernel": native.call_kernel,
    "set_word": native.set_word,
    "replace_shared_word": atomic.replace_shared_word,
    "set_shared_word": atomic.set_shared_word,
    "check_divisions": native.check_divisions,
    "check_indices": native.check_indices,
    "check_range": native.check_range,
    "known": native.known,
    "trusted": native.trusted,
    "within": native.within,
    "grown": kernel_arrays.grown,
    "any_order": loop_hints.any_order,
    "whole_vectors": loop_hints.whole_vectors,
    **kernel_arrays.MAKERS,
    "math": math,
    "accumulate": native.accumulate,
    "accumulate_product": native.accumulate_product,
    "summed_product": native.summed_product,
    **native.GETTERS,
    **native.SETTERS,
    **vecmath.FUNCTIONS,
    **numbers.NAMES,
    **complexes.NAMES,
    **special.NAMES,
    **{f"to_{name}": kind for name, kind in native.DTYPES.items()},
}
"""Names that the source of a kernel may use."""


_kernels: MutableMapping[tuple[str, bool], object_code.Loaded] = weakref.WeakValueDictionary()

KEPT = 4096
"""Kernels that stay in memory though no program calls them: the next one may."""

_latest: deque[object_code.Loaded] = deque(maxlen=KEPT)


def kernel(source: str, fast: bool = False) -> object_code.Loaded:
    """The machine code of the kernel that ``source`` defines: from here, from disk, or compiled.

    Whoever calls it has to keep this object, not its address alone.

    Parameters
    ----------
    source : str
        Of a function ``kernel(p, start, stop)`` in the names of `NAMESPACE`.
    fast : bool
        Whether arithmetic may be reordered, and NaN and infinity ignored.

    Notes
    -----
    Costs about 30 ms where it has to be compiled, 1 ms where it is on disk, and a look-up
    where this process has it.
    """
    return made_once(_kernels, (source, fast), lambda: _load(source, fast))


def is_known(source: str, fast: bool = False) -> bool:
    """Whether a kernel is in this process, or seems to be on disk."""
    if (source, fast) in _kernels:
        return True
    home = folder()
    return home is not None and (home / f"k{key_of(source, fast)}.o").exists()


def _load(source: str, fast: bool) -> object_code.Loaded:
    started = time.perf_counter()
    vecmath.libraries_loaded()
    special.register(source)
    name = f"k{key_of(source, fast)}"

    def compiled() -> bytes:
        return object_code.compiled(kernel_language.module_of(source, name, NAMESPACE, fast))

    code, from_disk = found_or_made(f"{name}.o", compiled)
    loaded = object_code.loaded(code, name)
    _latest.append(loaded)
    spent = time.perf_counter() - started
    counts.add(from_disk)
    counts.seconds += spent
    log.debug("kernel %s %s in %.1f ms", name, "loaded" if from_disk else "compiled", spent * 1e3)
    return loaded


def found_or_made(file: str, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The machine code in a file of the folder, which is made and put there if it is not; and
    whether it was there."""
    home = folder()
    code = None if home is None else read(home / file)
    if code is not None:
        return code, True
    code = make()
    if home is not None:
        write(home / file, code)
    return code, False


def write(path: Path, code: bytes) -> None:
    """Put machine code in place at once, whatever other processes do."""
    try:
        with tempfile.NamedTemporaryFile(
            "wb", dir=path.parent, suffix=".tmp", delete=False
        ) as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(file.name).replace(path)
        room.keep_within_limit(path)
    except OSError as problem:  # a folder that went away
        log.warning("linad: kernel %s is not kept on disk: %s", path.stem, problem)


def read(path: Path) -> bytes | None:
    """The machine code in a file of the user's, if it is what `write` has written."""
    try:
        held = path.read_bytes()
        digest, code = held[:DIGEST], held[DIGEST:]
        if hashlib.sha256(code).digest() == digest and is_own_file(path):
            os.utime(path)  # what was used last is removed last
            return code
    except OSError:
        pass
    return None
