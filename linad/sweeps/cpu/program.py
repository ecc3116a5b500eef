"""Programs of the CPU: words in memory, and one compiled loop that goes through them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.settings import settings
from linad.sweeps.cpu import engine, kernel_cache as cache
from linad.sweeps.cpu.made_results import BYTES_OF_A_NUMBER, TABLE
from linad.sweeps.cpu.program_kernels import addresses_of
from linad.sweeps.fallbacks import PreparedFallback
from linad.sweeps.instructions import Fallback, KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, canonical
from linad.sweeps.program import SweepProgram

ALIGNMENT = 64
LONG_RUN = 20_000
"""Entries from which a run is long enough to let other threads have the interpreter."""

WORK_OF_AN_ENTRY = 8
SHARED_WORK = 1 << 20
"""Work of one instruction, in additions, from which several threads are asked to share it."""


class CpuProgram(SweepProgram):
    """A tape as compiled code.

    Attributes
    ----------
    shared : bool
        Whether there is enough work for several threads.
    enter : callable
        The sweep, which lets go of the interpreter where a run is long.
    makes_results : bool
        Whether compiled code can make the results of a short call.

    Notes
    -----
    A run allocates its results and nothing else. Costs 0.2 us for the call and some 5 ns an
    instruction, beside the work itself.
    """

    shared = False
    makes_results = False

    def _build(self, lowering: Lowering) -> None:
        counts = cache.counts
        before = counts.compiled, counts.loaded
        kernels = [i for i in lowering.instructions if isinstance(i, KernelCall)]
        wanted = [(self._source_of(i), i.fast) for i in kernels]
        found = iter(addresses_of(wanted, self.tape.name))
        self.addresses = [
            next(found) if isinstance(i, KernelCall) else 0 for i in lowering.instructions
        ]
        self.compiled, self.loaded = counts.compiled - before[0], counts.loaded - before[1]
        work = sum([max(i.extent, i.work // WORK_OF_AN_ENTRY) for i in kernels])
        self.enter = engine.enter_long if work > LONG_RUN else engine.enter
        self.makes_results = self.straight and work <= LONG_RUN and TABLE is not None
        self.shared = max([i.work for i in kernels], default=0) >= SHARED_WORK

    def _source_of(self, call: KernelCall) -> str:
        """The source of what the CPU runs for a kernel."""
        return call.source

    def short_call(self, *what: Any, **more: Any) -> Any:
        from linad.sweeps.cpu.short_calls import short_call

        return short_call(self, *what, **more)

    def new_workspace(self) -> "Workspace":
        return Workspace(self)

    def run_in(
        self, workspace: "Workspace", arrays: Sequence[Any], outputs: list[np.ndarray]
    ) -> int:
        if self.shared and settings().threads > 1:
            return self._run_shared(workspace, (*arrays, *outputs))
        if self.straight:
            return self.enter(workspace.header, (*arrays, *outputs))  # type: ignore[no-any-return]
        return workspace.run_in_parts((*arrays, *outputs), engine.sweep)

    def _run_shared(self, workspace: "Workspace", arrays: tuple[np.ndarray, ...]) -> int:
        threads = settings().threads
        if workspace.threads < threads:
            workspace.make_room(threads)
        with crew_class()(workspace.code, threads) as crew:
            if self.straight:
                return crew.enter(workspace.header, arrays)
            return workspace.run_in_parts(arrays, crew.sweep)


@functools.cache
def crew_class() -> Any:
    """The class of crews, whose module compiles what helpers run."""
    with compiling:
        from linad.sweeps.cpu.threads import Crew
    return Crew


class Workspace:
    """Memory of one run: the arena, and the program's words with addresses in it."""

    def __init__(self, program: "CpuProgram") -> None:
        self.program = program
        lowering = program.lowering
        memory = np.zeros(lowering.arena_size + ALIGNMENT, np.uint8)
        skipped = -memory.ctypes.data % ALIGNMENT
        self.arena = memory[skipped : skipped + lowering.arena_size]
        self.base = memory.ctypes.data + skipped
        self.make_room(settings().threads)

    def make_room(self, threads: int) -> None:
        """Write the program for at most this many threads."""
        self.threads = threads
        self.inner: list[Any] = []  # workspaces of loops inside, and what is known of them
        self._write_code(self.program.lowering)

    def _write_code(self, lowering: Lowering) -> None:
        words: list[int] = []
        uses: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self.parts: list[Any] = []
        start = 0
        for instruction, address in zip(lowering.instructions, self.program.addresses, strict=True):
            if not isinstance(instruction, KernelCall):
                self.parts.append((start, len(words)))
                self.parts.append(self.prepared(instruction))
                start = len(words)
                continue
            words += [int(address), instruction.extent, instruction.work, len(instruction.words)]
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
            (code + 8 * p[0], code + 8 * p[1]) if type(p) is tuple else p for p in self.parts
        ]
        end = code + 8 * len(words) if self.program.straight else code
        places = [*lowering.inputs, *lowering.outputs]
        header: list[int] = [len(places), id(np.ndarray), code, end]
        lie = [engine.IN_ROWS] * len(places)
        for k in self.program.in_columns.inputs:
            lie[k] = engine.IN_COLUMNS
        for k in self.program.in_columns.results:
            lie[len(lowering.inputs) + k] = engine.IN_COLUMNS
        for place, order in zip(places, lie, strict=True):
            used = uses.get((place.buffer.kind, place.buffer.number), [])
            header += [id(canonical(place.dtype)), order, len(place.shape), *place.shape, len(used)]
            for at, offset in used:
                header += [code + 8 * at, offset]
        room = [0] * (BYTES_OF_A_NUMBER // 8 * len(lowering.outputs))
        self.header = np.array(room + header, np.int64)[len(room) :]

    def prepared(self, instruction: Fallback) -> Any:
        """What is run from Python between two compiled stretches."""
        return PreparedFallback(instruction, self.arena, len(self.program.lowering.inputs))

    def uses(self) -> tuple[int, int, list[list[tuple[int, int]]]]:
        """Code, its end, and for each argument and result the words with its address, and
        offsets."""
        at, found = 4, []
        for _ in range(int(self.header[0])):
            at += 3 + int(self.header[at + 2])
            count = int(self.header[at])
            at += 1
            pairs = self.header[at : at + 2 * count].reshape(count, 2)
            found.append([(int(where), int(offset)) for where, offset in pairs])
            at += 2 * count
        return int(self.header[2]), int(self.header[3]), found

    def _address(self, buffer: Buffer) -> int:
        if buffer.kind == "constant":
            return int(buffer.data.ctypes.data)
        return self.base + buffer.offset

    def run_in_parts(self, arrays: tuple[np.ndarray, ...], sweep: Callable[[int, int], int]) -> int:
        """Run a program with fallbacks, compiled stretches by ``sweep``."""
        status = self.program.enter(self.header, arrays)
        for part in self.parts:
            if status:
                return int(status)
            status = sweep(*part) if type(part) is tuple else part.run(arrays)
        return int(status)
