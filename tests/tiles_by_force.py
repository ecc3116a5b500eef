"""Programs tile by tile, whatever it costs, and groups without a compiler."""

from contextlib import contextmanager
from unittest import mock

from linad.sweeps import tiles
from linad.sweeps.cpu import tile_programs
from linad.sweeps.cpu.target import CPU
from linad.sweeps.instructions import KernelCall


@contextmanager
def tiles_of_rows(length):
    """All groups that there are run as tiles of so many rows."""
    with mock.patch.multiple(
        tile_programs, LARGE=0, UNIT=1, length_of=lambda group, target, chosen: length
    ):
        yield


def tiled_in_numpy(tape, n, length):
    """A tape with its groups of ``n`` rows as tiles, which NumPy can run."""

    def chosen(group):
        tiling = tiles.tiling_of(group.n, length, 1)
        return None if tiling is None else tiles.Tiles(group, tiling, (None, None))

    return tiles.tiled(tape, CPU, n, chosen)


def tiles_in(program):
    """The instructions of a program that run tiles."""
    calls = [i for i in program.lowering.instructions if isinstance(i, KernelCall)]
    return [i for i in calls if i.source == tile_programs.TILES]


def poison_tiles(program):
    """Fill the memory of the next run with NaN, that of its tiles as well."""
    workspace = program.borrow()
    for one in [workspace, *[made[0] for made in workspace.inner if type(made) is tuple]]:
        one.arena[...] = 0xFF
    program.give_back(workspace)
