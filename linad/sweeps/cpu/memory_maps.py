"""Room for kernels in a process: each lies in maps of memory, and Linux gives so many of them.

A kernel's code, its constants and the table of functions that it calls lie apart, as what is run,
what is read and what is written have to. At ``vm.max_map_count`` maps, 65,530 unless somebody has
set another number, LLVM can place nothing more, and ends the process. Kernels leave when the
programs do that call them (`linad.sweeps.cpu.object_code`), but a process may hold as many programs
as it likes. So the maps are counted, seldom, and the last ones are left to others.
"""

from collections.abc import Callable
from pathlib import Path

from linad.errors import KernelRoomError

EACH = 3
"""Maps of a kernel."""

LEFT = 2000
"""Maps that are left to others: to libraries, threads and large arrays."""

COUNTS_OF = "/proc/self/maps"
LIMIT_IN = "/proc/sys/vm/max_map_count"


class MapRoom:
    """How many kernels may still be loaded before maps are counted again."""

    def __init__(self) -> None:
        self.loaded = self.left = 0

    def take(self, clear: Callable[[], None] = lambda: None) -> None:
        """Take room for a kernel; where there is none, what ``clear()`` has left.

        Raises
        ------
        KernelRoomError
        """
        if not self.left:
            used, limit = maps_used()
            if limit - LEFT - used < 2 * EACH:
                clear()
                used, limit = maps_used()
            self.left = (limit - LEFT - used) // (2 * EACH)
            if self.left <= 0:
                raise KernelRoomError(
                    f"linad has loaded {self.loaded:,} compiled kernels into this process, which "
                    f"has {used:,} of the {limit:,} memory maps that the system gives one; run the "
                    f"rest in another process, raise the limit, as by `sysctl "
                    f"vm.max_map_count={4 * limit}`, or compile less: each shape of an argument, "
                    f"and each jitted function, has kernels of its own"
                )
        self.left -= 1
        self.loaded += 1


def maps_used() -> tuple[int, int]:
    """The maps of the process, and the most that it may have; of other systems far apart."""
    try:
        limit = int(Path(LIMIT_IN).read_text(encoding="ascii"))
        with Path(COUNTS_OF).open("rb") as lines:
            return sum([1 for _ in lines]), limit
    except (OSError, ValueError):
        return 0, 2**31


map_room = MapRoom()
