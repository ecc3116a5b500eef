"""From a tape to a program: where values live, and the instructions that make them.

Steps are taken in the order of `linad.sweeps.plan`. A view is a place in the buffer of what it
views and costs nothing. A write goes into the buffer of the array itself where nobody reads
the old entries later (`linad.sweeps.reads`); where somebody does, what he reads is copied first,
or, if that is more than the array, the array. An elementwise result that is only written
somewhere is computed there in the first place (`linad.sweeps.destinations`).

At the end the arena is planned: buffers whose lives do not overlap share memory. No sweep
allocates anything.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.settings import Settings, settings
from linad.core.shapes import Shape, size_of, with_length
from linad.core.tape import Equation, Tape, Var
from linad.sweeps.data_movement import scatter_write
from linad.sweeps.destinations import (
    input_taken,
    part_joined,
    what_inputs_become,
    write_that_takes,
    written_before,
)
from linad.sweeps.instruction_writer import InstructionWriter
from linad.sweeps.instructions import Fallback
from linad.sweeps.loop_reductions import reduces_in_loop
from linad.sweeps.places import (
    ALL_IN_ROWS,
    Buffer,
    InColumns,
    Place,
    c_strides,
    constant_place,
    f_strides,
    known_place,
    new_place,
    place_with_rows_last,
    transposed,
    view_place,
    window_place,
)
from linad.sweeps.plan import Planner, is_elementwise
from linad.sweeps.reads import Reads
from linad.sweeps.rows import RowLayout, side_by_side
from linad.sweeps.steps import WRITE, CallStep, Loop, needed_equations, operands_of
from linad.sweeps.target import Target


class Lowering(InstructionWriter):
    """The instructions of a tape.

    Parameters
    ----------
    tape : Tape
    target : Target
        What they are for.
    chosen : Settings, optional
        What they are made with; what is in force by default.
    owned : sequence of int
        Inputs that may be overwritten by the result of the same number.
    rows : RowLayout, optional
        Of the program of a tile (`linad.sweeps.tiles`): where the rows of its variables are.
    in_columns : InColumns, optional
        Inputs and results that lie in order F.

    Attributes
    ----------
    inputs : list of Place
    outputs : list of Place
    constants : list of Buffer
    arena_size : int
        Bytes of scratch memory.
    owned : tuple of int
        Inputs that are overwritten, of those that may be: what they become is there, and no
        other memory is given for the result.
    """

    def __init__(
        self,
        tape: Tape,
        target: Target,
        chosen: Settings | None = None,
        owned: Sequence[int] = (),
        rows: RowLayout | None = None,
        in_columns: InColumns = ALL_IN_ROWS,
    ) -> None:
        super().__init__(target, chosen or settings())
        self.in_columns = in_columns
        self.owned, self.rows = owned, rows or RowLayout({}, 0)
        if rows is None:
            tape = target.tiled(tape, self.chosen)
        self.tape, self.more = target.prepared(tape)
        tape = self.tape
        self.places: dict[Any, Place] = {}
        self.constants: dict[int, Place] = {}
        self.factors: dict[Any, Any] = {}  # of matrices that were factorised
        self.inputs = [self._input(k, v) for k, v in enumerate(tape.inputs)]
        self.made_in_columns: set[Var] = set()
        self.views = self._find_views()
        self.overwritten: set[Buffer] = set()  # inputs
        self.equation_of = {v: eqn for eqn in tape.equations for v in eqn.outputs}
        self.steps = Planner(tape, target, self.views, self.more).steps()
        self.becoming = what_inputs_become(self)
        self.reads = Reads(self.steps, tape.outputs, self.views, self.places)
        self.made_in_columns = self._find_made_in_columns()
        self.position_of = {
            s.equation: k for k, s in enumerate(self.steps) if isinstance(s, CallStep)
        }
        self.now = -1
        self.occupants: dict[Buffer, list[Var]] = defaultdict(list)
        self.settled: set[Equation] = set()  # writes that a loop has done already
        self.in_place: set[Buffer] = set()  # arena that keeps its address in every run
        self.copied: dict[Buffer, Place] = {}  # inputs, where they keep theirs
        for v, place in zip(tape.inputs, self.inputs, strict=True):
            self.occupants[place.buffer].append(v)
        for k, step in enumerate(self.steps):
            self.now = k
            if isinstance(step, Loop):
                self._lower_loop(k, step)
                continue
            first = len(self.instructions)
            self._lower_call(step.equation)
            for made in self.instructions[first:]:
                made.equations = [step.equation]
        self.outputs = self._deliver()
        self.arena_size = target.plan_memory(self.instructions)

    # Before.

    def _input(self, k: int, var: Var) -> Place:
        buffer = Buffer("input", size_of(var.shape) * var.dtype.itemsize, k)
        buffer.owned = k in self.owned
        strides = (
            f_strides(var.shape, var.dtype)
            if k in self.in_columns.inputs
            else self._outer_strides(var)
        )
        place = Place(buffer, 0, var.shape, strides, var.dtype)
        self.places[var] = place
        return place

    def _outer_strides(self, var: Var) -> Shape:
        """Strides of an array of the caller's; a tile's rows are some of it."""
        axis = self.rows.axes.get(var)
        shape = var.shape if axis is None else with_length(var.shape, axis, self.rows.n)
        return c_strides(shape, var.dtype)

    def _find_views(self) -> dict[Var, Var]:
        """Views, each with the variable it views; others have to copy."""
        found = {}
        layout: dict[Var, Place] = dict(self.places)
        for eqn in self.tape.equations:
            source = eqn.inputs[0] if eqn.inputs else None
            if eqn.primitive.view and isinstance(source, Var):
                place = view_place(eqn.primitive, eqn.params, layout[source])
                if place is not None:
                    layout[eqn.outputs[0]] = place
                    found[eqn.outputs[0]] = source
                    continue
            for v in eqn.outputs:
                layout[v] = self.place_for(eqn) if self.rows.axes else new_place(v.shape, v.dtype)
        return found

    def _find_made_in_columns(self) -> set[Var]:
        """Results in order F that loops and products put there in the first place.

        Views of them are planned as of arrays in C order, and writes go into such.
        """
        results = self.tape.outputs
        rows = [a for j, a in enumerate(results) if j not in self.in_columns.results]
        others = rows + [e.inputs[0] for e in self.tape.equations if e.primitive.name == WRITE]
        found = {a for a in (results[j] for j in self.in_columns.results) if isinstance(a, Var)}
        return found.difference(self.reads.viewed_by, [a for a in others if isinstance(a, Var)])

    # Places.

    def read_later(self, buffer: Buffer, k: int) -> list[Var]:
        """What is in a buffer and is read after step ``k``.

        The rest is forgotten: an array that was written n times has held n values.
        """
        found = [v for v in self.occupants[buffer] if self.reads.last(v) > k]
        self.occupants[buffer] = found
        return found.copy()

    def place_of(self, a: Any) -> Place:
        """Where an operand is: a variable, or a constant."""
        if not isinstance(a, Var):
            place = self.constants.get(id(a))
            if place is None:
                place = self.constants[id(a)] = constant_place(a)
            return place
        if a not in self.places:
            unplaced = [a]
            while (source := self.views[unplaced[-1]]) not in self.places:
                unplaced.append(source)
            for view in reversed(unplaced):
                eqn = self.equation_of[view]
                found = view_place(eqn.primitive, eqn.params, self.places[self.views[view]])
                assert found is not None, f"{eqn} is not a view of what it was planned to view"
                self._settle(view, found)
        return self.places[a]

    def source_of(self, a: Any) -> Place:
        """The same for a loop, which reads equal entries that it knows from one of them."""
        return self.place_of(a) if isinstance(a, Var) else known_place(a)

    def _settle(self, var: Var, place: Place) -> None:
        self.places[var] = place
        self.occupants[place.buffer].append(var)

    # Loops.

    def _lower_loop(self, k: int, loop: Loop) -> None:
        stored: set[Var] = set()
        for eqn in loop.equations:
            out = eqn.outputs[0]
            if self.reads.last(out) > k and out not in self.places:
                self._find_place(eqn, k, loop)
                stored.add(out)
        loop = Loop(loop.shape, needed_equations(loop.equations, stored))
        if not loop.equations:
            return
        places: dict[Any, Place] = {}
        for eqn in loop.equations:
            for a in operands_of(eqn):
                if isinstance(a, Var):
                    if a not in loop.made:
                        places[a] = self.place_of(a)
                else:
                    array = np.asarray(a)
                    if array.size != 1:
                        places["array", id(a)] = self.source_of(a)
        for v in stored:
            places[v] = self.places[v]
        for part, kept in self.target.parts(loop, stored):
            self.emit_loop(part, places, kept)

    def _find_place(self, eqn: Equation, k: int, loop: Loop) -> None:
        """Where a loop stores a result: where it is written to later, in place of an operand that
        nothing else reads, beside what it is joined with, or in memory of its own."""
        out = eqn.outputs[0]
        write = write_that_takes(self, out, k, loop)
        if write is not None:
            self._direct(write, out)
        elif (place := input_taken(self, out, k, loop)) is not None:
            self._overwrite(place)
            self._settle(out, place)
        elif (joined := part_joined(self, out)) is not None:
            self._settle(out, joined)
        else:
            self._settle(out, self.place_for(eqn))

    def _direct(self, write: Equation, out: Var) -> None:
        chain = written_before(self, write.inputs[0], self.position_of[write])
        assert chain is not None
        place = self.places[chain[-1]]
        region = window_place(write.params["region"], place)
        assert region is not None
        self._overwrite(place)
        self.places[out] = region
        self.settled.add(write)

    # Calls.

    def _lower_call(self, eqn: Equation) -> None:
        if eqn in self.settled:
            self._settle(eqn.outputs[0], self.places[eqn.inputs[0]])
            return
        if eqn.primitive.name == WRITE:
            if self._lower_write(eqn):
                return
        elif self.target.lower(self, eqn):
            return
        self._fall_back(eqn)

    def result(self, var: Var, place: Place | None = None) -> Place:
        """A new place for a result, in C order where none is given."""
        place = place or new_place(var.shape, var.dtype)
        self._settle(var, place)
        return place

    def place_for(self, eqn: Equation) -> Place:
        """A new place for what a loop or a product makes: results in order F so, of the rows of a
        tile with the rows side by side where they are narrow, all else in C order."""
        out = eqn.outputs[0]
        if out in self.made_in_columns:
            return new_place(out.shape, out.dtype, in_columns=True)
        axis = self.rows.axes.get(out)
        if axis is not None:
            place = place_with_rows_last(out.shape, out.dtype, axis)
            in_loop = is_elementwise(eqn, self.target) or reduces_in_loop(eqn, self.target.takes)
            if in_loop or eqn.primitive is side_by_side:
                return place
            factors = eqn.primitive.name == "matmul" and all(
                [len(np.shape(a) if not isinstance(a, Var) else a.shape) > 1 for a in eqn.inputs]
            )
            if factors and transposed(place).contiguous:
                return place
        return new_place(out.shape, out.dtype)

    def _fall_back(self, eqn: Equation) -> None:
        inputs = [self.place_of(a) if isinstance(a, Var) else a for a in eqn.inputs]
        outputs = [self.result(v) for v in eqn.outputs]
        self.instructions.append(Fallback(eqn, inputs, outputs))

    def _lower_write(self, eqn: Equation) -> bool:
        x, value = eqn.inputs
        out, region = eqn.outputs[0], eqn.params["region"]
        place = self.writable(x, out)
        target = window_place(region, place)
        if target is not None:
            source = self.source_of(value)
            if source.overlaps(target) and not source.same(target):
                kept = new_place(source.shape, source.dtype)
                self.copy(kept, source, "keep")
                source = kept
            self.copy(target, source, "write")
            return True
        if scatter_write(self, place, region, value):
            return True
        # The fallback makes a new array of it.
        del self.places[out]
        self.occupants[place.buffer].remove(out)
        return False

    def writable(self, x: Any, out: Var) -> Place:
        """The array that a write goes into: that of ``x`` itself if nobody is disturbed."""
        place, k = self.place_of(x), self.now
        own = place.buffer.kind == "arena" or self.becomes(out, place)
        if own and place.whole and out.dtype == place.dtype:
            disturbed = self.read_later(place.buffer, k)
            size = sum([size_of(v.shape) * v.dtype.itemsize for v in disturbed])
            if size < place.buffer.size or not disturbed:
                for v in disturbed:
                    self.occupants[place.buffer].remove(v)
                    kept = new_place(v.shape, v.dtype)
                    self.copy(kept, self.places[v], "keep")
                    self._settle(v, kept)
                self._overwrite(place)
                self._settle(out, place)
                return place
        fresh = self.result(out)
        self.copy(fresh, place)
        return fresh

    def replaces(self, out: Var, place: Place) -> bool:
        """Whether what is in a place may give way to ``out``: nobody reads it after this step."""
        own = place.buffer.kind == "arena" or self.becomes(out, place)
        free = own and place.whole and not self.read_later(place.buffer, self.now)
        if free:
            self._overwrite(place)
        return free

    def becomes(self, out: Var, place: Place) -> bool:
        """Whether a place is that of an input that may be overwritten, and becomes ``out``."""
        return place.buffer.owned and self.becoming.get(out) == place.buffer.number

    def _overwrite(self, place: Place) -> None:
        if place.buffer.kind == "input":
            self.overwritten.add(place.buffer)

    # After.

    def _lies_as_outside(self, var: Var) -> bool:
        """Whether a tile's rows are one stretch of the array that they are part of."""
        return size_of(var.shape[: self.rows.axes.get(var, 0)]) == 1

    def _stays(self, j: int) -> bool:
        """Whether the memory of an input has been taken for the result of the same number."""
        given = self.inputs[j]
        return given.buffer in self.overwritten or self.place_of(self.tape.outputs[j]).same(given)

    def _deliver(self) -> list[Place]:
        """Put results into arrays of the caller's, where they are not there already."""
        outputs: list[Place] = []
        taken: set[Buffer] = set()
        self.owned = tuple([j for j in self.owned if self._stays(j)])
        for j, a in enumerate(self.tape.outputs):
            if j in self.owned:
                outputs.append(self.inputs[j])
                continue
            if isinstance(a, Var):
                place = self.place_of(a)
                whole = place.whole_in_columns if j in self.in_columns.results else place.whole
                own = place.buffer.kind == "arena" and whole and place.buffer not in taken
                own = own and place.buffer not in self.in_place
                if own and self._lies_as_outside(a):
                    place.buffer.kind, place.buffer.number = "output", j
                    taken.add(place.buffer)
                    outputs.append(place)
                    continue
            place = self.source_of(a)
            in_columns = j in self.in_columns.results
            target = new_place(place.shape, place.dtype, "output", in_columns)
            if isinstance(a, Var) and not in_columns:
                target.strides = self._outer_strides(a)
            target.buffer.number = j
            taken.add(target.buffer)
            if size_of(place.shape):
                self.copy(target, place, "result")
            outputs.append(target)
        for j in self.owned:  # nobody reads what was there before any more
            place = self.place_of(self.tape.outputs[j])
            if not place.same(self.inputs[j]):
                self.copy(self.inputs[j], place, "result")
        return outputs
