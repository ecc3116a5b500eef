"""A sweep that several threads share: large instructions, by pieces of their range.

The thread that runs a program goes through its instructions. Where one is large, it hangs out
a *ticket*: which instruction, and how many pieces are left. Whoever is there takes pieces off
the ticket, the thread itself included, until none is left; then it goes on. Helpers never hold
anybody up: a helper that comes late, or not at all, has taken nothing. Pieces do not depend
on the number of threads, and each writes entries, or partial results, of its own; so neither
does the result.

Helpers are Python threads that call one compiled function, which needs no interpreter lock.
They are made when first needed. A process that is forked has none of them and makes its own.
Numba's threading layers are not used: GNU OpenMP ends a process that was forked, and the
work queue one that calls it from two threads.
"""

import ctypes
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from linad.sweeps.cpu import engine
from linad.sweeps.cpu.atomic import (
    add_to_shared_word,
    replace_shared_word,
    set_shared_word,
    shared_word,
)
from linad.sweeps.cpu.engine import EXTENT, INSTRUCTION, OPERANDS, WORK
from linad.sweeps.cpu.native import call_by_address, call_kernel, word
from linad.sweeps.cpu.own_functions import callable_on_words

PIECE_WORK = 1 << 18
"""Work of one piece, in additions: some 50 us."""

MOST_PIECES = 1 << 12

LANES = 64
"""Pieces are multiples of it: loops take so many entries at once, at most, and what is left over
one by one, by functions that round otherwise."""

# Words that the threads share, each on cache lines of its own: the ticket (number of the
# instruction's first word, times 2^32, plus pieces left; -1 when all is done), pieces finished,
# the last status that was not zero; and two that do not change.
TICKET, FINISHED, STATUS, CODE, YIELD = 0, 128, 256, 384, 392
SHARED_WORDS = 64

PIECES_LEFT = (1 << 32) - 1
GIVE_WAY = 200
"""Looks at the ticket between two offers of the processor to other threads."""

PATIENCE = 20_000
"""Looks at the ticket after which a helper sleeps for a while."""

NAP = 1e-4


def _find_yield() -> int:
    """Address of the C library's function that lets other threads run, or 0."""
    if sys.platform == "win32":
        return 0
    function = getattr(ctypes.CDLL(None), "sched_yield", None)
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function is not None else 0


YIELD_ADDRESS = _find_yield()


def pieces_of(instruction):
    """Into how many pieces the range of an instruction is cut."""
    n = min(word(instruction + WORK) // PIECE_WORK, MOST_PIECES)
    return min(n, word(instruction + EXTENT))


def run_piece(shared, ticket):
    """Run the piece that was taken off a ticket."""
    instruction = word(shared + CODE) + 8 * (ticket >> 32)
    extent = word(instruction + EXTENT)
    length = -(-extent // pieces_of(instruction))
    if length > LANES:
        length = -(-length // LANES) * LANES
    start = ((ticket & PIECES_LEFT) - 1) * length
    stop = min(start + length, extent)
    if start < stop:
        status = call_kernel(word(instruction), instruction + INSTRUCTION, start, stop)
        if status != 0:
            set_shared_word(shared + STATUS, status)
    return add_to_shared_word(shared + FINISHED, 1)


def give_way(function, looks):
    """Now and then let another thread have the processor, by the C library's function."""
    if looks % GIVE_WAY == 0 and function != 0:
        call_by_address(function, ())
    return 0


def run_with_helpers(shared, code, end):
    """Run the instructions between two addresses, with whoever helps."""
    while code < end:
        n = pieces_of(code)
        if n < 2:
            status = call_kernel(word(code), code + INSTRUCTION, 0, word(code + EXTENT))
        else:
            set_shared_word(shared + FINISHED, 0)
            set_shared_word(shared + TICKET, (((code - word(shared + CODE)) // 8) << 32) + n)
            while True:
                ticket = shared_word(shared + TICKET)
                if ticket & PIECES_LEFT == 0:
                    break
                if replace_shared_word(shared + TICKET, ticket, ticket - 1):
                    run_piece(shared, ticket)
            looks = 0
            while shared_word(shared + FINISHED) < n:
                looks += 1
                give_way(word(shared + YIELD), looks)
            status = shared_word(shared + STATUS)
        if status != 0:
            return status
        code += INSTRUCTION + 8 * word(code + OPERANDS)
    return 0


def take_pieces(shared):
    """Take pieces off tickets until the sweep is done (1) or there were none for long (0)."""
    looks = 0
    while looks < PATIENCE:
        ticket = shared_word(shared + TICKET)
        if ticket < 0:
            return 1
        if ticket & PIECES_LEFT != 0:
            if replace_shared_word(shared + TICKET, ticket, ticket - 1):
                run_piece(shared, ticket)
            looks = 0
        else:
            looks += 1
            give_way(word(shared + YIELD), looks)
    return 0


sweep_shared, help_out = callable_on_words(run_with_helpers), callable_on_words(take_pieces)


class Crew:
    """Threads that share the sweeps of one run; a context manager.

    Parameters
    ----------
    code : array of int64
        The words of the program.
    threads : int
        How many, the calling one included.
    """

    def __init__(self, code: np.ndarray, threads: int) -> None:
        # Fresh for each run: a helper that comes after its end finds that all is done.
        memory = np.zeros(SHARED_WORDS + 16, np.int64)
        skipped = -memory.ctypes.data % 128 // 8
        self.words = memory[skipped : skipped + SHARED_WORDS]
        self.address = self.words.ctypes.data
        self.words[CODE // 8] = code.ctypes.data
        self.words[YIELD // 8] = YIELD_ADDRESS
        self.helpers = threads - 1

    def __enter__(self) -> "Crew":
        for _ in range(self.helpers):
            if not _ask_for_help(self):
                break
        return self

    def __exit__(self, *stopped: object) -> None:
        self.words[TICKET // 8] = -1

    def enter(self, header: np.ndarray, arrays: tuple[np.ndarray, ...]) -> int:
        """Check the arrays and run a program without fallbacks."""
        status = engine.patch_arrays(header, arrays)
        return int(status) or self.sweep(int(header[2]), int(header[3]))

    def sweep(self, code: int, end: int) -> int:
        """Run the instructions between two addresses."""
        return sweep_shared(self.address, code, end)

    def help(self) -> None:
        """What a helper does."""
        while not help_out(self.address):
            time.sleep(NAP)


_helpers: dict[int, ThreadPoolExecutor] = {}
"""Of each process, by its number: a forked one has none of the threads of its parent."""


def _ask_for_help(crew: Crew) -> bool:
    """Ask one more thread to help; whether there is one to ask."""
    process = os.getpid()
    if process not in _helpers:
        made = ThreadPoolExecutor(4 * (os.cpu_count() or 1), thread_name_prefix="linad")
        _helpers.setdefault(process, made)
    try:
        _helpers[process].submit(crew.help)
    except RuntimeError:
        # The interpreter is shutting down, or may make no more threads: one has to do.
        return False
    return True
