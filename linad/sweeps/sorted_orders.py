"""Sorting: the numbers of entries in their order, and what follows from it.

How entries are sorted is the target's (`linad.sweeps.target.Target.sorted_order`). Equal entries
keep their order, and NaN comes last.
"""

from typing import Any

import numpy as np

from linad.core.shapes import normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import words_of
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import GUARD_FAILED
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place
from linad.sweeps.routines import routine
from linad.sweeps.searching import INTEGER, bound, is_ordered


def _as_one(place: Place) -> Place:
    """An array in C order as one line."""
    shape = (size_of(place.shape),)
    return Place(place.buffer, place.offset, shape, (place.dtype.itemsize,), place.dtype)


KINDS = {None: "quicksort", "quicksort": "quicksort", "stable": "stable", "mergesort": "stable"}
"""NumPy's sorts; those that are stable say in which order equal entries come. Others say nothing of
it, and what is read at these positions was recorded by NumPy's order."""


@routine("argsort")
def argsort(lowering: Any, eqn: Equation) -> bool:
    """The numbers of entries in their order; equal ones in that of NumPy."""
    place, out, given = lowering.place_of(eqn.inputs[0]), eqn.outputs[0], bound(np.argsort, eqn)
    kind = "stable" if given.get("stable") else KINDS.get(given.get("kind"))
    if not place.shape or kind is None or given.get("order") is not None:
        return False
    axis = given.get("axis", -1)
    axis = 0 if axis is None else normalize_axis(axis, len(out.shape), "argsort")
    x = contiguous(lowering, place)
    if x.shape != out.shape:
        x = _as_one(x)
    order: Place | None
    if kind == "stable" and is_ordered(place.dtype):
        order = lowering.target.sorted_order(lowering, x, axis)
    else:
        order = lowering.target.numpys_order(lowering, x, axis, kind)
    if order is None:
        return False
    lowering.result(out, order)
    return True


@routine("ordered_places")
def ordered_places(lowering: Any, eqn: Equation) -> bool:
    """The same along the last axis, of which only some are asked for."""
    place, out = lowering.place_of(eqn.inputs[0]), eqn.outputs[0]
    axis = len(place.shape) - 1
    if not is_ordered(place.dtype):
        return False
    x = contiguous(lowering, place)
    lowering.result(out, lowering.target.sorted_order(lowering, x, axis))
    return True


@routine("lexsort")
def lexsort(lowering: Any, eqn: Equation) -> bool:
    """By the last key, and where that is equal by the one before."""
    places, out = [lowering.place_of(a) for a in eqn.inputs], eqn.outputs[0]
    if not all([is_ordered(p.dtype) and p.shape == out.shape for p in places]) or not out.shape:
        return False
    axis, order = normalize_axis(eqn.params["axis"], len(out.shape), "lexsort"), None
    for place in places:
        order = lowering.target.sorted_order(lowering, contiguous(lowering, place), axis, order)
    lowering.result(out, order)
    return True


@routine("unique_positions")
def unique_positions(lowering: Any, eqn: Equation) -> bool:
    """Where different entries stand first, which of them each is, and how often. One thread goes
    through the sorted entries; another number of them than was recorded is another program."""
    place, params = lowering.place_of(eqn.inputs[0]), eqn.params
    plain = params.keys() <= {"axis", "equal_nan", "sorted"} and params.get("axis") is None
    if not plain or not is_ordered(place.dtype) or not size_of(place.shape):
        return False
    if len(eqn.outputs) != 3 or any(v.dtype != INTEGER for v in eqn.outputs):
        return False
    x = _as_one(contiguous(lowering, place))
    order = lowering.target.sorted_order(lowering, x, 0)
    results = [lowering.result(v) for v in eqn.outputs]
    d = name_of_dtype(x.dtype)
    same = " or (a != a and b != b)" if params.get("equal_nan", True) else ""
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    s = operand(p, 1)\n    f = operand(p, 2)\n"
        "    g = operand(p, 3)\n    c = operand(p, 4)\n"
        "    n = operand(p, 5)\n    wanted = operand(p, 6)\n"
        "    found = 0\n"
        "    for k in range(n):\n"
        "        own = get_i8(s, k, 0)\n"
        f"        a = get_{d}(x, own, -1)\n"
        f"        b = get_{d}(x, get_i8(s, max(k - 1, 0), 0), -1)\n"
        f"        if k == 0 or not (a == b{same}):\n"
        "            if found == wanted:\n"
        f"                return {GUARD_FAILED}\n"
        "            set_i8(f, found, own, 0)\n"
        "            set_i8(c, found, 0, 0)\n"
        "            found = found + 1\n"
        "        set_i8(g, own, found - 1, 0)\n"
        "        set_i8(c, found - 1, get_i8(c, found - 1, 0) + 1, 0)\n"
        "    if found != wanted:\n"
        f"        return {GUARD_FAILED}\n"
        "    return 0\n"
    )
    wanted = size_of(eqn.outputs[0].shape)
    lowering.emit(text, 1, [*words_of(x, order, *results), size_of(x.shape), wanted], "unique")
    return True
