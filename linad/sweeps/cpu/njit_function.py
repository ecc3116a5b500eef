"""A program as a function that compiled code calls: no Python in between.

The function is written for the program: it checks shapes, borrows one of a fixed number of
workspaces (an atomic word says whether each is free), writes the addresses of its arguments
into the program's words and runs the sweep. It allocates nothing.

    def call(a0, a1, r0):                        # r0: an array for a result
        if a0.shape[0] != 5: raise ValueError("...")
        slot = borrow(SLOTS, COUNT)
        pointers = word(slot + POINTERS)
        set_word(pointers + 0, data_of(a0))
        ...
        status = run(slot)
        y = get_f8(word(pointers + 16), 0, 0)    # a result that is a number
        give_back(slot)
        if status != 0: ...
        return y
"""

import itertools
import os
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from linad.core import tree
from linad.core.machine_code import kept_on_disk
from linad.core.settings import Settings
from linad.core.shapes import Shape, size_of
from linad.core.tape import Tape
from linad.errors import FallbackError, GuardError, OutputError
from linad.sweeps.cpu import engine, native
from linad.sweeps.cpu.atomic import replace_shared_word, set_shared_word
from linad.sweeps.cpu.native import set_word, word
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.cpu.target import CPU
from linad.sweeps.cpu.threads import YIELD_ADDRESS, give_way
from linad.sweeps.instructions import GUARD_FAILED, PYTHON_ERROR, Fallback
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place
from linad.sweeps.program import simplified

# A slot, 16 words: whether it is taken; the header of its workspace; the addresses of the
# arguments and results, in the header's order; how to wait.
TAKEN, HEADER, POINTERS, YIELD, SLOT = 0, 64, 72, 80, 128

OTHER_PATH = "Python would decide otherwise on these values than on those it was compiled for"

ROOM = 16
"""Bytes for an argument or result that is a number."""


@intrinsic
def data_of(context: Any, array: Any) -> Any:
    """The address of an array's first entry."""

    def generate(context: Any, builder: Any, signature: Any, args: tuple[Any, ...]) -> Any:
        found = context.make_array(array)(context, builder, args[0])
        return builder.ptrtoint(found.data, ir.IntType(64))

    return types.int64(array), generate


@intrinsic
def end_with_error(context: Any) -> Any:
    """End the function with the error that Python has."""

    def generate(context: Any, builder: Any, signature: Any, args: tuple[Any, ...]) -> Any:
        context.call_conv.return_exc(builder)
        builder.position_at_end(builder.append_basic_block("never"))
        return context.get_dummy_value()

    return types.void(), generate


run_instructions, let_others_run = njit(engine.run_instructions), njit(give_way)


@kept_on_disk(types.int64(types.int64, types.int64), nogil=True)
def borrow(slots, count):
    """A slot that nobody uses; waits for one where all are taken."""
    looks = 0
    while True:
        for k in range(count):
            if replace_shared_word(slots + SLOT * k + TAKEN, 0, 1):
                return slots + SLOT * k
        looks += 1
        let_others_run(word(slots + YIELD), looks)


@kept_on_disk(types.void(types.int64), nogil=True)
def give_back(slot):
    set_shared_word(slot + TAKEN, 0)


@kept_on_disk(types.int64(types.int64), nogil=True)
def run(slot):
    """Write the addresses of the arrays into the program, and run it."""
    header, pointers = word(slot + HEADER), word(slot + POINTERS)
    at = header + 32
    for i in range(word(header)):
        data = word(pointers + 8 * i)
        at += engine.SHAPE + 8 * word(at + engine.AXES)
        uses = word(at)
        at += 8
        for _ in range(uses):
            set_word(word(at), data + word(at + 8))
            at += 16
    return run_instructions(word(header + 16), word(header + 24))


class CallSlots:
    """The workspaces of a function, and where numbers and copies of its arguments are kept."""

    def __init__(self, program: CpuProgram, sizes: list[int]) -> None:
        self.count = 2 * (os.cpu_count() or 1) + 2
        # One cache line more than needed, so that slots begin at one.
        memory = np.zeros((self.count + 1) * SLOT // 8, np.int64)
        skipped = -memory.ctypes.data % SLOT // 8
        self.words = memory[skipped : skipped + self.count * SLOT // 8]
        self.address = int(self.words.ctypes.data)
        self.workspaces = [Workspace(program) for _ in range(self.count)]
        self.rooms = [[np.zeros(size, np.uint8) for size in sizes] for _ in range(self.count)]
        self.pointers = [
            np.array([room.ctypes.data for room in rooms], np.int64) for rooms in self.rooms
        ]
        for k, (workspace, pointers) in enumerate(zip(self.workspaces, self.pointers, strict=True)):
            at = k * SLOT // 8
            self.words[at + HEADER // 8] = workspace.header.ctypes.data
            self.words[at + POINTERS // 8] = pointers.ctypes.data
            self.words[at + YIELD // 8] = YIELD_ADDRESS

    def free(self) -> None:
        """Say of all slots that nobody uses them."""
        self.words[TAKEN // 8 :: SLOT // 8] = 0


_kept: list[CallSlots] = []
"""Compiled code may be called, by other compiled code, as long as the process lives."""


def _free_in_child() -> None:
    # Whoever used a slot when the process was forked is a thread that the child does not have.
    for slots in _kept:
        slots.free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)


def callable_from_numba(
    name: str, tape: Tape, outputs: list[Any], written: list[int], chosen: Settings
) -> Any:
    """Return a program as a compiled function of one signature.

    Parameters
    ----------
    name : str
        Of the user's function.
    tape : Tape
    outputs : list
        What it returns, variables and constants; the last ones are written into arguments.
    written : list of int
        Which arguments those are.
    chosen : Settings
        What it is compiled with.
    """
    for a in outputs:
        if not hasattr(a, "dtype") and not isinstance(a, (bool, int, float, complex)):
            raise OutputError(
                f"njit: {name} returns a {type(a).__name__}; results must be arrays or numbers"
            )
    out_tree = tree.row(len(outputs))
    whole = Tape(tape.name, tape.inputs, tape.equations, outputs, tape.in_tree, out_tree)
    program = CPU.compile(simplified(whole), chosen)
    program.give_back(program.borrow())
    _refuse_fallbacks(name, program)
    return _CallableWriter(name, program, written).function()


def _refuse_fallbacks(name: str, program: CpuProgram) -> None:
    found = [i for i in program.lowering.instructions if isinstance(i, Fallback)]
    if found:
        places = dict.fromkeys(f"{i.label} ({i.equation.source or 'no line'})" for i in found)
        raise FallbackError(
            f"njit: {name} cannot be called from compiled code, because these operations run in "
            f"NumPy: {'; '.join(places)}"
        )


class _CallableWriter:
    """The source of the function, line by line."""

    def __init__(self, name: str, program: CpuProgram, written: list[int]) -> None:
        self.name, self.program = name, program
        lowering = program.lowering
        self.inputs, self.outputs = lowering.inputs, lowering.outputs
        self.results = len(self.outputs) - len(written)
        self.written = written
        read = {b.number for i in lowering.instructions for b in i.buffers if b.kind == "input"}
        # What is written into an argument that is also read goes into a copy first.
        self.copied = [k for k in written if k in read]
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "word": word,
            "set_word": set_word,
            "data_of": data_of,
            "borrow": borrow,
            "give_back": give_back,
            "run": run,
            "end_with_error": end_with_error,
            "GuardError": GuardError,
            "POINTERS": POINTERS,
            **native.GETTERS,
            **native.SETTERS,
        }

    def function(self) -> Any:
        sizes = [ROOM if p.shape == () else 0 for p in (*self.inputs, *self.outputs)]
        for j, k in enumerate(self.written):
            if k in self.copied:
                sizes[len(self.inputs) + self.results + j] = self.inputs[k].buffer.size
        slots = CallSlots(self.program, sizes)
        _kept.append(slots)
        self.scope |= {"SLOTS": slots.address, "COUNT": slots.count}
        names = [f"a{k}" for k in range(len(self.inputs))]
        names += [f"r{k}" for k in range(self.results) if self.outputs[k].shape != ()]
        self.lines = [f"def call({', '.join(names)}):"]
        self._check()
        self._pass()
        self.lines.append("    status = run(slot)")
        returned = self._collect()
        self.lines += [
            "    give_back(slot)",
            "    if status != 0:",
            f"        if status == {PYTHON_ERROR}:",
            "            end_with_error()",
            f"        if status == {GUARD_FAILED}:",
            f'            raise GuardError("{self.name}: {OTHER_PATH}")',
            f'        raise ArithmeticError("{self.name}: a kernel stopped; a matrix is singular")',
            f"    return {returned}",
        ]
        exec("\n".join(self.lines), self.scope)
        function = self.scope["call"]
        function.__name__ = function.__qualname__ = self.name if self.name.isidentifier() else "f"
        function.__doc__ = f"{self.name}, compiled by linad."
        return njit(tuple(self._types()), nogil=True)(function)

    def _types(self) -> list[Any]:
        found = []
        for k, place in enumerate(self.inputs):
            found.append(self._type(place, readonly=k not in self.written))
        for place in self.outputs[: self.results]:
            if place.shape != ():
                found.append(self._type(place, readonly=False))
        return found

    @staticmethod
    def _type(place: Place, readonly: bool) -> Any:
        kind = numba.from_dtype(place.dtype)
        if place.shape == ():
            return kind
        return types.Array(kind, len(place.shape), "C", readonly=readonly)

    def _arrays(self) -> list[tuple[str, Place, bool]]:
        """Name and place of each argument that is an array, and whether it is written into."""
        found = [(f"a{k}", p, k in self.written) for k, p in enumerate(self.inputs)]
        found += [(f"r{k}", p, True) for k, p in enumerate(self.outputs[: self.results])]
        return [entry for entry in found if entry[1].shape != ()]

    def _check(self) -> None:
        arrays = self._arrays()
        for name, place, _ in arrays:
            tests = [f"{name}.shape[{d}] != {n}" for d, n in enumerate(place.shape)]
            what = f"argument {name[1:]}" if name[0] == "a" else f"the array for result {name[1:]}"
            self._raise(" or ".join(tests), f"{what} must have shape {place.shape}")
        for name, _, _ in arrays:
            self.lines.append(f"    {name}p = data_of({name})")
        for (a, p, writes), (b, q, also) in itertools.combinations(arrays, 2):
            if (writes or also) and size_of(p.shape) and size_of(q.shape):
                m, n = nbytes(p.shape, p.dtype), nbytes(q.shape, q.dtype)
                self._raise(
                    f"{a}p < {b}p + {n} and {b}p < {a}p + {m}",
                    f"an array that is written into shares memory with another ({a}, {b})",
                )

    def _raise(self, test: str, message: str) -> None:
        self.lines += [f"    if {test}:", f'        raise ValueError("{self.name}: {message}")']

    def _pass(self) -> None:
        """Borrow a slot and put addresses into it, and numbers."""
        self.lines += ["    slot = borrow(SLOTS, COUNT)", "    pointers = word(slot + POINTERS)"]
        for k, place in enumerate(self.inputs):
            if place.shape == ():
                d = name_of_dtype(place.dtype)
                self.lines.append(f"    set_{d}(word(pointers + {8 * k}), 0, a{k}, 0)")
            else:
                self.lines.append(f"    set_word(pointers + {8 * k}, a{k}p)")
        for j, place in enumerate(self.outputs):
            at = 8 * (len(self.inputs) + j)
            if j < self.results:
                if place.shape != ():
                    self.lines.append(f"    set_word(pointers + {at}, r{j}p)")
                continue
            k = self.written[j - self.results]
            if k not in self.copied:
                self.lines.append(f"    set_word(pointers + {at}, a{k}p)")

    def _collect(self) -> str:
        """Copy what belongs into arguments; return an expression for the numbers."""
        for j, k in enumerate(self.written):
            if k in self.copied:
                d = name_of_dtype(self.inputs[k].dtype)
                at = 8 * (len(self.inputs) + self.results + j)
                self.lines += [
                    "    if status == 0:",
                    f"        kept = word(pointers + {at})",
                    f"        for i in range({size_of(self.inputs[k].shape)}):",
                    f"            set_{d}(a{k}p, i, get_{d}(kept, i, -1), 0)",
                ]
        numbers = []
        for j, place in enumerate(self.outputs[: self.results]):
            if place.shape == ():
                d = name_of_dtype(place.dtype)
                at = 8 * (len(self.inputs) + j)
                self.lines.append(f"    y{j} = get_{d}(word(pointers + {at}), 0, 0)")
                numbers.append(f"y{j}")
        if len(numbers) < 2:
            return numbers[0] if numbers else "None"
        return f"({', '.join(numbers)})"


def nbytes(shape: Shape, dtype: np.dtype[Any]) -> int:
    return size_of(shape) * int(dtype.itemsize)
