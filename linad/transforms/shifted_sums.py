"""Sums of windows: what a reverse sweep makes of shifted slices.

Code that reads ``x[1:]`` and ``x[:-1]`` has a gradient that adds two arrays into overlapping
windows of zeros. Done as written that is one pass over memory a window, and zeros before.
Entry by entry it is

    out[i] = sum over the windows k that contain i of  e_k[i - start_k],

so between two ends of windows ``out`` is one elementwise expression of shifted operands. The
axis is cut at the ends; each piece is one write, and fuses into one loop. A slice of an
elementwise expression is the expression of the slices.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from linad.core.indices import Index
from linad.core.regions import Window
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var

SLICED = {
    *("add", "subtract", "multiply", "divide", "negative", "square", "reciprocal", "absolute"),
    *("maximum", "minimum", "where", "astype"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}
"""Elementwise primitives so cheap that a slice of them is computed from slices."""

WORTHWHILE = 64
"""Entries below which zeros, copies and additions are as good."""


DEPTH = 32
"""Operations through which an expression is sliced; what is deeper is computed whole."""


class IntervalSum(NamedTuple):
    """Zeros, with values added at intervals of one axis."""

    shape: Shape
    dtype: Any
    axis: int
    parts: tuple[tuple[int, int, Any], ...]  # start, stop, value


class IntervalRead(NamedTuple):
    """What a sum holds at an interval, to be added to."""

    of: Any
    start: int
    stop: int
    equation: Equation


class Added(NamedTuple):
    """That, with a value added: to be written back."""

    read: IntervalRead
    value: Any
    equation: Equation


class WindowSums:
    """Recognise sums of windows while a tape is simplified.

    What may still become part of a sum is pending, and is emitted when something else asks
    for it.
    """

    def __init__(self, simplifier: Any) -> None:
        self.s = simplifier
        self.pending: dict[Var, IntervalSum | IntervalRead | Added] = {}

    def take(self, eqn: Equation) -> bool:
        """Look at an equation; True where it is pending now."""
        name = eqn.primitive.name
        if name == "copy" and self._pending(eqn.inputs[0]) is not None:
            self.s.stands[eqn.outputs[0]] = eqn.inputs[0]
            return True
        if name == "add_at":
            found: Any = self._begun(eqn)
        elif name in ("getitem", "read_region"):
            found = self._read(eqn)
        elif name == "add":
            found = self._added(eqn)
        elif name == "write_region":
            found = self._written(eqn)
        else:
            return False
        if found is None:
            return False
        self.pending[eqn.outputs[0]] = found
        return True

    def _begun(self, eqn: Equation) -> IntervalSum | None:
        value, shape = eqn.inputs[0], eqn.params["shape"]
        interval = self._interval(eqn.params["index"], shape)
        if interval is None or size_of(shape) < WORTHWHILE or not isinstance(value, Var):
            return None
        axis, start, stop = interval
        if self._length(value, axis) != stop - start:
            return None
        self._emit_pending(value)
        value = self.s.operand(value)
        return IntervalSum(shape, eqn.outputs[0].dtype, axis, ((start, stop, value),))

    @staticmethod
    def _length(value: Any, axis: int) -> int:
        return int(value.shape[axis]) if axis < len(value.shape) else -1

    def _read(self, eqn: Equation) -> IntervalRead | None:
        total = self._sum(eqn.inputs[0])
        if total is None:
            return None
        if "index" in eqn.params:
            interval = self._interval(eqn.params["index"], total.shape)
        else:
            interval = _interval_of_region(eqn.params["region"], total.shape)
        if interval is None or interval[0] != total.axis:
            return None
        return IntervalRead(eqn.inputs[0], interval[1], interval[2], eqn)

    def _added(self, eqn: Equation) -> Added | None:
        for k in (0, 1):
            read, value = self._pending(eqn.inputs[k]), eqn.inputs[1 - k]
            if isinstance(read, IntervalRead) and isinstance(value, Var):
                out = eqn.outputs[0]
                if value.shape == out.shape and value.dtype == out.dtype:
                    self._emit_pending(value)
                    return Added(read, self.s.operand(value), eqn)
        return None

    def _written(self, eqn: Equation) -> IntervalSum | None:
        x, value = eqn.inputs
        total = self._sum(x)
        added = self._pending(value)
        if total is None or not isinstance(added, Added) or added.read.of is not x:
            return None
        interval = _interval_of_region(eqn.params["region"], total.shape)
        read = added.read
        if interval != (total.axis, read.start, read.stop):
            return None
        parts = (*total.parts, (read.start, read.stop, added.value))
        return total._replace(parts=parts)

    def _sum(self, a: Any) -> IntervalSum | None:
        found = self._pending(a)
        return found if isinstance(found, IntervalSum) else None

    def _pending(self, a: Any) -> Any:
        return self.pending.get(a) if isinstance(a, Var) else None

    @staticmethod
    def _interval(index: Any, shape: Shape) -> tuple[int, int, int] | None:
        """The one axis of which a basic index takes an interval: (axis, start, stop)."""
        seeds = (slice(None),) * (len(shape) - len(index))  # axes in front, taken whole
        entries = (*seeds, *index)
        if len(entries) != len(shape) or not all(type(e) is slice for e in entries):
            return None
        spans = [e.indices(n) for e, n in zip(entries, shape, strict=True)]
        if any(step != 1 for _, _, step in spans):
            return None
        return _one_axis([(a, b) for a, b, _ in spans], shape)

    # Emission.

    def _emit_pending(self, a: Any) -> None:
        if isinstance(a, Var) and a in self.pending:
            self.emit(a)

    def emit(self, var: Var) -> None:
        """Emit what is pending for a variable."""
        found = self.pending.pop(var)
        s = self.s
        if isinstance(found, IntervalSum):
            s.stands[var] = self._emitted(found)
        elif isinstance(found, IntervalRead):
            self._emit_pending(found.of)
            s.emit_equation(found.equation)
        else:
            for a in found.equation.inputs:
                self._emit_pending(a)
            s.emit_equation(found.equation)

    def _emitted(self, total: IntervalSum) -> Any:
        """The sum, piece by piece along its axis."""
        s = self.s
        n = total.shape[total.axis]
        cuts = sorted({0, n, *[p[0] for p in total.parts], *[p[1] for p in total.parts]})
        zero = np.zeros((), total.dtype)
        base = s.emit("empty_like", [zero], total.shape, total.dtype, shape=total.shape)
        for start, stop in itertools.pairwise(cuts):
            terms = [
                self.sliced(value, total.axis, start - first, stop - first)
                for first, last, value in total.parts
                if first <= start and stop <= last
            ]
            shape = _with(total.shape, total.axis, stop - start)
            value: Any = np.broadcast_to(np.zeros((), total.dtype), shape)
            if terms:
                value = terms[0]
                for term in terms[1:]:
                    value = s.emit("add", [value, term], shape, total.dtype)
            region = _region(total.shape, total.axis, start, stop)
            base = s.emit("write_region", [base, value], total.shape, total.dtype, region=region)
        return base

    def sliced(self, a: Any, axis: int, start: int, stop: int, depth: int = DEPTH) -> Any:
        """``a[..., start:stop, ...]`` with the slice taken of what ``a`` is made of.

        ``axis`` counts from the left of an array with all axes of the expression.
        """
        s = self.s
        shape = a.shape
        if start == 0 and stop == shape[axis]:
            return a
        if not isinstance(a, Var):
            return np.asarray(a)[(slice(None),) * axis + (slice(start, stop),)]
        key = a, axis, start, stop
        found = s.slices.get(key)
        if found is None:
            found = s.slices[key] = self._slice(a, axis, start, stop, depth)
        return found

    def _slice(self, a: Var, axis: int, start: int, stop: int, depth: int) -> Any:
        s = self.s
        shape = _with(a.shape, axis, stop - start)
        maker = s.maker(a)
        if maker is None or maker.primitive.name not in SLICED or not depth:
            entries = [slice(None)] * len(a.shape)
            entries[axis] = slice(start, stop)
            return s.emit("getitem", [a], shape, a.dtype, index=Index(entries))
        inputs = []
        for b in maker.inputs:
            its = np.shape(b) if not isinstance(b, Var) else b.shape
            k = axis - (len(a.shape) - len(its))
            whole = k < 0 or its[k] == 1
            inputs.append(b if whole else self.sliced(b, k, start, stop, depth - 1))
        return s.emit(maker.primitive.name, inputs, shape, a.dtype, **maker.params)


def _with(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _one_axis(spans: list[tuple[int, int]], shape: Shape) -> tuple[int, int, int] | None:
    """The one axis that is not taken whole."""
    cut = [k for k, (span, n) in enumerate(zip(spans, shape, strict=True)) if span != (0, n)]
    if len(cut) != 1:
        return None
    start, stop = spans[cut[0]]
    return (cut[0], start, stop) if start < stop else None


def _interval_of_region(region: Any, shape: Shape) -> tuple[int, int, int] | None:
    """The same of a window of an array in C order."""
    offset, strides = getattr(region, "offset", None), getattr(region, "strides", None)
    if offset is None or strides is None or len(region.shape) != len(shape):
        return None
    steps = [size_of(shape[k + 1 :]) for k in range(len(shape))]
    if any(
        n != 1 and stride != step
        for n, stride, step in zip(region.shape, strides, steps, strict=True)
    ):
        return None
    spans = []
    for n, step, length in zip(shape, steps, region.shape, strict=True):
        start, offset = divmod(offset, step) if step else (0, 0)
        if start + length > n:
            return None
        spans.append((int(start), int(start + length)))
    return _one_axis(spans, shape)


def _region(shape: Shape, axis: int, start: int, stop: int) -> Any:
    strides = tuple([size_of(shape[k + 1 :]) for k in range(len(shape))])
    return Window(start * strides[axis], _with(shape, axis, stop - start), strides, len(shape))
