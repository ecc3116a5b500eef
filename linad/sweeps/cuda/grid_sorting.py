"""Sorting, for a grid of threads.

Runs of sorted entries are merged, two at a time, until there is one; the sizes alone say how many
times. In a merge a thread takes one entry and looks in the other run, by halving, for how many
entries come before it: that and its place in its own run is its place in both together. So no two
threads write to one place. Equal entries keep their order, and NaN comes last.

    for each line x[o, :, i]:    order    the numbers of its entries, sorted by what is there
"""

from typing import Any

import numpy as np

from linad.core.shapes import normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import split, words_of
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import GUARD_FAILED
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, new_place
from linad.sweeps.routines import Routines
from linad.sweeps.searching import INTEGER, before, bound, is_ordered

SORTING = Routines()
"""Routines by the names of the primitives."""

routine = SORTING.lowers

def _merge(d: str) -> str:
    """The kernel that merges runs of ``w`` entries."""
    read = f"get_{d}(x, at + get_i8(s, at + j * m, 0) * m, -1)"
    return (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    s = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n    m = operand(p, 4)\n    w = operand(p, 5)\n"
        "    for t in range(start, stop):\n"
        "        k = t // m % n\n"
        "        at = t - k * m\n"
        "        first = k // (2 * w) * (2 * w)\n"
        "        middle = min(first + w, n)\n"
        "        own = get_i8(s, t, 0)\n"
        f"        a = get_{d}(x, at + own * m, -1)\n"
        "        low = first\n        high = middle\n"
        "        if k < middle:\n"
        "            low = middle\n            high = min(first + 2 * w, n)\n"
        "        while low < high:\n"
        "            j = (low + high) // 2\n"
        f"            b = {read}\n"
        f"            goes_on = not {before(d, 'a', 'b')}\n"
        "            if k < middle:\n"
        f"                goes_on = {before(d, 'b', 'a')}\n"
        "            if goes_on:\n"
        "                low = j + 1\n"
        "            else:\n"
        "                high = j\n"
        "        set_i8(y, at + (k + low - middle) * m, own, 0)\n"
        "    return 0\n"
    )


def sorted_order(lowering: Any, x: Place, axis: int, order: Place | None = None) -> Place:
    """Add the instructions that sort along an axis; the numbers of entries in their order.

    Parameters
    ----------
    lowering : Lowering
    x : Place
        In C order.
    axis : int
    order : Place, optional
        The order to begin with, which equal entries keep; by default as they are.
    """
    _, n, inner = split(x.shape, axis)
    d = name_of_dtype(x.dtype)
    assert d is not None, "looked at before"
    if order is None:
        shape = [1] * len(x.shape)
        shape[axis] = n
        order = new_place(x.shape, INTEGER)
        lowering.copy(order, constant_place(np.arange(n).reshape(shape)))
    width, text = 1, _merge(d)
    while width < n:
        merged = new_place(x.shape, INTEGER)
        words = [*words_of(x, order, merged), n, inner, width]
        lowering.emit(text, size_of(x.shape), words, "merge")
        order, width = merged, 2 * width
    return order


def _as_one(place: Place) -> Place:
    """An array in C order as one line."""
    shape = (size_of(place.shape),)
    return Place(place.buffer, place.offset, shape, (place.dtype.itemsize,), place.dtype)


STABLE = ("stable", "mergesort")
"""Kinds of NumPy's sorts that say in which order equal entries come. Others say nothing of it, and
what is read at these positions was recorded by NumPy's order."""


@routine("argsort")
def argsort(lowering: Any, eqn: Equation) -> bool:
    """The numbers of entries in a stable order."""
    place, out, given = lowering.place_of(eqn.inputs[0]), eqn.outputs[0], bound(np.argsort, eqn)
    stable = given.get("stable") or given.get("kind") in STABLE
    if not (stable and place.shape and is_ordered(place.dtype)) or given.get("order") is not None:
        return False
    x, axis = contiguous(lowering, place), given.get("axis", -1)
    if axis is None:
        x, axis = _as_one(x), 0
    axis = normalize_axis(axis, len(x.shape), "argsort")
    order = sorted_order(lowering, x, axis)
    lowering.copy(lowering.result(out), order)
    return True


@routine("lexsort")
def lexsort(lowering: Any, eqn: Equation) -> bool:
    """By the last key, and where that is equal by the one before."""
    places, out = [lowering.place_of(a) for a in eqn.inputs], eqn.outputs[0]
    if not all([is_ordered(p.dtype) and p.shape == out.shape for p in places]) or not out.shape:
        return False
    axis, order = normalize_axis(eqn.params["axis"], len(out.shape), "lexsort"), None
    for place in places:
        order = sorted_order(lowering, contiguous(lowering, place), axis, order)
    lowering.copy(lowering.result(out), order)
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
    order = sorted_order(lowering, x, 0)
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
