"""What a GPU computes that is not a loop: the routines of all targets, and its own.

A product of matrices is one thread per entry, its terms in order: right everywhere, and slow for
large matrices, which are for a library.

In a scatter two threads must not write one entry. The indices of a program are constants, so they
are sorted when it is made: a thread takes one entry, and all that goes into it, in order. The
result is what NumPy's loop gives, bit for bit.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, moved, spread_over
from linad.sweeps.portable_routines import routines_of_target

ROUTINES = routines_of_target()

routine = ROUTINES.lowers


def scatter(lowering: Any, target: Place, numbers: np.ndarray, source: Place, add: bool) -> None:
    """Set, or add to, the entries of ``target`` of these numbers; the last of equal ones stays."""
    d = name_of_dtype(target.dtype)
    numbers = np.asarray(numbers).ravel()
    order = np.argsort(numbers, kind="stable")
    wanted, starts = np.unique(numbers[order], return_index=True)
    starts = np.append(starts, len(order))
    if not add:
        order, starts = order[starts[1:] - 1], np.arange(len(wanted) + 1)
    tables = [constant_place(np.asarray(t, np.int64)) for t in (starts, order)]
    tables.append(constant_place(moved(target, wanted)))
    source = contiguous(lowering, source)
    first = f"get_{d}(at, 0, 0)" if add else f"to_{d}(0)"
    text = (
        "def kernel(p, start, stop):\n"
        "    b = operand(p, 0)\n    o = operand(p, 1)\n    q = operand(p, 2)\n"
        "    x = operand(p, 3)\n    y = operand(p, 4)\n"
        "    for i in range(start, stop):\n"
        "        at = y + get_i8(q, i, -1)\n"
        f"        total = {first}\n"
        "        for j in range(get_i8(b, i, -1), get_i8(b, i + 1, -1)):\n"
        f"            term = get_{d}(x, get_i8(o, j, -1), -1)\n"
        f"            total = {f'to_{d}(total + term)' if add else 'term'}\n"
        f"        set_{d}(at, 0, total, 0)\n"
        "    return 0\n"
    )
    words: list[Any] = [(t.buffer, 0) for t in tables]
    words += [(source.buffer, source.offset), (target.buffer, 0)]
    lowering.emit(text, len(wanted), words, "scatter add" if add else "scatter")


@routine("convolve")
def convolve(lowering: Any, eqn: Equation) -> bool:
    """y_i = sum_k a_(i-k) b_k of vectors, terms in order, one thread per entry."""
    out, mode = eqn.outputs[0], eqn.params["mode"]
    d = name_of_dtype(out.dtype)
    places = [lowering.place_of(x) for x in eqn.inputs]
    if d is None or d[0] not in "fc" or any(name_of_dtype(p.dtype) is None for p in places):
        return False
    if any(len(p.shape) != 1 for p in places) or mode not in ("full", "valid"):
        return False
    a, b = [contiguous(lowering, in_dtype(lowering, p, out.dtype)) for p in places]
    y = lowering.result(out)
    n, m = a.shape[0], b.shape[0]
    first = min(n, m) - 1 if mode == "valid" else 0
    text = (
        "def kernel(p, start, stop):\n"
        "    a = operand(p, 0)\n    b = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n    m = operand(p, 4)\n    f = operand(p, 5)\n"
        "    for i in range(start, stop):\n"
        "        at = i + f\n"
        f"        total = to_{d}(0)\n"
        "        for k in range(max(at - n + 1, 0), min(at + 1, m)):\n"
        f"            term = get_{d}(a, at - k, -1) * get_{d}(b, k, -1)\n"
        f"            total = to_{d}(total + term)\n"
        f"        set_{d}(y, i, total, 0)\n"
        "    return 0\n"
    )
    words = [(p.buffer, p.offset) for p in (a, b, y)]
    lowering.emit(text, out.shape[0], [*words, n, m, first], "convolve")
    return True


@routine("matmul", "matvec", "dot")
def matmul(lowering: Any, eqn: Equation) -> bool:
    """C = A B         A (..., m, k)   B (..., k, n)   C (..., m, n)"""
    out = eqn.outputs[0]
    d = name_of_dtype(out.dtype)
    operands = [lowering.place_of(a) for a in eqn.inputs]
    if d is None or d[0] not in "fc" or any(name_of_dtype(p.dtype) is None for p in operands):
        return False
    target = lowering.result(out)
    a, b = [contiguous(lowering, in_dtype(lowering, p, out.dtype)) for p in operands]
    m = a.shape[-2] if len(a.shape) > 1 else 1
    k = a.shape[-1]
    n = b.shape[-1] if len(b.shape) > 1 else 1
    if not k:
        lowering.fill(target, 0)
        return True
    item = out.dtype.itemsize
    batch = size_of(out.shape) // (m * n)
    lead = out.shape[: len(out.shape) - (len(a.shape) > 1) - (len(b.shape) > 1)]
    tables = []
    for place, rows, columns in ((a, m, k), (b, k, n)):
        shape = (*place.shape[:-2], rows, columns)
        strides = (*place.strides[:-2], columns * item, item)
        whole = Place(place.buffer, place.offset, shape, strides, place.dtype)
        spread = spread_over(whole, lead, 2)
        firsts = Place(spread.buffer, spread.offset, lead, spread.strides[:-2], spread.dtype)
        tables.append(constant_place(np.asarray(moved(firsts, None), np.int64).ravel()))
    text = (
        "def kernel(p, start, stop):\n"
        "    a = operand(p, 0)\n    b = operand(p, 1)\n    y = operand(p, 2)\n"
        "    u = operand(p, 3)\n    v = operand(p, 4)\n"
        "    m = operand(p, 5)\n    k = operand(p, 6)\n    n = operand(p, 7)\n"
        "    for i in range(start, stop):\n"
        "        column = i % n\n        rest = i // n\n"
        "        row = rest % m\n        entry = rest // m\n"
        "        x = a + get_i8(u, entry, -1)\n        z = b + get_i8(v, entry, -1)\n"
        f"        total = to_{d}(0)\n"
        "        for j in range(k):\n"
        f"            term = get_{d}(x, row * k + j, -1) * get_{d}(z, j * n + column, -1)\n"
        f"            total = to_{d}(total + term)\n"
        f"        set_{d}(y, i, total, 0)\n"
        "    return 0\n"
    )
    words = [(a.buffer, 0), (b.buffer, 0), (target.buffer, target.offset)]
    words += [(t.buffer, 0) for t in tables]
    lowering.emit(text, batch * m * n, [*words, m, k, n], eqn.primitive.name)
    return True
