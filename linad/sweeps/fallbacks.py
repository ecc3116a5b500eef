"""Equations inside a program that NumPy computes, on arrays in the program's memory."""

from typing import Any, NamedTuple

import numpy as np

from linad.sweeps.instructions import GUARD_FAILED, Fallback
from linad.sweeps.places import Place


class Given(NamedTuple):
    """A place in one of the arrays that a caller hands over."""

    place: Place
    number: int


class PreparedFallback:
    """A fallback with its arrays in one workspace, those that do not change from run to run.

    Parameters
    ----------
    fallback : Fallback
    arena : ndarray
        The workspace's memory.
    inputs : int
        How many arguments the program has; its results follow them.
    """

    def __init__(self, fallback: Fallback, arena: np.ndarray, inputs: int) -> None:
        self.fallback = fallback
        places = (*fallback.inputs, *fallback.outputs)
        self.arrays = [array_at(p, arena, inputs) for p in places]

    def run(self, arrays: tuple[np.ndarray, ...]) -> int:
        """Let NumPy compute it, with these arguments and results of the program."""
        return run_fallback(self.fallback, [array_of(a, arrays) for a in self.arrays])


def array_at(place: Any, arena: np.ndarray, inputs: int) -> Any:
    """The array at a place, or where it is among a caller's."""
    if not isinstance(place, Place):
        return place
    buffer = place.buffer
    if buffer.kind == "constant":
        return place.array(buffer.data)
    if buffer.kind in ("arena", "kept"):
        return place.array(arena[buffer.offset : buffer.offset + buffer.size])
    return Given(place, buffer.number + (inputs if buffer.kind == "output" else 0))


def array_of(found: Any, arrays: tuple[np.ndarray, ...]) -> Any:
    """What `array_at` has found, among these arguments and results of a program."""
    return found.place.array(_memory(arrays[found.number])) if type(found) is Given else found


def _memory(a: np.ndarray) -> np.ndarray:
    """The entries of an array in order C or F one after the other."""
    return a if a.flags.c_contiguous else a.T


def run_fallback(fallback: Fallback, arrays: list[Any]) -> int:
    """Let NumPy compute one equation.

    It gets copies: what an implementation keeps, factors for the next call perhaps, must not
    change with the memory of the program.
    """
    eqn = fallback.equation
    n = len(fallback.inputs)
    inputs = [
        (a.copy() if p.shape else a[()]) if isinstance(p, Place) else a
        for p, a in zip(fallback.inputs, arrays[:n], strict=True)
    ]
    y = eqn.primitive.impl(*inputs, **eqn.params)
    results = y if isinstance(y, tuple) else (y,)
    for target, value in zip(arrays[n:], results, strict=True):
        value = np.asarray(value)
        if value.shape != target.shape or value.dtype != target.dtype:
            return GUARD_FAILED
        target[...] = value
    return 0
