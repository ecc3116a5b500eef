"""Whether the code that runs could write into a plain array.

A large array that a derivative refers to is watched while the function runs. To read all of it
twice costs as much as the operation; so it is read only where some code on the stack, or in
functions that this code names, says something that writes: ``w[3] = 1``, ``w += 1``, ``out=w``,
``w.sort()``. Elsewhere a sample of its entries has to do.
"""

import dis
import functools
import sys
import types
from types import FrameType

from linad.core.callers import defining_package
from linad.core.frames import held_by

STORES = {dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap}
BINARY = dis.opmap["BINARY_OP"]
INPLACE = 13  # the first operation of BINARY_OP that is done in place, see Include/opcode.h

WRITERS = {
    *("fill", "sort", "put", "partition", "resize", "setfield", "byteswap", "itemset", "at"),
    *("copyto", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle", "setitem"),
    *("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "out", "flat"),
}
"""Methods, functions and keywords that write into an array."""

DEPTH = 3
"""How far functions that name functions are followed."""


def may_write() -> bool:
    """Whether code of the function that is being traced says something that writes."""
    seen: set[int] = set()
    return any([_writes(frame, seen) for frame in _users_frames()])


def _users_frames() -> list[FrameType]:
    """The frames of users below the outermost of linad's own: what it calls."""
    frames: list[FrameType] = []
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_linads(frame.f_globals.get("__name__", "")):
            found = frames[:]  # linad is further out than all of these
        else:
            frames.append(frame)
        frame = frame.f_back
    return found


@functools.lru_cache(1024)
def _is_linads(module: str) -> bool:
    return module.partition(".")[0] == "linad"


def _writes(frame: FrameType, seen: set[int]) -> bool:
    code = frame.f_code
    named = [frame.f_locals[n] for n in code.co_freevars if n in frame.f_locals]
    named += [frame.f_globals[n] for n in code.co_names if n in frame.f_globals]
    return _says_store(code) or any([_function_writes(f, DEPTH, seen) for f in named])


def _function_writes(f: object, depth: int, seen: set[int]) -> bool:
    f = getattr(f, "function", f) if not isinstance(f, types.ModuleType) else f
    f = getattr(f, "__func__", f)
    if not isinstance(f, types.FunctionType) or not depth or id(f) in seen:
        return False
    seen.add(id(f))
    if defining_package(f) in ("linad", "numpy", "scipy"):
        return False
    if _says_store(f.__code__):
        return True
    named = [f.__globals__[n] for n in f.__code__.co_names if n in f.__globals__]
    return any([_function_writes(g, depth - 1, seen) for g in [*named, *held_by(f)]])


@functools.lru_cache(1024)
def _says_store(code: types.CodeType) -> bool:
    if not WRITERS.isdisjoint(code.co_names):
        return True
    words = code.co_code
    for k in range(0, len(words), 2):
        if words[k] in STORES or (words[k] == BINARY and words[k + 1] >= INPLACE):
            return True
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and _says_store(constant):
            return True
        if isinstance(constant, tuple) and "out" in constant:  # names of keywords
            return True
    return False
