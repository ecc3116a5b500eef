"""Calls of cuBLAS, cuSOLVER and cuFFT in a program: what is called, and with what.

A call has the arguments of the routine of BLAS or LAPACK that it is named after, in that order
(`linad.sweeps.cpu.blas_lapack`): the libraries of CUDA have taken them over. Which function that
is, and how it wants its arguments, `linad.sweeps.cuda.libraries` says.

What a graph has recorded of a library keeps its addresses. So operands are in the program's own
memory: arguments of a program are copied there first, and results from there.
"""

from typing import Any, ClassVar

import numpy as np

from linad.core.tape import Equation
from linad.sweeps.cpu.blas_lapack import OperandStack
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.places import Buffer, Place, new_place

RECORDED = {"gemm", "gemv", "syrk", "trsm", "trsv"}
"""Routines, of cuBLAS, that a graph takes. The others may ask the host what to do."""


class LibraryCall:
    """A call of a library.

    Attributes
    ----------
    routine : str
        Its name, with the letter of the dtype.
    arguments : list
        Flags, sizes, NumPy's numbers; a `Place` stands for the array that begins there, an
        `OperandStack` for one array for each call.
    extent : int
        How many calls: one for each entry of a stack.
    words : list
        The addresses of the arrays of stacks, stack by stack.
    tables : dict
        For each position of a stack the number of its first word.
    label : str
    equations : list of Equation
    """

    programs: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, routine: str, arguments: list[Any], label: str) -> None:
        self.routine, self.arguments, self.label = routine, arguments, label
        self.equations: list[Equation] = []
        stacks = [a for a in arguments if isinstance(a, OperandStack)]
        self.extent = len(stacks[0].offsets) if stacks else 1
        self.words: list[Any] = []
        self.tables: dict[int, int] = {}
        for position, a in enumerate(arguments):
            if stacks and isinstance(a, Place | OperandStack):
                # Beside stacks an array alone is the same for each call.
                place, offsets = (
                    a if isinstance(a, OperandStack) else (a, np.full(self.extent, a.offset))
                )
                self.tables[position] = len(self.words)
                self.words += [(place.buffer, int(offset)) for offset in offsets]

    @property
    def recorded(self) -> bool:
        """Whether a graph takes it."""
        return self.routine[1:] in RECORDED

    @property
    def places(self) -> list[Place]:
        """The arrays that it reads and writes."""
        found = [a.place if isinstance(a, OperandStack) else a for a in self.arguments]
        return [p for p in found if isinstance(p, Place)]

    @property
    def buffers(self) -> list[Buffer]:
        return [p.buffer for p in self.places]

    def moved_bytes(self) -> int:
        """Estimate of what it reads and writes: each of its buffers once."""
        return sum({id(b): b.size for b in self.buffers}.values())


def invoke(
    lowering: Any,
    routine: str,
    *arguments: Any,
    info: int | None = None,
    only: tuple[Place, bool] | None = None,
    label: str | None = None,
) -> None:
    """Add a call of a library, as `linad.sweeps.cpu.blas_lapack.invoke` adds one of LAPACK's.

    Where the argument number ``info`` tells of failure, a kernel looks at it afterwards and writes
    the status.
    """
    assert only is None, "a graph has no branches"
    taken = [_in_own_memory(lowering, a) for a in arguments]
    call = LibraryCall(routine, taken, label or routine)
    lowering.instructions.append(call)
    for buffer in call.buffers:
        lowering.in_place.add(buffer)
    if info is not None:
        _check(lowering, taken[info], call.extent)


def _in_own_memory(lowering: Any, a: Any) -> Any:
    """An operand in the program's own memory."""
    place = a.place if isinstance(a, OperandStack) else a
    if not isinstance(place, Place) or place.buffer.kind in ("arena", "constant"):
        return a
    mine = lowering.copied.get(place.buffer)
    if mine is None:
        item = place.dtype.itemsize
        whole = Place(place.buffer, 0, (place.buffer.size // item,), (item,), place.dtype)
        mine = new_place(whole.shape, whole.dtype)
        lowering.copy(mine, whole, "argument")
        if not place.buffer.owned:  # nobody writes there
            lowering.copied[place.buffer] = mine
    moved = Place(mine.buffer, place.offset, place.shape, place.strides, place.dtype)
    return a._replace(place=moved) if isinstance(a, OperandStack) else moved


CHECK = f"""def kernel(p, start, stop):
    f = operand(p, 0)
    for i in range(start, stop):
        if get_i4(f, i, -1) != 0:
            return {NO_RESULT}
    return 0
"""


def _check(lowering: Any, info: Any, count: int) -> None:
    place, first = (
        (info.place, info.offsets[0])
        if isinstance(info, OperandStack)
        else (
            info,
            info.offset,
        )
    )
    lowering.emit(CHECK, count, [(place.buffer, int(first))], "check")
