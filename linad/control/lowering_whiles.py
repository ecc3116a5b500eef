"""While loops as instructions: in registers where test and body are small, or threaded."""

import functools
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from linad.control.lowering_loops import (
    EVERY,
    LONG,
    address_of,
    bytes_of,
    in_memory_of,
    in_text,
    program_of,
    results_of,
    simple,
)
from linad.control.memory_arrays import needing_memory
from linad.control.registers import NotSmallError, Statements, immediate
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.cpu.pulse import PULSE, pulse
from linad.sweeps.cpu.target import CPU
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import OUTPUTS, indented
from linad.sweeps.places import Place, canonical, new_place

NO_LIMIT = 1 << 62


def _copied(indent: int, target: str, source: str) -> str:
    """Lines that copy entries of 1 or 4 bytes: ``target`` and ``source`` are arguments of set and
    get, of entry ``e``."""
    lines = []
    for head, d in (("if narrow != 0:", "b1"), ("else:", "i4")):
        copy = f"set_{d}({target}, get_{d}({source}, 0), 0)"
        lines += [head, "    for e in range(size):", f"        {copy}"]
    return in_text(indent, lines)


THREADED = f"""def kernel(p, start, stop):
    d, limit, capacity, go = operand(p, 0), operand(p, 1), operand(p, 2), operand(p, 3)
    count, strides, carries = operand(p, 4), operand(p, 5), word(d)
    w = operand(p, 7 + 5 * carries)
    fixed, asked, given, taken = word(d + 8), word(d + 16), word(d + 24), word(d + 32)
    at = d + 72
    for i in range(fixed):
        set_word(word(at), operand(p, word(at + 8)) + word(at + 16))
        at += 24
    first = at
    k, row, following, stride = 0, 0, 0, 1
    while True:
        # uses of the carries: in the test, in the body, and where the body puts them
        side = k & 1
        at = first
        for i in range(asked + given + taken):
            which = word(at + 8)
            if i < asked + given:
                base = 6 + which if k == 0 else 6 + (2 - side) * carries + which
            else:
                base = 6 + (1 + side) * carries + which
            set_word(word(at), operand(p, base) + word(at + 16))
            at += 24
        code = word(d + 40)
        while code < word(d + 48):
            status = call_kernel(word(code), code + 32, 0, word(code + 8))
            if status != 0:
                return status
            code += 32 + 8 * word(code + 24)
        if not get_b1(go, 0, 0):
            break
        if k == limit:
            return {NO_RESULT}
        if k % {EVERY} == {EVERY - 1}:
            {in_text(12, pulse("k"))}
        if capacity > 0 and k == following:
            if row == capacity:
                fewer = operand(p, 6 + 5 * carries) if stride == 1 else 2
                row = (capacity + fewer - 1) // fewer
                stride *= fewer
                at = first + 24 * (asked + given + taken)
                for i in range(carries):
                    rows = operand(p, 6 + 4 * carries + i)
                    size, narrow = word(at + 16 * i), word(at + 16 * i + 8)
                    for j in range(1, row):
                        {_copied(24, "rows, j * size + e", "rows, fewer * j * size + e")}
                following = row * stride
            if k == following:
                at = first + 24 * (asked + given + taken)
                for i in range(carries):
                    rows = operand(p, 6 + 4 * carries + i)
                    size, narrow = word(at + 16 * i), word(at + 16 * i + 8)
                    base = operand(p, 6 + i if k == 0 else 6 + (2 - side) * carries + i)
                    {_copied(20, "rows, row * size + e", "base, e")}
                row += 1
                following = row * stride
        code = word(d + 56)
        while code < word(d + 64):
            status = call_kernel(word(code), code + 32, 0, word(code + 8))
            if status != 0:
                return status
            code += 32 + 8 * word(code + 24)
        k += 1
    at = first + 24 * (asked + given + taken)
    for i in range(carries):
        base = operand(p, 6 + i if k == 0 else 6 + (2 - (k & 1)) * carries + i)
        last = operand(p, 6 + 3 * carries + i)
        size, narrow = word(at + 16 * i), word(at + 16 * i + 8)
        if base != last:
            {_copied(12, "last, e", "base, e")}
    set_i8(count, 0, k, 0)
    set_i8(strides, 0, stride, 0)
    return 0
"""
"""The kernel of all threaded while loops. Operands: description, limit, rows, the test's answer,
the number of repetitions, the stride; then carries as they come, two places for them in between,
their last values, rows, the stride after the first, and the words of a pulse. In repetition k the
body reads place (2 - k % 2) and writes (1 + k % 2)."""


Emit = Callable[[Any, Any, list[Place], list[Place]], None]
"""``emit(lowering, owner, operands, results)`` adds the instructions."""

Way = tuple[Emit, Container[int]]
"""What adds the instructions of a loop, and the carries that it computes in place."""


def on_a_cpu(lowering: Any, owner: Any) -> Way | None:
    """How the CPU runs a while loop, or None."""
    statements = _statements(owner)
    if statements:
        in_place = in_memory_of(statements[1], owner.body.carries)
        return functools.partial(_emit_registers, statements), in_place
    programs = _programs(owner, lowering.chosen)
    if programs is None:
        return None
    return functools.partial(_emit_threaded, programs), programs[1].lowering.owned


def lower(lowering: Any, eqn: Equation, way: Callable[[Any, Any], Way | None] = on_a_cpu) -> bool:
    """Add the instructions of a while loop, or say that Python has to run it.

    Parameters
    ----------
    way : callable
        ``way(lowering, owner)``: how the target runs one.
    """
    owner: Any = eqn.primitive
    variables = owner.body.tape.inputs
    if any(name_of_dtype(v.dtype) is None or not size_of(v.shape) for v in variables):
        return False
    nc = owner.body.carries
    if any(a.dtype != b.dtype for a, b in zip(owner.body.outputs, variables[:nc], strict=True)):
        return False
    found = way(lowering, owner)
    if found is None:
        return False
    emit, in_place = found
    places = [contiguous(lowering, lowering.place_of(a)) for a in eqn.inputs]
    if any(p.dtype != canonical(v.dtype) for p, v in zip(places, variables, strict=True)):
        return False
    results = results_of(lowering, eqn.outputs, places, in_place)
    emit(lowering, owner, places, results)
    return True


def _statements(owner: Any) -> Any:
    def make() -> Any:
        try:
            nc = owner.body.carries
            asked, done = simple(owner.test), simple(owner.body)
            wanted = needing_memory(asked) | needing_memory(done)
            test = Statements(asked, CPU, nc, wanted, "g", is_test=True)
            return test, Statements(done, CPU, nc, wanted)
        except NotSmallError:
            return False

    return owner.body.once(("while statements", id(owner.test)), make)


def _programs(owner: Any, chosen: Any) -> Any:
    test = program_of(owner.test, chosen, in_place=False)
    body = program_of(owner.body, chosen, in_place=True)
    return (test, body) if test.straight and body.straight else None


def _emit_registers(
    statements: tuple[Any, ...],
    lowering: Any,
    owner: Any,
    places: list[Place],
    results: list[Place],
) -> None:
    test, body = statements
    limit = NO_LIMIT if owner.limit is None else owner.limit
    words: list[Any] = [limit, owner.kept, owner.leap, PULSE]
    head = ["def kernel(p, start, stop):"]
    head.append("    limit, capacity, leap = operand(p, 0), operand(p, 1), operand(p, 2)")
    head.append(f"    w, due = operand(p, 3), min(limit, {LONG})")
    for k, place in enumerate([*places, *results]):
        head.append(f"    q{k} = operand(p, {len(words)})")
        words.append(address_of(place))
    for name, d, numbers in (*test.immediates, *body.immediates):
        head.append(f"    {name} = {immediate(d, numbers, len(words))}")
        words += numbers
    state = LoopState(owner, body, [name_of_dtype(p.dtype) for p in (*places, *results)])
    turn = [
        *test.lines,
        *(f"if not {test.outputs[0].ravel()[0]}:", "    break"),
        *("if k == due:", "    if k == limit:", f"        return {NO_RESULT}"),
        *indented(pulse("k")),
        f"    due = min(limit, k + {LONG})",
        *(state.rows_kept() if owner.kept else []),
        *body.lines,
        *body.moved(),
        "k += 1",
    ]
    lines = [*head, *state.read(), "    k, row, following, stride = 0, 0, 0, 1", "    while True:"]
    lines += ["        " + line for line in turn]
    source = "\n".join([*lines, *state.written(), "    return 0", ""])
    lowering.emit(source, 1, words, "while, in registers")


class LoopState:
    """The lines in which a loop in registers reads its state, keeps rows of it, and writes it.

    Parameters
    ----------
    owner : While
    body : Statements
    dtypes : list of str
        Of the operands ``q0 q1 ...``: the state at the start and what is fixed, the state at the
        end, the count, then the stride and the rows if there are any.
    """

    def __init__(self, owner: Any, body: Statements, dtypes: list[Any]) -> None:
        self.owner, self.body, self.dtypes = owner, body, dtypes
        self.carries, self.operands = owner.body.carries, len(body.inputs)

    def read(self) -> list[str]:
        """Into registers, except for arrays that stay in memory: ``m0 m1 ...``."""
        lines = []
        for i, names in enumerate(self.body.inputs):
            if names is None:
                lines.append(f"    m{i} = q{self.operands + i if i < self.carries else i}")
                continue
            d = self.dtypes[i]
            lines += [f"    {t} = get_{d}(q{i}, {e}, -1)" for e, t in enumerate(names.ravel())]
        return lines

    def rows_kept(self) -> list[str]:
        """A row for each ``stride`` repetitions; where there is room for none, fewer of them."""
        lines = [
            "if k == following:",
            "    if row == capacity:",
            "        fewer = leap if stride == 1 else 2",
            "        row = (capacity + fewer - 1) // fewer",
            "        stride = fewer * stride",
            "        following = row * stride",
        ]
        kept = [
            (i, self.operands + j, size_of(self.owner.shapes[i][0]), min(j, OUTPUTS))
            for i, j in enumerate(range(self.carries + 2, 2 * self.carries + 2))
        ]
        for i, q, size, m in kept:
            lines += [
                "        for j in range(1, row):",
                f"            for e in range({size}):",
                f"                v{i} = get_{self.dtypes[q]}(q{q}, fewer * j * {size} + e, {m})",
                f"                set_{self.dtypes[q]}(q{q}, j * {size} + e, v{i}, {m})",
            ]
        lines += ["    if k == following:"]
        for i, q, size, m in kept:
            names = self.body.inputs[i]
            if names is None:
                held = f"get_{self.dtypes[q]}(m{i}, e, {min(i, OUTPUTS)})"
                lines += [
                    f"        for e in range({size}):",
                    f"            set_{self.dtypes[q]}(q{q}, row * {size} + e, {held}, {m})",
                ]
                continue
            lines += [
                f"        set_{self.dtypes[q]}(q{q}, row * {size} + {e}, {t}, {m})"
                for e, t in enumerate(names.ravel())
            ]
        return [*lines, "        row += 1", "        following = row * stride"]

    def written(self) -> list[str]:
        """What was in registers, the count, and the stride of the rows."""
        lines = []
        for j, names in enumerate(self.body.inputs[: self.carries]):
            if names is not None:
                q, m = self.operands + j, min(j, OUTPUTS)
                lines += [
                    f"    set_{self.dtypes[q]}(q{q}, {e}, {t}, {m})"
                    for e, t in enumerate(names.ravel())
                ]
        lines.append(self._number("k", self.carries))
        if self.owner.kept:
            lines.append(self._number("stride", self.carries + 1))
        return lines

    def _number(self, name: str, result: int) -> str:
        return f"    set_i8(q{self.operands + result}, 0, {name}, {min(result, OUTPUTS)})"


def _emit_threaded(
    programs: tuple[Any, ...], lowering: Any, owner: Any, places: list[Place], results: list[Place]
) -> None:
    test, body = programs
    nc = owner.body.carries
    go = new_place((), np.dtype(bool))
    integer = np.dtype(np.int64)
    stride = results[nc + 1] if owner.kept else new_place((), integer)
    between = [new_place(p.shape, p.dtype) for _ in range(2) for p in places[:nc]]
    places = list(places)
    for k in body.lowering.owned:
        places[k] = between[k] = between[nc + k] = results[k]
    rows = results[nc + 2 :] if owner.kept else places[:nc]
    held = [go, results[nc], stride, *places[:nc], *between, *results[:nc], *rows, *places[nc:]]
    narrow = [p.dtype.itemsize % 4 != 0 for p in places[:nc]]
    sizes = [bytes_of(p) // (1 if n else 4) for p, n in zip(places, narrow, strict=False)]
    description = _Description(test, body, nc, [*zip(sizes, map(int, narrow), strict=True)])
    limit = NO_LIMIT if owner.limit is None else owner.limit
    words: list[Any] = [description, limit, owner.kept, *[address_of(p) for p in held]]
    words[6 + 5 * nc : 6 + 5 * nc] = [owner.leap, PULSE]
    steps = len(body.lowering.instructions)
    lowering.emit(THREADED, 1, words, f"while, {steps} instructions each")


class _Description:
    """What the instruction knows of its test and its body, workspaces of which it has for itself.

    [carries, constants' uses, the test's uses of carries, the body's, where it puts them,
     the test's code and its end, the body's code and its end; (word to set, operand or carry,
     offset) for each use; the size of each carry, in words of 4 bytes or, where that is said by a
     1, in bytes]
    """

    def __init__(
        self, test: CpuProgram, body: CpuProgram, carries: int, sizes: list[tuple[int, int]]
    ) -> None:
        self.test, self.body, self.carries, self.sizes = test, body, carries, sizes

    def word_in(self, workspace: Any) -> int:
        """The address of the description, for a workspace."""
        spaces = Workspace(self.test), Workspace(self.body)
        (a, b, asking), (c, e, doing) = (s.uses() for s in spaces)
        nc = self.carries
        first = 8 + 5 * nc
        ni = len(self.body.lowering.inputs)
        constants = [
            (where, first + i - nc, offset)
            for uses in (asking, doing)
            for i in range(nc, ni)
            for where, offset in uses[i]
        ]
        constants += [(where, 3, offset) for where, offset in asking[ni]]
        asked = [(w, i, o) for i in range(nc) for w, o in asking[i]]
        given = [(w, i, o) for i in range(nc) for w, o in doing[i]]
        taken = [(w, i, o) for i in range(nc) for w, o in doing[ni + i]]
        words = [nc, len(constants), len(asked), len(given), len(taken), a, b, c, e]
        for use in (*constants, *asked, *given, *taken):
            words += use
        made = np.array([*words, *[w for pair in self.sizes for w in pair]], np.int64)
        workspace.inner.append((spaces, made))
        return int(made.ctypes.data)
