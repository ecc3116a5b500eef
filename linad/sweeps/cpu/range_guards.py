"""What a loop does about numbers that inlined functions are not right for.

A sine of 10^20, the logarithm of a denormal: these need other code than all the rest, and a
branch for each entry would keep the loop from vectorising. So the functions take down that a
number was out of range, with an *or* that costs next to nothing, and the kernel looks once, at
its end:

    for i0 in range(start, stop):
        t0 = get_f8(q0_0, i0, -1)
        t1 = v_sin(t0)
        set_f8(q1_0, i0, t1, 0)
    return again(p + 16, start, stop)

Where one was, the range is gone through again in blocks, and of a block in which it happens again
the *twin* of the kernel computes all entries: the same source, with functions that are right for
every number and equal, digit by digit, to the inlined ones in their range. So a result depends on
its own entry and on none beside it. A twin is compiled when it is first needed, which most are
never.
"""

import _thread
import ctypes
import logging
import re
from typing import Any

import numpy as np

from linad.sweeps.cpu import kernel_cache as cache
from linad.sweeps.cpu.engine import INSTRUCTION
from linad.sweeps.cpu.vector_math import RANGES
from linad.sweeps.instructions import NOT_COMPILED

log = logging.getLogger("linad")

BLOCK = 4096
"""Entries of a block."""

_CALL = re.compile(rf"\bv_({'|'.join(RANGES)})\(")

# At ``at`` are three of the kernel's words: where the addresses of this function and of the twin
# are; how much of the range is one block; how many words of the kernel's come before.
AGAIN = f"""def kernel(at, start, stop):
    p = at - 8 * word(at + 16)
    if stop - start <= word(at + 8):
        return call_kernel(word(word(at) + 8), p, start, stop)
    low = start
    while low < stop:
        high = min(low + word(at + 8), stop)
        status = call_kernel(word(p - {INSTRUCTION}), p, low, high)
        if status != 0:
            return status
        low = high
    return 0
"""


def have_ranges(body: list[str]) -> bool:
    """Whether statements call functions that are right in a range."""
    return any(_CALL.search(line) for line in body)


def without_ranges(body: list[str]) -> list[str]:
    """The statements, by other functions, for loops that cannot be gone through again."""
    return [_CALL.sub(r"l_\1(", line) for line in body]


def source_of_twin(source: str) -> str:
    """The source of a kernel's twin."""
    source = re.sub(r"\breturn again\(.*", "return 0", source)
    return re.sub(r"\bv_", "w_", source)


class Twin:
    """A word of a kernel: where the addresses are of the function `AGAIN` and of the twin."""

    def __init__(self, source: str) -> None:
        self.source = source_of_twin(source)

    def word_in(self, workspace: Any) -> int:
        if self.source not in _words:
            words = np.zeros(2, np.int64)
            for k, source in enumerate((AGAIN, self.source)):
                words[k] = _Uncompiled(words, k, source).address
            _words.setdefault(self.source, words)
        return int(_words[self.source].ctypes.data)


class _Uncompiled:
    """A kernel that is compiled at its first call, which then takes its place in some words."""

    def __init__(self, words: np.ndarray, k: int, source: str) -> None:
        self.words, self.k, self.source = words, k, source
        self.function = _KERNEL(self._run)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0
        _kept.append(self)

    def _run(self, operands: int, start: int, stop: int) -> int:
        try:
            self.kernel = cache.kernel(self.source)  # in memory as long as this object is
        except KeyboardInterrupt:
            _thread.interrupt_main()
            return NOT_COMPILED
        except BaseException:  # nothing passes through compiled code; the status says it
            log.exception("linad: a kernel for numbers out of range was not compiled")
            return NOT_COMPILED
        self.words[self.k] = int(self.kernel)
        return int(_KERNEL(int(self.kernel))(operands, start, stop))


_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)

# Compiled code holds addresses of all these as long as the process lives.
_kept: list[_Uncompiled] = []
_words: dict[str, np.ndarray] = {}  # by the source of the twin
