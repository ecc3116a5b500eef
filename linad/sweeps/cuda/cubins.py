"""Device kernels as machine code, kept on disk: a second process compiles none.

NVIDIA's linker makes cubins of PTX without a GPU and without a driver. They are kept in the folder
of the CPU's kernels, and as those are (`linad.sweeps.cpu.kernel_cache`): under a hash of all that
decides what they are, behind a digest, in files that only the user can write.

Needs the packages numba-cuda and nvidia-nvjitlink: ``pip install linad[cuda]``.
"""

import functools
import hashlib
import importlib.metadata
import json
import re
import sys
from typing import Any, NamedTuple

from linad.core.compiler_lock import compiling, made_once
from linad.sweeps import kernel_dtypes
from linad.sweeps.cpu import complex_numbers, kernel_cache as cache, native, number_pairs
from linad.sweeps.cuda import compiler, complex_functions, device_functions, digamma, grid_loops
from linad.sweeps.cuda.grid_compiler import ptx_of_user
from linad.sweeps.instructions import GridOperand

PACKAGES = ("numba-cuda", "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc", "llvmlite")

WRITTEN_WITH = (
    compiler,
    complex_functions,
    complex_numbers,
    device_functions,
    digamma,
    grid_loops,
    kernel_dtypes,
    native,
    number_pairs,
)
"""The modules on which the machine code of a kernel depends."""

ENTRY = "kernel"
"""What the entry of every cubin is called."""


class Cubin(NamedTuple):
    """A kernel as machine code.

    Attributes
    ----------
    code : bytes
        An ELF file, whose entry is called `ENTRY`.
    registers : int
        Of a thread.
    spilled : int
        Bytes that a thread writes and reads because there are too few registers.
    stack : int
        Bytes of a thread's stack.
    """

    code: bytes
    registers: int
    spilled: int
    stack: int


counts = cache.CompileCounts()
"""What compiling for devices has cost in this process."""

_cubins: dict[tuple[str, tuple[int, int]], Cubin] = {}


def cubin_of(source: str, capability: tuple[int, int] = compiler.COMPUTE_CAPABILITY) -> Cubin:
    """The machine code of a kernel: from this process, from disk, or compiled.

    Parameters
    ----------
    source : str
        Of a `linad.sweeps.instructions.KernelCall` for the target "CUDA".
    capability : tuple of int
        What it is for: the compute capability of a device.

    Raises
    ------
    ImportError
        If a package that it needs is not installed.
    """
    compiler.check_packages()
    return made_once(_cubins, (source, capability), lambda: _load(source, capability))


@functools.cache
def cubin_of_user(
    kernel: Any,
    described: tuple[GridOperand, ...],
    capability: tuple[int, int] = compiler.COMPUTE_CAPABILITY,
) -> Cubin:
    """The machine code of a user's kernel, as `linad.sweeps.cuda.grid_compiler.ptx_of_user`.

    It is compiled in each process: what a function of Python's depends on is not known.
    """
    with compiling:
        counts.compiled += 1
        return linked(ptx_of_user(kernel, described, capability), capability)


def _load(source: str, capability: tuple[int, int]) -> Cubin:
    text = f"{toolchain()} {capability}\n{source}"

    def compiled() -> bytes:
        made = linked(compiler.ptx_of(source, capability), capability)._asdict()
        code: bytes = made.pop("code")
        return json.dumps(made).encode() + b"\n" + code

    file = f"g{hashlib.sha256(text.encode()).hexdigest()[:24]}.cubin"
    kept, from_disk = cache.found_or_made(file, compiled)
    counts.add(from_disk)
    facts, _, code = kept.partition(b"\n")
    return Cubin(code, **json.loads(facts))


@functools.cache
def toolchain() -> str:
    """What, beside its source, a kernel's machine code depends on."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return cache.digest_of([f"python {sys.version_info[:2]}", *versions], WRITTEN_WITH)


def linked(ptx: str, capability: tuple[int, int]) -> Cubin:
    """PTX as machine code, with what the assembler says of it."""
    from cuda.bindings import nvjitlink

    (entry,) = re.findall(r"^\s*\.visible \.entry (\w+)", ptx, re.M)
    text = re.sub(rf"\b{entry}\b", ENTRY, ptx).encode()
    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-verbose", "-Xptxas=-v"]
    linker = nvjitlink.create(len(options), options)
    try:
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text, len(text), ENTRY)
        nvjitlink.complete(linker)
        code = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, code)
        log = bytearray(nvjitlink.get_info_log_size(linker))
        nvjitlink.get_info_log(linker, log)
    finally:
        nvjitlink.destroy(linker)
    return Cubin(bytes(code), **_facts(log.decode()))


def _facts(log: str) -> dict[str, int]:
    """Registers, spills and stack of a kernel with all functions that it calls."""
    return {
        "registers": max(_numbers(r"(?i)used (\d+) registers", log)),
        "spilled": sum(_numbers(r"(\d+) bytes spill (?:stores|loads)", log)),
        "stack": max(_numbers(r"(\d+) bytes stack frame", log)),
    }


def _numbers(pattern: str, log: str) -> list[int]:
    found: list[Any] = re.findall(pattern, log)
    return [int(n) for n in found]
