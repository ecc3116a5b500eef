"""The CPU: kernels that LLVM compiles, BLAS and LAPACK, several threads."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linad.core.settings import Settings
from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var
from linad.sweeps import (
    composed_forms as composed_forms,  # tells the table of programs
    cosine_forms as cosine_forms,  # and this one
)
from linad.sweeps.cpu import (
    banded_routines,
    convolution_routines,
    factor_derivatives,
    fourier_routines,
    linear_routines,
    matrix_products,
    selection,
    spectral_routines,
    stored_entries,
    tile_programs,
    triangular_routines,
    user_functions,
)
from linad.sweeps.cpu.blas_lapack import invoke
from linad.sweeps.cpu.complex_numbers import LIBM
from linad.sweeps.cpu.merge_sort import LONGEST, sorted_order
from linad.sweeps.cpu.numpy_sorts import numpys_order
from linad.sweeps.cpu.program import CpuProgram
from linad.sweeps.cpu.routines import ROUTINES
from linad.sweeps.cpu.serial_loops import SerialLoop
from linad.sweeps.cpu.special_functions import address
from linad.sweeps.cpu.symmetric_systems import decomposed
from linad.sweeps.data_movement import contiguous, scatter_in_order
from linad.sweeps.expansions import ON_HOST, expanded
from linad.sweeps.loop_templates import WrittenLoop, written
from linad.sweeps.places import ALL_IN_ROWS, InColumns, Place
from linad.sweeps.routines import Routine
from linad.sweeps.scalar_rows import Scalar
from linad.sweeps.steps import Loop
from linad.sweeps.target import Target

TOPICS = (
    banded_routines,
    convolution_routines,
    factor_derivatives,
    fourier_routines,
    linear_routines,
    matrix_products,
    selection,
    spectral_routines,
    stored_entries,
    tile_programs,
    triangular_routines,
)
"""Modules whose routines are the CPU's alone; these register themselves."""


class CpuTarget(Target):
    """The processor that Python runs on."""

    name = "CPU"

    def has(self, primitive: str, row: Scalar) -> bool:
        if row.needs == "complex":
            return LIBM
        return row.needs != "special" or address(primitive) is not None

    def write_loop(
        self, loop: Loop, places: dict[Any, Place], stored: set[Var], chosen: Settings
    ) -> WrittenLoop:
        # One entry alone is computed sooner by the scalar functions.
        prefix = "v_" if chosen.vector_math and size_of(loop.shape) > 1 else "m_"

        def write() -> WrittenLoop:
            return SerialLoop(self, loop, places, stored, prefix).written

        return written((self.name, prefix), write, loop, places, stored)

    def tiled(self, tape: Tape, chosen: Settings) -> Tape:
        return tile_programs.tiled(tape, self, chosen)

    def prepared(self, tape: Tape) -> tuple[Tape, Mapping[Equation, tuple[Var, ...]]]:
        return decomposed(factor_derivatives.with_diagonals(expanded(tape, ON_HOST)))

    def lower(self, lowering: Any, eqn: Equation) -> bool:
        primitive: Any = eqn.primitive
        if hasattr(primitive, "overwrites"):
            return user_functions.lower(lowering, eqn)
        if hasattr(primitive, "lower_into"):  # it knows how
            return bool(primitive.lower_into(lowering, eqn))
        return super().lower(lowering, eqn)

    def invoke(self, lowering: Any, routine: str, *arguments: Any, **options: Any) -> None:
        invoke(lowering, routine, *arguments, **options)

    def routine_of(self, primitive: str) -> Routine | None:
        return ROUTINES.get(primitive)

    def scatter(
        self, lowering: Any, target: Place, numbers: np.ndarray, source: Place, add: bool
    ) -> None:
        scatter_in_order(lowering, target, numbers, source, add)

    def sorted_order(
        self, lowering: Any, x: Place, axis: int, order: Place | None = None
    ) -> Place:
        if x.shape[axis] > LONGEST:
            found = numpys_order(lowering, x, axis, "stable", order)
            if found is not None:
                return found
        if order is not None:
            order = contiguous(lowering, order)
        return sorted_order(lowering, x, axis, order)

    def numpys_order(self, lowering: Any, x: Place, axis: int, kind: str) -> Place | None:
        return numpys_order(lowering, x, axis, kind)

    def compile(
        self,
        tape: Tape,
        chosen: Settings | None = None,
        in_columns: InColumns = ALL_IN_ROWS,
        owned: Sequence[int] = (),
    ) -> CpuProgram:
        return CpuProgram(tape, self, chosen, owned, in_columns)


CPU = CpuTarget()
