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
import platform
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
from numba import carray, cfunc

from linad.core.compiler_lock import compiling
from linad.core.machine_code import numba_keeps_in
from linad.core.private_folders import (
    chosen_folder,
    is_own_file,
    private_folder,
    remove_oldest,
    subfolder,
)
from linad.core.settings import settings
from linad.sweeps.cpu import (
    complex_numbers as complexes,
    kernel_compiler,
    native,
    number_pairs as numbers,
    polynomials,
    special_functions as special,
    vector_math as vecmath,
    written_numbers,
)

log = logging.getLogger("linad")

MACHINE_CODE = "__pycache__"
"""The folder, beside a source, in which Numba keeps what it has compiled."""


@functools.cache
def toolchain() -> str:
    """What, beside its source, a kernel's machine code depends on."""
    parts = [
        f"python {sys.version_info[:2]} numba {numba.__version__} {llvmlite.__version__}",
        f"{platform.libc_ver()} {vecmath.libraries_loaded()}",
    ]
    named = (native, vecmath, polynomials, written_numbers, numbers, complexes, special)
    for module in (kernel_compiler, *named):
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
    try:
        folder = private_folder(Path(path))
        subfolder(folder, MACHINE_CODE)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        _warn(f"{path} cannot be used ({problem})")
        return None
    return folder


@functools.cache
def _warn(problem: str) -> None:
    warnings.warn(
        f"linad keeps no compiled kernels on disk: {problem}; set LINAD_CACHE_DIR to a folder of "
        f"your own, or LINAD_CACHE=0",
        stacklevel=3,
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


def write_source(path: Path, source: str) -> None:
    """Put a source file in place at once, whatever other processes do."""
    if path.exists() and path.read_bytes() == source.encode():
        return
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, suffix=".tmp", delete=False) as f:
        f.write(source.encode())
    # Numba tells files apart by their time; the content is in the name already.
    os.utime(f.name, (1_000_000_000, 1_000_000_000))
    Path(f.name).replace(path)


def machine_code_of(path: Path) -> list[Path]:
    """The files that Numba keeps beside the source of a kernel."""
    beside = path.parent / MACHINE_CODE
    return sorted(beside.glob(f"{path.stem}.*.nb?")) if beside.is_dir() else []


def seal(path: Path) -> None:
    """Write down what the machine code of a kernel is, so that damage to it is noticed."""
    lines = [f"{_digest(file)} {file.name}\n" for file in machine_code_of(path)]
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as f:
        f.writelines([f"{len(lines)}\n", *lines])
    Path(f.name).replace(path.with_suffix(".sum"))


def is_sealed(path: Path) -> bool:
    """Whether the machine code of a kernel is what was written. Damaged files are removed.

    Numba would run whatever is there.
    """
    try:
        seal = path.with_suffix(".sum")
        count, *lines = seal.read_text(encoding="utf-8").splitlines()
        found = [line.split(" ", 1) for line in lines]
        files = [path.parent / MACHINE_CODE / name for _, name in found]
        same = all([_digest(f) == digest for f, (digest, _) in zip(files, found, strict=True)])
        if same and len(found) == int(count) > 0 and all(map(is_own_file, [seal, *files])):
            os.utime(seal)  # what was used last is removed last
            return True
    except (OSError, ValueError):
        pass
    for file in machine_code_of(path):
        file.unlink(missing_ok=True)
    return False


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


class CacheRoom:
    """How much the folder of kernels holds, as far as this process knows."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.held = 0

    def keep_within_limit(self, path: Path) -> None:
        """Count what was written of a kernel, and remove the oldest ones if it is too much."""
        limit = settings().cache_bytes
        if self.folder != path.parent:
            self.folder, self.held = path.parent, limit  # others have written, too: look
        for file in (path, *machine_code_of(path)):
            self.held += file.stat().st_size
        if self.held > limit:
            self.held = remove_oldest(path.parent, limit)


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


counts = CompileCounts()

NAMESPACE: dict[str, Any] = {
    "np": np,
    **{n: getattr(native, n) for n in ("operand", "number", "select", "clipped", "word")},
    "call_by_address": native.call_by_address,
    "call_kernel": native.call_kernel,
    "set_word": native.set_word,
    "carray": carray,
    "pointer": native.pointer,
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

_kernels: dict[tuple[str, bool, Any], Any] = {}


def kernel(source: str, fast: bool = False, function: Any = None) -> int:
    """Return the address of the kernel that ``source`` defines, compiled or found.

    Parameters
    ----------
    source : str
        Of a function ``kernel(p, start, stop)`` in the names of `NAMESPACE`.
    fast : bool
        Whether arithmetic may be reordered, and NaN and infinity ignored.
    function : dispatcher, optional
        A compiled function of the user's that the kernel calls by the name ``function``. Such a
        kernel is not kept on disk.

    Notes
    -----
    Costs about 50 ms where it has to be compiled, 3 ms where it is on disk, and a look-up
    where this process has it.
    """
    found = _kernels.get((source, fast, function))
    if found is None:
        with compiling:
            found = _kernels.get((source, fast, function))
            if found is None:
                found = _kernels[source, fast, function] = _load(source, fast, function)
    return int(found.address)


def is_known(source: str, fast: bool = False, function: Any = None) -> bool:
    """Whether a kernel is in this process, or seems to be on disk."""
    if (source, fast, function) in _kernels:
        return True
    home = folder() if function is None else None
    return home is not None and (home / f"k{key_of(source, fast)}.sum").exists()


def _load(source: str, fast: bool, called: Any) -> Any:
    started = time.perf_counter()
    vecmath.libraries_loaded()
    special.register(source)
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": fast}
    if called is None:
        options["pipeline_class"] = kernel_compiler.KernelCompiler
    name = f"k{key_of(source, fast)}"
    text = source.replace("def kernel(", f"def {name}(", 1)
    home = folder() if called is None else None
    if home is not None:
        path = home / f"{name}.py"
        try:
            write_source(path, text)
            sealed = is_sealed(path)
            function = _define(text, name, str(path))
            with numba_keeps_in(""):
                compiled = cfunc(native.KERNEL, cache=True, **options)(function)
            if not sealed:
                seal(path)
                room.keep_within_limit(path)
        except Exception as problem:
            # A damaged file, or a folder that went away; a fault of the kernel itself shows below.
            log.warning("linad: kernel %s is not kept on disk: %s", name, problem)
            home = None
    if home is None:
        function = _define(text, name, f"<linad kernel {name}>", called)
        compiled = cfunc(native.KERNEL, **options)(function)
    from_disk = compiled.cache_hits > 0
    spent = time.perf_counter() - started
    counts.loaded += from_disk
    counts.compiled += not from_disk
    counts.seconds += spent
    log.debug("kernel %s %s in %.1f ms", name, "loaded" if from_disk else "compiled", spent * 1e3)
    return compiled


def _define(text: str, name: str, filename: str, called: Any = None) -> Callable[..., Any]:
    # Numba looks its module up by name in the process that loads it from disk.
    scope = dict(NAMESPACE, __name__="linad.sweeps.cpu.kernel_cache", function=called)
    exec(compile(text, filename, "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]
