"""Programs of a GPU on the CPU: for each kernel a loop over threads stands for the grid.

The threads come in reverse order, and how many there are makes no difference: kernels whose
threads depend on each other would show it. This is for tests; it is not fast.
"""

import textwrap
from typing import Any

import numpy as np

from linad.errors import FallbackError
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.cuda.grid_loops import HEAD, strided
from linad.sweeps.cuda.host_loops import Copy, HostLoop, Put
from linad.sweeps.fallbacks import array_at, array_of
from linad.sweeps.instructions import Fallback, GridCall, KernelCall, all_of
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Place

END = "    return 0\n"


class HostProgram(CpuProgram):
    """A program for a GPU, on the CPU.

    Attributes
    ----------
    threads : int or None
        How many share the range of a kernel; None for as many as it has numbers.
    """

    threads: int | None = None

    def _build(self, lowering: Lowering) -> None:
        refuse_fallbacks(self.tape.name, lowering)
        super()._build(lowering)

    def _source_of(self, call: KernelCall) -> str:
        return host_source(call.source, self.threads)

    def new_workspace(self) -> "HostWorkspace":
        return HostWorkspace(self)


class InnerProgram(HostProgram):
    """A program that a loop of another one runs, and that has been lowered with it."""

    def __init__(self, lowering: Lowering, threads: int | None) -> None:
        super().__init__(lowering.tape, lowering.target, lowering.chosen, lowering.owned)
        self.ready, self.threads = lowering, threads

    def _lowered(self) -> Lowering:
        return self.ready


class HostWorkspace(Workspace):
    """Memory of one run, and of the programs in its loops."""

    program: HostProgram

    def prepared(self, instruction: Any) -> Any:
        if isinstance(instruction, HostLoop):
            return PreparedLoop(instruction, self)
        if isinstance(instruction, GridCall):
            return PreparedGrid(instruction, self)
        return super().prepared(instruction)


class PreparedLoop:
    """A loop that the host runs, with workspaces for its programs."""

    def __init__(self, loop: HostLoop, outer: HostWorkspace) -> None:
        self.loop, self.arena = loop, outer.arena
        self.inputs = len(outer.program.lowering.inputs)
        programs = [InnerProgram(p, outer.program.threads) for p in loop.programs]
        self.inner = [(p, p.borrow()) for p in programs]

    def run(self, arrays: tuple[np.ndarray, ...]) -> int:
        """Run it, with these arguments and results of the program around it."""

        def at(place: Place) -> np.ndarray:
            found: np.ndarray = array_of(array_at(place, self.arena, self.inputs), arrays)
            return found

        steps = self.loop.steps(lambda place: int(at(place)[()]))
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return int(end.value)
            if isinstance(step, Copy):
                at(step.target)[...] = at(step.source)
            elif isinstance(step, Put):
                at(step.target)[...] = step.value
            else:
                program, workspace = self.inner[step.program]
                given, count = [at(p) for p in step.places], len(program.lowering.inputs)
                status = program.run_in(workspace, given[:count], given[count:])
                if status:
                    return status


class PreparedGrid:
    """A user's kernel, whose threads the host runs."""

    def __init__(self, call: GridCall, workspace: HostWorkspace) -> None:
        self.function = call.function
        inputs = len(workspace.program.lowering.inputs)
        self.operands = [array_at(p, workspace.arena, inputs) for p in call.places]

    def run(self, arrays: tuple[np.ndarray, ...]) -> int:
        """Run it, with these arguments and results of the program."""
        self.function(*[array_of(a, arrays) for a in self.operands])
        return 0


def refuse_fallbacks(name: str, lowering: Lowering) -> None:
    """Refuse a program that NumPy has a part in: its arrays would go back and forth."""
    found = [i for i in all_of(lowering.instructions) if isinstance(i, Fallback)]
    if found:
        places = dict.fromkeys(f"{i.label} ({i.equation.source or 'no line'})" for i in found)
        raise FallbackError(f"cuda: {name} needs kernels that there are not: {'; '.join(places)}")


def host_source(source: str, threads: int | None = None) -> str:
    """The source of a kernel for the CPU that goes through the threads of a device's kernel."""
    head, *lines = strided(source).removesuffix(END).splitlines()
    assert head == HEAD
    count = "max(stop - start, 1)" if threads is None else str(threads)
    return (
        "def kernel(p, start, stop):\n"
        f"    threads = {count}\n"
        "    for turn in range(threads):\n"
        "        thread = threads - 1 - turn\n"
        + textwrap.indent("\n".join([*lines, ""]), "    ")
        + END
    )
