"""Loops whose repetitions know nothing of each other, as operations on whole arrays.

A repetition that reads and writes entries of its own does to them what an operation on arrays
does to all:

    for i in range(n):                     y[1:n+1] = sin(x[:n]) * c
        y[i + 1] = sin(x[i]) * c

So it is with the gradient of a sum over entries, whatever the sum itself needs. The operations
are planned, fused and vectorised as others are. What an entry is computed from stays the same:
sums that go from repetition to repetition keep their order, and so they stay a loop. Before such
a loop the dear functions that do not need it are computed for all its repetitions. Loops in loops
have an axis for each (`linad.control.loop_axes`); arrays that go round are written once they are
read, in the order of the repetitions (`linad.control.carried_arrays`).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.control.bodies import Body, run_tape
from linad.control.carried_arrays import Access, CarriedArray, Place, Update, read_and_written
from linad.control.loop_axes import axes_of, steps_along
from linad.control.row_program import RowProgram, RowValue
from linad.core.moving_regions import numbers_at_zero, shifted
from linad.core.regions import Positions, Region, Window
from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var, tape_of
from linad.sweeps.scalar_rows import ROWS, TRANSCENDENTAL

if TYPE_CHECKING:
    from linad.control.repeat import Repeat

MOST_NUMBERS = 2**23
"""Entries that all repetitions together may name at one place of the body."""

MOST_BYTES = 2**26
"""Of what is computed for all repetitions ahead of a loop."""

UPDATES = ("write_moving", "add_moving")


def in_rows(eqn: Equation) -> Tape | None:
    """What a loop computes, by operations on arrays; None where it has to be a loop."""
    owner: Any = eqn.primitive  # a `linad.control.repeat.Repeat`
    if owner.counted or owner.n < 2 or not _may_be(owner.body):
        return None
    chained = set(range(owner.body.carries))
    while True:
        rows = _WholeRows(owner, eqn.inputs, chained)
        if rows.failed is None:
            return rows.tape()
        chained.discard(rows.failed)


def _may_be(body: Body) -> bool:
    """Whether there is anything in a body that operations on arrays could do."""

    def look() -> bool:
        return any([e.primitive.name in ROWS or _moves(e) for e in body.tape.equations])

    return body.once("may be in rows", look)  # type: ignore[no-any-return]


def _moves(eqn: Equation) -> bool:
    return eqn.primitive.name in ("read_moving", *UPDATES)


class _WholeRows:
    """The attempt, with some of the carries as arrays that are written here and there.

    Attributes
    ----------
    program : RowProgram
        The operations on arrays, as far as there are any.
    lead : tuple of int
        The axes of repetitions.
    failed : int or None
        A carry that cannot be one.
    """

    def __init__(self, owner: "Repeat", operands: tuple[Any, ...], chained: set[int]) -> None:
        self.owner, self.body, self.n = owner, owner.body, owner.n
        self.when = np.arange(self.n)[:: -1 if owner.reverse else 1]
        tape, nc, nx = self.body.tape, self.body.carries, self.body.rows
        self.left: list[Equation] = []
        self.dear = False
        self.failed: int | None = None
        self.known: dict[Var, RowValue] = {}
        self.constants = {
            v: np.asarray(a) for v, a in zip(tape.inputs, operands, strict=True) if _is_plain(a)
        }
        for v in tape.inputs[:nc]:
            self.constants.pop(v, None)
        self.rows_of = set(tape.inputs[nc : nc + nx])
        numbers = [self.constants[v] for v in self.rows_of if v in self.constants]
        self.program = RowProgram(self.n, axes_of(numbers, self.n), operands)
        self.lead, self.inputs = self.program.lead, self.program.inputs
        for i, (v, a) in enumerate(zip(tape.inputs, self.inputs, strict=True)):
            if nc <= i < nc + nx:
                self.known[v] = RowValue(self.program.spread(a, v.shape), v.shape, True)
            elif i >= nc or tape.outputs[i] is v:
                self.known[v] = RowValue(a, v.shape, False)
        self.chains: dict[Var, tuple[CarriedArray, int]] = {}
        for j in sorted(chained):
            if tape.outputs[j] is not tape.inputs[j]:
                self.chains[tape.inputs[j]] = CarriedArray(j, self.inputs[j]), 0
        self.additions, self.parts = read_and_written(tape, self.constants)
        for e in tape.equations:
            if self._chain_of(self.parts.get(e)) is None:
                self._add(e)
        self._check_chains()

    # Equation by equation.

    def _add(self, eqn: Equation) -> None:
        name = eqn.primitive.name
        chain = self._chain_of(eqn.inputs[0]) if eqn.inputs else None
        others = eqn.inputs[1:] if chain is not None else eqn.inputs
        if chain is not None and eqn in self.additions:
            others = self.additions[eqn].inputs[1], eqn.inputs[-1]
        for a in others:
            if isinstance(a, Var) and a in self.chains:  # the array itself is used
                self._fail(self.chains[a][0])
                return
        ready = all([a in self.known for a in others if isinstance(a, Var)])
        place = self._place_of(eqn) if _moves(eqn) and ready else None
        if chain is not None:
            if place is None or not self._follow(eqn, *chain, place):
                self._fail(chain[0])
        elif ready and name == "read_moving" and place is not None:
            source = self._value(eqn.inputs[0])
            if source.moves:
                self.left.append(eqn)
            else:
                self.known[eqn.outputs[0]] = self.program.read(
                    source.operand, place, eqn.outputs[0]
                )
        elif ready and self._folded(eqn):
            pass
        elif ready and name in ROWS and len(eqn.outputs) == 1:
            self.known[eqn.outputs[0]] = self._computed(eqn)
        else:
            self.left.append(eqn)

    def _fail(self, chain: CarriedArray) -> None:
        if self.failed is None:
            self.failed = chain.carry

    def _value(self, a: Any) -> RowValue:
        return self.known[a] if isinstance(a, Var) else RowValue(a, np.shape(a), False)

    def _folded(self, eqn: Equation) -> bool:
        """Whether an equation makes integers of constants, such as the places of entries."""
        name = eqn.primitive.name
        if not (name == "first_entry" or name in ROWS) or len(eqn.outputs) != 1:
            return False
        out = eqn.outputs[0]
        given = [self.constants.get(a) if isinstance(a, Var) else a for a in eqn.inputs]
        if out.shape or out.dtype.kind not in "iu" or any([g is None for g in given]):
            return False
        if name == "first_entry":
            numbers = _first_entries(np.asarray(given[0]), **eqn.params)
            if numbers is None:  # it raises when it runs
                return False
        else:
            with np.errstate(all="ignore"):
                numbers = np.asarray(eqn.primitive.impl(*given, **eqn.params), out.dtype)
        moves = any([a in self.rows_of for a in eqn.inputs if isinstance(a, Var)])
        self.constants[out] = numbers
        self.known[out] = RowValue(numbers.reshape(self.lead) if moves else numbers, (), moves)
        if moves:
            self.rows_of.add(out)
        return True

    def _computed(self, eqn: Equation) -> RowValue:
        """An operation entry by entry, on all repetitions at once."""
        values = [self._value(a) for a in eqn.inputs]
        self.dear = self.dear or (any([v.moves for v in values]) and _is_dear(eqn))
        return self.program.compute(eqn, values)

    # Entries of arrays.

    def _place_of(self, eqn: Equation) -> Place | None:
        """Where an equation reads or writes, if that is known and no entry comes twice."""
        region, at = eqn.params["region"], eqn.inputs[-1]
        if type(region) is not Window:
            return None
        given = self.constants.get(at) if isinstance(at, Var) else np.asarray(at)
        if given is None or self.n * size_of(region.shape) > MOST_NUMBERS:
            return None
        if at not in self.rows_of or np.all(given == given[0]):
            there = shifted(region, int(given.flat[0]))
            there.scalar = region.scalar
            return Place(there, numbers_at_zero(there).reshape(1, -1), False)
        if len(eqn.inputs[0].shape) != region.ndim:
            # Axes of seeds in front of the entries would stand before those of the loop.
            return None
        inner = numbers_at_zero(region)
        numbers = given.reshape((self.n,) + (1,) * inner.ndim) + inner
        met = np.zeros(size_of(eqn.inputs[0].shape), bool)
        met[numbers] = True
        if np.count_nonzero(met) != numbers.size:
            return None
        steps = steps_along(given.reshape(self.lead))
        whole: Region
        if steps is not None:
            first = region.offset + int(given[0])
            strides = (*steps, *region.strides)
            whole = Window(first, (*self.lead, *region.shape), strides, region.ndim)
        else:
            whole = Positions(numbers.reshape((*self.lead, *region.shape)), region.ndim)
        return Place(whole, numbers.reshape(self.n, -1), True)

    def _follow(self, eqn: Equation, chain: CarriedArray, version: int, place: Place) -> bool:
        """Note what an equation does to an array that goes round."""
        use = Access(version, place)
        if eqn.primitive.name == "read_moving":
            if not place.moves:
                return False
            chain.reads.append(use)
            self.known[eqn.outputs[0]] = self.program.read(chain.operand, place, eqn.outputs[0])
            return True
        if not place.moves or len(chain.updates) != version:  # else two versions of it go on
            return False
        both = self.additions.get(eqn)
        operation = "add" if eqn.primitive.name == "add_moving" else ""
        if both is not None:
            operation = both.primitive.name
        value = self._value(eqn.inputs[1] if both is None else both.inputs[1])
        chain.updates.append(Update(use, operation, value))
        self.chains[eqn.outputs[0]] = chain, version + 1
        return True

    def _check_chains(self) -> None:
        """Whether the arrays that go round are what comes out, and no entry is read too late."""
        outputs = self.body.tape.outputs
        seen = {id(chain): chain for chain, _ in self.chains.values()}
        for chain in seen.values():
            last = self._chain_of(outputs[chain.carry])
            whole = last is not None and last[0] is chain and last[1] == len(chain.updates)
            elsewhere = [
                a
                for j, a in enumerate(outputs)
                if j != chain.carry and (self._chain_of(a) or [None])[0] is chain
            ]
            if not whole or elsewhere or not chain.arrange(self.when):
                self._fail(chain)

    def _chain_of(self, a: Any) -> tuple[CarriedArray, int] | None:
        """The array that goes round of which an operand is a version, and which."""
        return self.chains.get(a) if isinstance(a, Var) else None

    # The program.

    def tape(self) -> Tape | None:
        """The program of operations on arrays, with what is left as a loop."""
        if self.left and not self._pays():
            return None
        nc = self.body.carries
        found: dict[int, Any] = {}
        for chain in {id(c): c for c, _ in self.chains.values()}.values():
            found[chain.carry] = self.program.updated(chain)
        outputs = self.body.tape.outputs
        serial = [j for j in range(len(outputs)) if j not in found and not self._is_known(j)]
        if self.left or serial:
            found |= self._loop_of(serial)
        for j, a in enumerate(outputs):
            if j not in found:
                value = self._value(a)
                found[j] = (
                    value.operand if j < nc else self.program.as_row(value, self.body.outputs[j])
                )
        results = [found[j] for j in range(len(outputs))]
        return tape_of(self.body.tape.name, self.inputs, self.program.equations, results)

    def _is_known(self, j: int) -> bool:
        a = self.body.tape.outputs[j]
        if j < self.body.carries:  # one that changes is not what it was in the repetition before
            return a is self.body.tape.inputs[j]
        return not isinstance(a, Var) or a in self.known

    def _pays(self) -> bool:
        """Whether what can be computed ahead of the loop is worth the memory."""
        if not self.dear or not self.program.equations:
            return False
        size = sum([self.n * size_of(v.shape) * v.operand.dtype.itemsize for v in self._ahead()])
        return size <= MOST_BYTES

    def _ahead(self) -> list[RowValue]:
        """What the loop that is left takes from the operations before it."""
        inputs = set(self.body.tape.inputs)
        return [self.known[v] for v in self._needed_there() if v not in inputs]

    def _needed_there(self) -> list[Var]:
        """Variables that what is left reads, and that are known."""
        read: list[Any] = [a for e in self.left for a in e.inputs]
        chained = {chain.carry for chain, _ in self.chains.values()}
        for j, a in enumerate(self.body.tape.outputs[: self.body.carries]):
            if j not in chained and not self._is_known(j):
                read.append(a)
        found = dict.fromkeys([a for a in read if isinstance(a, Var)])
        return [v for v in found if v in self.known]

    def _loop_of(self, serial: list[int]) -> dict[int, Any]:
        """The loop of what is left: its results, by their numbers among all."""
        tape, nc = self.body.tape, self.body.carries
        carried = [j for j in serial if j < nc]
        made = [j for j in serial if j >= nc]
        taken = self._needed_there()
        rows = [v for v in taken if self.known[v].moves]
        fixed = [v for v in taken if not self.known[v].moves]
        carries = [tape.inputs[j] for j in carried]
        inputs = [*carries, *rows, *fixed]
        outputs = [tape.outputs[j] for j in (*carried, *made)]
        whole = Body(
            tape_of(tape.name, tape.inputs, tape.equations, [*inputs]),
            self.body.example,
            nc,
            self.body.rows,
        )
        example = run_tape(whole, whole.example)
        left = Body(
            tape_of(tape.name, inputs, self.left, outputs), example, len(carries), len(rows)
        )
        operands = [self.inputs[j] for j in carried]
        operands += [self.program.in_one_axis(self.known[v]) for v in rows]
        operands += [self.known[v].operand for v in fixed]
        owner = self.owner.remade([left])
        results = tuple([self.program.var(shape, dtype) for shape, dtype in owner.results])
        self.program.equations.append(Equation(owner, tuple(operands), {}, results))
        return dict(zip(serial, results, strict=True))


def _is_dear(eqn: Equation) -> bool:
    """Whether an operation costs more than to store its results."""
    if eqn.primitive.name == "power" and not isinstance(eqn.inputs[1], Var):
        exponent = np.asarray(eqn.inputs[1])
        return bool(np.any(exponent != np.round(exponent.real)))
    return ROWS[eqn.primitive.name][0].cost >= TRANSCENDENTAL


def _first_entries(k: np.ndarray, size: int, axis: int, reach: int, width: int) -> Any:
    """What ``first_entry`` makes of indices; None if it raises for one of them."""
    ahead = (k >= 0) & (k < size - reach)
    behind = (-size <= k) & (k < min(0, 1 - width))
    if not np.all(ahead | behind):
        return None
    return np.where(ahead, k, k + size).astype(np.int64)


def _is_plain(a: Any) -> bool:
    return not isinstance(a, Var)
