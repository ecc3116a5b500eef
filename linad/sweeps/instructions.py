"""What a program consists of: kernels with their operands, and calls of NumPy between them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.places import Buffer, Place

OTHER_ARGUMENTS = -1
"""Status of a run whose arguments are not those the program was made for."""

GUARD_FAILED = 1
"""Status of a kernel whose guard found a different value than the one recorded."""

NO_RESULT = 2
"""Status of a kernel that could not do its work: a matrix was singular, say."""


NOT_COMPILED = 3
"""Status of a kernel that needed another one, which could not be compiled."""

PYTHON_ERROR = -2
"""Status of a run in whose midst Python has raised an error."""


class KernelCall:
    """A kernel and its operands.

    Attributes
    ----------
    source : str
        Of the kernel.
    extent : int
        Length of the range it works through.
    words : list
        Numbers, and (buffer, offset) pairs for addresses.
    label : str
        What it computes, for people.
    work : int
        Rough number of additions, where the range may be split over threads; else 0.
    fast : bool
        Whether the kernel may reorder arithmetic and ignore NaN.
    equations : list of Equation
        What it computes, as far as the tape says so.
    programs : sequence of Lowering
        Programs that it runs in turn; a kernel has none.
    """

    programs: ClassVar[tuple[Any, ...]] = ()

    def __init__(
        self, source: str, extent: int, words: list[Any], label: str, work: int = 0
    ) -> None:
        self.source, self.extent, self.words, self.label = source, extent, words, label
        self.work, self.fast = work, False
        self.equations: list[Equation] = []

    @property
    def buffers(self) -> list[Buffer]:
        return [w[0] for w in self.words if type(w) is tuple]

    def moved_bytes(self, counted: Callable[[Buffer], bool] = lambda _: True) -> int:
        """Estimate of what it reads and writes: of each buffer at most its size."""
        entries = max(
            [size_of(np.shape(a)) for e in self.equations for a in (*e.inputs, *e.outputs)],
            default=0,
        )
        sizes = {id(b): b.size for b in self.buffers if counted(b)}
        most = 16 * entries if entries else max(sizes.values(), default=0)
        return sum([min(size, most) for size in sizes.values()])


class GridOperand(NamedTuple):
    """What a user's kernel gets."""

    dtype: str
    ndim: int
    is_array: bool
    """And not a number."""


class GridCall:
    """A user's kernel, over the grid of a device that he chose.

    Attributes
    ----------
    function : GridKernel
        See `linad.sweeps.cuda.grid_kernels`.
    described : tuple of GridOperand
        For each operand NumPy's short name of its dtype, and how many axes it has.
    blocks, threads : tuple of int
        Of the grid, and of a block, along three axes.
    words : list
        For each operand its address, a (buffer, offset) pair, and its lengths.
    places : list of Place
        The operands.
    label : str
    equations : list of Equation
    """

    programs: ClassVar[tuple[Any, ...]] = ()

    def __init__(
        self,
        function: Any,
        described: tuple[GridOperand, ...],
        blocks: tuple[int, int, int],
        threads: tuple[int, int, int],
        words: list[Any],
        places: list[Place],
        label: str,
    ) -> None:
        self.function, self.described, self.label = function, described, label
        self.blocks, self.threads = blocks, threads
        self.words, self.places = words, places
        self.equations: list[Equation] = []

    @property
    def key(self) -> tuple[Any, ...]:
        """What its machine code depends on."""
        return self.function, self.described

    @property
    def buffers(self) -> list[Buffer]:
        return [p.buffer for p in self.places]

    def moved_bytes(self) -> int:
        """Estimate of what it reads and writes: each of its operands once."""
        return sum([size_of(p.shape) * p.dtype.itemsize for p in self.places])


def all_of(instructions: Iterable[Any]) -> Iterator[Any]:
    """Instructions, each with those of the programs that it runs after it."""
    for i in instructions:
        yield i
        for program in i.programs:
            yield from all_of(program.instructions)


class Fallback:
    """A primitive without a kernel: NumPy computes it between two compiled stretches."""

    programs: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, equation: Equation, inputs: list[Any], outputs: list[Place]) -> None:
        self.equation, self.inputs, self.outputs = equation, inputs, outputs
        self.equations = [equation]
        self.label = equation.primitive.name

    @property
    def buffers(self) -> list[Buffer]:
        places = [p for p in self.inputs if isinstance(p, Place)] + self.outputs
        return [p.buffer for p in places]

    def moved_bytes(self) -> int:
        """What NumPy's function reads and writes."""
        places = [p for p in (*self.inputs, *self.outputs) if isinstance(p, Place)]
        return sum([size_of(p.shape) * p.dtype.itemsize for p in places])
