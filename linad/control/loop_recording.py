"""The recording of a loop that `linad.loop` runs: its repetitions become one body."""

import gc
import weakref
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np

from linad.arrays.buffers import Storage, View, root_of
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace, running_trace
from linad.control.bodies import run_equations
from linad.control.closures import ClosureTrace
from linad.control.equal_operations import exact_key, same_params
from linad.control.python_state import state_of
from linad.control.replaced_methods import Hooks
from linad.control.rolled_repetitions import INDEX, Place, RolledRepetitions
from linad.core.array_type import Array
from linad.core.marks import mark, running_traces
from linad.core.memory_layouts import copied
from linad.core.tape import Equation, Var, needed
from linad.errors import BrokenPromiseError, LinadError, TracerError

FEWEST, MOST = 3, 6
"""Repetitions that are recorded: fewer are not a loop, and so many must suffice to see that they
are alike."""


class LoopTrace(ClosureTrace):
    """A recorder that knows which of its values somebody still holds."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[weakref.ref[Tracer]] = []
        self.reason: LinadError | None = None  # why its values cannot be used any more

    def check_alive(self) -> None:
        if self.reason is not None:
            raise self.reason
        super().check_alive()

    def _result(self, value: Array) -> Tracer:
        result = super()._result(value)
        self.made.append(weakref.ref(result))
        return result

    def held(self) -> list[Tracer]:
        """The values that somebody holds, except those that stand for values from outside."""
        own = {id(t) for _, t in self.captured}
        alive = [(ref, ref()) for ref in self.made]
        self.made = [ref for ref, t in alive if t is not None]
        return [t for _, t in alive if t is not None and t._trace is self and id(t) not in own]


class Recording:
    """The repetitions of a loop that Python runs, and the loop that they are.

    Parameters
    ----------
    n : int

    Attributes
    ----------
    settled : bool
        Whether two repetitions were found to be alike.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.trace = LoopTrace()
        self.around = list(running_traces())
        methods = {
            "apply": self.trace.apply,
            "constant": self.trace.constant,
            "answer": lambda t, question: self.trace.answer(self.trace.lifted(t), question),
            "looked_at": lambda t: self.trace.looked_at(self.trace.lifted(t)),
            "shown": lambda t: self.trace.shown(self.trace.lifted(t)),
            "detach": lambda t: self.trace.detach(self.trace.lifted(t)),
            "check_alone": self._adopt,
            "write": self._write,
        }
        self.hooks = self.trace.hooks = Hooks(self.around, methods)
        self.settled = False
        self.open = False
        self.repetitions: dict[int, list[Equation]] = {}
        self.indices: dict[int, Var] = {}
        self.place: dict[Var, tuple[int, Place]] = {}
        self.captured = 0  # how many values from outside were looked at
        self.entries: dict[Var, Any] = {}  # of plain arrays among them
        self.states: dict[int, dict[str, Any]] = {}
        self.holdings: dict[int, Counter[tuple[int, Place]]] = {}

    # What runs around the body.

    def start(self, frame: FrameType) -> None:
        """Record from here on what is done with values of the traces around."""
        found: list[Tracer] = []

        def known(value: Any) -> Any:
            if not isinstance(value, Tracer):
                return None
            found.append(value)
            return True

        state_of(frame, known)
        self.trace.__enter__()
        self.open = True
        for t in found:
            if type(t._buffer) is Storage and t._buffer.private and self._may_adopt(t):
                self._adopt(t)
        self.hooks.set()

    def leave(self) -> None:
        """Let the traces around do again what is done with their values."""
        if self.open:
            self.open = False
            self.hooks.remove()
            self.around[0].marks += self.trace.marks  # it raises when its function ends
            self.trace.marks.clear()
            if running_trace() is self.trace:
                self.trace.__exit__(None, None, None)
            self.trace.finished = True

    def break_off(self) -> None:
        """Python leaves the loop before its end. Nobody is there to whom an error could be raised:
        the trace around takes note of it."""
        self.leave()
        try:
            if self.settled:
                raise BrokenPromiseError("loop: one repetition leaves it, and those before did not")
            self.unroll()
        except LinadError as error:
            self.trace.reason = error
            mark(error, type(error).__name__, self.around[0])

    def begin(self, k: int) -> Tracer:
        """The traced k, at the beginning of a repetition."""
        i = self.trace.input(np.int64(k))
        self.indices[k] = i._node
        self.place[i._node] = k, INDEX
        self.first = len(self.trace.equations)
        return i

    def end(self, k: int, frame: FrameType) -> None:
        """Write down what the repetition has done, and compare it with the one before."""
        equations = self.repetitions[k] = self.trace.equations[self.first :]
        for m, e in enumerate(equations):
            for o, v in enumerate(e.outputs):
                self.place[v] = k, (m, o)
        for array, stands in self.trace.captured[self.captured :]:
            if isinstance(array, np.ndarray):
                self.entries[stands._node] = "constant", exact_key(stands._value)
        self.captured = len(self.trace.captured)
        self.states[k] = state_of(frame, lambda v: self._known(v, k))
        self.holdings[k] = self._holdings(k)
        if k < FEWEST - 1:
            return
        decides = self.settled or (k >= MOST - 1 and k < self.n - 1)
        difference = self._difference(k)
        if difference is None and self.holdings[k] != self.holdings[k - 1]:
            if self.settled or k >= MOST - 2:  # the last two that are compared
                gc.collect()  # what only refers to itself is held by nobody
                self.holdings[k] = self._holdings(k)
            if self.holdings[k] != self.holdings[k - 1]:
                difference = (
                    "more traced values of earlier repetitions are held than before; linad.scan "
                    "stacks the values of all repetitions"
                )
        if difference is None:
            self.last = k
            if not self.settled:
                self.settled, self.shown = True, k
            if k > self.shown + 1:
                self._forget(k)
        elif decides:
            raise BrokenPromiseError(
                f"loop: repetition {k} is not like repetition {k - 1}: {difference}"
            )

    def _forget(self, k: int) -> None:
        """Let go of a repetition that was compared with the one after it."""
        old = k - MOST
        if old > self.shown:
            for e in self.repetitions.pop(old):
                for v in e.outputs:
                    self.place.pop(v, None)
            del self.states[old], self.holdings[old]
        kept = len(self.trace.equations) - len(self.repetitions[k])
        if old > self.shown:
            del self.trace.equations[:kept]

    # Values from outside that are written.

    def _may_adopt(self, root: Tracer) -> bool:
        return not getattr(root._buffer, "viewed", False) and not any(
            [t.place_of_argument(root) is not None for t in self.around]
        )

    def _adopt(self, root: Tracer) -> None:
        """Take over an array from outside that is about to be written."""
        if root._trace is self.trace:
            return
        with self.hooks.away():
            root._trace.check_alone(root)
        if not self._may_adopt(root):
            raise TracerError(
                "loop: an array that was made before the loop is written in it, and it is an "
                "argument of the function or has views; write into a copy of it, made before "
                "the loop"
            )
        stands = self.trace.lifted(root)
        storage = Storage()
        storage.private = root._buffer is not None and root._buffer.private
        root._trace, root._node = self.trace, stands._node
        root._value = copied(stands._value)
        root._buffer, root._square = storage, None
        self.trace.made.append(weakref.ref(root))

    def _write(self, root: Tracer, region: Any, value: Any) -> None:
        self._adopt(root)
        self.trace.write(root, region, value)

    # Whether repetitions are alike.

    def _known(self, value: Any, k: int) -> Any:
        """Which traced value it is, as seen from repetition k."""
        if not isinstance(value, Tracer):
            return None
        if value._trace is not self.trace:
            return "outside", id(value), id(value._node)
        if type(value._buffer) is View:
            root = root_of(value)
            return "view", value.shape, value._trace is root._trace and self._known(root, k)
        found = self.place.get(value._node) if isinstance(value._node, Var) else None
        if found is None:
            return "outside", exact_key(value._node)
        repetition, place = found
        return ("first", place) if repetition == 0 else ("traced", k - repetition, place)

    def _holdings(self, k: int) -> Counter[tuple[int, Place]]:
        nodes = [root_of(t)._node for t in self.trace.held()]
        found = [self.place[v] for v in nodes if isinstance(v, Var) and v in self.place]
        return Counter([(k - r, place) for r, place in found if r > 0])

    def _difference(self, k: int) -> str | None:
        """In what a repetition differs from the one before; None if in nothing."""
        now, before = self.states[k], self.states[k - 1]
        for name in [*before, *now]:
            a, b = before.get(name), now.get(name)
            if a != b:
                return _changed(name, a, b)
        new, old = self.repetitions[k], self.repetitions[k - 1]
        for e, f in zip(old, new, strict=False):
            found = self._differ(e, f, k)
            if found is not None:
                return f"{found} at {f.source}" if f.source is not None else found
        if len(old) != len(new):
            return f"it does {len(new)} operations, and {len(old)} before"
        return None

    def _differ(self, e: Equation, f: Equation, k: int) -> str | None:
        if e.primitive is not f.primitive:
            return f"{f.primitive.name} in the place of {e.primitive.name}"
        if not same_params(e.params, f.params):
            if "expected" in e.params:
                return (
                    f"Python learns {f.params['expected']!r} of a traced value, and "
                    f"{e.params['expected']!r} before; write a decision as linad.cond or np.where, "
                    f"and read a plain array or a list by np.take(x, i)"
                )
            return f"{f.primitive.name} has other parameters"
        if [(v.shape, v.dtype) for v in e.outputs] != [(v.shape, v.dtype) for v in f.outputs]:
            return f"{f.primitive.name} gives other shapes or dtypes"
        for a, b in zip(e.inputs, f.inputs, strict=True):
            if a is b and (not isinstance(b, Var) or self.place.get(b, (0, INDEX))[0] == 0):
                continue  # from outside, or the first repetition has made it for all others
            if self.source(a, k - 1) != self.source(b, k):
                if not isinstance(a, Var) and not isinstance(b, Var):
                    return (
                        f"{f.primitive.name} takes {_shown(b)}, and {_shown(a)} before; "
                        f"compute what changes from the loop's i"
                    )
                return f"{f.primitive.name} takes a value from somewhere else"
        return None

    def source(self, a: Any, k: int) -> Any:
        """Where an operand of repetition k comes from."""
        if not isinstance(a, Var):
            return "constant", exact_key(a)
        found = self.place.get(a)
        if found is not None:
            return k - found[0], found[1]
        # A plain array that each repetition makes anew is one constant.
        return self.entries.get(a, ("outside", a))

    # The loop that they are.

    def finish(self) -> None:
        """Run the loop on the traces around, and give the values that are held their last ones."""
        if not self.settled or self.last + 1 == self.n == self.shown + 1:
            self.unroll()
            return
        self.trace.check()
        held = self._roots()
        wanted = {}
        for t in held:
            found = self.place.get(t._node) if isinstance(t._node, Var) else None
            if found is not None and found[0] > 0:
                wanted[id(t)] = self.last - found[0], found[1]
        early = len(wanted) < len(held)
        rolled = RolledRepetitions(self, {p for p in wanted.values() if p[1] != INDEX}, early)
        values = self._outside()
        values = rolled.run(values)
        for t in held:
            place = wanted.get(id(t))
            if place is None:
                self._give(t, values[t._node] if isinstance(t._node, Var) else t._node)
            elif place[1] == INDEX:
                self._give(t, np.int64(self.n - 1 - place[0]))
            else:
                self._give(t, rolled.final[place])

    def unroll(self) -> None:
        """Do on the traces around, one by one, what was recorded."""
        self.trace.check()
        held = self._roots()
        equations = needed(self.trace.equations, [t._node for t in held])
        values = run_equations(equations, self._outside(), self.around)
        for t in held:
            self._give(t, values[t._node] if isinstance(t._node, Var) else t._node)

    def _outside(self) -> dict[Var, Any]:
        values = {t._node: held for held, t in self.trace.captured}
        return values | {v: np.int64(k) for k, v in self.indices.items()}

    def _roots(self) -> list[Tracer]:
        """The values that are held; views among them will be made of their roots again."""
        held = {id(t): t for t in self.trace.held()}
        for t in list(held.values()):
            if type(t._buffer) is View:
                root = root_of(t)
                t._buffer.where()
                held[id(root)] = root
        views = [t for t in held.values() if type(t._buffer) is View]
        for t in views:
            t._trace, t._node, t._square = self._home(), None, None
            t._buffer.version, t._buffer.base = -1, None
            del held[id(t)]
        return list(held.values())

    def _home(self) -> Trace:
        return self.around[0]

    def _give(self, t: Tracer, value: Array) -> None:
        """Make a traced value stand for another."""
        if not isinstance(value, Tracer):
            value = self._home().constant(np.array(value)[()])
        viewed = t._buffer is not None and t._buffer.viewed
        t._trace, t._node, t._value = value._trace, value._node, value._value
        t._square, t._buffer = None, None
        if viewed:
            t._buffer = Storage()
            t._buffer.viewed = True


def _shown(a: Any) -> str:
    return f"the number {a!r}" if np.ndim(a) == 0 else "other numbers"


def _changed(name: str, a: Any, b: Any) -> str:
    """That something of Python's has changed, in words."""
    remedy = "compute what changes from the loop's i, or carry it through linad.scan"
    if a is None or b is None:
        return f"{name} has {'come up' if a is None else 'gone'}; {remedy}"
    if a[0] is b[0] and isinstance(a[0], type) and type(a[1]) is type(b[1]):
        if issubclass(a[0], (list, tuple, set, dict)):
            return (
                f"{name} had {a[1]} entries and has {b[1]}; linad.scan stacks the values of all "
                f"repetitions"
            )
        if issubclass(a[0], (int, float, complex, str, np.generic)):
            return f"{name} was {a[1]} and is {b[1]}; {remedy}"
    return f"{name} has changed; {remedy}"
