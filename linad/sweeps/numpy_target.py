"""NumPy as a target: no kernels at all, each equation is a call of NumPy.

Where Numba has been told to compile nothing (``NUMBA_DISABLE_JIT``, for debuggers and coverage)
jitted functions run so: the same plan, places and memory, results, guards and errors, slowly.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from linad.core.settings import Settings
from linad.core.tape import Tape, Var
from linad.sweeps.fallbacks import PreparedFallback
from linad.sweeps.instructions import OTHER_ARGUMENTS, Fallback
from linad.sweeps.loop_templates import WrittenLoop
from linad.sweeps.lower import Lowering
from linad.sweeps.places import ALL_IN_ROWS, InColumns, Place
from linad.sweeps.program import SweepProgram
from linad.sweeps.scalar_rows import Scalar
from linad.sweeps.steps import Loop
from linad.sweeps.target import Target


class NumpyWorkspace:
    """Memory of one run, and the calls of NumPy with their arrays in it."""

    def __init__(self, lowering: Lowering) -> None:
        self.arena = np.empty(lowering.arena_size, np.uint8)
        self.calls = []
        for call in lowering.instructions:
            assert isinstance(call, Fallback)
            self.calls.append(PreparedFallback(call, self.arena, len(lowering.inputs)))


class NumpyProgram(SweepProgram):
    """A tape that NumPy runs, equation by equation."""

    def _build(self, lowering: Lowering) -> None:
        self.given = [(p.shape, p.dtype) for p in lowering.inputs]

    def new_workspace(self) -> NumpyWorkspace:
        return NumpyWorkspace(self.lowering)

    def run_in(
        self, workspace: NumpyWorkspace, arrays: Sequence[Any], outputs: list[np.ndarray]
    ) -> int:
        for k, (a, given) in enumerate(zip(arrays, self.given, strict=True)):
            if type(a) is not np.ndarray or (a.shape, a.dtype) != given:
                return OTHER_ARGUMENTS
            in_columns = k in self.in_columns.inputs
            lies = a.flags.f_contiguous if in_columns else a.flags.c_contiguous
            if not (lies and a.flags.aligned):
                return OTHER_ARGUMENTS
        for call in workspace.calls:
            status = call.run((*arrays, *outputs))
            if status:
                return status
        return 0


class NumpyTarget(Target):
    """NumPy: it computes everything, so nothing is fused, and no kernel is ever written."""

    name = "NUMPY"
    reorders = False  # NumPy warns and raises: guards come first, as where they were recorded

    def has(self, primitive: str, row: Scalar) -> bool:
        return False

    def takes(self, dtype: np.dtype[Any]) -> bool:
        return False

    def write_loop(
        self, loop: Loop, places: dict[Any, Place], stored: set[Var], chosen: Settings
    ) -> WrittenLoop:
        self._refuse()

    def scatter(
        self, lowering: Any, target: Place, numbers: np.ndarray, source: Place, add: bool
    ) -> None:
        self._refuse()

    def sorted_order(
        self, lowering: Any, x: Place, axis: int, order: Place | None = None
    ) -> Place:
        self._refuse()

    def routine_of(self, primitive: str) -> None:
        return None

    @staticmethod
    def _refuse() -> NoReturn:
        raise AssertionError("a program for NumPy has no kernels")

    def compile(
        self, tape: Tape, chosen: Settings | None = None, in_columns: InColumns = ALL_IN_ROWS
    ) -> NumpyProgram:
        return NumpyProgram(tape, self, chosen, in_columns=in_columns)


NUMPY = NumpyTarget()
