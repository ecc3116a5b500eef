"""Generated functions, compiled once and kept on disk under a name made of their content."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

from linad.core.compiler_lock import compiling
from linad.core.machine_code import numba_keeps_in
from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import ArrayKind, Kind
from linad.kernels.statements import lines

log = logging.getLogger("linad")


def source_of(program: KernelProgram) -> str:
    """The source of a program, as a function."""
    stacks = [s.name for s in program.stacks]
    extra = [f"{name}_scratch" for name in stacks] + ["sizes"] * bool(stacks)
    head = f"def {program.name}({', '.join([*program.arguments, *extra])}):"
    tail = [f"    sizes[{k}] = {name}.size" for k, name in enumerate(stacks)]
    return "\n".join([head, *lines(program.body), *tail, ""])


def signature_of(kinds: Sequence[Kind]) -> Any:
    """Numba's types of arguments."""
    import numpy as np
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
    import numba
    from numba import njit

    if numba.config.DISABLE_JIT:
        return python_function(program)
    from linad.sweeps.cpu import kernel_cache as cache

    kinds = [program.kinds[a] for a in program.arguments]
    kinds += [ArrayKind(s.dtype, 1) for s in program.stacks]
    signature = signature_of([*kinds, ArrayKind("int64", 1)] if program.stacks else kinds)
    text = module_of(program)
    key = hashlib.sha256(f"{cache.toolchain()} {error_model} {signature} {text}".encode())
    name = f"g{key.hexdigest()[:24]}"
    # Numba's index goes by the name of the function, which is in the name of its file.
    with compiling:
        folder = cache.folder()
        if folder is not None:
            path = folder / f"{name}.py"
            try:
                cache.write_source(path, text)
                sealed = cache.is_sealed(path)
                scope: dict[str, Any] = {"__name__": "linad.kernels.generated"}
                exec(compile(text, str(path), "exec"), scope)
                with numba_keeps_in(""):
                    made = njit(signature, cache=True, error_model=error_model)(scope[program.name])
                if not sealed:
                    cache.seal(path)
                    cache.room.keep_within_limit(path)
                return made
            except Exception as problem:
                log.warning("linad: %s is not kept on disk: %s", program.name, problem)
        return njit(signature, error_model=error_model)(python_function(program))
