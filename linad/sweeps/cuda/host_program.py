"""Programs of a GPU on the CPU: for each kernel a loop over threads stands for the grid.

The threads come in reverse order, and how many there are makes no difference: kernels whose
threads depend on each other would show it. This is for tests; it is not fast.
"""

from linad.errors import FallbackError
from linad.sweeps.cpu.program import CpuProgram
from linad.sweeps.cuda.grid_loops import HEAD, strided
from linad.sweeps.instructions import Fallback, KernelCall
from linad.sweeps.lower import Lowering

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


def refuse_fallbacks(name: str, lowering: Lowering) -> None:
    """Refuse a program that NumPy has a part in: its arrays would go back and forth."""
    found = [i for i in lowering.instructions if isinstance(i, Fallback)]
    if found:
        places = dict.fromkeys(f"{i.label} ({i.equation.source or 'no line'})" for i in found)
        raise FallbackError(f"cuda: {name} needs kernels that there are not: {'; '.join(places)}")


def host_source(source: str, threads: int | None = None) -> str:
    """The source of a kernel for the CPU that goes through the threads of a device's kernel."""
    head, *lines = strided(source).removesuffix(END).splitlines()
    assert head == HEAD
    count = "max(stop - start, 1)" if threads is None else str(threads)
    body = "".join([f"    {line}\n" for line in lines])
    return (
        "def kernel(p, start, stop):\n"
        f"    threads = {count}\n"
        "    for turn in range(threads):\n"
        f"        thread = threads - 1 - turn\n{body}{END}"
    )
