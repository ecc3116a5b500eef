"""Instructions that read and write at a place that is computed: what ``x[i]`` is in a loop."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.moving_regions import numbers_at_zero
from linad.core.regions import Part
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous, plain
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, new_place, spread_over
from linad.sweeps.routines import routine

INTEGER = np.dtype(np.int64)


@routine("first_entry")
def first_entry(lowering: Any, eqn: Equation) -> bool:
    size, reach, width = (eqn.params[k] for k in ("size", "reach", "width"))
    i = lowering.place_of(eqn.inputs[0])
    if not plain(lowering, i) or i.dtype.kind not in "iu":
        return False
    index = new_place((), INTEGER)
    lowering.copy(index, i)
    out = lowering.result(eqn.outputs[0])
    text = (
        "def kernel(p, start, stop):\n"
        "    k = get_i8(operand(p, 0), 0, -1)\n"
        f"    if k >= {size - reach} or k < {-size} or {min(0, 1 - width)} <= k < 0:\n"
        f"        return {NO_RESULT}\n"
        "    if k < 0:\n"
        f"        k = k + {size}\n"
        "    set_i8(operand(p, 1), 0, k, 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, 1, [(index.buffer, 0), (out.buffer, 0)], "first_entry")
    return True


@routine("read_moving")
def read_moving(lowering: Any, eqn: Equation) -> bool:
    x, at = eqn.inputs
    out = eqn.outputs[0]
    place = lowering.place_of(x)
    if not plain(lowering, place) or place.dtype != out.dtype or not size_of(out.shape):
        return False
    place = contiguous(lowering, place)
    index = _index(lowering, at)
    entries = _offsets_at_zero(eqn, place)
    if index is None or entries is None:
        return False
    target = lowering.result(out)
    d = name_of_dtype(out.dtype)
    _emit(lowering, f"set_{d}(y, i, get_{d}({{x}}, -1), 0)", entries, index, place, target, eqn)
    return True


@routine("write_moving", "add_moving")
def write_moving(lowering: Any, eqn: Equation) -> bool:
    x, value, at = eqn.inputs
    return _written(lowering, eqn, x, value, at)


@routine("insert_moving")
def insert_moving(lowering: Any, eqn: Equation) -> bool:
    value, at = eqn.inputs
    return _written(lowering, eqn, None, value, at)


def _written(lowering: Any, eqn: Equation, x: Any, value: Any, at: Any) -> bool:
    out, region = eqn.outputs[0], eqn.params["region"]
    source = lowering.place_of(value)
    if not plain(lowering, source) or name_of_dtype(out.dtype) is None or not size_of(out.shape):
        return False
    if x is not None and lowering.place_of(x).dtype != out.dtype:
        return False
    index = _index(lowering, at)
    entries = _offsets_at_zero(eqn, new_place(out.shape, out.dtype))
    if index is None or entries is None:
        return False
    lead = out.shape[: len(out.shape) - region.ndim]
    source = spread_over(source, lead + region.shape, 0)
    shares = x is not None and source.buffer is lowering.place_of(x).buffer
    if shares or source.dtype != out.dtype or not source.contiguous:
        given, source = source, new_place(source.shape, out.dtype)
        lowering.copy(source, given)
    if x is None:
        target = lowering.result(out)
        lowering.fill(target, 0)
    else:
        target = lowering.writable(x, out)
    d = name_of_dtype(out.dtype)
    value_of = f"get_{d}(x, i, -1)"
    if eqn.primitive.name == "add_moving":
        value_of = f"to_{d}(get_{d}({{y}}, 0) + {value_of})"
    _emit(lowering, f"set_{d}({{y}}, {value_of}, 0)", entries, index, source, target, eqn)
    return True


STRETCH = """def kernel(p, start, stop):
    a = get_i8(operand(p, 0), 0, -1) + operand(p, 1)
    x, y = operand(p, 2), operand(p, 3)
    for i in range(start, stop):
        {line}
    return 0
"""
"""Of entries that lie side by side. Operands: how far they are moved, the first, two arrays."""

LISTED = """def kernel(p, start, stop):
    a = get_i8(operand(p, 0), 0, -1)
    q, x, y = operand(p, 1), operand(p, 2), operand(p, 3)
    for i in range(start, stop):
        {line}
    return 0
"""
"""Of others. Operands: how far they are moved, where each is (in bytes), two arrays."""


def _emit(
    lowering: Any, line: str, entries: Array, index: Place, x: Place, y: Place, eqn: Equation
) -> None:
    """Add a kernel; where the line says ``{x}`` or ``{y}``, that array is at the moved entry."""
    item = x.dtype.itemsize
    first = int(entries[0])
    if np.array_equal(entries, first + item * np.arange(entries.size)):
        named: Any = first // item
        text = STRETCH.replace("{line}", line.format(x="x, a + i", y="y, a + i"))
    else:
        table = constant_place(entries)
        named = table.buffer, table.offset
        at = "{} + get_i8(q, i, -1), a"
        text = LISTED.replace("{line}", line.format(x=at.format("x"), y=at.format("y")))
    words = [(index.buffer, index.offset), named]
    words += [(p.buffer, p.offset) for p in (x, y)]
    lowering.emit(text, entries.size, words, eqn.primitive.name)


def _index(lowering: Any, at: Any) -> Place | None:
    place: Place = lowering.place_of(at)
    return contiguous(lowering, place) if place.dtype == INTEGER else None


def _offsets_at_zero(eqn: Equation, place: Place) -> Any:
    """Offsets, in bytes, of the entries that are named where the region lies at 0."""
    region = eqn.params["region"]
    if type(region) is Part:
        return None
    inner = place.shape[len(place.shape) - region.ndim :]
    lead = np.arange(size_of(place.shape[: len(place.shape) - region.ndim]))
    numbers = np.add.outer(lead * size_of(inner), numbers_at_zero(region))
    return np.ascontiguousarray(numbers.ravel(), np.int64) * place.dtype.itemsize
