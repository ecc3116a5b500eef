"""What a loop adds up in parts of an array is added in these parts.

A body that reads rows and slices of an array from outside has a pull that adds their cotangents to
a total, which goes from repetition to repetition:

    total + (zeros with v in rows [1] of them + zeros with w in the slice [:3])

becomes

    total with  total[1] + v  in [1],  total[:3] + w  in [:3]

where the parts have no entry in common. Nothing is as large as the total any more but the total.
All parts are read before the first is written, so that one loop over entries adds all those that it
makes the summands of, in the memory of the total.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from linad.control.moving_places import window_of
from linad.core.primitive import Primitive
from linad.core.regions import Window, read_region, write_region
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Tape, Var, needed
from linad.sweeps.places import c_strides, new_place, window_place

READS = {"getitem", "read_region", "view_region"}

MOST = 48
"""Parts of one total: each is compared with all others."""


class _Part(NamedTuple):
    """Values that are added in a window of an array."""

    window: Window
    value: Any


def sums_in_place(tape: Tape, carries: int) -> Tape:
    """The same program; what it adds in parts of carries is added there."""
    for j in range(carries):
        tape = _Total(tape, j).tape()
    return tape


class _Total:
    """A carry of a tape, and what is added to it."""

    def __init__(self, whole: Tape, j: int) -> None:
        self.whole, self.j = whole, j
        self.carry, self.out = whole.inputs[j], whole.outputs[j]
        self.made = {v: e for e in whole.equations for v in e.outputs}
        self.uses = Counter([a for e in whole.equations for a in e.inputs if isinstance(a, Var)])
        self.uses.update([a for a in whole.outputs if isinstance(a, Var)])
        self.count = 1 + max([v.index for v in (*whole.inputs, *self.made)])

    def tape(self) -> Tape:
        parts = self._parts_added()
        if not parts or not _apart(parts, self.carry.shape):
            return self.whole
        t = self.whole
        last = self.made[self.out]
        add = last.primitive
        read, added, written = [], [], []
        total = self.carry
        for window, values in parts.items():
            shape, dtype = window.shape, self.carry.dtype
            value = values[0]
            for more in values[1:]:
                added.append(self._new(add, (value, more), shape, dtype, last))
                value = added[-1].outputs[0]
            held = self._new(read_region, (self.carry,), shape, dtype, last, region=window)
            summed = self._new(add, (held.outputs[0], value), shape, dtype, last)
            write = (total, summed.outputs[0])
            written.append(
                self._new(write_region, write, self.carry.shape, dtype, last, region=window)
            )
            total = written[-1].outputs[0]
            read.append(held)
            added.append(summed)
        outputs = [*t.outputs]
        outputs[self.j] = total
        kept = needed([*t.equations, *read, *added, *written], outputs)
        return Tape(t.name, t.inputs, kept, outputs, t.in_tree, t.out_tree)

    def _new(
        self, primitive: Primitive, inputs: Sequence[Any], shape: Shape, dtype: Any, of: Equation,
        **params: Any,
    ) -> Equation:  # fmt: skip
        self.count += 1
        made = Var(self.count, shape, dtype)
        return Equation(primitive, tuple(inputs), params, (made,), of.source)

    def _parts_added(self) -> "dict[Window, list[Any]] | None":
        """The windows of the carry in which something is added, with what; None if that is not
        all that becomes of it."""
        carry, out = self.carry, self.out
        last = self.made.get(out) if isinstance(out, Var) else None
        if last is None or last.primitive.name != "add":
            return None
        others = [a for a in last.inputs if a is not carry]
        if len(others) != 1:
            return None
        if (out.shape, out.dtype) != (carry.shape, carry.dtype):
            return None
        if self.uses[carry] != 1 or self.uses[out] != 1:
            return None
        found = self._parts(others[0])
        if not found or len(found) > MOST:
            return None
        gathered: dict[Any, tuple[Window, list[Any]]] = {}
        for window, value in found:
            gathered.setdefault(window.key, (window, []))[1].append(value)
        return dict(gathered.values())

    def _parts(self, a: Any) -> list[_Part] | None:
        """An array as zeros with values added in windows; None if it is no such array."""
        e = self.made.get(a) if isinstance(a, Var) and self.uses[a] == 1 else None
        if e is None or a.dtype != self.carry.dtype:
            return None
        name = e.primitive.name
        if name == "add":
            return _both(*[self._parts(b) for b in e.inputs])
        if name in ("add_at", "insert_region"):
            return self._inserted(e.params, e.inputs[0], a.shape)
        if name == "write_region":
            return self._written(e)
        return None

    def _written(self, e: Equation) -> list[_Part] | None:
        """What a write leaves: where it wrote what was there and more, or where nothing was."""
        before, value = e.inputs
        shape = e.outputs[0].shape
        window = _window(e.params, shape)
        if window is None or not isinstance(value, Var) or value.shape != window.shape:
            return None
        added = self.made.get(value) if self.uses[value] == 1 else None
        if added is not None and added.primitive.name == "add":
            for held, more in (added.inputs, added.inputs[::-1]):
                if _is_zero(held) and np.shape(more) == value.shape:
                    value = more
                    break
                again = self._holds(held, before, window)
                if again is not None:
                    self.uses[again] -= 1  # read once more, by this very sum
                    parts = self._parts(before)
                    self.uses[again] += 1
                    return _both(parts, self._in_window(window, more, shape))
        parts, more = self._parts(before), self._in_window(window, value, shape)
        if parts is None or more is None:
            return None
        alone = not any([_overlap(part.window, window, shape) for part in parts])
        return parts + more if alone else None

    def _holds(self, a: Any, array: Any, window: Window) -> Any:
        """The variable that is read to have what an array holds in a window, if ``a`` is that: the
        array, or what was just written there."""
        e = self.made.get(a) if isinstance(a, Var) else None
        if e is not None and e.primitive.name in READS and e.inputs[0] is array:
            there = _window(e.params, array.shape)
            return array if there is not None and there.same(window) and self.uses[a] == 1 else None
        last = self.made.get(array) if isinstance(array, Var) else None
        if last is None or last.primitive.name != "write_region" or last.inputs[1] is not a:
            return None
        there = _window(last.params, array.shape)
        return a if there is not None and there.same(window) else None

    def _inserted(self, params: Any, value: Any, shape: Shape) -> list[_Part] | None:
        window = _window(params, shape)
        return None if window is None else self._in_window(window, value, shape)

    def _in_window(self, window: Window, value: Any, shape: Shape) -> list[_Part] | None:
        """A value in a window of zeros of a shape; where it is such a value itself, its parts."""
        if not isinstance(value, Var) or value.shape != window.shape:
            return None
        if value.dtype != self.carry.dtype:
            return None
        one_stretch = _steps(window.shape) == window.strides
        inner = self._parts(value) if one_stretch else None
        if inner is None:
            return [_Part(window, value)]
        n = len(shape)
        return [
            _Part(Window(window.offset + w.offset, w.shape, w.strides, n), v) for w, v in inner
        ]


def _both(a: list[_Part] | None, b: list[_Part] | None) -> list[_Part] | None:
    return None if a is None or b is None else a + b


def _is_zero(a: Any) -> bool:
    return not isinstance(a, Var) and not np.any(a)


def _steps(shape: Shape) -> Shape:
    """Strides of an array in C order, in entries."""
    return c_strides(shape, np.dtype(np.int8))


def _window(params: dict[str, Any], shape: Shape) -> Window | None:
    """The entries that parameters name of an array, axes of seeds among them."""
    if "index" in params:
        index = params["index"]
        lead = len(shape) - len([e for e in index if e is not None])
        params = {"index": (*[slice(None)] * lead, *index)}
        found = window_of(params, shape) if lead >= 0 and size_of(shape) else None
        return None if found is None else _moved(found[1], int(found[0]))
    region = params["region"]
    if type(region) is not Window:
        return None
    lead = len(shape) - region.ndim
    strides = (*_steps(shape)[:lead], *region.strides)
    return Window(region.offset, (*shape[:lead], *region.shape), strides, len(shape))


def _moved(window: Window, by: int) -> Window:
    return Window(window.offset + by, window.shape, window.strides, window.ndim)


def _apart(parts: Any, shape: Shape) -> bool:
    """Whether windows have no entry in common."""
    return not any([_overlap(a, b, shape) for a, b in combinations(parts, 2)])


def _overlap(a: Window, b: Window, shape: Shape) -> bool:
    """Whether two windows of an array may have an entry in common."""
    place = new_place(shape, np.dtype(np.int8))
    first, second = window_place(a, place), window_place(b, place)
    return first is None or second is None or first.overlaps(second)
