"""Loops that differ in numbers alone are one loop, which is given the numbers.

    for c in data:                                   body(x) = (x + 3.0 / x) / 2
        linad.while_loop(test, body_of(c), 1.0)      body(x) = (x + 5.0 / x) / 2   ...

What a body reads of plain Python around it is part of it. The first loop of a function is recorded
so. Of one that is equal to an earlier one but for numbers, those that differ are operands: so are
those of the loops after it, which are one and the same to whoever compiles them, differentiates
them, or looks for repetitions (`linad.control.rolling`, for which the first one is made one of
them). Numbers that have been equal at all times are one operand.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linad.arrays.traces import Trace, running_trace
from linad.control.bodies import Body
from linad.control.control_primitive import ControlPrimitive
from linad.control.known_bodies import known
from linad.control.moving_places import Places
from linad.control.rows_of_constants import row_of
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var, tape_of
from linad.transforms.rewriting import params_key, value_key

Finish = Callable[[Sequence[Body]], list[Body]]

_met: WeakKeyDictionary[Trace, dict[Any, "_Alike"]] = WeakKeyDictionary()


def with_numbers_lifted(
    bodies: Sequence[Body], operands: Sequence[Any], finished: Finish = list
) -> tuple[list[Body], list[Any]]:
    """The bodies of a loop or a branch and its operands, perhaps with numbers among these.

    Parameters
    ----------
    bodies : sequence of Body
        As they were recorded, of the same operands, of which constants come last.
    operands : sequence
        Of the loop.
    finished : callable
        Makes of such bodies those of the loop.
    """
    trace = running_trace()
    outline = _Outline(bodies)
    try:
        hash(outline.key)
    except TypeError:
        return finished(bodies), list(operands)
    if trace is None or not outline.numbers:
        return finished(bodies), list(operands)
    met = _met.setdefault(trace, {})
    alike = met.get(outline.key)
    if alike is None:
        alike = met[outline.key] = _Alike(bodies, outline.numbers, finished)
        return alike.first, list(operands)
    return alike.lifted(operands, outline.numbers)


def all_lifted(body: Body) -> tuple[Body, list[Any]]:
    """A body with operands in the place of all its floating numbers, and these: one for all that
    differ in them alone."""
    numbers = _Outline([body]).numbers
    moves = [np.asarray(a).dtype.kind == "f" for a in numbers]
    if not any(moves):
        return known(body), []
    (made,), read = _WithOperands(list(range(len(numbers))), moves, numbers).bodies([body])
    return made, [_entry(numbers[k]) for k in read]


def first_ones_lifted(tape: Tape) -> Tape:
    """The same program; the first of loops that differ in numbers alone is one with the others."""
    here = {e.primitive for e in tape.equations}
    equations = [_lifted_first(e, here) for e in tape.equations]
    return Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)


def _lifted_first(e: Equation, here: set[Primitive]) -> Equation:
    if not isinstance(e.primitive, ControlPrimitive):
        return e
    general = e.primitive.parts[0].general
    if general is None or any([part.general is not general for part in e.primitive.parts]):
        return e
    bodies, numbers = general
    others = e.primitive.remade(bodies)
    if others not in here:
        return e
    return Equation(others, (*e.inputs, *numbers), e.params, e.outputs, e.source)


class _Outline:
    """Bodies without their numbers.

    Attributes
    ----------
    key : object
        Equal for bodies that differ in numbers alone; hashing it may raise TypeError.
    numbers : list
        In the order in which `_WithOperands` meets them.
    """

    def __init__(self, bodies: Sequence[Body]) -> None:
        self.numbers: list[Any] = []
        self._places = Places()
        self.key = tuple([self._of(b) for b in bodies])

    def _of(self, body: Body) -> Any:
        tape = body.tape
        place = {v: k for k, v in enumerate(tape.inputs)}
        parts: list[Any] = [(body.carries, body.rows)]
        parts += [(v.shape, v.dtype) for v in tape.inputs]
        for e in map(self._places.one_apart, tape.equations):
            operands: list[Any] = []
            for a in e.inputs:
                if isinstance(a, Var):
                    operands.append(place[a])
                elif is_number(a, e):
                    self.numbers.append(a)
                    operands.append(("number", *_kind(a)))
                else:
                    operands.append(("constant", value_key(a)))
            primitive: Any = e.primitive
            if isinstance(primitive, ControlPrimitive):
                primitive = primitive.options, tuple([self._of(b) for b in primitive.parts])
            place.update({v: len(place) + k for k, v in enumerate(e.outputs)})
            results = tuple([(v.shape, v.dtype) for v in e.outputs])
            parts.append((primitive, tuple(operands), params_key(e.params), results))
        parts += [place[a] if isinstance(a, Var) else value_key(a) for a in tape.outputs]
        return tuple(parts)


def is_number(a: Any, e: Equation) -> bool:
    """Whether an equation does the same with an entry of a row in the place of a constant."""
    return row_of([a], e) is not None


def _kind(a: Any) -> tuple[Any, ...]:
    return type(a), np.shape(a), np.asarray(a).dtype


class _Alike:
    """Loops of one function that differ in numbers alone.

    Attributes
    ----------
    labels : list of int
        One for each number; equal for those that have been equal in all loops.
    moves : list of bool
        For each label whether it has been another number in another loop.
    """

    def __init__(self, bodies: Sequence[Body], numbers: list[Any], finished: Finish) -> None:
        self.recorded, self.numbers, self.finished = bodies, numbers, finished
        self.first = self.made = finished(bodies)
        known_labels: dict[Any, int] = {}
        self.labels = [known_labels.setdefault(_exactly(a), len(known_labels)) for a in numbers]
        self.moves = [False] * len(known_labels)

    def lifted(
        self, operands: Sequence[Any], numbers: list[Any]
    ) -> tuple[list[Body], list[Any]]:
        """The bodies with operands in the place of the numbers that have moved, and operands."""
        now = [_exactly(a) for a in numbers]
        split: dict[Any, int] = {}
        labels = [split.setdefault(pair, len(split)) for pair in zip(self.labels, now, strict=True)]
        moves = [False] * len(split)
        for before, after, a, b in zip(self.labels, labels, self.numbers, now, strict=True):
            moves[after] |= self.moves[before] or _exactly(a) != b
        if not any(moves):
            return self.first, list(operands)
        if (labels, moves) != (self.labels, self.moves):
            self.labels, self.moves = labels, moves
            lifting = _WithOperands(labels, moves, self.numbers)
            self.made = self.finished(lifting.bodies(self.recorded)[0])
            general = self.made, self._moving(self.numbers)
            for body in self.first:
                body.general = general
        return self.made, [*operands, *self._moving(numbers)]

    def _moving(self, numbers: list[Any]) -> list[Any]:
        """What is given to a loop of these numbers."""
        given = dict(zip(self.labels, numbers, strict=True))
        return [_entry(given[k]) for k, moves in enumerate(self.moves) if moves]


def _exactly(a: Any) -> Any:
    """Equal for numbers that are the same to the bit."""
    return (*_kind(a), np.asarray(a).tobytes())


def _entry(a: Any) -> Any:
    """A number as an entry of an array of such numbers."""
    return np.asarray(a)[()]


class _WithOperands:
    """Bodies, made anew with operands in the place of numbers.

    Parameters
    ----------
    labels, moves : list
        As of `_Alike`.
    numbers : list
        As of `_Outline`; those of an example.
    """

    def __init__(self, labels: list[int], moves: list[bool], numbers: list[Any]) -> None:
        self.labels, self.moves = iter(labels), moves
        self.example = {k: _entry(a) for k, a in zip(labels, numbers, strict=True)}
        self.places = Places()

    def bodies(self, bodies: Sequence[Body]) -> tuple[list[Body], list[int]]:
        """Bodies of the same operands, and the labels of the operands that are added to these."""
        made = [self._written(b) for b in bodies]
        read = sorted({k for _, stands in made for k in stands.made})
        found = []
        for body, (equations, stands) in zip(bodies, made, strict=True):
            tape, added = body.tape, [stands.of(k) for k in read]
            lifted = tape_of(tape.name, [*tape.inputs, *added], equations, tape.outputs)
            example = [*body.example, *[self.example[k] for k in read]]
            found.append(known(Body(lifted, example, body.carries, body.rows)))
            if vars(body).get("searches"):
                found[-1].searches = True
        return found, read

    def _written(self, body: Body) -> tuple[list[Equation], "_StandIns"]:
        """The equations of a body, and what stands for numbers there."""
        stands, equations = _StandIns(body, self.example), []
        for e in map(self.places.one_apart, body.tape.equations):
            inputs = []
            for a in e.inputs:
                if not isinstance(a, Var) and is_number(a, e):
                    k = next(self.labels)
                    a = stands.of(k) if self.moves[k] else a
                inputs.append(a)
            if isinstance(e.primitive, ControlPrimitive):
                parts, read = self.bodies(e.primitive.parts)
                inputs += [stands.of(k) for k in read]
                inner = e.primitive.remade(parts)
                equations.append(Equation(inner, tuple(inputs), e.params, e.outputs, e.source))
            else:
                equations.append(e.with_inputs(tuple(inputs)))
        return self.places.together(equations), stands


class _StandIns:
    """Variables of a body that stand for numbers, by the labels of these."""

    def __init__(self, body: Body, example: dict[int, Any]) -> None:
        tape = body.tape
        here = [*tape.inputs, *[v for e in tape.equations for v in e.outputs]]
        self.example, self.made = example, dict[int, Var]()
        self._index = itertools.count(1 + max([v.index for v in here]))

    def of(self, label: int) -> Var:
        if label not in self.made:
            a = self.example[label]
            self.made[label] = Var(next(self._index), a.shape, a.dtype)
        return self.made[label]
