"""A user's own compiled function as one instruction of a program.

Its arguments are arrays in C order at addresses that the program knows; what it overwrites is
copied first. Scratch arrays are stretches of the arena. The derivative of a user's kernel
(`linad.kernels.compiling`) is written in the language of kernels and is an instruction as it is;
what Numba has compiled is called by its address.
"""

import functools
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu import native
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place

CALL = "def kernel(p, start, stop):\n    return call_kernel(operand(p, 0), p + 8, start, stop)\n"


def operands_of(lowering: Any, eqn: Equation, form: Any) -> tuple[list[Any], list[Place]] | None:
    """The words of a call's operands, and where these are; None if kernels do not know some.

    ``form`` is what is called: it has a ``function``, and makes ``scratch`` arrays for it.
    """
    call: Any = eqn.primitive
    places = [lowering.place_of(a) for a in eqn.inputs]
    scratch = [new_place(a.shape, a.dtype) for a in form.scratch(places)]
    if not all(size_of(p.shape) for p in (*places, *scratch)):
        return None
    if any(name_of_dtype(p.dtype) is None for p in (*places, *scratch)):
        return None
    arguments = [contiguous(lowering, p) for p in places]
    for k, out in zip(call.overwrites, eqn.outputs, strict=True):
        target = lowering.result(out)
        lowering.copy(target, places[k])
        arguments[k] = target
    arguments += scratch
    dtypes = getattr(form.function, "dtypes", [place.dtype for place in arguments])
    words: list[Any] = []
    for k, dtype in enumerate(dtypes):
        if arguments[k].dtype != dtype:
            cast = new_place(arguments[k].shape, dtype)
            lowering.copy(cast, arguments[k])
            arguments[k] = cast
        words += [(arguments[k].buffer, arguments[k].offset), *arguments[k].shape]
    return words, arguments


def overwrites_numbers(eqn: Equation) -> bool:
    """Whether a call overwrites what has no axes, which its function gets as numbers here."""
    return any([not v.shape for v in eqn.outputs])


def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction that calls the function, if it is compiled and its types are known."""
    call: Any = eqn.primitive
    form = call.form([lowering.place_of(a) for a in eqn.inputs])
    function = form.function
    if not (hasattr(function, "source") or hasattr(function, "py_func")):
        return False
    found = None if overwrites_numbers(eqn) else operands_of(lowering, eqn, form)
    if found is None:
        return False
    words, places = found
    if hasattr(function, "phases"):
        entries = max([size_of(p.shape) for p in places])
        for source, pieces, work in function.phases:
            lowering.emit(source, pieces, words, f"call of {call.name}", work * entries)
        return True
    if hasattr(function, "source"):
        source = function.source
    else:
        described = tuple([(place.dtype, len(place.shape)) for place in places])
        source, words = CALL, [_entry(function, described).address, *words]
    lowering.emit(source, 1, words, f"call of {call.name}")
    return True


@functools.cache
def _entry(function: Any, arguments: tuple[tuple[np.dtype, int], ...]) -> Any:
    """What Numba makes of a function of its own, called like a kernel on arrays of these kinds."""
    texts, k = [], 0
    for dtype, ndim in arguments:
        if ndim:
            shape = "".join([f"operand(p, {k + 1 + j}), " for j in range(ndim)])
            texts.append(f"carray(pointer(operand(p, {k})), ({shape}), np.{dtype.name})")
        else:
            texts.append(f"get_{name_of_dtype(dtype)}(operand(p, {k}), 0, -1)")
        k += 1 + ndim
    names = [f"a{j}" for j in range(len(texts))]
    lines = [
        "def kernel(p, start, stop):",
        *[f"    {name} = {text}" for name, text in zip(names, texts, strict=True)],
        "    try:",
        f"        function({', '.join(names)})",
        "    except Exception:",
        f"        return {NO_RESULT}",
        "    return 0",
    ]
    with compiling:
        from numba import carray, cfunc

        scope = {"np": np, "carray": carray, "function": function, **native.GETTERS}
        scope |= {"operand": native.operand, "pointer": native.pointer, "__name__": __name__}
        exec("\n".join(lines), scope)
        return cfunc(native.KERNEL, error_model="numpy")(scope["kernel"])
