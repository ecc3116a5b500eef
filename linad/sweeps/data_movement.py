"""Instructions that are not loops: copies, gathers, scatters, guards.

What their kernels do to one number of a range depends on no other, except in a scatter, which
the target writes.
"""

from itertools import product
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.instructions import GUARD_FAILED
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_reductions import REDUCTIONS, axes_of, identity
from linad.sweeps.places import Place, constant_place, moved, new_place, view_place
from linad.sweeps.routines import routine


def plain(lowering: Any, place: Place) -> bool:
    """Whether kernels of the target know the dtype."""
    return bool(lowering.target.takes(place.dtype))


# Copies.


def contiguous(lowering: Any, place: Place) -> Place:
    """The place, copied if it has gaps."""
    if place.contiguous:
        return place
    fresh = new_place(place.shape, place.dtype)
    lowering.copy(fresh, place)
    return fresh


def in_dtype(lowering: Any, place: Place, dtype: np.dtype[Any]) -> Place:
    """The place, copied if its dtype is another."""
    if place.dtype == dtype:
        return place
    cast = new_place(place.shape, dtype)
    if size_of(place.shape):
        lowering.copy(cast, place)
    return cast


@routine("empty_like")
def empty(lowering: Any, eqn: Equation) -> bool:
    """Memory that will be written."""
    lowering.result(eqn.outputs[0])
    return True


@routine(*REDUCTIONS)
def of_no_entries(lowering: Any, eqn: Equation) -> bool:
    """A reduction of nothing, which is no loop."""
    name, out, axes = eqn.primitive.name, eqn.outputs[0], axes_of(eqn)
    known = axes is not None and out.dtype.kind in REDUCTIONS[name].kinds
    if not known or size_of(eqn.inputs[0].shape) or name_of_dtype(out.dtype) is None:
        return False
    lowering.fill(lowering.result(out), identity(name, out.dtype))
    return True


@routine("concatenate")
def concatenate(lowering: Any, eqn: Equation) -> bool:
    out = eqn.outputs[0]
    pieces = [lowering.place_of(a) for a in eqn.inputs]
    if name_of_dtype(out.dtype) is None or not all(plain(lowering, p) for p in pieces):
        return False
    target = lowering.places.get(out) or lowering.result(out)
    for k, source in enumerate(pieces):
        part = piece(target, eqn, k)
        if size_of(source.shape) and not source.same(part):
            lowering.copy(part, source)
    return True


@routine("pad")
def pad(lowering: Any, eqn: Equation) -> bool:
    """A constant border."""
    out, widths = eqn.outputs[0], eqn.params["widths"]
    x = lowering.place_of(eqn.inputs[0])
    values = np.unique(np.asarray(eqn.params["values"]))
    if values.size != 1 or not plain(lowering, x) or x.dtype != out.dtype or not size_of(x.shape):
        return False
    target = lowering.result(out)
    inside = tuple([(before, n) for (before, _), n in zip(widths, x.shape, strict=True)])
    # Below some size one instruction for all costs less than several for the border.
    for part in _borders(target, inside) if size_of(out.shape) >= LARGE else [target]:
        lowering.fill(part, values[0])
    lowering.copy(_box(target, inside), x)
    return True


LARGE = 4096
"""Entries from which on only the border of a padded array is filled."""

Box = tuple[tuple[int, int], ...]
"""On each axis where a part begins, and how long it is."""


def _box(place: Place, box: Box) -> Place:
    start = sum([first * s for (first, _), s in zip(box, place.strides, strict=True)])
    shape = tuple([n for _, n in box])
    return Place(place.buffer, place.offset + start, shape, place.strides, place.dtype)


def _borders(place: Place, inside: Box) -> list[Place]:
    """What is around a part: before and after it on each axis, of the axes behind all."""
    found = []
    for axis, (first, n) in enumerate(inside):
        whole = [(0, m) for m in place.shape[axis + 1 :]]
        last = first + n
        for strip in ((0, first), (last, place.shape[axis] - last)):
            if strip[1]:
                found.append(_box(place, (*inside[:axis], strip, *whole)))
    return found


def piece(target: Place, eqn: Equation, k: int) -> Place:
    """Where the k-th operand of a concatenation goes."""
    axis = eqn.params["axis"]
    start = sum([a.shape[axis] for a in eqn.inputs[:k]])
    offset = target.offset + start * target.strides[axis]
    return Place(target.buffer, offset, eqn.inputs[k].shape, target.strides, target.dtype)


# Entries by number.


@routine("roll")
def roll(lowering: Any, eqn: Equation) -> bool:
    """Two parts along each axis that is rolled change places; small ones are read by number."""
    out, source = eqn.outputs[0], lowering.place_of(eqn.inputs[0])
    by = [0] * len(out.shape)
    for shift, axis in zip(eqn.params["shifts"], eqn.params["axes"], strict=True):
        by[axis] += shift
    parts = []
    for n, shift in zip(out.shape, by, strict=True):
        k = shift % n if n else 0
        parts.append([((0, n - k), (k, n - k)), ((n - k, k), (0, k))] if k else [((0, n), (0, n))])
    moves = list(product(*parts))
    few = size_of(out.shape) < SMALL * len(moves)
    if few or lowering.target.is_grid or not plain(lowering, source) or source.dtype != out.dtype:
        return gather(lowering, eqn)
    target = lowering.result(out)
    for move in moves:
        taken, put = zip(*move, strict=True)
        lowering.copy(_box(target, put), _box(source, taken))
    return True


SMALL = 16
"""Entries of a part of a rolled array up to which reading by number, in one instruction, is faster;
a grid of threads is fastest by that."""


@routine("getitem", "read_region", "reshape")
def gather(lowering: Any, eqn: Equation) -> bool:
    """A selection of entries that is not a view, as transposed and diagonal ones always are."""
    out = eqn.outputs[0]
    place = lowering.place_of(eqn.inputs[0])
    if not plain(lowering, place) or place.dtype != out.dtype or not size_of(out.shape):
        return False
    offsets = eqn.primitive.impl(moved(place, None), **eqn.params)
    table = constant_place(np.asarray(offsets, np.int64))
    target = lowering.result(out)
    d = name_of_dtype(out.dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    x = operand(p, 1)\n    y = operand(p, 2)\n"
        "    for i in range(start, stop):\n"
        f"        set_{d}(y, i, get_{d}(x + get_i8(q, i, -1), 0, -1), 0)\n"
        "    return 0\n"
    )
    words = [(table.buffer, 0), (place.buffer, 0), (target.buffer, 0)]
    lowering.emit(text, size_of(out.shape), words, eqn.primitive.name)
    return True


def scatter_in_order(
    lowering: Any, target: Place, numbers: Array, source: Place, add: bool
) -> None:
    """Set, or add to, the entries of ``target`` of these numbers, one after the other."""
    d = name_of_dtype(target.dtype)
    held = f"get_{d}(y + get_i8(q, i, -1), 0, 0) + " if add else ""
    value = f"{held}get_{d}(x, i, -1)"
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    x = operand(p, 1)\n    y = operand(p, 2)\n"
        "    for i in range(start, stop):\n"
        f"        set_{d}(y + get_i8(q, i, -1), 0, to_{d}({value}), 0)\n"
        "    return 0\n"
    )
    table = constant_place(moved(target, np.asarray(numbers).ravel()))
    source = contiguous(lowering, source)
    words = [(table.buffer, 0), (source.buffer, source.offset), (target.buffer, 0)]
    lowering.emit(text, table.shape[0], words, "scatter add" if add else "scatter")


def scatter_write(lowering: Any, target: Place, region: Any, value: Any) -> bool:
    """Write into entries that are not a view."""
    if not plain(lowering, target) or region.dtype_in(target.dtype) != target.dtype:
        return False
    numbers = region.numbers(target.shape)
    spread = lowering.place_of(value)
    as_it_is = spread.shape == numbers.shape and spread.dtype == target.dtype
    if not (as_it_is and spread.contiguous and spread.buffer is not target.buffer):
        source, spread = spread, new_place(numbers.shape, target.dtype)
        lowering.copy(spread, source)
    lowering.target.scatter(lowering, target, numbers, spread, add=False)
    return True


@routine("add_at")
def add_at(lowering: Any, eqn: Equation) -> bool:
    values, out = lowering.place_of(eqn.inputs[0]), eqn.outputs[0]
    if not plain(lowering, values) or not size_of(out.shape) or values.dtype != out.dtype:
        return False
    target = lowering.result(out)
    lowering.fill(target, 0)
    if not size_of(values.shape):
        return True
    index = eqn.params["index"]
    if not index.advanced:
        part = view_place(Primitive.registry["getitem"], {"index": index}, target)
        if part is not None and part.shape == values.shape:
            lowering.copy(part, values)
            return True
    numbers = np.arange(size_of(out.shape)).reshape(out.shape)[index.seeded]
    lowering.target.scatter(lowering, target, numbers, values, add=True)
    return True


@routine("insert_region")
def insert_region(lowering: Any, eqn: Equation) -> bool:
    value, out = lowering.place_of(eqn.inputs[0]), eqn.outputs[0]
    region = eqn.params["region"]
    if not plain(lowering, value) or not size_of(out.shape) or value.dtype != out.dtype:
        return False
    target = lowering.result(out)
    lowering.fill(target, 0)
    return scatter_write(lowering, target, region, eqn.inputs[0])


# Guards.

COMPARED = 2**10
"""Words that are compared without a branch in between, several at once."""


@routine("unchanged")
def unchanged(lowering: Any, eqn: Equation) -> bool:
    place = lowering.place_of(eqn.inputs[0])
    if not plain(lowering, place):
        return False
    wanted = constant_place(np.asarray(eqn.params["expected"]))
    size = size_of(place.shape) * place.dtype.itemsize
    unit = next(d for d in ("i8", "i4", "b1") if size % np.dtype(d).itemsize == 0)
    length = size // np.dtype(unit).itemsize
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    e = operand(p, 1)\n"
        "    while start < stop:\n"
        f"        end = min(start + {COMPARED}, stop)\n"
        "        differs = False\n"
        "        for i in range(start, end):\n"
        f"            differs |= get_{unit}(q, i, -1) != get_{unit}(e, i, -1)\n"
        "        if differs:\n"
        f"            return {GUARD_FAILED}\n"
        "        start = end\n"
        "    return 0\n"
    )
    words = [(place.buffer, place.offset), (wanted.buffer, 0)]
    lowering.emit(text, length, words, "unchanged")
    return True


@routine("guard")
def guard(lowering: Any, eqn: Equation) -> bool:
    place = lowering.place_of(eqn.inputs[0])
    expected = np.asarray(eqn.params["expected"])
    d = name_of_dtype(place.dtype)
    if d is None or expected.shape != place.shape:
        return False
    wanted = constant_place(expected.astype(place.dtype))
    place = contiguous(lowering, place)
    unlike = "a != b and (a == a or b == b)" if place.dtype.kind in "fc" else "a != b"
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    e = operand(p, 1)\n"
        "    for i in range(start, stop):\n"
        f"        a, b = get_{d}(q, i, -1), get_{d}(e, i, -1)\n"
        f"        if {unlike}:\n"
        f"            return {GUARD_FAILED}\n"
        "    return 0\n"
    )
    words = [(place.buffer, place.offset), (wanted.buffer, 0)]
    lowering.emit(text, size_of(place.shape), words, "guard")
    return True
