"""Tiles on the CPU: whether they pay, how many rows they have, and the kernel that runs them.

A tile is a program of its own with memory of its own. One kernel runs all of them: for each it
writes into the program's words where the tile's rows are, and sweeps it. Several threads share
the tiles of an instruction; each takes one of the *seats*, words and memory for one thread.

Tiles pay where instructions of the group hand arrays to each other that do not fit in a cache.
Their length depends on sizes alone, so results do not depend on the machine, nor on the number
of threads.
"""

from typing import Any

import numpy as np

from linad.core.settings import Settings
from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var
from linad.sweeps import tiles as grouping
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, c_strides, canonical
from linad.sweeps.rows import RowLayout, side_by_side
from linad.sweeps.target import Target
from linad.sweeps.tiles import Group, Tiles, tiling_of

UNIT, MOST_ROWS = 64, 4096
"""Rows of a tile are a multiple of the one, and no more than the other. Loops take 64 entries at
once at most; what is left over takes as long."""

TILE_BYTES = 1 << 19
"""What a tile may store and read: half of a cache of the second level."""

FEW_ROWS = 128
"""Shorter tiles may take twice as much, up to so many rows: their loops are too short for it."""

LARGE = 4 << 20
"""Bytes that a group has to spare memory: four times such a cache."""

EQUATIONS = 1000
"""Most equations of a group: it is planned three times."""

SHARE = 0.4
"""The part of a group's traffic that tiles have to spare: what stays in a cache is not free."""


def tiled(tape: Tape, target: Target, chosen: Settings) -> Tape:
    """The tape with those groups as tiles that gain by it."""
    variables = [v for eqn in tape.equations for v in eqn.outputs]
    if sum([_bytes(v) for v in (*tape.inputs, *variables)]) < LARGE:
        return tape
    n = grouping.rows_of(tape, 2 * UNIT)
    if n is None:
        return tape
    return grouping.tiled(tape, target, n, lambda group: tiles_of(group, target, chosen))


def tiles_of(group: Group, target: Target, chosen: Settings) -> Tiles | None:
    """A group as tiles, or None where they are not worth it."""
    length = length_of(group, target, chosen)
    tiling = tiling_of(group.n, length, min(length, UNIT)) if length else None
    if tiling is None:
        return None
    whole, last = [
        TileProgram(*group.body(count), target, chosen) for count in (tiling.length, tiling.last)
    ]
    return Tiles(group, tiling, (whole, last))


def rows_that_fit(size: int) -> int:
    """Rows of a tile where `UNIT` rows take this many bytes; 0 where these do not fit."""
    rows = TILE_BYTES * UNIT // max(size, 1)
    return min(max(rows, min(2 * rows, FEW_ROWS)), MOST_ROWS) // UNIT * UNIT


def length_of(group: Group, target: Target, chosen: Settings) -> int:
    """How many rows a tile of a group has, 0 where tiles do not pay.

    Per row, each instruction of the group moves what it reads and writes. In tiles only what the
    group reads and keeps goes through memory, and the parts of what has no rows: each tile reads
    its operands, and stores totals that are read once more. Copies that tiles need count as if
    they went through memory, although they do not.
    """
    if group.n < 2 * UNIT or len(group.forms) > EQUATIONS:
        return 0
    body, rows = group.body(UNIT)
    trial = Lowering(body, target, chosen, rows=rows)
    if not all([isinstance(i, KernelCall) for i in trial.instructions]):
        return 0  # a part runs in NumPy
    read = [p.buffer for p, k in zip(trial.inputs, group.along, strict=True) if k is not None]
    needed = trial.arena_size + sum([b.size for b in read])
    length = rows_that_fit(needed)
    if not length:
        return 0
    plain = Lowering(body, target, chosen)  # what would go through memory without tiles
    without, within = _row_traffic(group, plain), _row_traffic(group, trial)
    turned = [eqn.outputs[0] for eqn in body.equations if eqn.primitive is side_by_side]
    without -= 2 * sum([_bytes(v) for v in turned]) // UNIT  # a copy for the tiles' sake
    through = sum([b.size for b in read]) // UNIT + sum([_bytes(v) for v in group.kept]) // group.n
    shared = sum(
        [p.buffer.size for p, k in zip(trial.inputs, group.along, strict=True) if k is None]
    )
    through += (shared + 2 * sum([_bytes(v) for v in group.totals])) // length
    spared = without - through - max(within - without, 0)
    return length if spared * group.n >= LARGE and spared >= SHARE * without else 0


def _row_traffic(group: Group, lowering: Lowering) -> int:
    """Bytes of arrays with rows that the instructions of a group read and write, per row."""

    def has_rows(buffer: Buffer) -> bool:
        if buffer.kind == "input":
            return group.along[buffer.number] is not None
        return buffer.kind == "arena" or (
            buffer.kind == "output" and buffer.number < len(group.kept)
        )

    calls = [i for i in lowering.instructions if isinstance(i, KernelCall)]
    return sum([call.moved_bytes(has_rows) for call in calls]) // UNIT


def _bytes(v: Var) -> int:
    return size_of(v.shape) * int(v.dtype.itemsize)


class TileProgram(CpuProgram):
    """The program of a tile.

    Parameters
    ----------
    tape : Tape
    rows : RowLayout
        Where the rows of its variables are.
    target, chosen
        As of `CpuProgram`.
    """

    def __init__(self, tape: Tape, rows: RowLayout, target: Target, chosen: Settings) -> None:
        super().__init__(tape, target, chosen)
        self.rows = rows

    def _lowered(self) -> Lowering:
        return Lowering(self.tape, self.target, self.chosen, rows=self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return TileProgram, (self.tape, self.rows, self.target, self.chosen)


TILES = """def kernel(p, start, stop):
    d = operand(p, 0)
    seat, seats = d + 24, word(d)
    k = 0
    while not replace_shared_word(seat, 0, 1):
        k = k + 1 if k + 1 < seats else 0
        seat = d + 24 + k * word(d + 8)
    status = 0
    for t in range(start, stop):
        at = word(seat + 16) if t == word(d + 16) - 1 else word(seat + 8)
        code, end, uses = word(at), word(at + 8), word(at + 16)
        at += 24
        for i in range(uses):
            set_word(word(at), operand(p, word(at + 8)) + word(at + 16) + t * word(at + 24))
            at += 32
        while code < end and status == 0:
            status = call_kernel(word(code), code + 32, 0, word(code + 8))
            code += 32 + 8 * word(code + 24)
        if status != 0:
            break
    set_shared_word(seat, 0)
    return status
"""
"""The kernel of all tiles. Its description, at ``d``:

    [seats, bytes of a seat, tiles, seats of: taken, the program of a tile, that of the last]

Of a program:

    [code, end of code, uses, uses of: word to set, operand, offset, bytes from tile to tile]
"""


@routine("side_by_side")
def turn(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction that copies rows."""
    source = lowering.place_of(eqn.inputs[0])
    lowering.copy(lowering.result(eqn.outputs[0], lowering.place_for(eqn)), source)
    return True


@routine("tiles")
def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction that runs all tiles."""
    made: Tiles = eqn.primitive  # type: ignore[assignment]
    for program in made.programs:
        program.give_back(program.borrow())
    if not all([program.straight for program in made.programs]):
        return False
    places = [contiguous(lowering, lowering.place_of(a)) for a in eqn.inputs]
    variables = made.programs[0].tape.inputs
    if any(p.dtype != canonical(v.dtype) for p, v in zip(places, variables, strict=True)):
        return False
    places += [lowering.result(v) for v in eqn.outputs]
    group, tiling = made.group, made.tiling
    moves = [*group.along, *[group.axis[v] for v in group.kept]]
    steps = [
        0 if axis is None else tiling.length * c_strides(p.shape, p.dtype)[axis]
        for p, axis in zip(places, moves, strict=False)
    ]
    steps += [_bytes(v) for v in group.totals]
    inner = made.programs[0].lowering.instructions
    words: list[Any] = [Seats(made.programs, steps, tiling.tiles)]
    words += [(p.buffer, p.offset) for p in places]
    label = f"{tiling.tiles} tiles of {tiling.length} rows, {len(inner)} instructions each"
    work = tiling.tiles * (made.programs[0].lowering.arena_size + sum(steps)) // 2
    lowering.emit(TILES, tiling.tiles, words, label, work)
    return True


class Seats:
    """What the instruction knows of its tiles: for each thread two workspaces.

    Parameters
    ----------
    programs : tuple of TileProgram
        Of a tile, and of the last one.
    steps : list of int
        Bytes from tile to tile of each operand and result.
    tiles : int
    """

    def __init__(self, programs: tuple[Any, Any], steps: list[int], tiles: int) -> None:
        self.programs, self.steps, self.tiles = programs, steps, tiles

    def word_in(self, workspace: Any) -> int:
        """The address of the description, for a workspace."""
        words = [workspace.threads, 64, self.tiles]
        for _ in range(workspace.threads):
            words += [0, *[self._address(p, workspace) for p in self.programs], *[0] * 5]
        made = np.array(words, np.int64)
        workspace.inner.append(made)
        return int(made.ctypes.data)

    def _address(self, program: TileProgram, workspace: Any) -> int:
        """The address of the description of a program."""
        inner = Workspace(program)
        code, end, uses = inner.uses()
        words = [code, end, sum(map(len, uses))]
        for k, (found, step) in enumerate(zip(uses, self.steps, strict=True)):
            for where, offset in found:
                words += [where, 1 + k, offset, step]
        made = np.array(words, np.int64)
        workspace.inner.append((inner, made))
        return int(made.ctypes.data)
