"""Sorting, for a grid of threads.

Runs of sorted entries are merged, two at a time, until there is one; the sizes alone say how many
times. In a merge a thread takes one entry and looks in the other run, by halving, for how many
entries come before it: that and its place in its own run is its place in both together. So no two
threads write to one place. Equal entries keep their order, and NaN comes last.

    for each line x[o, :, i]:    order    the numbers of its entries, sorted by what is there
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.sweeps.along_axis import split, words_of
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, new_place
from linad.sweeps.searching import INTEGER, before


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
