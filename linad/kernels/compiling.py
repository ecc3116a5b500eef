"""Generated functions, compiled once and kept on disk under a name made of their content."""

import hashlib
import itertools
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.machine_code import numba_keeps_in
from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import ONE, ZERO, ArrayKind, Expr, Kind, dim, num, var
from linad.kernels.statements import For, New, Put, Statement, lines

log = logging.getLogger("linad")


def source_of(program: KernelProgram) -> str:
    """The source of a program, as a function."""
    stacks, rooms = [s.name for s in program.stacks], program.rooms
    extra = [*rooms, *[f"{name}_scratch" for name in stacks], *["sizes"] * bool(stacks)]
    head = f"def {program.name}({', '.join([*program.arguments, *extra])}):"
    body: list[Statement] = []
    for given, group in itertools.groupby(program.body, lambda s: made_of(s) in rooms):
        some = [*group]
        body += zeroed(some, rooms) if given else some
    tail = [f"    sizes[{k}] = {name}.size" for k, name in enumerate(stacks)]
    return "\n".join([head, *lines(body), *tail, ""])


def made_of(s: Statement) -> str:
    """The array that a statement makes, or ""."""
    return s.array if isinstance(s, New) else ""


def zeroed(body: list[Any], rooms: dict[str, tuple[Expr, ...]]) -> list[Statement]:
    """Loops that make zeros of arrays that have been used before, those of one shape together."""
    found: list[Statement] = []
    arrays = [s for s in body if s.zeros]
    for dims in dict.fromkeys([rooms[s.array] for s in arrays]):
        mine = [s for s in arrays if rooms[s.array] == dims]
        first = mine[0].array
        counters = [f"{first}_axis{k}" for k in range(len(dims))]
        index = tuple(map(var, counters))
        inner: list[Statement] = [
            Put(s.array, index, num(np.zeros((), s.dtype)[()]), comment=s.comment) for s in mine
        ]
        for axis, name in reversed([*enumerate(counters)]):
            inner = [For(name, ZERO, dim(first, axis), ONE, inner)]
        found += inner
    return found


def signature_of(kinds: Sequence[Kind]) -> Any:
    """Numba's types of arguments."""
    from numba import types
    from numba.np import numpy_support

    scalars = {"f": types.float64, "i": types.int64, "b": types.boolean}
    found = []
    for kind in kinds:
        if isinstance(kind, ArrayKind):
            found.append(
                types.Array(numpy_support.from_dtype(np.dtype(kind.dtype)), kind.ndim, "C")
            )
        else:
            found.append(scalars[kind])
    return types.void(*found)


def module_of(program: KernelProgram) -> str:
    """The source of a module that defines the program."""
    parts = ["import math", "", "import numpy as np"]
    text = source_of(program)
    if "grown(" in text:
        parts += ["", "from linad.kernels.stacks import grown"]
    return "\n".join([*parts, "", "", text])


def python_function(program: KernelProgram) -> Any:
    """The program as a Python function."""
    scope: dict[str, Any] = {"__name__": "linad.kernels.generated"}
    exec(compile(module_of(program), f"<linad kernel {program.name}>", "exec"), scope)
    return scope[program.name]


def compiled(program: KernelProgram, error_model: str = "numpy") -> Any:
    """The program, compiled by Numba for the types of its arguments."""
    with compiling:
        import numba

        if numba.config.DISABLE_JIT:
            return python_function(program)
        return _by_numba(program, error_model)


def _by_numba(program: KernelProgram, error_model: str) -> Any:
    """The program compiled, or found on disk, by who holds the lock."""
    from numba import njit

    from linad.sweeps.cpu import kernel_cache as cache, numba_files

    kinds = [program.kinds[a] for a in (*program.arguments, *program.rooms)]
    kinds += [ArrayKind(s.dtype, 1) for s in program.stacks]
    signature = signature_of([*kinds, ArrayKind("int64", 1)] if program.stacks else kinds)
    text = module_of(program)
    key = hashlib.sha256(f"{cache.toolchain()} {error_model} {signature} {text}".encode())
    name = f"g{key.hexdigest()[:24]}"
    options = {"error_model": error_model, "no_cfunc_wrapper": True}
    # Numba's index goes by the name of the function, which is in the name of its file.
    folder = cache.folder()
    if folder is not None:
        path = folder / f"{name}.py"
        try:
            numba_files.write_source(path, text)
            sealed = numba_files.is_sealed(path)
            scope: dict[str, Any] = {"__name__": "linad.kernels.generated"}
            exec(compile(text, str(path), "exec"), scope)
            with numba_keeps_in(""):
                made = njit(signature, cache=True, **options)(scope[program.name])
            if not sealed:
                numba_files.seal(path)
                files = numba_files.machine_code_of(path)
                cache.room.keep_within_limit(path, *files)
            return made
        except Exception as problem:
            log.warning("linad: %s is not kept on disk: %s", program.name, problem)
    return njit(signature, **options)(python_function(program))
