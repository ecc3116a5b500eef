"""Programs on a GPU: words in its memory, and graphs of kernels that read them.

    words     int64, on the device: addresses, sizes, and the numbers among the arguments
    parts     graphs of kernels and of library calls, and what cannot be recorded between them
    header    status, and the numbers among the results

A graph has fixed parameters: each kernel knows where its words are. A call with other arrays
writes words, in one copy, and launches the same graphs. Numbers travel with the words on the way
in, and with the status on the way out, in one copy each. A call of a program that cannot fail, and
whose results are all arrays, returns while the device is still at work.

A workspace has its own stream, arena and words. It is borrowed for the time of a call, and the
next call that borrows it comes after this one on its stream, so nobody has to wait in between.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.failures import SUSPECT, internal_error, is_own_fault
from linad.core.shapes import size_of
from linad.errors import FallbackError
from linad.sweeps.cuda.arrays import Array, moved_in
from linad.sweeps.cuda.device import Memory
from linad.sweeps.cuda.host_program import refuse_fallbacks
from linad.sweeps.cuda.library_calls import LibraryCall
from linad.sweeps.cuda.round_trips import RoundTrip
from linad.sweeps.instructions import Fallback, KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, Place, canonical
from linad.sweeps.program import SweepProgram

if TYPE_CHECKING:
    from linad.sweeps.cuda.device_target import DeviceTarget

SLOT = 16
"""Bytes for a number: the longest are complex ones."""


class DeviceProgram(SweepProgram):
    """A tape as a program on a GPU.

    Attributes
    ----------
    device : Device
    checked : bool
        Whether a run can fail, so that its status has to be read.
    """

    target: "DeviceTarget"

    def _build(self, lowering: Lowering) -> None:
        self.device = self.target.device
        self.device.activate()
        if not self.chosen.device_fallback:
            refuse_fallbacks(self.tape.name, lowering)
        calls = [i for i in lowering.instructions if isinstance(i, KernelCall)]
        self.kernels = {
            (i.source, i.fast): self.device.kernel(i.source, i.fast)
            for i in calls
        }
        self.checked = any(may_fail(i) for i in lowering.instructions)
        self._hold_constants(lowering)

    def _hold_constants(self, lowering: Lowering) -> None:
        """Copy the arrays that the program knows to the device, once for all workspaces."""
        self.constants: dict[int, Memory] = {}
        stream = self.device.new_stream()
        for buffer in [b for i in lowering.instructions for b in i.buffers]:
            if buffer.kind == "constant" and id(buffer.data) not in self.constants:
                a = np.ascontiguousarray(buffer.data)
                memory = self.device.allocate(a.nbytes, stream)
                if a.nbytes:
                    self.device.upload(memory.address, a, stream)
                self.constants[id(buffer.data)] = memory
        self.device.synchronize(stream)

    def new_workspace(self) -> "DeviceWorkspace":
        return DeviceWorkspace(self)

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Run on arrays of the device or of the host, and numbers.

        Returns
        -------
        list
            An `Array` for each result with axes, a NumPy array for one without.

        Raises
        ------
        GuardError
            If a Python decision would be taken otherwise.
        KernelStoppedError
            If a kernel could not do its work.
        FallbackError
            If linad failed to make the program, or it needs NumPy.
        """
        workspace = self.borrow()
        try:
            status, results = workspace.run(arrays)
        except SUSPECT as error:
            if is_own_fault(error):
                raise internal_error(error, self.tape.name) from error
            raise
        finally:
            self.give_back(workspace)
        if status:
            self._raise(status)
        return results

    def _execute(self, workspace: Any, arrays: Sequence[Any], outputs: list[np.ndarray]) -> int:
        raise FallbackError(f"{self.tape.name}: a program on a device gives arrays of the device")


def may_fail(instruction: Any) -> bool:
    """Whether an instruction can leave a status."""
    if isinstance(instruction, KernelCall):
        lines = instruction.source.splitlines()
        return any(line.strip().startswith("return ") and line[-2:] != " 0" for line in lines)
    return isinstance(instruction, Fallback)


class DeviceWorkspace:
    """Memory of one run at a time, the stream it is worked on, and the graphs that work on it."""

    def __init__(self, program: DeviceProgram) -> None:
        self.program, self.device = program, program.device
        lowering = program.lowering
        device = self.device
        device.activate()
        self.stream = device.new_stream()
        self.arena = device.allocate(lowering.arena_size, self.stream)
        self.scalars = [j for j, p in enumerate(lowering.outputs) if not p.shape]
        header = 8 + SLOT * (len(self.scalars) + 1)
        self.header = device.allocate(header, self.stream)
        self.seen = device.pinned(header)
        self._write_words(lowering)
        self._make_parts(lowering)

    # Made once.

    def _write_words(self, lowering: Lowering) -> None:
        """The words of all instructions, and which of them each array of a call is in."""
        count = sum([len(i.words) for i in lowering.instructions if hasattr(i, "words")])
        numbers = [k for k, p in enumerate(lowering.inputs) if not p.shape]
        length = count + 2 * len(numbers) + 2
        self.words = self.device.allocate(8 * length, self.stream)
        self.mirror = np.zeros(length, np.int64)
        # Numbers first, each at a multiple of its size.
        self.numbers = {k: 2 * n for n, k in enumerate(numbers)}
        self.uses: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self.starts: dict[Any, int] = {}
        at = 2 * len(numbers)
        for instruction in lowering.instructions:
            if not hasattr(instruction, "words"):
                continue
            self.starts[instruction] = at
            for w in instruction.words:
                if type(w) is tuple:
                    buffer, offset = w
                    found = self.fixed_address(buffer)
                    if found is None:
                        key = buffer.kind, buffer.number
                        self.uses.setdefault(key, []).append((at, offset))
                    else:
                        self.mirror[at] = found + offset
                else:
                    self.mirror[at] = w
                at += 1
        self.uploaded: np.ndarray | None = None

    def fixed_address(self, buffer: Buffer) -> int | None:
        """Where a buffer is in every run; None for what a call brings, or is given."""
        if buffer.kind == "constant":
            return self.program.constants[id(buffer.data)].address
        if buffer.kind == "arena":
            return self.arena.address + buffer.offset
        if buffer.kind == "input" and buffer.number in self.numbers:
            return self.words.address + 8 * self.numbers[buffer.number]
        if buffer.kind == "output" and buffer.number in self.scalars:
            return self.header.address + 8 + SLOT * self.scalars.index(buffer.number)
        return None

    def address_of(self, place: Place) -> int:
        """Where a place is that lies there in every run."""
        found = self.fixed_address(place.buffer)
        assert found is not None, "what is recorded in a graph keeps its address"
        return found + place.offset

    def _make_parts(self, lowering: Lowering) -> None:
        self.parts: list[Any] = []
        recorded: list[Any] = []
        for instruction in [*lowering.instructions, None]:
            if instruction is not None and is_recorded(instruction):
                recorded.append(instruction)
                continue
            if recorded:
                self.parts.append(self._graph(recorded))
                recorded = []
            if isinstance(instruction, Fallback):
                self.parts.append(RoundTrip(instruction, self))
            elif instruction is not None:
                self.parts.append(Unrecorded(instruction, self))

    def _graph(self, instructions: list[Any]) -> Any:
        def issue(stream: Any) -> None:
            for instruction in instructions:
                self.issue(instruction, stream)

        return Launched(self.device.graph(issue), self)

    def issue(self, instruction: Any, stream: Any) -> None:
        """Put an instruction on a stream, or into the graph that is recorded from one."""
        words = self.words.address + 8 * self.starts[instruction]
        if isinstance(instruction, LibraryCall):
            self.program.target.libraries.call(instruction, self, words, stream)
            return
        kernel = self.program.kernels[instruction.source, instruction.fast]
        self.device.launch(kernel, instruction.extent, words, self.header.address, stream)

    # Every run.

    def run(self, arrays: Sequence[Any]) -> tuple[int, list[Any]]:
        """Run; return the status, and the results, which count if it is zero."""
        device, lowering, program = self.device, self.program.lowering, self.program
        device.activate()
        given = [
            self._operand(k, a, p)
            for k, (a, p) in enumerate(zip(arrays, lowering.inputs, strict=True))
        ]
        others = {a._stream for a in given if a is not None and a._stream is not self.stream}
        for other in others:
            device.wait(self.stream, other)
        made = [None if not p.shape else self._result(p) for p in lowering.outputs]
        self.current = {("input", k): a for k, a in enumerate(given)}
        self.current |= {("output", j): y for j, y in enumerate(made)}
        for key, places in self.uses.items():
            array = self.current[key]
            assert array is not None
            for at, offset in places:
                self.mirror[at] = array._memory.address + offset
        if self.uploaded is None or not np.array_equal(self.mirror, self.uploaded):
            self.uploaded = self.mirror.copy()
            device.upload(self.words.address, self.mirror, self.stream)
        if program.checked:
            device.clear(self.header.address, 8, self.stream)
        for part in self.parts:
            part.run()
        for other in others:
            device.wait(other, self.stream)
        self.current = {}
        return self._finished(made)

    def _operand(self, k: int, a: Any, place: Place) -> Array | None:
        """An argument on the device; a number goes into the words."""
        dtype = canonical(place.dtype)
        if type(a) is not Array:
            a = np.require(a, dtype, ["C", "A"]).reshape(place.shape)
        elif (a.shape, a.dtype) != (place.shape, dtype):
            raise AssertionError(f"argument {k}: expected {dtype}{place.shape}, got {a!r}")
        if place.shape:
            return a if type(a) is Array else moved_in(self.device, a, self.stream)
        number = a.numpy() if type(a) is Array else a
        first = self.numbers[k]
        raw = self.mirror[first : first + 2].view(np.uint8)
        raw[: dtype.itemsize] = np.frombuffer(number.tobytes(), np.uint8)
        return None

    def _result(self, place: Place) -> Array:
        size = size_of(place.shape) * place.dtype.itemsize
        memory = self.device.allocate(size, self.stream)
        return Array(self.device, memory, self.stream, place.shape, canonical(place.dtype))

    def _finished(self, made: list[Any]) -> tuple[int, list[Any]]:
        program = self.program
        if not (program.checked or self.scalars):
            return 0, made
        self.device.download(self.seen, self.header.address, self.stream)
        self.device.synchronize(self.stream)
        status = int(self.seen[:8].view(np.int64)[0]) if program.checked else 0
        results = list(made)
        for n, j in enumerate(self.scalars):
            dtype = canonical(program.lowering.outputs[j].dtype)
            at = 8 + SLOT * n
            results[j] = self.seen[at : at + dtype.itemsize].copy().view(dtype).reshape(())
        return status, results


def is_recorded(instruction: Any) -> bool:
    """Whether a graph takes an instruction."""
    if isinstance(instruction, LibraryCall):
        return instruction.recorded
    return isinstance(instruction, KernelCall)


class Launched:
    """A graph, as a part of a run."""

    def __init__(self, graph: Any, workspace: DeviceWorkspace) -> None:
        self.graph, self.workspace = graph, workspace

    def run(self) -> None:
        self.graph.launch(self.workspace.stream)


class Unrecorded:
    """A call of a library that a graph does not take, as a part of a run."""

    def __init__(self, instruction: Any, workspace: DeviceWorkspace) -> None:
        self.instruction, self.workspace = instruction, workspace

    def run(self) -> None:
        self.workspace.issue(self.instruction, self.workspace.stream)
