"""Sums of windows: what a reverse sweep makes of shifted slices.

Code that reads ``x[1:]`` and ``x[:-1]`` has a gradient that adds two arrays into overlapping
windows of zeros. Done as written that is one pass over memory a window, and zeros before.
Entry by entry it is

    out[i] = sum over the windows k that contain i of  e_k[i - start_k],

so between two ends of windows ``out`` is one elementwise expression of shifted operands. The
axes are cut at the ends; each piece is one write, and fuses into one loop. An array as large as
the sum, added to it, is a window that is all of it. A slice of an elementwise expression is the
expression of the slices; a slice of a sum is the sum of the parts that lie in it.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from linad.core.indices import Index
from linad.core.regions import Window
from linad.core.shapes import Shape, size_of, with_length
from linad.core.tape import Equation, Var

SLICED = {
    *("add", "subtract", "multiply", "divide", "negative", "square", "reciprocal", "absolute"),
    *("maximum", "minimum", "where", "astype"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}
"""Elementwise primitives so cheap that a slice of them is computed from slices."""

WORTHWHILE = 64
"""Entries below which zeros, copies and additions are as good."""


MOST_PARTS, MOST_PIECES = 16, 9
"""Windows that are cut on several axes, and the pieces they may make: a middle and its borders."""

DEPTH = 32
"""Operations through which an expression is sliced; what is deeper is computed whole."""


Spans = tuple[tuple[int, int], ...]
"""Of a window: start and stop on each axis."""


class WindowPart(NamedTuple):
    """A value that is added in a window: of the value's entries those from ``origin`` on."""

    spans: Spans
    value: Any
    origin: tuple[int, ...]


class WindowSum(NamedTuple):
    """Zeros, with values added in windows."""

    shape: Shape
    dtype: Any
    parts: tuple[WindowPart, ...]
    equation: Equation

    @property
    def cuts(self) -> list[list[int]]:
        """On each axis, where windows begin and end."""
        return [
            sorted({0, n, *[end for part in self.parts for end in part.spans[k]]})
            for k, n in enumerate(self.shape)
        ]

    def within(self, window: Spans) -> "WindowSum":
        """What it holds in a window."""
        parts = []
        for part in self.parts:
            both = _common(part.spans, window)
            if both is not None:
                ahead = zip(part.origin, both, part.spans, strict=True)
                origin = tuple([k + low - start for k, (low, _), (start, _) in ahead])
                moved = zip(both, window, strict=True)
                spans = tuple([(low - start, high - start) for (low, high), (start, _) in moved])
                parts.append(WindowPart(spans, part.value, origin))
        return self._replace(shape=tuple([b - a for a, b in window]), parts=tuple(parts))


class WindowRead(NamedTuple):
    """What a sum holds in a window, to be added to."""

    of: Any
    spans: Spans
    equation: Equation


class Added(NamedTuple):
    """That, with a value added: to be written back."""

    read: WindowRead
    value: Any
    equation: Equation


class WindowSums:
    """Recognise sums of windows while a tape is simplified.

    What may still become part of a sum is pending, and is emitted when something else asks
    for it.
    """

    def __init__(self, simplifier: Any) -> None:
        self.s = simplifier
        self.pending: dict[Var, WindowSum | WindowRead | Added] = {}

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
            found = self._added(eqn) or self._together(eqn)
        elif name == "write_region":
            found = self._written(eqn)
        else:
            return False
        if found is None:
            return False
        self.pending[eqn.outputs[0]] = found
        return True

    def _begun(self, eqn: Equation) -> WindowSum | None:
        value, shape = eqn.inputs[0], eqn.params["shape"]
        spans = _spans_of_index(eqn.params["index"], shape)
        if spans is None or size_of(shape) < WORTHWHILE or not isinstance(value, Var):
            return None
        if value.shape != tuple([b - a for a, b in spans]):
            return None
        self._emit_pending(value)
        part = WindowPart(spans, self.s.operand(value), (0,) * len(shape))
        return WindowSum(shape, eqn.outputs[0].dtype, (part,), eqn)

    def _read(self, eqn: Equation) -> WindowRead | None:
        total = self._sum(eqn.inputs[0])
        if total is None:
            return None
        spans = _spans_of(eqn, total.shape)
        return None if spans is None else WindowRead(eqn.inputs[0], spans, eqn)

    def _added(self, eqn: Equation) -> Added | None:
        for k in (0, 1):
            read, value = self._pending(eqn.inputs[k]), eqn.inputs[1 - k]
            if isinstance(read, WindowRead) and isinstance(value, Var):
                out = eqn.outputs[0]
                if value.shape == out.shape and value.dtype == out.dtype:
                    self._emit_pending(value)
                    return Added(read, self.s.operand(value), eqn)
        return None

    def _together(self, eqn: Equation) -> WindowSum | None:
        """A sum of windows and an array as large, or two of them."""
        out = eqn.outputs[0]
        for a, b in (eqn.inputs, eqn.inputs[::-1]):
            total, other = self._sum(a), self._sum(b)
            if total is None or not isinstance(b, Var) or b.dtype != total.dtype:
                continue
            if b.shape != total.shape or (out.shape, out.dtype) != (total.shape, total.dtype):
                continue
            self._emit_pending(b if other is None else None)
            more = other.parts if other is not None else (_whole(self.s.operand(b)),)
            total = total._replace(parts=(*total.parts, *more), equation=eqn)
            if len(total.parts) <= MOST_PARTS or _axes_cut(total) == 1:
                return total
        return None

    def _written(self, eqn: Equation) -> WindowSum | None:
        x, value = eqn.inputs
        total = self._sum(x)
        added = self._pending(value)
        if total is None or not isinstance(added, Added) or added.read.of is not x:
            return None
        spans = added.read.spans
        if _spans_of(eqn, total.shape) != spans:
            return None
        part = WindowPart(spans, added.value, (0,) * len(spans))
        total = total._replace(parts=(*total.parts, part), equation=eqn)
        return total if len(total.parts) <= MOST_PARTS or _axes_cut(total) == 1 else None

    def _sum(self, a: Any) -> WindowSum | None:
        found = self._pending(a)
        return found if isinstance(found, WindowSum) else None

    def _pending(self, a: Any) -> Any:
        return self.pending.get(a) if isinstance(a, Var) else None

    # Emission.

    def _emit_pending(self, a: Any) -> None:
        if isinstance(a, Var) and a in self.pending:
            self.emit(a)

    def emit(self, var: Var) -> None:
        """Emit what is pending for a variable."""
        found = self.pending.pop(var)
        s = self.s
        if isinstance(found, WindowSum):
            if _pays(found):
                s.stands[var] = self._emitted(found)
            else:
                s.emit_equation(found.equation)
            return
        read = found if isinstance(found, WindowRead) else found.read
        total = self._sum(read.of)
        part = total.within(read.spans) if total is not None else None
        if part is not None and isinstance(found, Added):
            part = part._replace(parts=(*part.parts, _whole(found.value)))
        if part is not None and _pays(part):
            s.stands[var] = self._emitted(part)
        else:
            for a in found.equation.inputs:
                self._emit_pending(a)
            s.emit_equation(found.equation)

    def _emitted(self, total: WindowSum) -> Any:
        """The sum, piece by piece."""
        s = self.s
        zero = np.zeros((), total.dtype)
        base = s.emit("empty_like", [zero], total.shape, total.dtype, shape=total.shape)
        for piece in itertools.product(*[itertools.pairwise(ends) for ends in total.cuts]):
            terms = [
                self._sliced(part, piece)
                for part in total.parts
                if _common(part.spans, piece) == piece
            ]
            shape = tuple([b - a for a, b in piece])
            value: Any = np.broadcast_to(np.zeros((), total.dtype), shape)
            if terms:
                value = terms[0]
                for term in terms[1:]:
                    value = s.emit("add", [value, term], shape, total.dtype)
            region = _region(total.shape, piece)
            base = s.emit("write_region", [base, value], total.shape, total.dtype, region=region)
        return base

    def _sliced(self, part: WindowPart, piece: Spans) -> Any:
        """What of a part lies at a piece of its window."""
        value = part.value
        for axis, (start, stop) in enumerate(piece):
            ahead = part.origin[axis] - part.spans[axis][0]
            value = self.sliced(value, axis, start + ahead, stop + ahead)
        return value

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
        shape = with_length(a.shape, axis, stop - start)
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


def _whole(value: Var) -> WindowPart:
    """A value that is added everywhere."""
    return WindowPart(tuple([(0, n) for n in value.shape]), value, (0,) * len(value.shape))


def _common(a: Spans, b: Spans) -> Spans | None:
    """What two windows have in common."""
    both = [(max(i, k), min(j, m)) for (i, j), (k, m) in zip(a, b, strict=True)]
    return tuple(both) if all([start < stop for start, stop in both]) else None


def _axes_cut(total: WindowSum) -> int:
    """On how many axes windows begin or end."""
    return sum([len(ends) > 2 for ends in total.cuts])


def _pays(total: WindowSum) -> bool:
    """Whether pieces are better than windows added one after the other."""
    if _axes_cut(total) <= 1:
        return bool(total.parts)
    count = math.prod([len(ends) - 1 for ends in total.cuts])
    large = size_of(total.shape) >= WORTHWHILE * count
    return len(total.parts) > 1 and count <= MOST_PIECES and large


def _spans_of(eqn: Equation, shape: Shape) -> Spans | None:
    """The window of an array that is read or written."""
    if "index" in eqn.params:
        return _spans_of_index(eqn.params["index"], shape)
    return _spans_of_region(eqn.params["region"], shape)


def _spans_of_index(index: Any, shape: Shape) -> Spans | None:
    """The window that a basic index takes."""
    seeds = (slice(None),) * (len(shape) - len(index))  # axes in front, taken whole
    entries = (*seeds, *index)
    if len(entries) != len(shape) or not all(type(e) is slice for e in entries):
        return None
    spans = [e.indices(n) for e, n in zip(entries, shape, strict=True)]
    if any(step != 1 or start >= stop for start, stop, step in spans):
        return None
    return tuple([(start, stop) for start, stop, _ in spans])


def _spans_of_region(region: Any, shape: Shape) -> Spans | None:
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
        if not 0 < length <= n - start:
            return None
        spans.append((int(start), int(start + length)))
    return tuple(spans)


def _region(shape: Shape, spans: Spans) -> Any:
    strides = tuple([size_of(shape[k + 1 :]) for k in range(len(shape))])
    offset = sum([start * stride for (start, _), stride in zip(spans, strides, strict=True)])
    return Window(offset, tuple([b - a for a, b in spans]), strides, len(shape))
