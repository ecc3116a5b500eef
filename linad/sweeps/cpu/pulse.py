"""Long loops of machine code look up, once a second: for Ctrl-C, and for people who wait.

Every so many repetitions a loop calls `pulse`, which asks the C library which second it is. In
another second than before the thread that Python runs handlers of signals in, the main one, calls
Python (`linad.core.long_loops.looked`), and where a loop has gone round more often than is
allowed; what that raises ends the loop, by the status `PYTHON_ERROR`. A pulse costs a few
nanoseconds.

Other threads of Python's look up as well, to say that they run. Threads that Python does not know,
which share a loop with one that waits for them, must not: that one may have Python's lock. Nor may
any when Python ends, which does not give its lock back.

    PULSE = Pulse()            a word of a loop's, by name w in its source
    status = call_kernel(word(w), w, k, 0)
    if status != 0:
        return status
"""

import ctypes
import functools
import os
import sys
import threading
from typing import Any

import numpy as np

from linad.core.long_loops import MOST, looked
from linad.sweeps.cpu.made_results import address_of_c, call_c
from linad.sweeps.cpu.native import set_word, word
from linad.sweeps.cpu.own_functions import address_of
from linad.sweeps.instructions import PYTHON_ERROR

CODE, TIME, SECOND, LIMIT, THREAD, MAIN = range(0, 48, 8)
ENSURE, RELEASE, NUMBER, CALL, LOOKED, DROP = range(48, 96, 8)
OTHERS, KNOWN, ENDS = range(96, 120, 8)


def _pulse(w, k, unused):
    """Look up, in another second than before, or after too many repetitions."""
    second = call_c(word(w + TIME), (0,))
    if second == word(w + SECOND) and k <= word(word(w + LIMIT)):
        return 0
    if call_c(word(w + THREAD), (0,)) == word(w + MAIN):
        set_word(w + SECOND, second)
        return _look(w, k)
    if second == word(w + OTHERS) or call_c(word(w + KNOWN), (0,)) == 0:
        return 0
    if call_c(word(w + ENDS), (0,)) != 0:
        return 0
    set_word(w + OTHERS, second)
    return _look(w, k)


def _look(w, k):
    """Call Python, whether the thread has its lock or not."""
    state = call_c(word(w + ENSURE), (0,))
    status = PYTHON_ERROR
    number = call_c(word(w + NUMBER), (k,))
    if number != 0:
        result = call_c(word(w + CALL), (word(w + LOOKED), number))
        call_c(word(w + DROP), (number,))
        if result != 0:
            call_c(word(w + DROP), (result,))
            status = 0
    call_c(word(w + RELEASE), (state,))
    return status


def _clock() -> int:
    """The address of the C library's function that tells the second."""
    if sys.platform == "win32":
        return address_of_c(ctypes.cdll.ucrtbase._time64)
    return address_of_c(ctypes.CDLL(None).time)


def _ends(python: Any) -> Any:
    """The function that tells whether Python ends, which has a name of its own from 3.13 on."""
    return getattr(python, "Py_IsFinalizing", None) or python._Py_IsFinalizing


@functools.cache
def _words() -> np.ndarray:
    python = ctypes.pythonapi
    words = np.zeros(ENDS // 8 + 1, np.int64)
    for at, value in {
        CODE: address_of(_pulse),
        TIME: _clock(),
        LIMIT: MOST.ctypes.data,
        THREAD: address_of_c(python.PyThread_get_thread_ident),
        MAIN: threading.main_thread().ident or 0,
        ENSURE: address_of_c(python.PyGILState_Ensure),
        RELEASE: address_of_c(python.PyGILState_Release),
        NUMBER: address_of_c(python.PyLong_FromLongLong),
        CALL: address_of_c(python.PyObject_CallOneArg),
        LOOKED: id(looked),
        DROP: address_of_c(python.Py_DecRef),
        KNOWN: address_of_c(python.PyGILState_GetThisThreadState),
        ENDS: address_of_c(_ends(python)),
    }.items():
        words[at // 8] = np.uint64(value).view(np.int64)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _here(words))
    return words


def _here(words: np.ndarray) -> None:
    """In a process that was forked the thread that forked it is the main one."""
    words[MAIN // 8] = np.uint64(threading.main_thread().ident or 0).view(np.int64)


class Pulse:
    """A word of a loop's, its operand ``w``: where the words are that `pulse` calls with."""

    def word_in(self, workspace: Any) -> int:
        return int(_words().ctypes.data)


PULSE = Pulse()


def pulse(k: str) -> list[str]:
    """Lines by which a loop that has run k times looks up."""
    return [
        f"status = call_kernel(word(w), w, {k}, 0)",
        "if status != 0:",
        "    return status",
    ]
