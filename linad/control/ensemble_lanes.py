"""A body as what it does to one entry along an axis: an ensemble is as many *lanes*.

Where every equation of a body goes along an axis of n entries entry by entry, as in n systems of
differential equations side by side, a thread can take one lane through all repetitions:

    y (2, n), t ()        y' = y + h [y[1], -w y[0]],   t' = t + h
    one lane: y (2, 1), t ()

What has no such axis is *whole*, and the same in all lanes. A sum over the axis may only be added
up: each lane then has its own sum, and these are added at the end (*partial*), as for the
derivative with respect to a number that all lanes share.

How an equation runs on some rows of an axis is known from `linad.sweeps.rows`; here there is one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body
from linad.control.control_primitive import ControlPrimitive
from linad.control.lowering_loops import simple
from linad.core.array_type import Array
from linad.core.shapes import Shape, with_length
from linad.core.tape import Equation, Tape, Var, tape_of
from linad.sweeps.loop_reductions import reduces_in_loop
from linad.sweeps.plan import is_elementwise
from linad.sweeps.rows import WHOLE, row_form, shape_of
from linad.sweeps.target import Target

PARTIAL = "partial"
"""Instead of an axis: a part of a sum over all lanes."""

ADDED = {"add", "subtract"}
MOVED = {"reshape", "transpose", "negative", "copy", "positive", "spread"}
"""What the sum of all lanes' parts may become, as each part does."""


class NotInLanesError(Exception):
    """A body that mixes entries of an axis.

    Attributes
    ----------
    sums : tuple of Var
        What would have to be part of a sum over the lanes for it not to.
    """

    def __init__(self, sums: tuple[Var, ...] = ()) -> None:
        super().__init__()
        self.sums = sums


class EnsembleLanes:
    """What a tape does in one of ``n`` lanes.

    Parameters
    ----------
    tape : Tape
        Simplified.
    n : int
        How many lanes; 1 for the tape as it is.
    target : Target
    sums : sequence of int
        Inputs that are carries to which sums over the lanes are added.

    Attributes
    ----------
    tape : Tape
        Of one lane, where the axis has one entry. Its inputs are those of the tape, and then
        `tables`.
    inputs, outputs : list of int, None or `PARTIAL`
        The axis of the lanes in each.
    tables : list of ndarray
        Constants of the tape that have an entry for each lane.

    Raises
    ------
    NotInLanesError
        If lanes depend on each other.
    """

    def __init__(self, tape: Tape, n: int, target: Target, sums: Sequence[int] = ()) -> None:
        self.n, self.target = n, target
        self.tables: list[np.ndarray] = []
        self._where: dict[Var, Any] = {}
        self._now: dict[Any, Any] = {}
        self._given: list[Var] = []
        self._count = 1 + max(
            [v.index for v in (*tape.inputs, *[v for e in tape.equations for v in e.outputs])],
            default=0,
        )
        inputs = []
        for k, v in enumerate(tape.inputs):
            where = PARTIAL if k in sums else self._axis(v.shape)
            inputs.append(self._became(v, where))
        equations = [self._equation(e) for e in tape.equations]
        self.inputs = [self._where[v] for v in tape.inputs]
        self.outputs = [self._place(a) for a in tape.outputs]
        outputs = [
            self._operand(a, where) for a, where in zip(tape.outputs, self.outputs, strict=True)
        ]
        self.inputs += [self._axis(a.shape) for a in self.tables]
        self.tape = tape_of(tape.name, [*inputs, *self._given], equations, outputs)

    def _axis(self, shape: Shape) -> int | None:
        if self.n == 1 or self.n not in shape:
            return WHOLE
        if shape.count(self.n) > 1:
            raise NotInLanesError
        return int(shape.index(self.n))

    def _place(self, a: Any) -> Any:
        """Where the lanes are in an operand."""
        return self._where[a] if isinstance(a, Var) else self._axis(np.shape(a))

    def _became(self, v: Var, where: Any) -> Var:
        """The variable that stands for one in a lane."""
        self._where[v] = where
        made = v
        if type(where) is int:
            made = Var(v.index, with_length(v.shape, where, 1), v.dtype)
        self._now[v] = made
        return made

    def _operand(self, a: Any, where: Any) -> Any:
        if isinstance(a, Var):
            return self._now[a]
        if type(where) is not int:
            return a
        array = np.asarray(a)
        first = _first_lane(array, where)
        if np.array_equal(
            array, np.broadcast_to(first, array.shape), equal_nan=array.dtype.kind in "fc"
        ):
            return first
        found = self._now.get(id(a))
        if found is None:
            found = Var(
                self._count + len(self.tables), with_length(array.shape, where, 1), array.dtype
            )
            self._now[id(a)] = found
            self._given.append(found)
            self.tables.append(array)
        return found

    def _equation(self, e: Equation) -> Equation:
        places = [self._place(a) for a in e.inputs]
        if PARTIAL in places:
            return self._of_partial(e, places)
        if isinstance(e.primitive, ControlPrimitive) and any(p is not WHOLE for p in places):
            return self._of_control(e, places)
        # A constant may have rows, or be taken whole; there is no table of one number.
        asked = [
            p if p is WHOLE or isinstance(a, Var) else ~p
            for a, p in zip(e.inputs, places, strict=True)
        ]
        form = None
        if self.n > 1 and len(e.outputs) == 1:
            elementwise = is_elementwise(e, self.target)
            reduces = reduces_in_loop(e, self.target.takes)
            form = row_form(e, asked, self.n, elementwise, reduces)
        if form is None:
            if any(
                p is not WHOLE for a, p in zip(e.inputs, places, strict=True) if isinstance(a, Var)
            ):
                raise NotInLanesError
            outputs = tuple([self._became(v, WHOLE) for v in e.outputs])
            return Equation(
                e.primitive,
                tuple([self._operand(a, WHOLE) for a in e.inputs]),
                e.params,
                outputs,
                e.source,
            )
        if form.axis is None and form.total[0] != "sum":
            raise NotInLanesError
        inputs = tuple([self._operand(a, p) for a, p in zip(e.inputs, form.operands, strict=True)])
        made = self._became(e.outputs[0], PARTIAL if form.axis is None else form.axis)
        return Equation(e.primitive, inputs, form.params_for(1), (made,), e.source)

    def _of_partial(self, e: Equation, places: list[Any]) -> Equation:
        """An equation that is linear in what is added up over the lanes."""
        name, partial = e.primitive.name, [p == PARTIAL for p in places]
        linear = (
            (name in ADDED and all(partial))
            or (name in MOVED and len(partial) == 1)
            or (name == "multiply" and sum(partial) == 1 and places[partial.index(False)] is WHOLE)
            or (name == "divide" and partial[0] and places[1] is WHOLE)
        )
        if not linear:
            whole = [a for a, p in zip(e.inputs, partial, strict=True) if not p]
            raise NotInLanesError(tuple([a for a in whole if isinstance(a, Var)]))
        inputs = tuple([self._operand(a, p) for a, p in zip(e.inputs, places, strict=True)])
        return Equation(
            e.primitive, inputs, e.params, (self._became(e.outputs[0], PARTIAL),), e.source
        )

    def _of_control(self, e: Equation, places: list[Any]) -> Equation:
        """A loop or a branch whose bodies have the same lanes."""
        owner: Any = e.primitive
        every = [EnsembleLanes(simple(body), self.n, self.target) for body in owner.parts]
        inputs, outputs = every[-1].inputs, every[-1].outputs
        if any(one.tables or one.inputs != inputs or PARTIAL in one.outputs for one in every):
            raise NotInLanesError
        bodies = []
        for one, body in zip(every, owner.parts, strict=True):
            example = [_first_lane(x, p) for x, p in zip(body.example, one.inputs, strict=True)]
            bodies.append(Body(one.tape, example, body.carries, body.rows))
        nc, end = owner.body.carries, owner.body.carries + owner.body.rows
        given = inputs
        if owner.form == "branch":
            given = [WHOLE, *inputs]
            same = all([one.outputs == outputs for one in every])
        elif owner.form == "while":
            same = every[0].outputs == [WHOLE] and outputs == inputs[:nc]
            rows = [WHOLE, *map(_behind, outputs)] if owner.kept else []
            outputs = [*outputs, WHOLE, *rows]
        else:
            given = [*inputs[:nc], *map(_behind, inputs[nc:end]), *inputs[end:]]
            given = [*[WHOLE] * owner.counted, *given]
            same = outputs[:nc] == inputs[:nc]
            outputs = [*outputs[:nc], *map(_behind, outputs[nc:])]
        if not same or given != places:
            raise NotInLanesError
        operands = tuple([self._operand(a, p) for a, p in zip(e.inputs, places, strict=True)])
        results = tuple([self._became(v, p) for v, p in zip(e.outputs, outputs, strict=True)])
        return Equation(owner.remade(bodies), operands, e.params, results, e.source)


def _behind(axis: Any) -> Any:
    """An axis where that of the rows comes first."""
    return axis if axis is WHOLE else axis + 1


def _first_lane(value: Array, axis: Any) -> Any:
    return value if axis is WHOLE else np.take(value, [0], axis)


def lanes_of(tape: Tape, carries: int, target: Target) -> list[EnsembleLanes]:
    """The ways to run a body in lanes, those with the most lanes first."""
    shapes = [v.shape for v in tape.inputs] + [shape_of(a) for a in tape.outputs]
    found = []
    for n in sorted({m for shape in shapes for m in shape if m > 1}, reverse=True):
        try:
            found.append(_consistent(tape, n, carries, target))
        except NotInLanesError:
            continue
    return found


def _consistent(tape: Tape, n: int, carries: int, target: Target) -> EnsembleLanes:
    """The tape in lanes, where carries come out as they come in."""
    sums: set[int] = set()
    while True:
        try:
            made = EnsembleLanes(tape, n, target, sorted(sums))
        except NotInLanesError as refused:
            more = {k for k, v in enumerate(tape.inputs[:carries]) if v in refused.sums} - sums
            if not more:
                raise
        else:
            pairs = list(zip(made.inputs[:carries], made.outputs, strict=False))
            more = {k for k, (a, b) in enumerate(pairs) if b == PARTIAL and a is WHOLE}
            if not more:
                break
        sums |= more
    if any(a != b for a, b in pairs) or all(p is WHOLE for p in made.outputs):
        raise NotInLanesError
    return made
