"""A user's own compiled function as one instruction of a program.

Its arguments are arrays in C order at addresses that the program knows; what it overwrites is
copied first. Scratch arrays are stretches of the arena.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import new_place


def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction that calls the function, if it is compiled and its types are known."""
    call = eqn.primitive
    if not hasattr(call.function, "py_func"):  # type: ignore[attr-defined]
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
    arguments += scratch
    words: list[Any] = []
    texts = []
    for place in arguments:
        d = name_of_dtype(place.dtype)
        at = f"operand(p, {len(words)})"
        words.append((place.buffer, place.offset))
        if place.shape == ():
            texts.append(f"get_{d}({at}, 0, -1)")
            continue
        shape = "".join([f"operand(p, {len(words) + j}), " for j in range(len(place.shape))])
        words += place.shape
        texts.append(f"carray(pointer({at}), ({shape}), np.{np.dtype(place.dtype).name})")
    names = [f"a{k}" for k in range(len(texts))]
    source = "\n".join(
        [
            "def kernel(p, start, stop):",
            *[f"    {name} = {text}" for name, text in zip(names, texts, strict=True)],
            "    try:",
            f"        function({', '.join(names)})",
            "    except Exception:",
            f"        return {NO_RESULT}",
            "    return 0",
            "",
        ]
    )
    made = lowering.emit(source, 1, words, f"call of {call.name}")
    made.function = call.function  # type: ignore[attr-defined]
    return True
