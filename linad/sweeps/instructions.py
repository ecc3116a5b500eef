"""What a program consists of: kernels with their operands, and calls of NumPy between them."""

from typing import Any

from linad.core.tape import Equation
from linad.sweeps.places import Buffer, Place

OTHER_ARGUMENTS = -1
"""Status of a run whose arguments are not those the program was made for."""

GUARD_FAILED = 1
"""Status of a kernel whose guard found another value than the one recorded."""

NO_RESULT = 2
"""Status of a kernel that could not do its work: a matrix was singular, say."""


NOT_COMPILED = 3
"""Status of a kernel that needed another one, which could not be compiled."""


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
    """

    def __init__(
        self, source: str, extent: int, words: list[Any], label: str, work: int = 0
    ) -> None:
        self.source, self.extent, self.words, self.label = source, extent, words, label
        self.work, self.fast = work, False
        self.equations: list[Equation] = []

    @property
    def buffers(self) -> list[Buffer]:
        return [w[0] for w in self.words if type(w) is tuple]


class Fallback:
    """A primitive without a kernel: NumPy computes it between two compiled stretches."""

    def __init__(self, equation: Equation, inputs: list[Any], outputs: list[Place]) -> None:
        self.equation, self.inputs, self.outputs = equation, inputs, outputs
        self.equations = [equation]
        self.label = equation.primitive.name

    @property
    def buffers(self) -> list[Buffer]:
        places = [p for p in self.inputs if isinstance(p, Place)] + self.outputs
        return [p.buffer for p in places]
