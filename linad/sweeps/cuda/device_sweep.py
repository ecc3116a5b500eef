"""A lowered program in the memory of a device: its words, its arena, and its parts.

    words     int64: the addresses, sizes and numbers that kernels read
    parts     graphs of kernels and library calls, and between them what no graph takes:
              calls that cannot be recorded, loops that the host runs, round trips to NumPy

A graph has fixed parameters, so each kernel in it knows where its words are and nothing else.
A run with other arrays writes words, in one copy, and launches the same graphs.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.shapes import size_of
from linad.sweeps.cuda.device import Device, Graph
from linad.sweeps.cuda.host_loops import Copy, HostLoop, Put, parts_of
from linad.sweeps.cuda.library_calls import LibraryCall
from linad.sweeps.cuda.library_forms import issue
from linad.sweeps.fallbacks import run_fallback
from linad.sweeps.instructions import Fallback, GridCall, KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, Place

if TYPE_CHECKING:
    from linad.sweeps.cuda.device_program import DeviceProgram

Addresses = Mapping[tuple[str, int], int]
"""Where the inputs and outputs of a run begin, by kind and number."""


def is_recorded(instruction: Any) -> bool:
    """Whether a graph takes an instruction."""
    if isinstance(instruction, LibraryCall):
        return instruction.recorded
    return isinstance(instruction, KernelCall | GridCall)


class StoppedError(Exception):
    """A part of a run has found out that the run fails: the status says why."""


class DeviceSweep:
    """A lowered program, ready to run on one stream.

    Parameters
    ----------
    program : DeviceProgram
        The outermost program, which has the kernels and the constants.
    lowering : Lowering
        Its own, or that of a program in one of its loops.
    stream : Stream
    status : int
        Address of the status.
    more : int
        Words that are left free at the beginning, for numbers of the caller's.
    """

    def __init__(
        self, program: "DeviceProgram", lowering: Lowering, stream: Any, status: int, more: int = 0
    ) -> None:
        self.program, self.lowering, self.stream, self.status = program, lowering, stream, status
        self.device: Device = program.device
        self.arena = self.device.allocate(lowering.arena_size, stream)
        self.handles: dict[Any, Any] = {}  # of libraries, which work on one stream each
        self._write_words(more)
        self.parts = [self._prepared(part) for part in parts_of(lowering.instructions, is_recorded)]

    # Made once.

    def _write_words(self, more: int) -> None:
        """The words of all instructions, and which of them each array of a run is in."""
        kinds = KernelCall | LibraryCall | GridCall
        calls = [i for i in self.lowering.instructions if isinstance(i, kinds)]
        length = more + sum([len(i.words) for i in calls]) + 1
        self.words = self.device.allocate(8 * length, self.stream)
        self.mirror = np.zeros(length, np.int64)
        self.uploaded: np.ndarray | None = None
        self.uses: list[tuple[tuple[str, int], int, int]] = []
        self.starts: dict[int, int] = {}
        at = more
        for call in calls:
            self.starts[id(call)] = at
            for w in call.words:
                if type(w) is not tuple:
                    self.mirror[at] = w
                elif (address := self.fixed_address(w[0])) is None:
                    self.uses.append(((w[0].kind, w[0].number), at, w[1]))
                else:
                    self.mirror[at] = address + w[1]
                at += 1

    def fixed_address(self, buffer: Buffer) -> int | None:
        """Where a buffer is in every run; None for an array of the caller's."""
        if buffer.kind == "constant":
            return self.program.constants[id(buffer.data)].address
        return self.arena.address + buffer.offset if buffer.kind == "arena" else None

    def words_of(self, call: Any) -> int:
        """Where the words of an instruction are on the device."""
        return self.words.address + 8 * self.starts[id(call)]

    def _prepared(self, part: Any) -> Callable[[], None]:
        if isinstance(part, list):

            def issue(stream: Any) -> None:
                for call in part:
                    self._issue(call, stream)

            if any(isinstance(call, LibraryCall) for call in part):
                # Made while a graph is recorded, a handle would allocate memory there.
                self.program.target.libraries.handle("cublas", self, self.stream)
            graph: Graph = self.device.graph(issue)
            return lambda: graph.launch(self.stream)
        if isinstance(part, LibraryCall):
            return lambda: self._issue(part, self.stream)
        if isinstance(part, Fallback):
            return lambda: self._go_to_numpy(part)
        inner = [
            DeviceSweep(self.program, lowering, self.stream, self.status)
            for lowering in part.programs
        ]
        return lambda: self._run_loop(part, inner)

    def _issue(self, call: Any, stream: Any) -> None:
        """Put an instruction on a stream, or into the graph that is recorded in place of one."""
        if isinstance(call, LibraryCall):
            issue(self.program.target.libraries, call, self, stream)
        elif isinstance(call, GridCall):
            kernel = self.program.kernels[call.key]
            self.device.launch_grid(kernel, call, self.words_of(call), stream)
        else:
            kernel = self.program.kernels[call.source, call.fast]
            self.device.launch(kernel, call.extent, self.words_of(call), self.status, stream)

    # Every run.

    def run(self, addresses: Addresses) -> None:
        """Run with the arrays at these addresses.

        Raises
        ------
        StoppedError
            If the status says that there is no point in going on.
        """
        self.addresses = addresses
        for key, at, offset in self.uses:
            self.mirror[at] = addresses[key] + offset
        if self.uploaded is None or not np.array_equal(self.mirror, self.uploaded):
            self.uploaded = self.mirror.copy()
            self.device.upload(self.words.address, self.uploaded, self.stream)
        for part in self.parts:
            part()

    def _at(self, place: Place) -> int:
        """Where a place is in this run."""
        buffer = place.buffer
        address = self.fixed_address(buffer)
        if address is None:
            address = self.addresses[buffer.kind, buffer.number]
        return address + place.offset

    def _fetched(self, address: int, size: int) -> np.ndarray:
        """Bytes of the device, when everything before has run.

        Raises
        ------
        StoppedError
        """
        status, found = np.zeros(1, np.int64), np.empty(size, np.uint8)
        self.device.download(status, self.status, self.stream)
        self.device.download(found, address, self.stream)
        self.device.synchronize(self.stream)
        if status[0]:
            raise StoppedError
        return found

    def _stop(self, status: int) -> None:
        self.device.upload(self.status, np.array([status], np.int64), self.stream)
        raise StoppedError

    def _run_loop(self, loop: HostLoop, inner: list["DeviceSweep"]) -> None:
        def read(place: Place) -> int:
            found = self._fetched(self._at(place), place.dtype.itemsize)
            return int(found.view(place.dtype)[0])

        steps = loop.steps(read)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                if end.value:
                    self._stop(end.value)
                return
            if isinstance(step, Copy):
                size = size_of(step.target.shape) * step.target.dtype.itemsize
                source = self._at(step.source)
                self.device.copy(self._at(step.target), source, size, self.stream)
            elif isinstance(step, Put):
                number = np.array([step.value], step.target.dtype)
                self.device.upload(self._at(step.target), number, self.stream)
            else:
                sweep = inner[step.program]
                count = len(sweep.lowering.inputs)
                sweep.run(
                    {
                        ("input", k) if k < count else ("output", k - count): self._at(p)
                        for k, p in enumerate(step.places)
                    }
                )

    def _go_to_numpy(self, fallback: Fallback) -> None:
        """Let NumPy compute an equation, on copies of its operands."""
        inputs = [self._copied(p) if isinstance(p, Place) else p for p in fallback.inputs]
        outputs = [np.empty(p.shape, p.dtype) for p in fallback.outputs]
        status = run_fallback(fallback, [*inputs, *outputs])
        if status:
            self._stop(status)
        for place, array in zip(fallback.outputs, outputs, strict=True):
            assert place.contiguous, "what NumPy makes is in a place of its own"
            if array.nbytes:
                self.device.upload(self._at(place), array, self.stream)

    def _copied(self, place: Place) -> np.ndarray:
        """The array at a place, on the host."""
        if not size_of(place.shape):
            return np.empty(place.shape, place.dtype)
        low, high = place.extent
        start = Place(place.buffer, low, (), (), place.dtype)
        memory = self._fetched(self._at(start), high - low)
        return np.ndarray(place.shape, place.dtype, memory, place.offset - low, place.strides)
