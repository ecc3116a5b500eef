"""What a program is made for: a processor, and what is known of it.

Planning, places and the arena are the same everywhere. A target says which primitives its loops
can compute and how such a loop is written, what else there are routines for, and who runs it all.

    linad.sweeps.cpu.target       kernels by Numba, BLAS and LAPACK
    linad.sweeps.numpy_target     no kernels: NumPy runs every equation
    linad.sweeps.cuda.target      kernels for a grid of threads
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from linad.core.settings import Settings
from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var
from linad.errors import FallbackError
from linad.sweeps import scalar_rows
from linad.sweeps.arena import plan_arena
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_templates import WrittenLoop
from linad.sweeps.places import ALL_IN_ROWS, InColumns, Place
from linad.sweeps.routines import Routine
from linad.sweeps.scalar_rows import Scalar
from linad.sweeps.steps import Loop

if TYPE_CHECKING:
    from linad.sweeps.instructions import GridCall
    from linad.sweeps.program import SweepProgram


class Target(ABC):
    """A processor that programs are compiled for. There is one object of each class.

    Attributes
    ----------
    name : str
        What errors and reports call it, and the name of the object in its module.
    reorders : bool
        Whether equations may run in a different order than that of the tape.
    is_grid : bool
        Whether a grid of threads shares in a kernel, and a host runs programs inside of programs.
    """

    name: ClassVar[str]
    reorders: ClassVar[bool] = True
    is_grid: ClassVar[bool] = False

    # What loops compute.

    @abstractmethod
    def has(self, primitive: str, row: Scalar) -> bool:
        """Whether kernels can call what a row is written with."""

    def takes(self, dtype: np.dtype[Any]) -> bool:
        """Whether kernels read and write a dtype."""
        return name_of_dtype(dtype) is not None

    def row_of(
        self, primitive: str, result: np.dtype[Any], operands: list[Any]
    ) -> tuple[Scalar, list[str]] | None:
        """The row of an elementwise primitive, as `linad.sweeps.scalar_rows.row_of`."""
        return scalar_rows.row_of(primitive, result, operands, self.has)

    def cost_of(self, primitive: str) -> int:
        """Rough time of an elementwise primitive for one entry, in additions."""
        return scalar_rows.cost_of(primitive)

    def parts(self, loop: Loop, stored: set[Var]) -> list[tuple[Loop, set[Var]]]:
        """The loops that a loop is computed by, each with what it stores."""
        return [(loop, stored)]

    @abstractmethod
    def write_loop(
        self, loop: Loop, places: dict[Any, Place], stored: set[Var], chosen: Settings
    ) -> WrittenLoop:
        """Write the kernel of a loop.

        Parameters
        ----------
        loop : Loop
        places : dict
            Where each variable is that the loop reads, or stores.
        stored : set of Var
            What it makes that others read.
        chosen : Settings
        """

    # What else there is.

    def tiled(self, tape: Tape, chosen: Settings) -> Tape:
        """A tape with those of its equations as one that run on some rows at a time."""
        return tape

    def prepared(self, tape: Tape) -> tuple[Tape, Mapping[Equation, tuple[Var, ...]]]:
        """A tape in the order that suits the routines, and what some read besides operands."""
        return tape, {}

    def lower(self, lowering: Any, eqn: Equation) -> bool:
        """Add the instructions of an equation, if there are kernels for it."""
        if eqn.outputs and not any(size_of(v.shape) for v in eqn.outputs):
            for v in eqn.outputs:
                lowering.result(v)  # of no entries
            return True
        routine = self.routine_of(eqn.primitive.name)
        return routine is not None and routine(lowering, eqn)

    @abstractmethod
    def routine_of(self, primitive: str) -> Routine | None:
        """How a primitive that is not a loop is lowered; None where NumPy has to compute it."""

    def shared(self, source: str, extent: int) -> tuple[str, int]:
        """A kernel as those who share in its range run it, and the length of the range."""
        return source, extent

    def invoke(self, lowering: Any, routine: str, *arguments: Any, **options: Any) -> None:
        """Add a call of a routine of BLAS or LAPACK, or of what stands for it; for targets whose
        routines ask for one."""
        raise NotImplementedError(f"{self.name} has no library for {routine}")

    @abstractmethod
    def scatter(
        self, lowering: Any, target: Place, numbers: np.ndarray, source: Place, add: bool
    ) -> None:
        """Set, or add to, the entries of ``target`` of these numbers, as if one by one."""

    @abstractmethod
    def sorted_order(
        self, lowering: Any, x: Place, axis: int, order: Place | None = None
    ) -> Place:
        """Add what sorts along an axis; the numbers of entries in their order.

        Parameters
        ----------
        lowering : Lowering
        x : Place
            In C order, of a dtype that kernels can compare.
        axis : int
        order : Place, optional
            The order to begin with, which equal entries keep; by default as they are. What is
            found may be put in its place.
        """

    def numpys_order(self, lowering: Any, x: Place, axis: int, kind: str) -> Place | None:
        """Add what sorts along an axis as NumPy's sort of a kind does, "quicksort" or "stable",
        equal entries included; None if the target has no such thing."""
        return None

    # Who runs it.

    def plan_memory(self, instructions: list[Any]) -> int:
        """Give scratch buffers their places; return the bytes that a run needs."""
        return plan_arena(instructions)

    @abstractmethod
    def compile(
        self, tape: Tape, chosen: Settings | None = None, in_columns: InColumns = ALL_IN_ROWS
    ) -> "SweepProgram":
        """The program of a tape; it is made at its first run."""

    def ptx_of(self, kernel: "str | GridCall") -> str:
        """A kernel, by its source or the call of a user's, as PTX.

        Raises
        ------
        FallbackError
            If the kernels of this target are not for GPUs of NVIDIA's.
        """
        self._is_not_for_gpus("ptx")

    def cubin_of(self, kernel: "str | GridCall") -> Any:
        """A kernel as machine code, a `linad.sweeps.cuda.cubins.Cubin`; raises as `ptx_of`."""
        self._is_not_for_gpus("cubins")

    def _is_not_for_gpus(self, wanted: str) -> NoReturn:
        raise FallbackError(
            f"{wanted}: expected a program for CUDA, got one for {self.name}; "
            "linad.explain(f, target='cuda') plans one"
        )

    def __reduce__(self) -> str:
        return self.name  # the one object of that name
