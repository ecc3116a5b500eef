"""LLVM's part of a kernel: from the text of a module to machine code, and into memory.

The passes are those of ``clang -O3``, once. Numba runs them twice, for functions and then for
modules, with passes for reference counts between: what kernels are written in has no such counts,
and the code is the same.
"""

import functools
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.registry import cpu_target

from linad.sweeps.cpu.kernel_arrays import name_allocator

LEVEL = 3

RELOCATION = {"x86": "static", "ppc": "pic"}
"""How addresses are written, by the first letters of the target, as in Numba's own code."""


FULL_WIDTH = "+avx512vbmi2"
"""What processors can that run vectors of 512 bits at full speed: Intel's from Ice Lake on, and
AMD's. LLVM keeps to 256 bits on many of them, since processors before were slowed down. Loops of
arithmetic are up to a third faster. Source: T. Downs, "Gathering Intel on Intel AVX-512
Transitions", 2020."""


@functools.cache
def processor() -> tuple[str, str, str]:
    """The processor that code is made for, and what it can: triple, name, features.

    ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` hold here, too.
    """
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    if FULL_WIDTH in features.split(",") and "prefer-256-bit" not in features:
        features += ",-prefer-256-bit"
    return triple, name, features


@functools.cache
def _machine() -> Any:
    triple, name, features = processor()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=name,
        features=features,
        opt=LEVEL,
        reloc=RELOCATION.get(target.name[:3], "default"),
        codemodel="jitdefault",
        jit=True,
    )


@functools.cache
def _engine() -> Any:
    """What loads code into memory. It lives as long as the process, as programs do."""
    name_allocator()
    empty = llvm.parse_assembly(f'target triple = "{processor()[0]}"')
    lmm = config.USE_LLVMLITE_MEMORY_MANAGER
    return llvm.create_mcjit_compiler(empty, _machine(), use_lmm=lmm)


def compiled(text: str) -> bytes:
    """Machine code, as an object file, of the text of a module."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = processor()[0], str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(LEVEL)
    # Statements side by side, packed into vectors, make long scalar loops half as slow again.
    options.loop_vectorization = bool(config.LOOP_VECTORIZE)
    options.slp_vectorization = bool(config.SLP_VECTORIZE)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def loaded(code: bytes, name: str) -> int:
    """Put machine code into memory; the address of a function of it."""
    engine = _engine()
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(name))
