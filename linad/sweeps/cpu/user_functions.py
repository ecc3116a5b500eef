"""A user's own compiled function as one instruction of a program.

Its arguments are arrays in C order at addresses that the program knows; what it overwrites is
copied first. Scratch arrays are stretches of the arena.
"""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import new_place


def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction that calls the function, if it is compiled and its types are known."""
    call = eqn.primitive
    program = call.function  # type: ignore[attr-defined]
    if not hasattr(program, "source"):  # where Numba compiles nothing
        return False
    places = [lowering.place_of(a) for a in eqn.inputs]
    scratch = [new_place(a.shape, a.dtype) for a in call.scratch(places)]  # type: ignore[attr-defined]
    shapes = [v.shape for v in eqn.outputs]
    if () in shapes or not all(size_of(p.shape) for p in (*places, *scratch)):
        return False
    if any(name_of_dtype(p.dtype) is None for p in (*places, *scratch)):
        return False
    arguments = [contiguous(lowering, p) for p in places]
    for k, out in zip(call.overwrites, eqn.outputs, strict=True):  # type: ignore[attr-defined]
        target = lowering.result(out)
        lowering.copy(target, places[k])
        arguments[k] = target
    words: list[Any] = []
    for place, dtype in zip((*arguments, *scratch), program.dtypes, strict=True):
        if place.dtype != dtype:
            cast = new_place(place.shape, dtype)
            lowering.copy(cast, place)
            place = cast
        words += [(place.buffer, place.offset), *place.shape]
    lowering.emit(program.source, 1, words, f"call of {call.name}")
    return True
