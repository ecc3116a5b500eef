"""Instructions that read and add at arrays of positions, which a program has computed or was given.

An array in C order is three axes, as in `linad.sweeps.along_axis`; the middle one is read, or added
to, at the positions. What lies out of bounds stops the program: whoever runs it then finds NumPy's
error.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.sweeps.along_axis import split, words_of
from linad.sweeps.data_movement import contiguous, in_dtype, plain
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place
from linad.sweeps.reads import FOREVER
from linad.sweeps.routines import routine

INTEGER = np.dtype(np.int64)


def _positions(lowering: Any, a: Any) -> Place | None:
    place = lowering.place_of(a)
    if place.dtype.kind not in "iu" or not plain(lowering, place):
        return None
    return contiguous(lowering, in_dtype(lowering, place, INTEGER))


@routine("counted")
def counted(lowering: Any, eqn: Equation) -> bool:
    """Positions from the start of an axis; those who alone read them count for themselves."""
    given, out = _positions(lowering, eqn.inputs[0]), eqn.outputs[0]
    if given is None or out.dtype != INTEGER:
        return False
    if _readers_count(lowering, eqn):
        lowering.result(out, given)
        return True
    y = lowering.result(out)
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    y = operand(p, 1)\n    n = operand(p, 2)\n"
        "    for i in range(start, stop):\n"
        "        k = get_i8(q, i, -1)\n"
        "        if k >= n or k < -n:\n"
        f"            return {NO_RESULT}\n"
        "        set_i8(y, i, select(k < 0, k + n, k), 0)\n"
        "    return 0\n"
    )
    words = [*words_of(given, y), eqn.params["size"]]
    lowering.emit(text, size_of(out.shape), words, "counted")
    return True


def _readers_count(lowering: Any, eqn: Equation) -> bool:
    """Whether all who read positions read entries, or add to them, along the axis counted."""
    out, reads = eqn.outputs[0], lowering.reads
    found = reads.at.get(out, [])
    if not found or len(found) > MOST_READERS or found[-1] == FOREVER or reads.viewed_by.get(out):
        return False
    for k in found:
        reader = getattr(lowering.steps[k], "equation", None)
        if reader is None or reader.primitive.name not in ("gather", "scatter_add"):
            return False
        values, axis = reader.inputs[0], reader.params["axis"]
        size = reader.params["size"] if "size" in reader.params else np.shape(values)[axis]
        if values is out or size != eqn.params["size"] or not size_of(reader.outputs[0].shape):
            return False
    return True


MOST_READERS = 2
"""Readers of positions that count for themselves: a read and its adjoint. More of them would look
at bounds more often than it costs to keep what one look has found."""

HEAD = """def kernel(p, start, stop):
    q, x, y = operand(p, 0), operand(p, 1), operand(p, 2)
    n, m, count = operand(p, 3), operand(p, 4), operand(p, 5)
    for o in range(start, stop):
        for j in range(count):
            k = get_i8(q, j, -1)
{count}            if k < 0 or k >= n:
                return {stop}
            at, here = {place}
"""
"""Goes through entries along an axis of n, ``at``, and those of the array of entries, ``here``."""

COUNT = """            k = select(k < 0, k + n, k)
"""
PLACE_OF_ENTRY, PLACE_OF_ROW = "o * n + k, o * count + j", "(o * n + k) * m, (o * count + j) * m"
"""What waits for no product with m finds the entries of more positions at a time."""

ROWS = """            for i in range(m):
                {line}
    return 0
"""
ENTRIES = """            i = 0
            {line}
    return 0
"""
READ = "set_{d}(y, here + i, get_{d}(x, at + i, -1), 0)"
ADD = "set_{d}(y, at + i, to_{d}(get_{d}(y, at + i, 0) + get_{d}(x, here + i, -1)), 0)"


def _lowered(lowering: Any, line: str, eqn: Equation) -> bool:
    """A loop over entries at positions along an axis: each is read, or added to zeros."""
    out, x = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    if not plain(lowering, x) or x.dtype != out.dtype or not size_of(out.shape):
        return False
    given = eqn.inputs[1]
    q = _positions(lowering, given)
    if q is None:
        return False
    y = lowering.result(out)
    if line is ADD:
        lowering.fill(y, 0)
    x = contiguous(lowering, x)
    along = y if line is ADD else x
    outer, n, inner = split(along.shape, len(along.shape) + eqn.params["axis"])
    maker = lowering.equation_of.get(given) if isinstance(given, Var) else None
    counts = maker is not None and maker.primitive.name == "counted"
    text = HEAD.replace("{stop}", str(NO_RESULT)).replace("{count}", COUNT if counts else "")
    text = text.replace("{place}", PLACE_OF_ROW if inner > 1 else PLACE_OF_ENTRY)
    line_of_dtype = line.format(d=name_of_dtype(y.dtype))
    text += (ROWS if inner > 1 else ENTRIES).replace("{line}", line_of_dtype)
    words = [*words_of(q, x, y), n, inner, size_of(q.shape)]
    lowering.emit(text, outer, words, eqn.primitive.name)
    return True


@routine("gather")
def gather(lowering: Any, eqn: Equation) -> bool:
    """Entries at positions along an axis."""
    return _lowered(lowering, READ, eqn)


@routine("scatter_add")
def scatter_add(lowering: Any, eqn: Equation) -> bool:
    """Zeros, with entries added at positions along an axis, one after the other."""
    return _lowered(lowering, ADD, eqn)


@routine("last_written")
def last_written(lowering: Any, eqn: Equation) -> bool:
    """For each entry which of the positions names it last, one after the other."""
    q, out = _positions(lowering, eqn.inputs[0]), eqn.outputs[0]
    if q is None or out.dtype != INTEGER or not size_of(out.shape):
        return False
    y = lowering.result(out)
    lowering.fill(y, -1)
    text = (
        "def kernel(p, start, stop):\n"
        "    q, y, n = operand(p, 0), operand(p, 1), operand(p, 2)\n"
        "    for i in range(operand(p, 3)):\n"
        "        k = get_i8(q, i, -1)\n"
        "        if k < 0 or k >= n:\n"
        f"            return {NO_RESULT}\n"
        "        set_i8(y, k, i, 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, 1, [*words_of(q, y), size_of(out.shape), size_of(q.shape)], "last written")
    return True
