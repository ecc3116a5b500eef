"""The arena: one stretch of memory for all that a program keeps between its instructions.

Buffers whose lives do not overlap share memory. What a buffer gets is the smallest free
stretch that holds it. Those that keep from run to run what is in them share with none.
"""

import heapq
from collections.abc import Sequence
from typing import Any

from linad.sweeps.places import Buffer


def plan_arena(instructions: Sequence[Any]) -> int:
    """Give every buffer of the arena a place; return the arena's size in bytes.

    Parameters
    ----------
    instructions : list
        In the order they run, each with the ``buffers`` it reads and writes.
    """
    lives: dict[Buffer, list[int]] = {}
    for k, instruction in enumerate(instructions):
        for buffer in instruction.buffers:
            if buffer.kind == "arena":
                lives.setdefault(buffer, [k, k])[1] = k
    free: list[tuple[int, int]] = []  # (offset, size)
    active: list[tuple[int, int, int, int]] = []
    end = 0
    # In order of first use, as they were found.
    for number, (buffer, (first, last)) in enumerate(lives.items()):
        while active and active[0][0] < first:
            _, _, offset, length = heapq.heappop(active)
            _release(free, offset, length)
        size = _padded(buffer.size)
        fitting = [block for block in free if block[1] >= size]
        if fitting:
            block = min(fitting, key=lambda b: b[1])
            free.remove(block)
            buffer.offset = block[0]
            if block[1] > size:
                free.append((block[0] + size, block[1] - size))
        else:
            buffer.offset = end
            end += size
        heapq.heappush(active, (last, number, buffer.offset, size))
    kept = {b: None for i in instructions for b in i.buffers if b.kind == "kept"}
    for buffer in kept:
        buffer.offset = end
        end += _padded(buffer.size)
    return end


def _padded(size: int) -> int:
    """Room for a buffer: whole cache lines, and large ones not all on the same line of a page,
    where the processor would take writes to one for writes to another."""
    lines = -(-max(size, 1) // 64)
    return 64 * (lines + 2 if size >= 4096 else lines)


def _release(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Give a stretch back, joined with its neighbours."""
    for block in list(free):
        if block[0] + block[1] == offset:
            free.remove(block)
            offset, size = block[0], size + block[1]
        elif offset + size == block[0]:
            free.remove(block)
            size += block[1]
    free.append((offset, size))
