"""A tape, compiled: made once for its shapes, run any number of times.

A run borrows a workspace from the program's pool and gives it back at the end, whatever
happens in between. So a program that is running already (in another thread, in a recursion,
in a callback) gets another workspace, and no run can see what another left.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.core.collection_pause import collection_paused
from linad.core.compiler_lock import compiling
from linad.core.failures import SUSPECT, internal_error, is_own_fault, warn_uncompiled
from linad.core.settings import Settings, settings
from linad.core.tape import Tape
from linad.errors import FallbackError, GuardError, LinadError
from linad.sweeps.cpu import engine, kernel_cache as cache
from linad.sweeps.instructions import Fallback, Instruction
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, Place, canonical
from linad.transforms.simplify import simplify

log = logging.getLogger("linad")

ALIGNMENT = 64
LONG_RUN = 20_000
"""Entries from which a run is long enough to let other threads have the interpreter."""

WORK_OF_AN_ENTRY = 8
SHARED_WORK = 1 << 20
"""Work of one instruction, in additions, from which several threads are asked to share it."""


class KernelError(ArithmeticError):
    """A kernel stopped: a matrix was singular, or the like. NumPy has the words for it."""


class OtherArgumentsError(ValueError):
    """Arguments that are no arrays, or not of the shape, dtype and layout of the program's."""


class UncompiledError(FallbackError):
    """A program that linad failed to compile; NumPy runs its tape."""


def simplified(tape: Tape) -> Tape:
    """A tape as it is compiled: in a simpler form, or as it is, with a warning, on a failure."""
    try:
        return simplify(tape)
    except (LinadError, MemoryError):
        raise
    except Exception as failure:
        warn_uncompiled(tape.name, failure)
        return tape


class Program:
    """A tape as compiled code.

    Parameters
    ----------
    tape : Tape

    Attributes
    ----------
    lowering : Lowering
        Instructions and places; made at the first run.
    seconds : float
        What it took to make it, kernels included.
    compiled, loaded : int
        Kernels that had to be compiled for it, and that were found on disk.
    made : bool
        Whether it has been compiled.
    shared : bool
        Whether there is enough work for several threads.
    chosen : Settings
        What it is compiled with.

    Notes
    -----
    A run allocates its results and nothing else. Costs 0.2 us for the call and some 5 ns an
    instruction, beside the work itself.
    """

    def __init__(self, tape: Tape, chosen: Settings | None = None) -> None:
        self.tape = tape
        self.chosen = chosen or settings()
        self.pool: list[Workspace] = []
        self.made = False
        self._failure = ""

    def _make(self) -> None:
        with compiling:
            if self._failure:
                raise UncompiledError(self._failure)
            if self.made:
                return
            try:
                self._compile()
            except (LinadError, MemoryError):
                raise
            except Exception as failure:
                self._failure = str(internal_error(failure, self.tape.name))
                self.straight = self.shared = False
                warn_uncompiled(self.tape.name, failure)
                raise UncompiledError(self._failure) from failure

    def _compile(self) -> None:
        started = time.perf_counter()
        counts = cache.counts
        before = counts.compiled, counts.loaded
        with collection_paused():
            self.lowering = Lowering(self.tape, self.chosen)
        kernels = [i for i in self.lowering.instructions if isinstance(i, Instruction)]
        self.addresses = [
            cache.kernel(i.source, i.fast, i.function) if isinstance(i, Instruction) else 0
            for i in self.lowering.instructions
        ]
        self.compiled, self.loaded = counts.compiled - before[0], counts.loaded - before[1]
        work = sum([max(i.extent, i.work // WORK_OF_AN_ENTRY) for i in kernels])
        self.enter = engine.enter_long if work > LONG_RUN else engine.enter
        self.shared = max([i.work for i in kernels], default=0) >= SHARED_WORK
        self.results = [(p.shape, p.dtype) for p in self.lowering.outputs]
        self.straight = not any(isinstance(i, Fallback) for i in self.lowering.instructions)
        self.seconds = time.perf_counter() - started
        self.made = True
        log.info(
            "compiled %d kernels in %.0f ms, loaded %d from disk: %s",
            self.compiled,
            1e3 * self.seconds,
            self.loaded,
            self.tape.name,
        )

    def borrow(self) -> "Workspace":
        """A workspace that nobody else uses.

        Raises
        ------
        UncompiledError
            If linad failed to compile the program.
        """
        if not self.made:
            self._make()
        try:
            return self.pool.pop()
        except IndexError:
            return Workspace(self)

    def give_back(self, workspace: "Workspace") -> None:
        self.pool.append(workspace)

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Run on arrays in C order, of the recorded shapes and dtypes.

        Raises
        ------
        OtherArgumentsError
            If they are not; before anything is done.
        GuardError
            If a Python decision would be taken otherwise.
        KernelError
            If a kernel could not do its work.
        InternalError
            If linad fails.
        """
        try:
            workspace = self.borrow()
        except UncompiledError:
            return self._run_by_numpy(arrays)
        try:
            outputs = [np.empty(shape, dtype) for shape, dtype in self.results]
            if self.shared and settings().threads > 1:
                status = self._run_shared(workspace, (*arrays, *outputs))
            elif self.straight:
                status = self.enter(workspace.header, (*arrays, *outputs))
            else:
                status = workspace.run_in_parts((*arrays, *outputs), engine.sweep)
        except SUSPECT as error:
            if is_own_fault(error):
                raise internal_error(error, self.tape.name) from error
            raise
        finally:
            self.give_back(workspace)
        if status:
            self._raise(status)
        return outputs

    def _run_by_numpy(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """What `run` does, for a program that could not be compiled."""
        for a, var in zip(arrays, self.tape.inputs, strict=True):
            if type(a) is not np.ndarray or (a.shape, a.dtype) != (var.shape, var.dtype):
                raise OtherArgumentsError(f"{self.tape.name}: other arrays than recorded")
        found = self.tape.run([a if a.ndim else a[()] for a in arrays])
        return [np.array(y) for y in found]

    def _run_shared(self, workspace: "Workspace", arrays: tuple[np.ndarray, ...]) -> int:
        from linad.sweeps.cpu.threads import Crew

        with Crew(workspace.code, settings().threads) as crew:
            if self.straight:
                return crew.enter(workspace.header, arrays)
            return workspace.run_in_parts(arrays, crew.sweep)

    def _raise(self, status: int) -> None:
        if status == engine.OTHER_ARGUMENTS:
            raise OtherArgumentsError(f"{self.tape.name}: other arrays than recorded")
        if status == engine.GUARD_FAILED:
            raise GuardError(f"{self.tape.name}: the program took another path when recorded")
        raise KernelError(f"{self.tape.name}: a kernel stopped with status {status}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (self.tape, self.chosen)


class Given(NamedTuple):
    """A place in one of the arrays that a caller hands over."""

    place: Place
    number: int


class Workspace:
    """Memory of one run: the arena, and the program's words with addresses in it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        lowering = program.lowering
        memory = np.empty(lowering.arena_size + ALIGNMENT, np.uint8)
        skipped = -memory.ctypes.data % ALIGNMENT
        self.arena = memory[skipped : skipped + lowering.arena_size]
        self.base = memory.ctypes.data + skipped
        self.inner: list[Any] = []  # workspaces of loops inside, and what is known of them
        self._write_code(lowering)

    def _write_code(self, lowering: Lowering) -> None:
        words: list[int] = []
        uses: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self.parts: list[Any] = []
        start = 0
        for instruction, address in zip(lowering.instructions, self.program.addresses, strict=True):
            if isinstance(instruction, Fallback):
                self.parts.append((start, len(words)))
                self.parts.append(instruction)
                start = len(words)
                continue
            words += [address, instruction.extent, instruction.work, len(instruction.words)]
            for w in instruction.words:
                if type(w) is not tuple:
                    words.append(w.word_in(self) if hasattr(w, "word_in") else w)
                    continue
                buffer, offset = w
                if buffer.kind in ("input", "output"):
                    uses.setdefault((buffer.kind, buffer.number), []).append((len(words), offset))
                    words.append(0)
                else:
                    words.append(self._address(buffer) + offset)
        self.parts.append((start, len(words)))
        self.code = np.array(words, np.int64)
        code = self.code.ctypes.data
        self.parts = [
            (code + 8 * p[0], code + 8 * p[1]) if type(p) is tuple else self._prepared(p)
            for p in self.parts
        ]
        end = code + 8 * len(words) if self.program.straight else code
        places = [*lowering.inputs, *lowering.outputs]
        header: list[int] = [len(places), id(np.ndarray), code, end]
        for place in places:
            used = uses.get((place.buffer.kind, place.buffer.number), [])
            header += [id(canonical(place.dtype)), len(place.shape), *place.shape, len(used)]
            for at, offset in used:
                header += [code + 8 * at, offset]
        self.header = np.array(header, np.int64)

    def _address(self, buffer: Buffer) -> int:
        if buffer.kind == "constant":
            return int(buffer.data.ctypes.data)
        return self.base + buffer.offset

    def _prepared(self, fallback: Fallback) -> Any:
        """A fallback with the arrays that do not change from run to run."""
        return fallback, [self._array(p) for p in (*fallback.inputs, *fallback.outputs)]

    def _array(self, place: Any) -> Any:
        """The array at a place, or where it is among a caller's."""
        if not isinstance(place, Place):
            return place
        kind, number = place.buffer.kind, place.buffer.number
        if kind == "constant":
            return place.array(place.buffer.data)
        if kind == "arena":
            size = place.buffer.size
            return place.array(self.arena[place.buffer.offset : place.buffer.offset + size])
        if kind == "output":
            number += len(self.program.lowering.inputs)
        return Given(place, number)

    def run_in_parts(self, arrays: tuple[np.ndarray, ...], sweep: Callable[[int, int], int]) -> int:
        """Run a program with fallbacks, compiled stretches by ``sweep``."""
        status = self.program.enter(self.header, arrays)
        for part in self.parts:
            if status:
                return int(status)
            if type(part[0]) is int:
                status = sweep(*part)
            else:
                fallback, found = part
                found = [a.place.array(arrays[a.number]) if type(a) is Given else a for a in found]
                status = _fall_back(fallback, found)
        return int(status)


def _fall_back(fallback: Fallback, arrays: list[Any]) -> int:
    """Let NumPy compute one equation.

    It gets copies: what an implementation keeps, factors for the next call perhaps, must not
    change with the memory of the program.
    """
    eqn = fallback.equation
    n = len(fallback.inputs)
    inputs = [
        (a.copy() if p.shape else a[()]) if isinstance(p, Place) else a
        for p, a in zip(fallback.inputs, arrays[:n], strict=True)
    ]
    y = eqn.primitive.impl(*inputs, **eqn.params)
    results = y if isinstance(y, tuple) else (y,)
    for target, value in zip(arrays[n:], results, strict=True):
        value = np.asarray(value)
        if value.shape != target.shape or value.dtype != target.dtype:
            return engine.GUARD_FAILED
        target[...] = value
    return 0
