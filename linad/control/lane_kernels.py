"""Kernels of loops and branches for a grid: a thread takes a lane through all of it.

    def kernel(p, start, stop):                  # y' = y + h f(y), in n lanes
        n, q0, ... = operand(p, 0), ...
        for lane in range(start, stop):
            a0_0 = get_f8(q0, lane, -1)
            for j in range(n):
                k = j
                t0 = ...                          # statements of one lane of the body
                set_f8(q2, k * w1 + lane, t0, 1)  # rows
                a0_0, = t3,
            set_f8(q3, lane, a0_0, 0)

What is the same in all lanes is computed in each, and stored by the first. Repetitions that need
nothing of each other are lanes themselves.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.ensemble_lanes import PARTIAL, EnsembleLanes
from linad.control.nested import NestedStatements
from linad.control.registers import NotSmallError, Statements, immediate
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import OUTPUTS, indented
from linad.sweeps.places import Place, new_place
from linad.sweeps.rows import WHOLE
from linad.sweeps.steps import Loop

NO_LIMIT = 1 << 62


class Words:
    """The operands of a kernel, and the lines that read them."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}

    def number(self, value: int) -> str:
        """An integer, as a literal where it is part of the text of many programs."""
        return str(value) if value in (0, 1) else self._named(value, value)

    def address(self, place: Place) -> str:
        """Where a place begins."""
        key = place.buffer, place.offset
        return self._named(("at", id(place.buffer), place.offset), key)

    def _named(self, key: Any, value: Any) -> str:
        if key not in self._names:
            self._names[key] = f"w{len(self._names)}"
            self.lines.append(f"    {self._names[key]} = operand(p, {len(self.values)})")
            self.values.append(value)
        return self._names[key]

    def immediates(self, statements: Statements) -> None:
        """The constants of statements, under their names."""
        for name, d, numbers in statements.immediates:
            self.lines.append(f"    {name} = {immediate(d, numbers, len(self.values))}")
            self.values += numbers


class LaneEntries:
    """An array of which a lane has some entries.

    Parameters
    ----------
    words : Words
    place : Place
        In C order; of an array of rows, with their axis first.
    shape : tuple of int
        Of one row, or of the array.
    lanes : int
    axis : int, None or `PARTIAL`
        Of the lanes. Parts of a sum have the lanes behind the other axes.
    mark : int
        What tells the optimiser that nothing else overlaps; -1 for what is only read.
    """

    def __init__(
        self, words: Words, place: Place, shape: Shape, lanes: int, axis: Any, mark: int
    ) -> None:
        self.words, self.axis, self.mark = words, axis, mark
        self.dtype = name_of_dtype(place.dtype)
        self.base = words.address(place)
        if axis == PARTIAL:
            shape, axis = (*shape, lanes), len(shape)
        strides = [size_of(shape[d + 1 :]) for d in range(len(shape))]
        self.size = size_of(shape)
        self.lane = strides[axis] if type(axis) is int else 0
        self._others = [(shape[d], strides[d]) for d in range(len(shape)) if d != axis]

    @functools.cached_property
    def offsets(self) -> list[int]:
        """The numbers of the first lane's entries."""
        lengths, strides = [n for n, _ in self._others], [s for _, s in self._others]
        return [
            sum([i * s for i, s in zip(index, strides, strict=True)])
            for index in np.ndindex(*lengths)
        ]

    def at(self, e: int, row: str = "") -> str:
        """Source of the number of an entry of a lane: the e-th, in a row where there are any."""
        number = self.words.number
        terms = [f"{row} * {number(self.size)}"] if row else []
        if self.lane:
            terms.append("lane" if self.lane == 1 else f"lane * {number(self.lane)}")
        if self.offsets[e]:
            terms.append(number(self.offsets[e]))
        return " + ".join(terms) or "0"

    def loads(self, names: np.ndarray, row: str = "") -> list[str]:
        return [
            f"{t} = get_{self.dtype}({self.base}, {self.at(e, row)}, {self.mark})"
            for e, t in enumerate(names.ravel())
        ]

    def stores(self, names: np.ndarray, row: str = "") -> list[str]:
        """Lines that store the entries; what all lanes have is stored by the first."""
        lines = [
            f"set_{self.dtype}({self.base}, {self.at(e, row)}, {t}, {self.mark})"
            for e, t in enumerate(names.ravel())
        ]
        return self.once(lines)

    def once(self, lines: list[str]) -> list[str]:
        """Lines that store: only in the first lane, where all lanes would store the same."""
        if self.axis is not WHOLE:
            return lines
        return ["if lane == 0:", *indented(lines)]

    def copied(self, target: str, source: str) -> list[str]:
        """Lines that copy the entries of a row to another row."""
        lines = []
        for e in range(len(self.offsets)):
            value = f"get_{self.dtype}({self.base}, {self.at(e, source)}, {self.mark})"
            to = self.at(e, target)
            lines.append(f"set_{self.dtype}({self.base}, {to}, {value}, {self.mark})")
        return self.once(lines)


class LaneBody:
    """A body in lanes as statements, and its operands and results in a kernel.

    Parameters
    ----------
    lanes : EnsembleLanes
    carries, rows : int
        How many of the inputs are carries, and how many are rows.
    memory : set of int
        Inputs that stay in memory.

    Raises
    ------
    NotSmallError
        If it does not fit into registers.
    """

    def __init__(
        self, lanes: EnsembleLanes, carries: int, rows: int, memory: set[int], **more: Any
    ) -> None:
        self.lanes, self.carries, self.rows = lanes, carries, rows
        if lanes.n > 1 and any(k < carries or lanes.inputs[k] is not WHOLE for k in memory):
            raise NotSmallError
        self.statements = NestedStatements(lanes.tape, lanes.target, carries, memory, **more)

    def operands(self, words: Words, places: Sequence[Place]) -> list[LaneEntries]:
        """Its operands, in the order of its inputs."""
        nc, nx, n = self.carries, self.rows, self.lanes.n
        return [
            LaneEntries(words, p, p.shape[1:] if nc <= k < nc + nx else p.shape, n, axis, -1)
            for k, (p, axis) in enumerate(zip(places, self.lanes.inputs, strict=True))
        ]

    @property
    def in_memory(self) -> list[int]:
        """The carries that no local variables hold."""
        return [k for k in range(self.carries) if self.memory_of(k)]

    def memory_of(self, k: int) -> bool:
        return self.statements.inputs[k] is None


def tables_of(lowering: Any, lanes: EnsembleLanes) -> list[Place]:
    """Where the constants are that have an entry for each lane."""
    return [lowering.place_of(a) for a in lanes.tables]


def zeros(names: np.ndarray, d: str) -> list[str]:
    return [f"{t} = to_{d}(0)" for t in names.ravel()]


def add_up(lowering: Any, part: Place, axis: int, result: Place, start: Place | None) -> None:
    """Add the instructions that sum parts along an axis, and add what the sum starts from."""
    total = result if start is None else new_place(result.shape, result.dtype)
    x, y = Var(0, part.shape, part.dtype), Var(1, total.shape, total.dtype)
    summed = Equation(Primitive.registry["sum"], (x,), {"axes": (axis,)}, (y,))
    lowering.emit_loop(Loop(part.shape, [summed]), {x: part, y: total}, {y})
    if start is not None:
        z, s = Var(2, result.shape, result.dtype), Var(3, result.shape, result.dtype)
        added = Equation(Primitive.registry["add"], (s, y), {}, (z,))
        lowering.emit_loop(Loop(result.shape, [added]), {y: total, s: start, z: result}, {z})


def emit_repeat(
    lowering: Any,
    owner: Any,
    body: LaneBody,
    counter: Place | None,
    places: list[Place],
    results: list[Place],
) -> None:
    """Add the kernel of a loop."""
    s, nc, lanes = body.statements, body.carries, body.lanes
    words = Words()
    places = [*places, *tables_of(lowering, lanes)]
    n = words.number(owner.n)
    if counter is not None:
        words.lines.append(f"    n = get_i8({words.address(counter)}, 0, -1)")
        n = "n"
    stored, sums = _stored(lowering, words, body, counter, places, results)
    given = body.operands(words, places)
    words.immediates(s)
    first, each = _read_first_and_each(words, body, places, given, stored)
    each += s.lines
    for j in range(nc, len(results)):
        each += stored[j].stores(s.outputs[j], "k")
    each += s.moved()
    if nc:
        last: list[str] = []
        for j in range(nc):
            if not body.memory_of(j):
                last += stored[j].stores(s.inputs[j])
        order = f"{n} - 1 - j" if owner.reverse else "j"
        lines = ["for lane in range(start, stop):", *indented(first)]
        lines += [f"    for j in range({n}):", f"        k = {order}", *indented(each, 8)]
        lines += indented(last)
        extent = lanes.n
    else:
        extent, many = lanes.n * owner.n, words.number(lanes.n)
        lines = ["for i in range(start, stop):", f"    lane = i % {many}", f"    k = i // {many}"]
        inner = [*first, *each]
        if counter is not None:
            lines.append(f"    if k < {n}:")
        lines += indented(inner, 4 if counter is None else 8)
    _emit(lowering, words, lines, extent, f"repeat {owner.n} x", lanes.n)
    for part, result, start in sums:
        add_up(lowering, part, len(result.shape), result, start)


def _stored(
    lowering: Any,
    words: Words,
    body: LaneBody,
    counter: Place | None,
    places: list[Place],
    results: list[Place],
) -> tuple[list[LaneEntries], list[tuple[Place, Place, Place | None]]]:
    """Where results are written, and the sums that follow: parts, result, what it starts from."""
    nc, lanes = body.carries, body.lanes
    stored = []
    sums: list[tuple[Place, Place, Place | None]] = []
    for j, (place, axis) in enumerate(zip(results, lanes.outputs, strict=True)):
        shape = place.shape if j < nc else place.shape[1:]
        if axis == PARTIAL:
            part = new_place((*place.shape, lanes.n), place.dtype)
            sums.append((part, place, places[j] if j < nc else None))
            place = part
            if counter is not None and j >= nc:
                lowering.fill(place, 0)  # of rows that no repetition makes
        stored.append(LaneEntries(words, place, shape, lanes.n, axis, min(j, OUTPUTS)))
    return stored, sums


def _read_first_and_each(
    words: Words,
    body: LaneBody,
    places: list[Place],
    given: list[LaneEntries],
    stored: list[LaneEntries],
) -> tuple[list[str], list[str]]:
    """Lines that read operands: what a lane does first, and what each repetition does."""
    s, nc, nx = body.statements, body.carries, body.rows
    first: list[str] = []
    each: list[str] = []
    for i, entries in enumerate(given):
        is_row = nc <= i < nc + nx
        if body.memory_of(i):
            base = stored[i].base if i < nc else entries.base
            item = places[i].dtype.itemsize
            line = f"m{i} = {base}"
            (each if is_row else first).append(
                f"{line} + k * {words.number(entries.size * item)}" if is_row else line
            )
        elif entries.axis == PARTIAL:
            assert entries.dtype is not None
            first += zeros(s.inputs[i], entries.dtype)
        else:
            (each if is_row else first).extend(entries.loads(s.inputs[i], "k" if is_row else ""))
    return first, each


def emit_while(
    parts: tuple[LaneBody, LaneBody],
    lowering: Any,
    owner: Any,
    places: list[Place],
    results: list[Place],
) -> None:
    """Add the kernel of a while loop, whose test and body these are."""
    test, body = parts
    asked, s, nc, lanes = test.statements, body.statements, body.carries, body.lanes
    words = Words()
    limit = words.number(NO_LIMIT if owner.limit is None else owner.limit)
    given = body.operands(words, [*places, *tables_of(lowering, lanes)])
    axes = lanes.outputs
    last = [
        LaneEntries(words, p, p.shape, lanes.n, a, min(j, OUTPUTS))
        for j, (p, a) in enumerate(zip(results[:nc], axes, strict=True))
    ]
    counts = [
        LaneEntries(words, p, (), lanes.n, WHOLE, min(nc + j, OUTPUTS))
        for j, p in enumerate(results[nc : nc + 2 if owner.kept else nc + 1])
    ]
    kept = [
        LaneEntries(words, p, p.shape[1:], lanes.n, a, min(nc + 2 + j, OUTPUTS))
        for j, (p, a) in enumerate(zip(results[nc + 2 :], axes, strict=False))
    ]
    words.immediates(asked)
    words.immediates(s)
    lines = []
    for i, entries in enumerate(given):
        if body.memory_of(i):
            base = last[i].base if i < nc else entries.base
            lines.append(f"m{i} = {base}")
        else:
            lines += entries.loads(s.inputs[i])
    lines += ["k, row, following, stride = 0, 0, 0, 1", "while True:"]
    lines += indented(asked.lines)
    lines += [f"    if not {asked.outputs[0].ravel()[0]}:", "        break"]
    lines += [f"    if k == {limit}:", f"        return {NO_RESULT}"]
    if kept:
        lines += indented(_keeping(words, owner, body, kept, last))
    lines += indented([*s.lines, *s.moved()])
    lines.append("    k += 1")
    for j in range(nc):
        if not body.memory_of(j):
            lines += last[j].stores(s.inputs[j])
    for entries, name in zip(counts, ("k", "stride"), strict=False):
        lines += entries.stores(np.array(name, object))
    text = ["for lane in range(start, stop):", *indented(lines)]
    _emit(lowering, words, text, lanes.n, "while", lanes.n)


def _keeping(
    words: Words, owner: Any, body: LaneBody, kept: list[LaneEntries], last: list[LaneEntries]
) -> list[str]:
    """Lines that keep the carries of a repetition as a row; where they are full, most rows go."""
    full, leap = words.number(owner.kept), words.number(owner.leap)
    s = body.statements
    lines = ["if k == following:", f"    if row == {full}:"]
    lines += [f"        fewer = {leap} if stride == 1 else 2"]
    lines += [f"        row = ({full} + fewer - 1) // fewer", "        stride = fewer * stride"]
    lines += ["        following = row * stride", "        for j in range(1, row):"]
    lines += indented([t for r in kept for t in r.copied("j", "fewer * j")], 12)
    lines += ["    if k == following:"]
    for i, rows in enumerate(kept):
        if body.memory_of(i):
            held = [
                f"get_{rows.dtype}(m{i}, {last[i].at(e)}, {last[i].mark})"
                for e in range(len(rows.offsets))
            ]
            lines += indented(rows.stores(np.array(held, object), "row"), 8)
        else:
            lines += indented(rows.stores(s.inputs[i], "row"), 8)
    return [*lines, "        row += 1", "        following = row * stride"]


def emit_branch(
    lowering: Any, branches: list[LaneBody], index: Place, places: list[Place], results: list[Place]
) -> None:
    """Add the kernel of a choice."""
    words, lanes = Words(), branches[0].lanes
    which = f"get_i8({words.address(index)}, 0, -1)"
    stored = [
        LaneEntries(words, p, p.shape, lanes.n, a, min(j, OUTPUTS))
        for j, (p, a) in enumerate(zip(results, lanes.outputs, strict=True))
    ]
    lines = [f"which = {which}", f"if which < 0 or which >= {len(branches)}:"]
    lines.append(f"    return {NO_RESULT}")
    for b, branch in enumerate(branches):
        s = branch.statements
        given = branch.operands(words, [*places, *tables_of(lowering, branch.lanes)])
        words.immediates(s)
        inner = []
        for i, entries in enumerate(given):
            if branch.memory_of(i):
                inner.append(f"m{i} = {entries.base}")
            else:
                inner += entries.loads(s.inputs[i])
        inner += s.lines
        for entries, names in zip(stored, s.outputs, strict=True):
            inner += entries.stores(names)
        lines += [f"if which == {b}:", *indented(inner)]
    text = ["for lane in range(start, stop):", *indented(lines)]
    _emit(lowering, words, text, lanes.n, f"one of {len(branches)} branches", lanes.n)


def _emit(lowering: Any, words: Words, lines: list[str], extent: int, what: str, n: int) -> None:
    text = ["def kernel(p, start, stop):", *words.lines, *indented(lines), "    return 0", ""]
    where = "in one thread" if extent == 1 else f"in {extent} threads"
    lowering.emit("\n".join(text), extent, words.values, f"{what}, {where}")
