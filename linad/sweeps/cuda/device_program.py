"""Programs on a GPU.

A call borrows a workspace, as on the CPU, and each workspace has a stream: whoever borrows it
next works on the same stream, after this call, so nobody has to wait in between. Results are new
memory of the device's pool.

Arrays are on the device, numbers (what has no axes) on the host. Numbers among the arguments
travel with the words of the program, numbers among the results with its status, in one copy.
A program that cannot fail and has no numbers among its results returns while the device is still
at work; all others wait for the status.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.shapes import size_of
from linad.errors import FallbackError
from linad.sweeps.cuda.device import Memory
from linad.sweeps.cuda.device_sweep import DeviceSweep, StoppedError
from linad.sweeps.cuda.gpu_arrays import Array, moved_in
from linad.sweeps.cuda.host_loops import HostLoop
from linad.sweeps.cuda.host_program import refuse_fallbacks
from linad.sweeps.instructions import Fallback, GridCall, KernelCall, all_of
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Place, canonical
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
    kernels : dict
        By source, and whether arithmetic may be reordered; those of users by their own keys.
    constants : dict
        The arrays that the program knows, on the device, by the identity of the host's.
    checked : bool
        Whether a run can fail, so that its status has to be read.
    """

    target: "DeviceTarget"
    on_device = True

    def _build(self, lowering: Lowering) -> None:
        if not self.chosen.device_fallback:
            refuse_fallbacks(self.tape.name, lowering)
        self.device = self.target.device
        self.device.activate()
        instructions = list(all_of(lowering.instructions))
        wanted = [(i.source, i.fast) for i in instructions if isinstance(i, KernelCall)]
        self.kernels = {key: self.device.kernel(*key) for key in dict.fromkeys(wanted)}
        calls = {i.key: i for i in instructions if isinstance(i, GridCall)}
        self.kernels |= {key: self.device.grid_kernel(call) for key, call in calls.items()}
        self.checked = any([may_fail(i) for i in instructions])
        self._hold_constants(instructions)

    def _hold_constants(self, instructions: list[Any]) -> None:
        self.constants: dict[int, Memory] = {}
        stream = self.device.new_stream()
        for buffer in [b for i in instructions for b in i.buffers]:
            if buffer.kind == "constant" and id(buffer.data) not in self.constants:
                a = moved_in(self.device, np.asarray(buffer.data), stream)
                self.constants[id(buffer.data)] = a._memory
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
            If the program needs NumPy, or linad failed to make it.
        """
        workspace = self.borrow()
        return self._run_with(workspace, lambda: workspace.run(arrays))

    def run_in(self, workspace: Any, arrays: Sequence[Any], outputs: list[np.ndarray]) -> int:
        raise FallbackError(f"{self.tape.name}: results of a program on a device lie there")


def may_fail(instruction: Any) -> bool:
    """Whether an instruction can leave a status."""
    if not isinstance(instruction, KernelCall):
        return isinstance(instruction, Fallback | HostLoop)
    returned = [line.split()[1] for line in instruction.source.splitlines() if "return " in line]
    return any([status != "0" for status in returned])


class DeviceWorkspace:
    """What one run at a time works with: a stream, a sweep on it, numbers and status."""

    def __init__(self, program: DeviceProgram) -> None:
        self.program, self.device = program, program.device
        self.device.activate()
        self.stream = self.device.new_stream()
        lowering = program.lowering
        self.given = [k for k, p in enumerate(lowering.inputs) if not p.shape]
        self.made = [j for j, p in enumerate(lowering.outputs) if not p.shape]
        size = SLOT * (1 + len(self.made))
        self.header = self.device.allocate(size, self.stream)
        self.device.clear(self.header.address, size, self.stream)
        self.seen = self.device.pinned(size)
        more = SLOT // 8 * len(self.given)
        self.sweep = DeviceSweep(program, lowering, self.stream, self.header.address, more)

    def run(self, arrays: Sequence[Any]) -> tuple[int, list[Any]]:
        """Run; return the status, and the results, which count if it is zero."""
        device, lowering = self.device, self.program.lowering
        device.activate()
        pairs = list(zip(arrays, lowering.inputs, strict=True))
        given = [self._operand(a, p) for a, p in pairs]
        others = {id(a._stream): a._stream for a in given if a is not None}
        others.pop(id(self.stream), None)
        for other in others.values():
            device.wait(self.stream, other)
        results: list[Any] = [self._result(p) for p in lowering.outputs]
        addresses = {("input", k): a._memory.address for k, a in enumerate(given) if a is not None}
        for j, y in enumerate(results):
            if y is not None:
                addresses["output", j] = y._memory.address
        for n, k in enumerate(self.given):
            addresses["input", k] = self.sweep.words.address + SLOT * n
            raw = self.sweep.mirror.view(np.uint8)[SLOT * n : SLOT * (n + 1)]
            self._write_number(raw, *pairs[k])
        for n, j in enumerate(self.made):
            addresses["output", j] = self.header.address + SLOT * (1 + n)
        if self.program.checked:
            device.clear(self.header.address, 8, self.stream)
        with suppress(StoppedError):  # the status says why
            self.sweep.run(addresses)
        for other in others.values():
            device.wait(other, self.stream)
        return self._finished(results)

    def _operand(self, a: Any, place: Place) -> Array | None:
        """An argument with axes, on the device."""
        if not place.shape:
            return None
        if type(a) is not Array:
            a = np.require(a, canonical(place.dtype), ["C", "A"]).reshape(place.shape)
            return moved_in(self.device, a, self.stream)
        assert (a.shape, a.dtype) == (place.shape, place.dtype), f"{a!r} is not as recorded"
        return a

    @staticmethod
    def _write_number(raw: np.ndarray, a: Array, place: Place) -> None:
        number = np.asarray(a.numpy() if type(a) is Array else a, place.dtype)
        raw[: number.nbytes] = np.frombuffer(number.tobytes(), np.uint8)

    def _result(self, place: Place) -> Array | None:
        if not place.shape:
            return None
        size = size_of(place.shape) * place.dtype.itemsize
        memory = self.device.allocate(size, self.stream)
        return Array(self.device, memory, self.stream, place.shape, canonical(place.dtype))

    def _finished(self, results: list[Any]) -> tuple[int, list[Any]]:
        if not (self.program.checked or self.made):
            return 0, results
        self.device.download(self.seen, self.header.address, self.stream)
        self.device.synchronize(self.stream)
        for n, j in enumerate(self.made):
            dtype = canonical(self.program.lowering.outputs[j].dtype)
            first = SLOT * (1 + n)
            results[j] = self.seen[first : first + dtype.itemsize].copy().view(dtype).reshape(())
        return int(self.seen[:8].view(np.int64)[0]), results
