"""A Python loop, recorded in memory that does not grow with its repetitions.

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
    own_storage,
    refresh_node,
)
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.control.body_trace import scripted
from linad.control.carried_out import CarriedOut
from linad.control.moving_places import Places
from linad.control.replaced_methods import Hooks
from linad.control.rolling import (
    LEAST_EQUATIONS,
    LEAST_REPETITIONS,
    Roller,
    Stretch,
    periods,
)
from linad.control.template_beginnings import fewest_carries, is_sound, to_the_end
from linad.control.template_following import ExpectingTrace
from linad.control.template_operands import SharedOperands
from linad.core.array_type import Array
from linad.core.interrupts import is_interrupt
from linad.core.moving_regions import Moving
from linad.core.primitive import Primitive
from linad.core.regions import Region
from linad.core.tape import guard, tape_of
from linad.transforms.record import RecordTrace

MOST_PERIODS = 8
"""Periods that are tried where the shortest is none: repetitions may take turns, or look further
back than one."""


class TemplateTrace(ExpectingTrace):
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
        super().__init__(around, recorder)
        self.watch, self.period = watch, period
        recorder.template, self.pending = self, watch
        self.operands = SharedOperands(recorder.operands)
        self.applied = 0
        self.looks = [max(LEAST_REPETITIONS + 1, -(-LEAST_EQUATIONS // period) + 1)]
        self.looks.append(2 * self.looks[0])
        self.awaited, self.expected = -1, (0, 0)  # equations, and the repetitions they shall be
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

    def write(self, root: Tracer, region: Region, value: Array) -> None:
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

    def _recorded(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        count = len(self.equations)
        found = [self.lifted(a) for a in args]
        if primitive.view and args[0]._trace is not self and type(args[0]._buffer) is View:
            # Of a part of an array from outside: what is written there later is seen in it.
            return self._on_traces_around(primitive, args, params)
        try:
            y = RecordTrace.apply(self, primitive, tuple(found), params)
        except Exception as failure:  # of any operation; the call outside raises it again
            if is_interrupt(failure):
                raise
            del self.equations[count:]
            return self._on_traces_around(primitive, args, params)
        if self.over:  # a recording has begun meanwhile, as a program was made
            return self._on_traces_around(primitive, args, params)
        self.applied += 1
        return y

    def answer(self, tracer: Tracer, question: Any) -> Any:
        # What is computed for the question may be what differs.
        if tracer._buffer is not None:
            refresh_node(tracer)
        if question is not np.array and tracer.shape:
            tracer = tracer.reshape(())
        if question is bool and tracer.dtype.kind != "b":
            tracer = tracer != 0
        if not self.over and self.steps is None:
            if scripted.get() is None:
                return super().answer(tracer, question)
            self.settle()  # a script is for the traces around
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

    # The end.

    def settle(self) -> None:
        """Make one operation of the loop, on the traces around, and give them their values."""
        if self.over:
            return
        self.over = True
        vars(self).pop("apply", None)
        self.hooks.remove()
        self.kept[:] = self.values[:] = [None] * len(self.kept)  # held by nobody else
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
