"""A loop of Python's, recorded in memory that does not grow with its repetitions.

Where a function seems to repeat itself (`linad.control.watching`), a few repetitions are recorded
here, on plain values. If they are equal, in the sense of `linad.control.rolling`, the last one is
the template. From then on an operation is carried out and compared with the one that is expected:

    primitive    and its parameters, but for the place that a read names
    operands     relative: so many operations back. Fixed: the same value from before the loop,
                 or an equal constant. Moving: a constant, or a place, that differs from repetition
                 to repetition; it is all that is written down
    result       its shape and dtype

A write into an array is such an operation too; what is written is the template's own meanwhile.
The first operation that differs, a loop of linad's that begins, or the end of the function ends
the loop. It becomes one operation of the traces around, what has been done of the next repetition
is done there, and the values that somebody still holds are given what they are there. So no promise
is needed, and what Python does besides is done as always.
"""

import weakref
from typing import Any

import numpy as np

from linad.arrays.buffers import (
    View,
    attach_view,
    is_settled,
    lazy_view,
    own_storage,
    refresh_node,
)
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.writes import write_value
from linad.control.borrowed_values import AdoptingTrace
from linad.control.carried_out import CarriedOut
from linad.control.moving_places import Places, window_of
from linad.control.replaced_methods import Hooks
from linad.control.rolling import (
    LEAST_EQUATIONS,
    LEAST_REPETITIONS,
    Roller,
    Stretch,
    periods,
    row_of,
)
from linad.control.template_beginnings import fewest_carries, is_sound, to_the_end
from linad.control.template_operands import SharedOperands
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
from linad.core.memory_layouts import kept
from linad.core.moving_regions import Moving
from linad.core.primitive import Primitive
from linad.core.regions import Region, write_region
from linad.core.tape import Equation, Var, guard, tape_of
from linad.transforms.record import RecordTrace

_bare = object.__new__  # without the calls of a constructor

MOST_PERIODS = 8
"""Periods that are tried where the shortest is none: repetitions may take turns, or look further
back than one."""


class TemplateTrace(AdoptingTrace):
    """Takes the place of the traces around while a loop of Python's repeats itself.

    Parameters
    ----------
    watch : LoopWatch
        Is told when it ends.
    around : list of Trace
        The traces whose functions run, from the innermost.
    recorder : RecordTrace
        The one among them that keeps the program.
    period : int
        Operations that a repetition probably has.
    """

    def __init__(self, watch: Any, around: list[Trace], recorder: RecordTrace, period: int) -> None:
        super().__init__(around)
        self.watch, self.recorder, self.period = watch, recorder, period
        recorder.template, self.pending = self, watch
        self.operands = SharedOperands(recorder.operands)
        self.errors = recorder.errors
        self.limit = 1024  # of these, until those that are gone are left out
        self.applied = 0
        self.looks = [max(LEAST_REPETITIONS + 1, -(-LEAST_EQUATIONS // period) + 1)]
        self.looks.append(2 * self.looks[0])
        self.awaited, self.expected = -1, (0, 0)  # equations, and the repetitions they shall be
        self.steps: list[ExpectedStep] | None = None
        self.here = self.at = self.repetitions = 0
        methods = {
            "apply": self.apply,
            "constant": self.constant,
            "answer": self._answer_around,
            "looked_at": self._looked_at_around,
            "shown": self._shown_around,
            "detach": self.detach,
            "write": self.write,
        }
        self.hooks = Hooks(around, methods)
        self.hooks.set()

    # What is asked of the traces around, and of this one, and ends the loop.

    def _answer_around(self, tracer: Tracer, question: Any) -> Any:
        self.settle()
        return tracer._trace.answer(tracer, question)

    def _looked_at_around(self, tracer: Tracer) -> None:
        self.settle()
        tracer._trace.looked_at(tracer)

    def _shown_around(self, tracer: Tracer) -> None:
        self.settle()
        tracer._trace.shown(tracer)

    looked_at = _looked_at_around
    shown = _shown_around

    def detach(self, tracer: Tracer) -> Any:
        for trace in self.around:
            trace.derives = True
        return super().detach(tracer)

    def written_to(self) -> None:
        for trace in self.around:
            trace.written_to()

    # Operations.

    def constant(self, value: Any) -> Tracer:
        if isinstance(value, Tracer):
            self.settle()
            return value if value._trace is self.around[0] else self.around[0].constant(value)
        result = super().constant(value)
        self.made.append(weakref.ref(result))
        self.around[0].cut = True
        return result

    def write(self, root: Tracer, region: Region, value: Any) -> None:
        if (
            id(root) in self.substitutes
        ):  # through a view that was made here, of an array from outside
            self.settle()
            root = self.origin[root._node]
            own_storage(root)
            root._trace.write(root, region, value)
            root._buffer.version += 1
            return
        self._look_if_due()
        if not self.over:
            if type(region) is Moving or (root._trace is not self and not self._may_adopt(root)):
                self.settle()
            elif root._trace is not self:
                self._adopt(root)
        if not self.over and self.steps is None:
            RecordTrace.write(self, root, region, self.lifted(value))
            self.applied += 1
        elif self.over or not self._expected_write(root, region, value):
            self.settle()
            own_storage(root)
            root._trace.write(root, region, value)

    def _look_if_due(self) -> None:
        if not self.over and self.steps is None:
            if self.looks and self.applied == self.looks[0] * self.period:
                self._look()
            elif len(self.equations) == self.awaited:
                self._begin_if_sound(to_the_end(self._roller(), *self.expected))

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        self._look_if_due()
        if self.over:
            return self._on_traces_around(primitive, args, params)
        if self.steps is None:
            return self._recorded(primitive, args, params)
        return self._expected(primitive, args, params)

    def _go_by_steps(self) -> None:
        """Let operations come to `_expected` at once."""
        quick: Any = self._expected
        vars(self)["apply"] = quick
        for trace in self.around:
            vars(trace)["apply"] = quick

    def _recorded(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        count = len(self.equations)
        found = [self.lifted(a) for a in args]
        if primitive.view and args[0]._trace is not self and type(args[0]._buffer) is View:
            # Of a part of an array from outside: what is written there later is seen in it.
            return self._on_traces_around(primitive, args, params)
        try:
            y = RecordTrace.apply(self, primitive, tuple(found), params)
        except Exception:  # of any operation; the call outside the template raises it again
            del self.equations[count:]
            return self._on_traces_around(primitive, args, params)
        self.applied += 1
        return y

    def _on_traces_around(self, primitive: Primitive, args: Any, params: Any) -> Any:
        self.settle()
        if any([type(a) is Tracer and a._trace is self for a in args]):
            self.check_alive()
        return primitive(*args, **params)

    # What a long loop spends its time in is written out here, without calls to spare.

    def _expected(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """Carry an operation out, if it is the one that the template has here."""
        if primitive.view and args[0]._buffer is not None:
            view = lazy_view(self, args[0], primitive, params)
            if view is not None:
                return view
        step = self.steps[self.at]  # type: ignore[index]
        if primitive is not step.primitive or len(args) != step.arity:
            return self._read_anew(primitive, args, params)
        self.errors.look()
        values: list[Any] = []
        moved: list[tuple[Any, Any]] | None = None
        begins: list[tuple[int, Any]] | None = None
        here = self.here << BITS
        k = 0
        for kind, x in step.operands:
            a = args[k]
            k += 1
            if type(a) is Tracer:
                if a._trace is not self:
                    met = self.stands.get(id(a))
                    if (
                        met is not None
                        and met[1] is a._node
                        and (a._buffer is None or is_settled(a._buffer, False))
                    ):
                        a = met[2]  # which is held here, so that it is still the same
                    else:
                        a = self.lifted(a)
                        if a is None:
                            return self._on_traces_around(primitive, args, params)
                value = a._value
                if a._buffer is not None and not is_settled(a._buffer, primitive.view):
                    if _is_behind(a):
                        return self._read_anew(primitive, args, params)
                    if not primitive.view:
                        value = kept(value)
                node = a._node
                if node is x:  # which is what is fixed
                    values.append(value)
                    continue
                if type(node) is not np.ndarray:
                    if type(node) is not int:
                        node = self.number.get(node, 0)
                    if kind or here - node != x:
                        return self._on_traces_around(primitive, args, params)
                    values.append(value)
                    continue
                a = node  # of an array that the repetition makes
            if kind == CONSTANT:
                if a is not x and not same_constant(a, x):
                    begins = begins or []
                    begins.append((k - 1, a))
            elif kind == MOVING and x.takes(a):
                moved = moved or []
                moved.append((x.values, a))
            else:
                return self._on_traces_around(primitive, args, params)
            values.append(a)
        if begins is not None:
            found = self._moves_from_here(begins)
            if found is None:
                return self._on_traces_around(primitive, args, params)
            moved = [*(moved or ()), *found]
        if params or step.params:
            if step.place is not None:
                place = window_of(params, values[0].shape)
                if place is None or place[1].key != step.region.key:
                    return self._on_traces_around(primitive, args, params)
                moved = moved or []
                moved.append((step.place.values, place[0]))
            elif not same_plain(params, step):
                return self._on_traces_around(primitive, args, params)
        try:
            y = primitive.impl(*values, **params) if params else primitive.impl(*values)
        except Exception:  # as above: there it is raised again
            return self._on_traces_around(primitive, args, params)
        if type(y) is tuple:
            if [(v.shape, v.dtype) for v in y] != step.results:
                return self._on_traces_around(primitive, args, params)
            result: Any = tuple([Tracer(self, here + o, v) for o, v in enumerate(y)])
            self.made += [weakref.ref(t) for t in result]
        else:
            shape, dtype = step.result
            if y.shape != shape or (y.dtype is not dtype and y.dtype != dtype):
                return self._on_traces_around(primitive, args, params)
            result = _bare(Tracer)
            result._trace, result._node, result._value, result._buffer = self, here, y, None
            result._whole = False
            self.made.append(weakref.ref(result))
        if moved is not None:
            for rows, a in moved:
                rows.append(kept(a) if type(a) is np.ndarray else a)
        self.here += 1
        self.at += 1
        if self.at == self.size:
            self._begin_anew()
        if primitive.view and type(y) is np.ndarray:
            attach_view(result, self.lifted(args[0]), primitive, params)
        return result

    def _moves_from_here(self, operands: list[tuple[int, Any]]) -> list[tuple[Any, Any]] | None:
        """Constants of the operation that is expected as rows, which begin with what they have
        been; None if it would not do the same with rows. What is to be written down, and where."""
        m, stretch = self.at, self.stretch
        step, e = self.steps[m], stretch.repetition(0)[m]  # type: ignore[index]
        now = list(step.operands)
        found = []
        for i, a in operands:
            before = step.operands[i][1]
            moved, row = Moved(before), row_of([before] * stretch.count, e)
            if row is None or not moved.takes(a):
                return None
            moved.values = [before] * self.repetitions
            self.moving[m, i], stretch.rows[m, i] = moved, row
            now[i] = MOVING, moved
            found.append((moved.values, a))
        self.steps[m] = step._replace(operands=tuple(now))  # type: ignore[index]
        return found

    def _read_anew(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """An operation on views of what has been written: they are read by operations before it."""
        behind = [a for a in args if type(a) is Tracer and a._trace is self and _is_behind(a)]
        for a in behind:
            refresh_node(a)
        if behind and not self.over:
            return self._expected(primitive, args, params)
        return self._on_traces_around(primitive, args, params)

    def _expected_write(self, root: Tracer, region: Region, value: Any) -> bool:
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
            if type(node) is not np.ndarray or not x.takes(node):
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
        root._node = self.here << BITS
        self._advance()
        return True

    def answer(self, tracer: Tracer, question: Any) -> Any:
        # What is computed for the question may be what differs.
        if tracer._buffer is not None:
            refresh_node(tracer)
        if question is not np.array and tracer.shape:
            tracer = tracer.reshape(())
        if question is bool and tracer.dtype.kind != "b":
            tracer = tracer != 0
        if not self.over and self.steps is None:
            return super().answer(tracer, question)
        if not self.over:
            assert self.steps is not None
            step = self.steps[self.at]
            answer = question(tracer._value)
            if step.primitive is guard and self._is_operand(tracer._node, step.operands[0]):
                expected = step.params["expected"]
                if type(answer) is type(expected) and np.array_equal(answer, expected):
                    self._advance()
                    return answer
            self.settle()
        return tracer._trace.answer(tracer, question)

    def _is_operand(self, node: Any, operand: tuple[int, Any]) -> bool:
        """Whether what stands for a value is the operand that is expected, if it does not move."""
        kind, x = operand
        if kind == FIXED:
            return node is x
        if type(node) is np.ndarray:
            return kind == CONSTANT and same_constant(node, x)
        if type(node) is not int:
            node = self.number.get(node, 0)
        return kind == RELATIVE and (self.here << BITS) - node == x

    def _advance(self) -> None:
        self.here += 1
        self.at += 1
        if self.at == self.size:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Expect the first operation of the next repetition."""
        self.at = 0
        self.repetitions += 1
        if len(self.made) > self.limit:
            self.made = [r for r in self.made if r() is not None]
            self.limit = 1024 + 2 * len(self.made)
            self.recorder.still_running()

    # The template.

    def _look(self) -> None:
        """See whether what was recorded repeats itself; if it does, find out where a repetition
        is best said to begin."""
        self.looks.pop(0)
        total = len(self.equations)
        roller = self._roller()
        for period in periods(roller.codes, most=MOST_PERIODS if not self.looks else 1):
            start = total % period
            for first in (start, start + period):
                found = to_the_end(roller, first, period)
                if found is None:
                    continue
                later = fewest_carries(found)
                if later:
                    self.looks = []
                    self.awaited, self.expected = total + later, (first + later, period)
                else:
                    self._begin_if_sound(found)
                return
        if not self.looks:
            self.settle()

    def _roller(self) -> Roller:
        self.places = Places()
        stands = [t._node for _, t in self.captured]
        return Roller(self.places.apart(tape_of("loop", stands, self.equations, [])))

    def _begin_if_sound(self, found: Stretch | None) -> None:
        if found is None or not is_sound(found):
            self.settle()
        else:
            self._begin(found)

    def _begin(self, found: Stretch) -> None:
        self.stretch = found
        equations = found.tape.equations
        self.size = found.period
        self.here, self.at, self.repetitions = len(equations), 0, 0
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
        self._go_by_steps()

    def _step(self, m: int, e: Equation, here: int) -> ExpectedStep:
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

    # The end.

    def settle(self) -> None:
        """Make one operation of the loop, on the traces around, and give them their values."""
        if self.over:
            return
        self.over = True
        vars(self).pop("apply", None)
        self.hooks.remove()
        held, views = self._held()
        loops = self.steps is not None and self.repetitions > 0
        done = CarriedOut(self)
        values = done.as_loop(held) if loops else done.one_by_one()
        for t in held:
            literal = type(t._node) is np.ndarray
            self._give(t, t._node if literal else values[t._node])
        for t in views:
            t._trace = t._buffer.root._trace
        self.finished = True
        self.recorder.template = None
        self.recorder.loops += loops
        self.watch.template_ended(loops)


def _is_behind(a: Tracer) -> bool:
    """Whether an array is a view that has to be read anew."""
    view = a._buffer
    return type(view) is View and view.version != view.root._buffer.version
