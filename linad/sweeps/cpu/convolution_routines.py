"""Convolutions along the last axis, of rows with rows.

y_g = Σ_k a_{g-k} v_k        0 <= g - k < n, 0 <= k < m

In mode "valid" only the g with all m terms are there. Where results are many, a loop over them is
the innermost one, and they stay in the cache until all terms are added, in order; where there are
fewer of them than terms, each is a sum by itself.
"""

from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import words_of
from linad.sweeps.cpu.blas_lapack import offsets_of
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, spread_over

BLOCK = 1024
"""Results that are computed together."""

FEW = 128
"""Terms of complex numbers that are added here; NumPy asks BLAS, which is faster where more are."""


def _added(d: str) -> str:
    """Statements that add one term after the other to the results from ``low`` to ``high``."""
    return (
        "            for g in range(low, high):\n"
        f"                set_{d}(y, at + g, to_{d}(0), 0)\n"
        "            for k in range(m):\n"
        f"                c = get_{d}(z, k, -1)\n"
        "                for g in range(max(low, k), min(high, n + k)):\n"
        f"                    term = get_{d}(x, g - k, -1) * c\n"
        f"                    set_{d}(y, at + g, to_{d}(get_{d}(y, at + g, 0) + term), 0)\n"
    )


def _summed(d: str) -> str:
    """Statements that sum up the terms of each result from ``low`` to ``high``."""
    return (
        "            for g in range(low, high):\n"
        f"                total = to_{d}(0)\n"
        "                for k in range(max(g - n + 1, 0), min(g + 1, m)):\n"
        f"                    term = get_{d}(x, g - k, -1) * get_{d}(z, k, -1)\n"
        "                    total = accumulate(total, term)\n"
        f"                set_{d}(y, at + g, to_{d}(total), 0)\n"
    )


@routine("convolve")
def convolve(lowering: Any, eqn: Equation) -> bool:
    """Rows are broadcast; convolutions along several axes run in NumPy."""
    out, mode = eqn.outputs[0], eqn.params["mode"]
    d = name_of_dtype(out.dtype)
    places = [lowering.place_of(operand) for operand in eqn.inputs]
    if d is None or d == "b1" or any(name_of_dtype(p.dtype) is None for p in places):
        return False
    if eqn.params.get("axes", 1) != 1 or not all(size_of(p.shape) for p in places):
        return False
    if mode == "full" and places[0].shape[-1] < places[1].shape[-1]:
        places.reverse()
    (n, m), length = [p.shape[-1] for p in places], out.shape[-1]
    if d[0] == "c" and FEW < m <= length:
        return False
    a, v = [contiguous(lowering, in_dtype(lowering, p, out.dtype)) for p in places]
    y, lead = lowering.result(out), out.shape[:-1]
    tables = [_rows_of(p, lead) for p in (a, v)]
    text = (
        "def kernel(p, start, stop):\n"
        "    y = operand(p, 2)\n"
        "    q = operand(p, 3)\n    s = operand(p, 4)\n"
        "    n = operand(p, 5)\n    m = operand(p, 6)\n"
        "    first = operand(p, 7)\n    after = operand(p, 8)\n"
        "    for t in range(start, stop):\n"
        "        x = operand(p, 0) + get_i8(q, t, -1)\n"
        "        z = operand(p, 1) + get_i8(s, t, -1)\n"
        "        at = t * (after - first) - first\n"
        f"        for low in range(first, after, {BLOCK}):\n"
        f"            high = min(low + {BLOCK}, after)\n"
        f"{_summed(d) if length < m else _added(d)}"
        "    return 0\n"
    )
    first = m - 1 if mode == "valid" else 0
    words = [(a.buffer, 0), (v.buffer, 0), *words_of(y, *tables), n, m, first, first + length]
    lowering.emit(text, size_of(lead), words, "convolve")
    return True


def _rows_of(place: Place, lead: tuple[int, ...]) -> Place:
    """Where each of the rows begins that are broadcast to leading axes."""
    return constant_place(offsets_of(spread_over(place, lead, 1), 1))
