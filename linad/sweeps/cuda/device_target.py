"""A GPU as a target: the kernels of any, and the libraries that are installed for it."""

from collections.abc import Sequence
from typing import Any

from linad.core.settings import Settings
from linad.core.shapes import Shape
from linad.core.tape import Tape
from linad.sweeps.cuda import library_routines
from linad.sweeps.cuda.device import Device
from linad.sweeps.cuda.device_program import DeviceProgram
from linad.sweeps.cuda.gpu_arrays import Array, handed_back, moved_in, taken_in
from linad.sweeps.cuda.libraries import Libraries
from linad.sweeps.cuda.library_calls import invoke
from linad.sweeps.cuda.target import CudaTarget
from linad.sweeps.places import ALL_IN_ROWS, InColumns
from linad.sweeps.routines import Routine


class LibraryTarget(CudaTarget):
    """A GPU and some of its libraries.

    Parameters
    ----------
    libraries : sequence of str
        Among "cublas", "cusolver" and "cufft".
    """

    def __init__(self, libraries: Sequence[str] = tuple(library_routines.BY_LIBRARY)) -> None:
        self._found = {
            primitive: routine
            for library in libraries
            for primitive, routine in library_routines.BY_LIBRARY[library].items()
        }

    def routine_of(self, primitive: str) -> Routine | None:
        return self._found.get(primitive) or super().routine_of(primitive)

    def invoke(self, lowering: Any, routine: str, *arguments: Any, **options: Any) -> None:
        invoke(lowering, routine, *arguments, **options)

    def __reduce__(self) -> Any:
        return "PLANNED"


class DeviceTarget(LibraryTarget):
    """The GPU of this process, with the libraries that are installed.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    libraries : Libraries
    door : Stream
        Where arrays come in that no program works with yet.
    """

    def __init__(self, device: Device) -> None:
        super().__init__([name for name in library_routines.BY_LIBRARY if device.has_library(name)])
        self.device, self.libraries = device, Libraries(device)
        device.activate()
        self.door = device.new_stream()

    def taken_in(self, x: Any, what: str) -> Array:
        """An array of any library on the device as one of linad's; ``what``: its name in errors."""
        return taken_in(self.device, x, self.door, what)

    def handed_back(self, y: Any, shape: Shape, like: Any) -> Any:
        """What a program gave, in a shape, as an array of the library that ``like`` is of."""
        y = y if type(y) is Array else moved_in(self.device, y, self.door)
        return handed_back(y.reshape(shape), like)

    def compile(  # type: ignore[override]
        self, tape: Tape, chosen: Settings | None = None, in_columns: InColumns = ALL_IN_ROWS
    ) -> DeviceProgram:
        return DeviceProgram(tape, self, chosen)


PLANNED = LibraryTarget()
"""A GPU with all libraries, where there is none: programs for it can be looked at."""
