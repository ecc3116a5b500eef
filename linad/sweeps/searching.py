"""Searching in sorted arrays, by halving.

The entries that come before one that is sought are a first part of the array. Each step asks one
entry whether it belongs to that part, and so halves what is left; NaN comes last. What is sought
next, if it does not come before the last, is looked for from there on. That is what NumPy did until
2.4, so where one thread looks for all its results are the same even in an array that is not sorted;
NumPy 2.5 finds others there, which mean as little.

Source: NumPy's ``npysort/binsearch.cpp``.
"""

import inspect
from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.sweeps.along_axis import words_of
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place
from linad.sweeps.routines import routine

INTEGER = np.dtype(np.int64)


def before(d: str, a: str, b: str) -> str:
    """Whether an entry comes before another, in a kernel."""
    return f"({a} < {b} or ({b} != {b} and {a} == {a}))" if d[0] == "f" else f"{a} < {b}"


def is_ordered(dtype: np.dtype[Any]) -> bool:
    """Whether kernels can compare entries; complex numbers have no order of their own."""
    d = name_of_dtype(dtype)
    return d is not None and d[0] != "c"


def bound(function: Any, eqn: Equation) -> dict[str, Any]:
    """The arguments of one of NumPy's functions, by their names."""
    found = inspect.signature(function).bind(*eqn.inputs, **eqn.params).arguments
    return {name: a.item() if isinstance(a, np.generic) else a for name, a in found.items()}


@routine("searchsorted")
def searchsorted(lowering: Any, eqn: Equation) -> bool:
    """Before which entry of a sorted array others come."""
    given = bound(np.searchsorted, eqn)
    if given.get("sorter") is not None:
        return False
    table, sought = [lowering.place_of(given[name]) for name in ("a", "v")]
    return _search(lowering, table, sought, eqn.outputs[0], given.get("side", "left"), False)


@routine("digitize")
def digitize(lowering: Any, eqn: Equation) -> bool:
    """The same in edges that are known, which may descend; NumPy looks at others itself."""
    given = bound(np.digitize, eqn)
    if isinstance(given["bins"], Var):
        return False
    edges = np.asarray(given["bins"])
    steps = np.diff(edges)
    if edges.ndim != 1 or edges.dtype.kind == "c" or not (np.all(steps >= 0) or np.all(steps <= 0)):
        return False
    falls = bool(np.any(steps < 0))
    table = constant_place(edges[::-1].copy() if falls else edges)
    side = "left" if given.get("right", False) else "right"
    return _search(lowering, table, lowering.place_of(given["x"]), eqn.outputs[0], side, falls)


def _search(
    lowering: Any, table: Place, sought: Place, out: Var, side: str, backwards: bool
) -> bool:
    """Add the kernel that looks for entries; counted from the end if ``backwards``."""
    if side not in ("left", "right") or len(table.shape) != 1 or out.dtype != INTEGER:
        return False
    common = np.result_type(table.dtype, sought.dtype)
    if not all([is_ordered(dtype) for dtype in (table.dtype, sought.dtype, common)]):
        return False
    x, v = [contiguous(lowering, in_dtype(lowering, p, common)) for p in (table, sought)]
    d = name_of_dtype(common)
    assert d is not None, "ordered"
    y = lowering.result(out)
    left = side == "left"

    def goes_on(entry: str, sought: str) -> str:
        """Whether the place that is sought lies behind an entry."""
        return before(d, entry, sought) if left else f"not {before(d, sought, entry)}"

    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    v = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n"
        "    low = 0\n    high = n\n"
        f"    last = get_{d}(v, start, -1)\n"
        "    for t in range(start, stop):\n"
        f"        a = get_{d}(v, t, -1)\n"
        f"        if {goes_on('last', 'a')}:\n"
        "            high = n\n"
        "        else:\n"
        "            low = 0\n            high = min(high + 1, n)\n"
        "        last = a\n"
        "        while low < high:\n"
        "            j = (low + high) // 2\n"
        f"            b = get_{d}(x, j, -1)\n"
        f"            if {goes_on('b', 'a')}:\n"
        "                low = j + 1\n"
        "            else:\n"
        "                high = j\n"
        f"        set_i8(y, t, {'n - low' if backwards else 'low'}, 0)\n"
        "    return 0\n"
    )
    words = [*words_of(x, v, y), size_of(x.shape)]
    lowering.emit(text, size_of(out.shape), words, "search")
    return True
