"""A GPU as a target: the kernels of any, and the libraries that are installed for it."""

from typing import Any

from linad.core.settings import Settings
from linad.core.tape import Equation, Tape
from linad.sweeps.cuda import library_routines
from linad.sweeps.cuda.device import Device
from linad.sweeps.cuda.device_program import DeviceProgram
from linad.sweeps.cuda.libraries import Libraries
from linad.sweeps.cuda.library_calls import invoke
from linad.sweeps.cuda.target import CudaTarget
from linad.sweeps.places import ALL_IN_ROWS, InColumns
from linad.sweeps.routines import Routine


class DeviceTarget(CudaTarget):
    """A GPU, with the libraries that are there.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    door : Stream
        Where arrays come in that no program works with yet.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        device.activate()
        self.door = device.new_stream()
        self.libraries = Libraries(device)
        self._found = {
            name: routine
            for needed, table in library_routines.BY_LIBRARY.items()
            if device.has_library(needed)
            for name, routine in table.items()
        }

    def routine_of(self, primitive: str) -> Routine | None:
        return self._found.get(primitive) or super().routine_of(primitive)

    def invoke(self, lowering: Any, routine: str, *arguments: Any, **options: Any) -> None:
        invoke(lowering, routine, *arguments, **options)

    def compile(  # type: ignore[override]
        self, tape: Tape, chosen: Settings | None = None, in_columns: InColumns = ALL_IN_ROWS
    ) -> DeviceProgram:
        return DeviceProgram(tape, self, chosen)

    def __reduce__(self) -> Any:
        from linad.sweeps.cuda.opening import target_here

        return target_here, ()
