"""Python's searches become loops of the program, however many steps they take.

    for _ in range(50):              the steps from the first decision to the last are one
        d = f(x) / df(x)             `while_loop`, which goes on as long as the decision says so
        x = x - d
        if abs(d) < tol: break       x of the last step is x of the loop

What a step does follows from the loop's variables, as `linad.control.plain_searches` finds out. At
each decision they are written down. The operations between two decisions are the body; each operand
is made there, is a variable as it was at the decision before, or comes from outside. Where the steps
that were recorded do not tell which, or are not the same, nothing is done: the decisions stay guards.
"""

from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh, refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import interrupt_pending
from linad.control.bodies import Body, run_equations
from linad.control.body_trace import BodyTrace
from linad.control.equal_operations import exact_key, same_params
from linad.control.known_bodies import known
from linad.control.lifted_numbers import with_numbers_lifted
from linad.control.plain_searches import PlainSearch, search_at
from linad.control.whiles import affordable, while_
from linad.core.frames import using_frame
from linad.core.moving_regions import write_moving
from linad.core.primitive import Primitive
from linad.core.regions import write_region
from linad.core.tape import GUARDS, Equation, Var, guard, needed, tape_of
from linad.transforms.demands import missed
from linad.transforms.record import RecordTrace, node_of

FEWEST = 3
"""Decisions from which it is told what the steps between them do."""

NUMBERS = (int, float, bool, complex)


class Decision:
    """One answer to the test of a search.

    Attributes
    ----------
    guard : Equation
        That checks the answer.
    state : dict
        The variables of the loop: a `Var`, or a plain number.
    values : dict
        What they are.
    """

    def __init__(self, equation: Equation, state: dict[str, Any], values: dict[str, Any]) -> None:
        self.guard, self.state, self.values = equation, state, values


class Search:
    """A search that Python has made, from its first decision to its last."""

    def __init__(self, loop: PlainSearch, limit: int | None) -> None:
        self.loop, self.limit = loop, limit
        self.met: list[Decision] = []
        self.alike = True


class SearchWatch:
    """What looks at the decisions of a function that is recorded.

    Attributes
    ----------
    ended : list of Search
        Those that came to their end, in the order in which they did.
    """

    def __init__(self, trace: RecordTrace) -> None:
        self.trace = trace
        self.ended: list[Search] = []
        self._open: dict[Any, tuple[FrameType, Search]] = {}

    def __call__(self, equation: Equation, answer: bool) -> None:
        """A decision is about to be written down."""
        frame = using_frame()
        loop = None if frame is None else search_at(frame)
        if frame is None or loop is None:
            return
        key = id(frame), loop.key
        _, search = self._open.get(key, (None, None))
        count = None if loop.counts is None else frame.f_locals.get(loop.counts)
        if search is None or search.loop is not loop or count == 0:
            self._open.pop(key, None)
            limit = loop.limit_in(frame)
            if not loop.holds_in(frame) or not (limit is None or type(limit) is int):
                return
            search = Search(loop, limit)
            self._open[key] = frame, search
        interrupt_pending()  # its steps are not those of a longer loop's template
        if count is not None and count != len(search.met):
            search.alike = False  # not all of its tests were of traced values
        search.met.append(self._decision(equation, frame, loop))
        if answer is not loop.goes:
            del self._open[key]
            if search.alike and len(search.met) >= FEWEST:
                self.ended.append(search)
                self.trace.loops += 1

    def end(self) -> None:
        self._open.clear()

    def _decision(self, equation: Equation, frame: FrameType, loop: PlainSearch) -> Decision:
        own = frame.f_locals
        state, values = {}, {}
        for name in loop.assigned:
            if name in own:
                state[name], values[name] = self._noted(own[name])
        return Decision(equation, state, values)

    def _noted(self, x: Any) -> tuple[Any, Any]:
        """A variable as it is now, and its value."""
        while isinstance(x, Tracer) and x._trace is not self.trace:
            refresh(x)
            x = x._value
        if isinstance(x, Tracer):
            refresh_node(x)
            return x._node, np.array(x.concrete)[()]
        return x, x


def with_searches_as_loops(
    trace: RecordTrace,
    equations: list[Equation],
    searches: Sequence[Search],
    outputs: Sequence[Any],
    given: dict[Var, Any],
) -> list[Equation]:
    """The same program, its searches as loops where they can be.

    Parameters
    ----------
    trace : RecordTrace
        Which has recorded it, and runs.
    equations : list of Equation
    searches : sequence of Search
        In the order in which they ended.
    outputs : sequence
        What is read of the program's values.
    given : dict
        Values that the equations begin with.
    """
    values: dict[Var, Any] = {}
    for search in searches:
        place = {id(e): k for k, e in enumerate(equations)}
        at = [place.get(id(d.guard), -1) for d in search.met]
        if at[0] < 0 or any([b <= a for a, b in zip(at, at[1:], strict=False)]):
            continue
        steps = _Steps(trace, equations, search, at)
        if not steps.are_alike() or steps.leaves_more(equations[at[-1] + 1 :], outputs):
            continue
        if not values:
            values = _run(equations, given)
        loop = steps.loop(values)
        if loop is not None:
            equations = [*equations[: at[0]], *loop, *equations[at[-1] + 1 :]]
    return equations


def _run(equations: Sequence[Equation], given: dict[Var, Any]) -> dict[Var, Any]:
    """What equations make of values, as far as these are known."""
    known_here = set(given)
    runs = []
    for e in equations:
        if known_here.issuperset([a for a in e.inputs if isinstance(a, Var)]):
            known_here.update(e.outputs)
            runs.append(e)
    return run_equations(runs, given)


class _Steps:
    """The steps of a search, between its decisions.

    Attributes
    ----------
    segments : list of list of Equation
        The operations before each decision but the first.
    carried : list of str
        The variables that have a value at the first decision.
    """

    def __init__(
        self, trace: RecordTrace, equations: list[Equation], search: Search, at: list[int]
    ) -> None:
        self.trace, self.search = trace, search
        self.segments = [
            equations[a + 1 : b] for a, b in zip(at, at[1:], strict=False)
        ]
        self.states = [d.state for d in search.met]
        self.tests = [d.guard.inputs[0] for d in search.met]
        self.place: list[dict[Var, tuple[int, int]]] = [
            {v: (k, o) for k, e in enumerate(part) for o, v in enumerate(e.outputs)}
            for part in self.segments
        ]
        last = self.states[-1]
        self.carried = [n for n in self.states[0] if isinstance(last[n], Var)]

    def are_alike(self) -> bool:
        """Whether all steps are one; what each operand is, is known then."""
        if not self._states_fit() or any([e.primitive in _STAY for e in self.segments[0]]):
            return False
        first = self.segments[0]
        for part in self.segments[1:]:
            if len(part) != len(first):
                return False
            for e, f in zip(part, first, strict=True):
                if e.primitive is not f.primitive or not same_params(e.params, f.params):
                    return False
                if _forms(e.outputs) != _forms(f.outputs) or len(e.inputs) != len(f.inputs):
                    return False
        if missed(first, needed(first, self._ends(0))):
            return False  # what may raise, though nobody reads it
        self.operands = []
        for k in range(len(first)):
            read = [[e.inputs[i] for e in self._column(k)] for i in range(len(first[k].inputs))]
            self.operands.append([self._told(r) for r in read])
        ends = list(zip(*[self._ends(j) for j in range(len(self.segments))], strict=True))
        self.ends = [self._told(r) for r in ends]
        return None not in self.ends and all([None not in told for told in self.operands])

    def _column(self, k: int) -> list[Equation]:
        return [part[k] for part in self.segments]

    def _ends(self, j: int) -> list[Any]:
        """What the variables, and the test, are after a step."""
        return [*[self.states[j + 1][n] for n in self.carried], self.tests[j + 1]]

    def _states_fit(self) -> bool:
        """Whether variables keep their kind, and what is plain stays what it is."""
        names = set(self.states[1])
        if any([set(s) != names for s in self.states[1:]]) or not set(self.states[0]) <= names:
            return False
        for name in names:
            of = [s[name] for s in self.states if name in s]
            if isinstance(of[-1], Var):
                form = of[-1].shape, of[-1].dtype
                if not all([_begins(of[0], form), *[_form(v) == form for v in of[1:]]]):
                    return False
            elif type(of[0]) not in NUMBERS or any([not _is_same(v, of[0]) for v in of]):
                return False
        return all([isinstance(t, Var) for t in self.tests])

    def _told(self, read: Sequence[Any]) -> Any:
        """What an operand is in every step: ("in", place), ("name", variable) or ("from", value);
        None where that is not told."""
        common: set[Any] | None = None
        for j, a in enumerate(read):
            found = self._could_be(j, a)
            common = found if common is None else common & found
        assert common is not None
        if len(common) == 1:
            kind, what = common.pop()
            return (kind, read[0]) if kind == "from" else (kind, what)
        names = sorted([what for kind, what in common if kind == "name"])
        if not names or len(names) < len(common):
            return None
        # Variables that are one value after every step, which makes it in one place.
        for j, state in enumerate(self.states[1:]):
            if len({id(state[n]) for n in names}) > 1 or state[names[0]] not in self.place[j]:
                return None
        return "name", names[0]

    def _could_be(self, j: int, a: Any) -> set[Any]:
        if isinstance(a, Var) and a in self.place[j]:
            return {("in", self.place[j][a])}
        state = self.states[j]
        found = {("name", n) for n in self.carried if _is_same(state[n], a)}
        found.add(("from", a if isinstance(a, Var) else exact_key(a)))
        return found

    def leaves_more(self, following: Sequence[Equation], outputs: Sequence[Any]) -> bool:
        """Whether what follows reads more of the steps than the variables after the last."""
        made = {v for part in self.place for v in part}
        last = self.states[-1]
        self.final: dict[str, Var] = {}  # what is one value for several is that of the first
        for n in self.carried:
            if last[n] not in made:
                return True
            if last[n] in self.final.values():
                others = [m for m, v in self.final.items() if v is last[n]]
                if any([s[n] is not s[others[0]] for s in self.states[1:]]):
                    return True
            else:
                self.final[n] = last[n]
        read = {a for e in following for a in e.inputs if isinstance(a, Var)}
        read.update([a for a in outputs if isinstance(a, Var)])
        read.difference_update(self.final.values())
        return not read.isdisjoint(made)

    def loop(self, values: dict[Var, Any]) -> list[Equation] | None:
        """The loop, and what has to hold after it; None where a value of it is not known."""
        search, names, trace = self.search, self.carried, self.trace
        forms = [(self.states[-1][n].shape, self.states[-1][n].dtype) for n in names]
        test, line = self.tests[-1], search.met[-1].guard.source
        before = search.met[-2]
        init = [_begun(self.states[0][n], dtype) for n, (_, dtype) in zip(names, forms, strict=True)]
        held = [Var(next(trace.numbers), *form) for form in forms]
        asked, count = Var(next(trace.numbers), (), test.dtype), Var(next(trace.numbers), (), _INT)
        example = [*[before.values[n] for n in names], np.bool_(search.loop.goes), np.int64(1)]
        # The body, of the operations of the last step.
        outside: dict[Var, None] = {}
        stands = dict(zip(names, held, strict=True))
        equations = [
            e.with_inputs(tuple([self._operand(*told, k, outside, stands) for told in read]))
            for k, (e, read) in enumerate(zip(self.segments[-1], self.operands, strict=True))
        ]
        found = [self._operand(*told, 0, outside, stands) for told in self.ends]
        more = Var(next(trace.numbers), (), _INT)
        equations.append(Equation(Primitive.registry["add"], (count, np.int64(1)), {}, (more,), line))
        outs = [*found, more]
        equations = needed(equations, outs)
        read = {a for a in (*outs, *[a for e in equations for a in e.inputs]) if isinstance(a, Var)}
        fixed = [v for v in outside if v in read]
        if any([v not in values for v in fixed]):
            return None
        inputs = [*held, asked, count, *fixed]
        example += [values[v] for v in fixed]
        body = tape_of("search", inputs, equations, outs)
        bodies = [
            _test(inputs, example, len(names), search.loop.goes, search.limit),
            Body(body, example, len(outs), 0),
        ]
        operands = [*init, self.tests[0], np.int64(1), *fixed]
        (goes, does), operands = with_numbers_lifted(bodies, operands, _finished)
        run = while_(goes, does, 0, None, affordable(does))
        made = [
            self.final.get(n) or Var(next(trace.numbers), *form)
            for n, form in zip(names, forms, strict=True)
        ]
        ended = Var(next(trace.numbers), (), test.dtype)
        made += [ended, *[Var(next(trace.numbers), (), _INT) for _ in range(2)]]
        loop = [Equation(run, tuple(operands), {}, tuple(made), line)]
        if search.limit is not None:  # else another way follows
            loop.append(Equation(guard, (ended,), search.met[-1].guard.params, (), line))
        return loop

    def _operand(
        self, kind: str, what: Any, k: int, outside: dict[Var, None], stands: dict[str, Var]
    ) -> Any:
        if kind == "in":
            return self.segments[-1][what[0]].outputs[what[1]]
        if kind == "name":
            return stands[what]
        if isinstance(what, Var):
            outside[what] = None
        return what


_INT = np.dtype(np.int64)
_STAY = (*GUARDS, write_region, write_moving)
"""Operations that a step may not have: it decides on more, or writes into what others may see."""


def _test(
    inputs: list[Var], example: list[Any], at: int, goes: bool, limit: int | None
) -> Body:
    """Whether the loop goes on, of the last answer and the number of steps."""
    recorder = BodyTrace()
    with recorder:
        ins = [recorder.input(v) for v in example]
        go = ins[at] if goes else np.logical_not(ins[at])
        if limit is not None:
            go = np.logical_and(go, ins[at + 1] < limit)
        output = node_of(recorder, go)
    nodes = [t._node for t in ins]
    tape = tape_of("test", nodes, needed(recorder.equations, [output]), [output])
    return Body(tape, example, at + 2, 0)


def _finished(bodies: Sequence[Body]) -> list[Body]:
    return [known(b) for b in bodies]


def _form(a: Any) -> Any:
    return (a.shape, a.dtype) if isinstance(a, Var) else None


def _forms(outputs: Sequence[Var]) -> list[Any]:
    return [(v.shape, v.dtype) for v in outputs]


def _begins(a: Any, form: Any) -> bool:
    """Whether a value can be the first of a variable of that shape and dtype."""
    if isinstance(a, Var):
        return bool(_form(a) == form)
    return type(a) in (int, float, np.float64) and form == ((), np.dtype(float))


def _begun(a: Any, dtype: Any) -> Any:
    return a if isinstance(a, Var) else np.asarray(a, dtype)[()]


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, Var) or isinstance(b, Var):
        return a is b
    return type(a) is type(b) and exact_key(a) == exact_key(b)
