"""NVIDIA's GPUs as a target, and the same kernels on the CPU."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from linad.core.settings import Settings
from linad.core.tape import Equation, Tape, Var
from linad.sweeps.cuda import (
    compositions as compositions,  # tells the table of programs
    grid_kernels,
    user_kernels,
)
from linad.sweeps.cuda.compiler import ptx_of
from linad.sweeps.cuda.cubins import Cubin, cubin_of, cubin_of_user
from linad.sweeps.cuda.device_functions import HERE
from linad.sweeps.cuda.grid_compiler import ptx_of_user
from linad.sweeps.cuda.grid_loops import GridLoop, is_shared, strided
from linad.sweeps.cuda.grid_sorting import sorted_order
from linad.sweeps.cuda.host_program import HostProgram
from linad.sweeps.cuda.routines import ROUTINES, scatter
from linad.sweeps.expansions import ON_GRIDS, expanded
from linad.sweeps.instructions import GridCall
from linad.sweeps.loop_reductions import axes_of, is_reduction
from linad.sweeps.loop_templates import WrittenLoop, written
from linad.sweeps.places import ALL_IN_ROWS, InColumns, Place
from linad.sweeps.routines import Routine
from linad.sweeps.scalar_rows import Scalar
from linad.sweeps.steps import Loop, needed_equations
from linad.sweeps.target import Target


class CudaTarget(Target):
    """A GPU: what its kernels compute, and how they are written.

    Its programs run on the CPU, kernel by kernel, thread by thread (`HostProgram`): this is how
    they are tested where there is no GPU.
    """

    name = "CUDA"
    is_grid = True

    def has(self, primitive: str, row: Scalar) -> bool:
        return row.needs != "special" or primitive in HERE

    def parts(self, loop: Loop, stored: set[Var]) -> list[tuple[Loop, set[Var]]]:
        """A kernel for each set of axes that are summed; the stores go with the last one.

        The others must run before: a store may go over what the loop reads.
        """
        kinds: dict[Any, set[Var]] = {}
        for eqn in loop.equations:
            if is_reduction(eqn):
                kinds.setdefault(axes_of(eqn), set()).add(eqn.outputs[0])
        groups = list(kinds.values()) or [set()]
        groups[-1] = groups[-1] | (stored & loop.made)
        return [
            (Loop(loop.shape, needed_equations(loop.equations, group)), group) for group in groups
        ]

    def write_loop(
        self, loop: Loop, places: dict[Any, Place], stored: set[Var], chosen: Settings
    ) -> WrittenLoop:
        def write() -> WrittenLoop:
            return GridLoop(self, loop, places, stored).written

        return written(self.name, write, loop, places, stored)

    def prepared(self, tape: Tape) -> tuple[Tape, Mapping[Equation, tuple[Var, ...]]]:
        return expanded(tape, ON_GRIDS), {}

    def lower(self, lowering: Any, eqn: Equation) -> bool:
        primitive: Any = eqn.primitive
        if hasattr(primitive, "overwrites"):
            users = grid_kernels if hasattr(primitive.serial.function, "over") else user_kernels
            return users.lower(lowering, eqn)
        if hasattr(primitive, "lower_into"):  # it knows how
            return bool(primitive.lower_into(lowering, eqn))
        return super().lower(lowering, eqn)

    def routine_of(self, primitive: str) -> Routine | None:
        return ROUTINES.get(primitive)

    def shared(self, source: str, extent: int) -> tuple[str, int]:
        return strided(source), extent if is_shared(source) else 1

    def scatter(
        self, lowering: Any, target: Place, numbers: np.ndarray, source: Place, add: bool
    ) -> None:
        scatter(lowering, target, numbers, source, add)

    def sorted_order(
        self, lowering: Any, x: Place, axis: int, order: Place | None = None
    ) -> Place:
        return sorted_order(lowering, x, axis, order)

    def ptx_of(self, kernel: str | GridCall) -> str:
        return ptx_of(kernel) if isinstance(kernel, str) else ptx_of_user(*kernel.key)

    def cubin_of(self, kernel: str | GridCall) -> Cubin:
        return cubin_of(kernel) if isinstance(kernel, str) else cubin_of_user(*kernel.key)

    def compile(
        self, tape: Tape, chosen: Settings | None = None, in_columns: InColumns = ALL_IN_ROWS
    ) -> HostProgram:
        return HostProgram(tape, self, chosen, in_columns=in_columns)


CUDA = CudaTarget()
