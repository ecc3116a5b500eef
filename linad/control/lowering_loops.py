"""Loops as instructions of a program: in registers where the body is small, or threaded.

*In registers*: one kernel with the loop inside; carries and everything in the body are local
variables.

*Threaded*: the body is a program of its own, with its own memory in each workspace, and the
instruction sweeps it once a repetition. Before each it writes into the body's instructions where
the rows and carries of that repetition are. Carries go to and fro between two places.

A body of which NumPy has to run a part is run from Python, and so is its loop.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body
from linad.control.memory_arrays import needing_memory
from linad.control.one_ahead import one_ahead
from linad.control.registers import NotSmallError, Statements, immediate
from linad.control.sums_in_place import sums_in_place
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.core.tape import Equation, Var, needed, tape_of
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.cpu.pulse import PULSE, pulse
from linad.sweeps.cpu.target import CPU
from linad.sweeps.data_movement import contiguous
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import OUTPUTS, indented
from linad.sweeps.places import Place, canonical, new_place
from linad.sweeps.program import simplified
from linad.transforms.demands import missed

EVERY, LONG = 8, 1024
"""Repetitions between two looks around, of a threaded loop and of one in registers."""


def in_text(spaces: int, lines: list[str]) -> str:
    """Lines to stand in a text, the first where the text has got to."""
    return f"\n{' ' * spaces}".join(lines)


THREADED = f"""def kernel(p, start, stop):
    n, d, w = operand(p, 0), operand(p, 1), operand(p, 4)
    if operand(p, 3) != 0:
        n = word(n)
    code, end, copies = word(d), word(d + 8), word(d + 32)
    fixed, moving = word(d + 16), word(d + 24)
    at = d + 40
    for i in range(copies):
        if n <= 0:
            a, b = operand(p, word(at)), operand(p, word(at + 8))
            if word(at + 24) != 0:
                for j in range(word(at + 16)):
                    set_b1(b, j, get_b1(a, j, -1), 0)
            else:
                for j in range(word(at + 16)):
                    set_i4(b, j, get_i4(a, j, -1), 0)
        at += 32
    for i in range(fixed):
        set_word(word(at), operand(p, word(at + 8)) + word(at + 16))
        at += 24
    first = at
    for j in range(n):
        k = n - 1 - j if operand(p, 2) != 0 else j
        at = first
        for i in range(moving):
            base = word(at + 32) if j & 1 else word(at + 24)
            if j == 0:
                base = word(at + 40)
            if j == n - 1 and word(at + 48) >= 0:
                base = word(at + 48)
            set_word(word(at), operand(p, base) + word(at + 8) + k * word(at + 16))
            at += 56
        at = code
        while at < end:
            status = call_kernel(word(at), at + 32, 0, word(at + 8))
            if status != 0:
                return status
            at += 32 + 8 * word(at + 24)
        if j % {EVERY} == {EVERY - 1}:
            {in_text(12, pulse("-j"))}
    return 0
"""
"""The kernel of all threaded loops. Its description, at ``d``:

    [code, end of code, fixed, moving, copies,
     copies of: carry in, carry out, entries, whether they are bytes
     fixed of: word to set, operand, offset
     moving of: word to set, offset, step, operand on even repetitions, on odd, first, last]
"""


def on_a_cpu(body: Body, owner: Any, lowering: Any) -> Any:
    """How the CPU runs a loop: an object with the method `emit`, or None."""
    return _as_registers(body) or as_program(body, lowering, in_place=True)


def lower(lowering: Any, eqn: Equation, way: Callable[[Body, Any, Any], Any] = on_a_cpu) -> bool:
    """Add the instructions of a loop, or say that Python has to run it.

    Parameters
    ----------
    way : callable
        ``way(body, owner, lowering)``: how the target runs a loop.
    """
    owner = eqn.primitive
    body: Body = owner.body  # type: ignore[attr-defined]
    inputs = list(eqn.inputs)
    count = inputs.pop(0) if owner.counted else None  # type: ignore[attr-defined]
    read = [lowering.reads.any(v) for v in eqn.outputs]
    body, carried, rows_in, constants, made = _narrowed(body, read)
    nc = len(carried)
    operands = [inputs[i] for i in (*carried, *rows_in, *constants)]
    outputs = [eqn.outputs[j] for j in (*carried, *made)]
    sizes = [size_of(v.shape) for v in (*body.tape.inputs, *body.outputs)]
    if not all(sizes) or any(
        name_of_dtype(v.dtype) is None for v in (*body.tape.inputs, *body.outputs)
    ):
        return False
    if any(a.dtype != b.dtype for a, b in zip(body.outputs, body.tape.inputs[:nc], strict=False)):
        return False
    kind = way(body, owner, lowering)
    if kind is None:
        return False
    places = [contiguous(lowering, lowering.place_of(a)) for a in operands]
    if any(p.dtype != canonical(v.dtype) for p, v in zip(places, body.tape.inputs, strict=True)):
        return False
    counter = None if count is None else contiguous(lowering, lowering.place_of(count))
    others = [] if counter is None else [counter]
    results = results_of(lowering, outputs, [*places, *others], kind.in_place)
    if count is not None:
        for v, place in zip(outputs[nc:], results[nc:], strict=True):
            if not _read_as_far(lowering, v, count):
                lowering.fill(place, 0)
    kind.emit(lowering, owner, counter, places, results)
    return True


def results_of(
    lowering: Any, outputs: Sequence[Var], places: list[Place], in_place: Container[int]
) -> list[Place]:
    """Where the results of a loop are, whose operands are at ``places``.

    Carries that are computed in place stay where their first value is, if nobody else reads it;
    otherwise it is copied to a new place.
    """
    found = []
    for j, v in enumerate(outputs):
        given = places[j] if j in in_place else None
        if given is not None:
            alone = sum([p.buffer is given.buffer for p in places]) == 1
            if alone and lowering.replaces(v, given):
                found.append(lowering.result(v, given))
                continue
        found.append(lowering.result(v))
        if given is not None:
            lowering.copy(found[-1], given, "carry")
    return found


def _read_as_far(lowering: Any, rows: Var, count: Any) -> bool:
    """Whether only loops of as many repetitions read rows: then those beyond may be anything."""
    for e in lowering.tape.equations:
        for k, a in enumerate(e.inputs):
            if a is rows:
                owner: Any = e.primitive
                if not getattr(owner, "counted", False) or e.inputs[0] is not count:
                    return False
                if not owner.body.carries < k <= owner.body.carries + owner.body.rows:
                    return False
    return not any(a is rows for a in lowering.tape.outputs)


def _narrowed(
    body: Body, read: list[bool]
) -> tuple[Body, list[int], list[int], list[int], list[int]]:
    """The part of a body that somebody reads, or whose operations may raise: carries, rows,
    constants and rows of results."""
    key = "narrow", tuple(read)
    return body.once(key, lambda: _narrow(body, read))  # type: ignore[no-any-return]


def _narrow(body: Body, read: list[bool]) -> Any:
    tape, nc, nx = body.tape, body.carries, body.rows
    made = [j for j in range(nc, len(tape.outputs)) if read[j]]
    carried = {j for j in range(nc) if read[j]}
    while True:
        outputs = [tape.outputs[j] for j in (*sorted(carried), *made)]
        equations = needed(tape.equations, outputs)
        used = {a for e in equations for a in e.inputs if isinstance(a, Var)}
        used |= {a for a in outputs if isinstance(a, Var)}
        more = {j for j in range(nc) if tape.inputs[j] in used}
        if more <= carried:
            break
        carried |= more
    if not all(read) and missed(tape.equations, equations):
        return _narrow(body, [True] * len(read))  # what nobody reads may raise
    carries = sorted(carried)
    rows = [i for i in range(nc, nc + nx) if tape.inputs[i] in used]
    constants = [i for i in range(nc + nx, len(tape.inputs)) if tape.inputs[i] in used]
    chosen = [*carries, *rows, *constants]
    inputs = [tape.inputs[i] for i in chosen]
    small = tape_of(tape.name, inputs, equations, outputs)
    return (
        Body(small, [body.example[i] for i in chosen], len(carries), len(rows)),
        carries,
        rows,
        constants,
        made,
    )


def simple(body: Body) -> Any:
    return body.once("simple", lambda: simplified(body.tape))


def _as_registers(body: Body) -> "Registers | None":
    def make() -> Any:
        try:
            tape = simple(body)
            return Statements(tape, CPU, body.carries, needing_memory(tape))
        except NotSmallError:
            return False

    found = body.once("statements", make)
    return Registers(body, found) if found else None


def as_program(body: Body, lowering: Any, in_place: bool = False) -> "Threaded | None":
    program = program_of(body, lowering.chosen, in_place)
    return Threaded(body, program) if program.straight else None


def program_of(body: Body, chosen: Any, in_place: bool) -> CpuProgram:
    """A body as a program; where it may, it computes carries where they lie."""
    tape = simple(body)
    owned = range(body.carries) if in_place else ()
    key = "program", chosen, owned

    def make() -> CpuProgram:
        return CPU.compile(sums_in_place(tape, len(owned)), chosen, owned=owned)

    program: CpuProgram = body.once(key, make)
    program.give_back(program.borrow())
    return program


class Registers:
    """A loop in one kernel."""

    def __init__(self, body: Body, statements: Statements) -> None:
        self.body, self.statements = body, statements
        self.in_place = in_memory_of(statements, body.carries)

    def emit(
        self, lowering: Any, owner: Any, counter: Any, places: list[Place], results: list[Place]
    ) -> None:
        s = self.statements
        words: list[Any] = [owner.n if counter is None else address_of(counter)]
        words += [address_of(p) for p in (*places, *results)]
        dtypes = [name_of_dtype(p.dtype) for p in (*places, *results)]
        head = "operand(p, 0)" if counter is None else "get_i8(operand(p, 0), 0, -1)"
        lines = ["def kernel(p, start, stop):", f"    n = {head}"]
        lines += [f"    q{k} = operand(p, {1 + k})" for k in range(len(dtypes))]
        for name, kind, numbers in s.immediates:
            lines.append(f"    {name} = {immediate(kind, numbers, len(words))}")
            words += numbers
        lines += self._before(places, dtypes)
        lines += self._loop(owner, places, dtypes, words)
        for j, names in enumerate(s.inputs[: self.body.carries]):
            if names is not None:
                q = len(places) + j
                lines += indented(self._written(names, j, q, dtypes[q], True))
        source = "\n".join([*lines, "    return 0", ""])
        extent = owner.n * max(1, len(s.lines) // 8)
        call = lowering.emit(source, extent, words, label(owner, "in registers"))
        equations = simple(self.body).equations
        if all(e.primitive.name in Primitive.registry for e in equations):  # no loop inside
            lowering.relax(call, equations)

    def _before(self, places: list[Place], dtypes: list[Any]) -> list[str]:
        """Lines that read what is not of one repetition."""
        s, nc, nx = self.statements, self.body.carries, self.body.rows
        lines = []
        for i in [*range(nc), *range(nc + nx, len(places))]:
            if s.inputs[i] is None:
                lines.append(f"    m{i} = q{len(places) + i if i < nc else i}")
                continue
            names = enumerate(s.inputs[i].ravel())
            lines += [f"    {t} = get_{dtypes[i]}(q{i}, {e}, -1)" for e, t in names]
        return lines

    def _loop(
        self, owner: Any, places: list[Place], dtypes: list[Any], words: list[Any]
    ) -> list[str]:
        """Lines of the repetitions; if they are many, with the words of their pulse."""
        s, nc, nx = self.statements, self.body.carries, self.body.rows
        made = []
        for q in range(len(places) + nc, len(dtypes)):
            j = q - len(places)
            made += self._written(s.outputs[j], j, q, dtypes[q], False)
        made += s.moved()
        lines = []
        apart = one_ahead(s, nc, nx, made) if owner.n else None
        order = "n - 1 - j" if owner.reverse else "j"
        if apart is not None:
            first, following = (
                ("max(n - 1, 0)", "max(k - 1, 0)") if owner.reverse else ("0", "min(k + 1, n - 1)")
            )
            lines.append(f"    i = {first}")
            lines += indented([*self._read("i", places, dtypes), *apart.ahead])
            turn = [f"k = {order}", f"i = {following}", *apart.passed]
            turn += [*self._read("i", places, dtypes), *apart.ahead]
            turn += [*apart.behind, *map(apart.renamed, made)]
        else:
            turn = [f"k = {order}", *self._read("k", places, dtypes), *s.lines, *made]
        if owner.n <= LONG:
            return [*lines, "    for j in range(n):", *["        " + line for line in turn]]
        lines += [f"    w = operand(p, {len(words)})", f"    for low in range(0, n, {LONG}):"]
        lines += [f"        for j in range(low, min(low + {LONG}, n)):"]
        lines += ["            " + line for line in turn]
        lines += ["        " + line for line in pulse("-low")]
        words.append(PULSE)
        return lines

    def _written(self, names: Any, j: int, q: int, dtype: Any, whole: bool) -> list[str]:
        """Lines that write result j, or its row, from variables to what ``q`` is the number of."""
        mark, names = min(j, OUTPUTS), names.ravel()
        at = [str(e) if whole else _at(names.size, e) for e in range(names.size)]
        return [f"set_{dtype}(q{q}, {e}, {t}, {mark})" for e, t in zip(at, names, strict=True)]

    def _read(self, at: str, places: list[Place], dtypes: list[Any]) -> list[str]:
        """Lines that read the rows of the repetition with a number."""
        s, nc, nx = self.statements, self.body.carries, self.body.rows
        lines = []
        for i in range(nc, nc + nx):
            if s.inputs[i] is None:
                lines.append(f"m{i} = q{i} + {at} * {bytes_of(places[i]) // places[i].shape[0]}")
                continue
            entries = enumerate(s.inputs[i].ravel())
            size = s.inputs[i].size
            lines += [f"{t} = get_{dtypes[i]}(q{i}, {_at(size, e, at)}, -1)" for e, t in entries]
        return lines


def in_memory_of(statements: Statements, carries: int) -> list[int]:
    """The carries that no local variables hold."""
    return [j for j in range(carries) if statements.inputs[j] is None]


def _at(size: int, e: int, row: str = "k") -> str:
    first = row if size == 1 else f"{row} * {size}"
    return f"{first} + {e}" if e else first


def address_of(place: Place) -> tuple[Any, int]:
    return place.buffer, place.offset


def label(owner: Any, how: str) -> str:
    """What a report calls the instruction."""
    bound = "up to " if owner.counted else ""
    return f"repeat {bound}{owner.n} x, {how}"


class Threaded:
    """A loop over a program of its own."""

    def __init__(self, body: Body, program: CpuProgram) -> None:
        self.body, self.program = body, program
        self.in_place = program.lowering.owned

    def emit(
        self, lowering: Any, owner: Any, counter: Any, places: list[Place], results: list[Place]
    ) -> None:
        nc, nx = self.body.carries, self.body.rows
        between = [[new_place(p.shape, p.dtype) for p in places[:nc]] for _ in range(2)]
        places = list(places)
        for k in self.in_place:
            places[k] = between[0][k] = between[1][k] = results[k]
        held = [*places, *results, *between[0], *between[1]]
        description = Description(self.program, nc, nx, places, results)
        count = owner.n if counter is None else address_of(counter)
        words: list[Any] = [count, description, int(owner.reverse), int(counter is not None), PULSE]
        words += [address_of(p) for p in held]
        steps = len(self.program.lowering.instructions)
        made = lowering.emit(
            THREADED, owner.n * max(1, steps), words, label(owner, f"{steps} instructions each")
        )
        made.inner = self.program


class Description:
    """What the instruction knows of its body, of which each workspace has one of its own."""

    def __init__(
        self, program: CpuProgram, nc: int, nx: int, places: list[Place], results: list[Place]
    ) -> None:
        self.program, self.nc, self.nx = program, nc, nx
        self.places, self.results = places, results

    def word_in(self, workspace: Any) -> int:
        """The address of the description, for a workspace."""
        inner = Workspace(self.program)
        begin, end, uses = inner.uses()
        nc, nx, first = self.nc, self.nx, 5
        ni = len(self.places)
        made = first + ni
        even, odd = made + len(self.results), made + len(self.results) + nc
        copies, fixed, moving = [], [], []
        for j in range(nc):
            size = bytes_of(self.places[j])
            small = self.places[j].dtype.itemsize % 4 != 0
            copies += [first + j, made + j, size if small else size // 4, int(small)]
        for i, found in enumerate(uses):
            for where, offset in found:
                if i < nc:  # what the repetition before has made
                    moving += [where, offset, 0, odd + i, even + i, first + i, -1]
                elif i < nc + nx:
                    step = bytes_of(self.places[i]) // max(1, self.places[i].shape[0])
                    moving += [where, offset, step, *[first + i] * 3, -1]
                elif i < ni:
                    fixed += [where, first + i, offset]
                elif i < ni + nc:
                    j = i - ni
                    moving += [where, offset, 0, even + j, odd + j, even + j, made + j]
                else:
                    j = i - ni
                    step = bytes_of(self.results[j]) // max(1, self.results[j].shape[0])
                    moving += [where, offset, step, *[made + j] * 3, -1]
        head = [begin, end, len(fixed) // 3, len(moving) // 7, nc]
        words = np.array([*head, *copies, *fixed, *moving], np.int64)
        workspace.inner.append((inner, words))
        return int(words.ctypes.data)


def bytes_of(place: Place) -> int:
    return size_of(place.shape) * int(place.dtype.itemsize)
