"""LLVM's part of a kernel: from the text of a module to machine code, and into memory.

The passes are those of ``clang -O3``, once. Numba runs them twice, for functions and then for
modules, with passes for reference counts between: what kernels are written in has no such counts,
and the code is the same.
"""

import functools
import gc
import itertools
import re
from collections import deque
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.registry import cpu_target

from linad.sweeps.cpu.kernel_arrays import name_allocator
from linad.sweeps.cpu.memory_maps import map_room

LEVEL = 3
RELOCATION = {"x86": "static", "ppc": "pic"}
"""How addresses are written, by the first letters of the target, as in Numba's own code."""

THROUGH_TABLE = """
!llvm.module.flags = !{!1000000}
!1000000 = !{i32 7, !"RtLibUseGOT", i32 1}
"""
"""Says that functions of libraries that LLVM itself decides to call are called as `_call_far` has
the others called."""


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
def has_masks() -> bool:
    """Whether a vector may be loaded and stored in part, by a mask of one bit an entry."""
    return FULL_WIDTH in processor()[2].split(",")


@functools.cache
def is_near() -> bool:
    """Whether a kernel reaches its constants by distances of 32 bits.

    They are operands of arithmetic then. By an address of 64 bits each takes two instructions and
    a register; a loop that calls two polynomials has no registers left for addresses, and writes
    them anew in each turn: a third of its instructions. Code and constants must lie together,
    which llvmlite's own memory manager sees to, and functions of libraries, which lie anywhere, be
    called through a table beside the code.
    """
    triple = processor()[0]
    return triple.startswith("x86_64") and "linux" in triple


def _new_machine() -> Any:
    triple, name, features = processor()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=name,
        features=features,
        opt=LEVEL,
        reloc="pic" if is_near() else RELOCATION.get(target.name[:3], "default"),
        codemodel="small" if is_near() else "jitdefault",
        jit=True,
    )


@functools.cache
def _machine() -> Any:
    """What machine code is made by."""
    return _new_machine()


GROUP = 16
"""Functions that lie in memory together, and leave it together. To begin a group takes 0.8 ms."""

_engines: dict[int, Any] = {}
"""Of all groups, by their numbers."""

_left: deque[int] = deque()
"""Numbers of groups that nobody refers to."""

_numbers = itertools.count()


class CodeGroup:
    """Machine code in memory: it leaves when nobody refers to any of its functions.

    LLVM is not called where the last reference ends, which may be in the midst of a collection of
    garbage, in any thread, but before the next function is loaded. So a group does not hold its
    engine: an object of llvmlite's that is collected ends by itself.
    """

    def __init__(self) -> None:
        self.number, self.room = next(_numbers), GROUP
        name_allocator()
        empty = llvm.parse_assembly(f'target triple = "{processor()[0]}"')
        lmm = is_near() or config.USE_LLVMLITE_MEMORY_MANAGER
        # The machine is the engine's own, and ends with it.
        _engines[self.number] = llvm.create_mcjit_compiler(empty, _new_machine(), use_lmm=lmm)

    def add(self, code: bytes, name: str) -> int:
        engine = _engines[self.number]
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.room -= 1
        return int(engine.get_function_address(name))

    def __del__(self, left: deque[int] = _left) -> None:  # modules may be gone by then
        left.append(self.number)


_growing: list[CodeGroup] = []
"""The group that the next function joins."""


class Loaded:
    """The address of a function, which is in memory as long as there is this object."""

    __slots__ = ("__weakref__", "address", "group")

    def __init__(self, address: int, group: CodeGroup) -> None:
        self.address, self.group = address, group

    def __int__(self) -> int:
        return self.address


_DECLARED = re.compile(r'^declare (?!.*@"?llvm\.).*$', re.MULTILINE)


def _called_far(text: str) -> str:
    """The text with functions of libraries called by addresses that stand in a table.

    It is done to texts, since older versions of llvmlite give the attribute to what a function
    returns.
    """
    return _DECLARED.sub(r"\g<0> nonlazybind", text)


def _libraries(module: Any) -> set[str]:
    """Names of functions that a module calls and does not hold."""
    return {f.name for f in module.functions if f.is_declaration}


def optimised(text: str) -> Any:
    """The text of a module, read and optimised."""
    module = llvm.parse_assembly(_called_far(text) + THROUGH_TABLE if is_near() else text)
    called = _libraries(module)
    module.triple, module.data_layout = processor()[0], str(_machine().target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(LEVEL)
    # Statements side by side, packed into vectors, make long scalar loops half as slow again.
    options.loop_vectorization = bool(config.LOOP_VECTORIZE)
    options.slp_vectorization = bool(config.SLP_VECTORIZE)
    passes = llvm.create_pass_builder(_machine(), options)
    passes.getModulePassManager().run(module, passes)
    if is_near() and not called.issuperset(_libraries(module)):  # some are LLVM's idea
        module = llvm.parse_assembly(_called_far(str(module)))
    return module


def compiled(text: str) -> bytes:
    """Machine code, as an object file, of the text of a module."""
    return bytes(_machine().emit_object(optimised(text)))


def assembly(text: str) -> str:
    """The same for people, and for tests."""
    return str(_machine().emit_assembly(optimised(text)))


def loaded(code: bytes, name: str) -> Loaded:
    """Put machine code into memory; the address of a function of it."""
    _clear()
    map_room.take(_clear_all)
    if not (_growing and _growing[0].room):
        _growing[:] = [CodeGroup()]
    group = _growing[0]
    return Loaded(group.add(code, name), group)


def _clear() -> None:
    while _left:
        engine = _engines.pop(_left.popleft(), None)
        if engine is not None:  # it could be made
            engine.close()


def _clear_all() -> None:
    """Take out of memory what nobody refers to, in circles of references either."""
    gc.collect()
    _clear()
