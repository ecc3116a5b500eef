"""What a template does with operations: carries them out, as long as they are those it expects.

`linad.control.templates` says what a template is, and how it comes to be.
"""

import warnings
import weakref
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import View, attach_view, is_settled, lazy_view, refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.writes import write_value
from linad.control.borrowed_values import AdoptingTrace
from linad.control.moving_places import Places, window_of
from linad.control.rolling import Stretch
from linad.control.rows_of_constants import row_of
from linad.control.template_steps import (
    BITS,
    CONSTANT,
    FIXED,
    MOVING,
    RELATIVE,
    ExpectedStep,
    Moved,
    compared,
    same_constant,
    same_plain,
)
from linad.control.written_steps import written_step
from linad.core.array_type import Array
from linad.core.error_state import state
from linad.core.interrupts import is_interrupt
from linad.core.memory_layouts import copy_in_layout
from linad.core.primitive import Primitive
from linad.core.regions import Region, write_region
from linad.core.shapes import Shape
from linad.core.tape import Equation, Var
from linad.transforms.record import RecordTrace

_bare = object.__new__  # without the calls of a constructor


class ExpectingTrace(AdoptingTrace):
    """Goes through the steps of a template, repetition after repetition.

    Parameters
    ----------
    around : list of Trace
        The traces whose functions run, from the innermost.
    recorder : RecordTrace
        The one among them that keeps the program.

    Attributes
    ----------
    steps : list of ExpectedStep or None
        The operations of a repetition, once there is a template.
    begun, at : int
        The number of the first result of this repetition, and which step comes next.
    written : list of callable
        The steps as functions.
    nodes : list of (int or None)
        By steps: the node of the last result.
    kept, values : list
        By steps: tracers that may be used again, and what they are views of.
    repetitions : int
        That are complete, of those that were carried out so.
    stretch : Stretch
        The repetitions that were recorded before.
    """

    places: Places

    def __init__(self, around: list[Trace], recorder: RecordTrace) -> None:
        super().__init__(around)
        self.recorder, self.errors = recorder, recorder.errors
        self.limit = 256  # of values made here, until those that are gone are left out
        self.steps: list[ExpectedStep] | None = None
        self.begun = self.at = self.repetitions = 0
        self.written: list[Any] = []
        self.nodes: list[Any] = []
        self.kept: list[Any] = []
        self.values: list[Any] = []

    @property
    def here(self) -> int:
        """How many operations there have been."""
        return (self.begun >> BITS) + self.at

    def _begin(self, found: Stretch) -> None:
        """Expect the last of the repetitions that were found once more."""
        self.stretch = found
        equations = found.tape.equations
        self.size = found.period
        self.begun, self.at, self.repetitions = len(equations) << BITS, 0, 0
        self.takes_up = False
        first = len(equations) - 2 * found.period
        self.number = {
            v: ((first + k) << BITS) + o
            for k, e in enumerate(equations[first:])
            for o, v in enumerate(e.outputs)
        }
        self.moving = {key: Moved(found.repetition(0)[key[0]].inputs[key[1]]) for key in found.rows}
        last = found.repetition(found.count - 1)
        begin = len(equations) - found.period
        self.steps = [self._step(m, e, (begin + m) << BITS) for m, e in enumerate(last)]
        self.nodes, self.kept, self.values = [[None] * self.size for _ in range(3)]
        self.written = [written_step(self, m, step) for m, step in enumerate(self.steps)]
        self._go_by_steps()

    def _step(self, m: int, e: Equation, here: int) -> ExpectedStep:
        """What is compared with operation ``m`` of a repetition."""
        operands: list[tuple[int, Any]] = []
        for i, a in enumerate(e.inputs):
            if (m, i) in self.moving:
                operands.append((MOVING, self.moving[m, i]))
            elif isinstance(a, Var) and a in self.number:
                operands.append((RELATIVE, here - self.number[a]))
            else:
                operands.append((FIXED if isinstance(a, Var) else CONSTANT, a))
        primitive, params, place, region = e.primitive, e.params, None, None
        read = self.places.read_by(e)
        if read is not None:
            primitive, original = read
            kind, place = operands.pop()
            if kind == MOVING:
                region = params["region"]
            else:
                place = None
            params = original
        results = [(v.shape, v.dtype) for v in e.outputs]
        first = results[0] if results else None
        count, plain_ones = len(operands), compared(params)
        return ExpectedStep(
            primitive, count, tuple(operands), params, plain_ones, results, first, place, region
        )

    def _go_by_steps(self) -> None:
        """Let operations come to the steps at once."""
        written = self.written

        def quick(primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
            return written[self.at](primitive, args, params)

        for trace in (self, *self.around):
            vars(trace)["apply"] = quick

    def _on_traces_around(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """End the loop; an operation that is none of its own is done there."""
        self.settle()
        if any([type(a) is Tracer and a._trace is self for a in args]):
            self.check_alive()
        return primitive(*args, **params)

    # What takes the long way: the first time, and what is none of the simple steps.

    def _expected(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """Carry an operation out, if it is the one that the template has here."""
        if primitive.view:
            buffer = args[0]._buffer
            if buffer is not None and not is_settled(buffer):
                view = lazy_view(self, args[0], primitive, params)
                if view is not None:
                    return view
        step = self.steps[self.at]  # type: ignore[index]
        wanted, arity, operands, given, plain_ones, results, only, place, region = step
        if primitive is not wanted or len(args) != arity:
            return self._read_anew(primitive, args, params)
        errors = self.errors
        if state() is not errors.state or warnings.filters is not errors.filters:
            errors.look()
        moved: list[tuple[Any, Any]] = []
        values = self._values_of(args, operands, primitive.view, moved)
        if values is None:
            return self._read_anew(primitive, args, params)
        if place is not None:
            window = window_of(params, values[0].shape)
            if window is None or window[1].key != region.key:
                return self._on_traces_around(primitive, args, params)
            moved.append((place.values, window[0]))
        elif (params or given) and not same_plain(params, given, plain_ones):
            late = self._begun_to_move(params, values[0].shape)
            if late is None:
                return self._on_traces_around(primitive, args, params)
            moved.append(late)
        try:
            y = primitive.impl(*values, **params) if params else primitive.impl(*values)
        except Exception as failure:  # there it is raised again
            if is_interrupt(failure):
                raise
            return self._on_traces_around(primitive, args, params)
        # A recording may have begun meanwhile, as a program was made.
        result = None if self.over else self._expected_result(y, results, only)
        if result is None:
            return self._on_traces_around(primitive, args, params)
        for rows, a in moved:
            rows.append(copy_in_layout(a) if type(a) is ndarray else a)
        self._advance()
        if primitive.view and type(y) is ndarray:
            attach_view(result, self.lifted(args[0]), primitive, params)
        return result

    def _values_of(
        self,
        args: tuple[Any, ...],
        operands: tuple[tuple[int, Any], ...],
        is_view: bool,
        moved: list[tuple[Any, Any]],
    ) -> list[Any] | None:
        """The values of an operation's operands; None if they are not those that are expected.

        Those that move go to ``moved``, each with the list that it is to be written down in.
        """
        values: list[Any] = []
        here = self.here << BITS
        for a, (kind, x) in zip(args, operands):  # noqa: B905  # as many, says the caller
            if (  # most are results of the repetition
                type(a) is Tracer
                and a._trace is self
                and kind == RELATIVE
                and type(a._node) is int
                and here - a._node == x
                and (a._buffer is None or is_settled(a._buffer))
            ):
                values.append(a._value)
                continue
            if type(a) is Tracer:
                a = self.lifted(a)
                if a is None:
                    return None
                value, node = a._value, a._node
                if a._buffer is not None and not is_settled(a._buffer, is_view):
                    if _is_behind(a):
                        return None
                    if not is_view:
                        value = copy_in_layout(value)
                if node is x or type(node) is not ndarray:
                    if node is not x and not self._is_operand(node, (kind, x)):
                        return None
                    values.append(value)
                    continue
                a = node  # of an array that the repetition makes
            if kind != CONSTANT or not (a is x or same_constant(a, x)):
                rows = self._rows_of(len(values), kind, x, a)
                if rows is None:
                    return None
                moved.append((rows, a))
            values.append(a)
        return values

    def _rows_of(self, place: int, kind: int, x: Any, a: Any) -> list[Any] | None:
        """Where an operand that moves is written down; None if none may move here.

        A constant may begin to, if its operation would do the same with rows: until now they
        have been what it was.
        """
        if kind == MOVING:
            return x.values if x.takes(a) else None
        if kind != CONSTANT:
            return None
        m, stretch = self.at, self.stretch
        step, e = self.steps[m], stretch.repetition(0)[m]  # type: ignore[index]
        moved, row = Moved(x), row_of([x] * stretch.count, e)
        if row is None or not moved.takes(a):
            return None
        moved.values = [x] * self.repetitions
        self.moving[m, place], stretch.rows[m, place] = moved, row
        operands = list(step.operands)
        operands[place] = MOVING, moved
        step = self.steps[m] = step._replace(operands=tuple(operands))  # type: ignore[index]
        self.written[m] = written_step(self, m, step)
        return moved.values

    def _begun_to_move(self, params: dict[str, Any], shape: Shape) -> tuple[list[Any], Any] | None:
        """Where the place of a read is written down that was the same until now, and the place;
        None of what is no such read."""
        m, stretch = self.at, self.stretch
        step, e = self.steps[m], stretch.repetition(0)[m]  # type: ignore[index]
        window = None if self.places.read_by(e) is None else window_of(params, shape)
        if window is None or isinstance(e.inputs[-1], Var):
            return None
        place, (at, region) = len(e.inputs) - 1, window
        x, row = e.inputs[-1], row_of([e.inputs[-1]] * stretch.count, e)
        if row is None or region.key != e.params["region"].key:
            return None
        moved = Moved(x)
        moved.values = [x] * self.repetitions
        self.moving[m, place], stretch.rows[m, place] = moved, row
        step = self.steps[m] = step._replace(place=moved, region=region)  # type: ignore[index]
        self.written[m] = written_step(self, m, step)
        return moved.values, at

    def _expected_result(self, y: Any, results: list[tuple[Any, Any]], only: Any) -> Any:
        """What stands for a result; None if it is not of the expected shape and dtype."""
        if type(y) is tuple:
            if [(v.shape, v.dtype) for v in y] != results:
                return None
            here = self.here << BITS
            several = tuple([Tracer(self, here + o, v) for o, v in enumerate(y)])
            self.made += [weakref.ref(t) for t in several]
            self.nodes[self.at] = None
            return several
        shape, dtype = only
        if y.shape != shape or (y.dtype is not dtype and y.dtype != dtype):
            return None
        result = _bare(Tracer)
        node = self.nodes[self.at] = self.begun + (self.at << BITS)
        result._trace, result._node, result._value = self, node, y
        result._buffer, result._square, result._whole = None, None, False
        self.made.append(weakref.ref(result))
        return result

    def _read_anew(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """An operation on views of what has been written: they are read by operations before it."""
        behind = [a for a in args if type(a) is Tracer and a._trace is self and _is_behind(a)]
        for a in behind:
            refresh_node(a)
        if behind and not self.over:
            return self._expected(primitive, args, params)
        return self._on_traces_around(primitive, args, params)

    def _expected_write(self, root: Tracer, region: Region, value: Array) -> bool:
        """Whether a write is the one that the template has here; it is done then."""
        if type(value) is Tracer:
            value = self.lifted(value)
            if value is None:
                return False
            refresh_node(value)
            if self.over:
                return False
        else:
            value = np.array(value)
        assert self.steps is not None
        step = self.steps[self.at]
        if step.primitive is not write_region or not self._is_operand(root._node, step.operands[0]):
            return False
        kind, x = step.operands[1]
        moved: list[tuple[Any, Any]] = []
        node = value._node if type(value) is Tracer else value
        if kind == MOVING:
            if type(node) is not ndarray or not x.takes(node):
                return False
            moved.append((x.values, node))
        elif not self._is_operand(node, (kind, x)):
            return False
        if step.place is None:
            if not region.same(step.params["region"]):
                return False
        else:
            place = window_of({"region": region}, root.shape)
            if place is None or place[1].key != step.region.key:
                return False
            moved.append((step.place.values, place[0]))
        write_value(root, region, value._value if type(value) is Tracer else value)
        for rows, a in moved:
            rows.append(a)
        root._node = self.nodes[self.at] = self.here << BITS
        self._advance()
        return True

    def _is_operand(self, node: Any, operand: tuple[int, Any]) -> bool:
        """Whether what stands for a value is the operand that is expected, if it does not move."""
        kind, x = operand
        if kind == FIXED:
            return node is x
        if type(node) is ndarray:
            return kind == CONSTANT and same_constant(node, x)
        if type(node) is not int:
            node = self.number.get(node, 0)
        return kind == RELATIVE and (self.here << BITS) - node == x

    def _advance(self) -> None:
        self.at += 1
        if self.at == self.size:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Expect the first operation of the next repetition."""
        self.at = 0
        self.begun += self.size << BITS
        self.repetitions += 1
        if len(self.made) > self.limit:
            self.made = [r for r in self.made if r() is not None]
            self.limit = 256 + 2 * len(self.made)
            self.recorder.still_running()


def _is_behind(a: Tracer) -> bool:
    """Whether an array is a view that has to be read anew."""
    view = a._buffer
    return type(view) is View and view.version != view.root._buffer.version
