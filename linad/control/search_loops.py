"""Python's searches become loops of the program, however many steps they take.

    for _ in range(50):              the steps from the first decision to the last are one
        d = f(x) / df(x)             `while_loop`, which goes on as long as the decision says so
        x = x - d
        if abs(d) < tol: break       x of the last step is x of the loop

What a step does follows from the loop's variables, as `linad.control.plain_searches` finds out. At
each decision they are written down (`linad.control.search_watch`). The operations between two
decisions are the body; each operand is made there, is a variable as it was at the decision before,
or comes from outside. Where the steps that were recorded do not tell which, or are not the same,
nothing is done: the decisions stay guards.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body, run_equations
from linad.control.body_trace import BodyTrace
from linad.control.equal_operations import exact_key, same_params
from linad.control.known_bodies import known
from linad.control.lifted_numbers import with_numbers_lifted
from linad.control.search_watch import RecordedSearch
from linad.control.whiles import affordable, while_
from linad.core.moving_regions import write_moving
from linad.core.primitive import Primitive
from linad.core.regions import write_region
from linad.core.tape import GUARDS, Equation, Var, guard, needed, tape_of
from linad.transforms.demands import missed
from linad.transforms.record import NUMBERS, RecordTrace, node_of


def with_searches_as_loops(
    trace: RecordTrace,
    equations: list[Equation],
    searches: Sequence[RecordedSearch],
    outputs: Sequence[Any],
    given: dict[Var, Any],
) -> list[Equation]:
    """The same program, its searches as loops where they can be.

    Parameters
    ----------
    trace : RecordTrace
        Which has recorded it, and runs.
    equations : list of Equation
    searches : sequence of RecordedSearch
        In the order in which they ended.
    outputs : sequence
        What is read of the program's values.
    given : dict
        Values that the equations begin with.
    """
    place = {id(e): k for k, e in enumerate(equations)}
    found: list[tuple[list[int], RecordedSearch]] = []
    for search in searches:
        at = [place.get(id(d.guard), -1) for d in search.met]
        after = found[-1][0][-1] if found else -1
        if all([a < b for a, b in itertools.pairwise([after, *at])]):
            found.append((at, search))
    if not found:
        return equations
    until = _read_until(equations, found, outputs)
    values: dict[Var, Any] = {}
    parts: list[Equation] = []
    done = 0
    for at, search in found:
        steps = _Steps(trace, equations, search, at)
        if not steps.are_alike() or steps.leaves_more(until, at[-1]):
            continue
        values = values or _run(equations, given)
        loop = steps.loop(values)
        if loop is not None:
            parts += [*equations[done : at[0]], *loop]
            done = at[-1] + 1
    return [*parts, *equations[done:]] if done else equations


def _read_until(
    equations: Sequence[Equation],
    found: Sequence[tuple[Sequence[int], RecordedSearch]],
    outputs: Sequence[Any],
) -> dict[Any, float]:
    """The last equation that reads each variable, or begins a loop that may."""
    until: dict[Any, float] = {}
    for k, e in enumerate(equations):
        until.update(dict.fromkeys([a for a in e.inputs if isinstance(a, Var)], k))
    for at, search in found:
        for a in search.met[0].state.values():
            if isinstance(a, Var):
                until[a] = max(until.get(a, 0), at[0])
    return until | dict.fromkeys([a for a in outputs if isinstance(a, Var)], math.inf)


def _run(equations: Sequence[Equation], given: dict[Var, Any]) -> dict[Var, Any]:
    """What equations make of values, as far as these are known."""
    known_here = set(given)
    runs = []
    for e in equations:
        if known_here.issuperset([a for a in e.inputs if isinstance(a, Var)]):
            known_here.update(e.outputs)
            runs.append(e)
    with np.errstate(all="ignore"):  # it has been said when they were recorded
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
        self, trace: RecordTrace, equations: list[Equation], search: RecordedSearch, at: list[int]
    ) -> None:
        self.trace, self.search = trace, search
        self.segments = [equations[a + 1 : b] for a, b in itertools.pairwise(at)]
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
        if not self._states_fit() or not self.search.begun.always_asks(self.carried):
            return False
        if any([e.primitive in _STAY for e in self.segments[0]]):
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
        self.operands: list[list[tuple[str, Any]]] = []
        for column in zip(*self.segments, strict=True):
            operands = self._all_told(list(zip(*[e.inputs for e in column], strict=True)))
            if operands is None:
                return False
            self.operands.append(operands)
        ends = [self._ends(j) for j in range(len(self.segments))]
        told = self._all_told(list(zip(*ends, strict=True)))
        self.ends = told or []
        return told is not None

    def _all_told(self, columns: Sequence[Sequence[Any]]) -> list[tuple[str, Any]] | None:
        """What each of several operands is in every step; None where that is not told of all."""
        told = []
        for read in columns:
            found = self._told(read)
            if found is None:
                return None
            told.append(found)
        return told

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

    def _told(self, read: Sequence[Any]) -> tuple[str, Any] | None:
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
        found: set[Any] = {("name", n) for n in self.carried if _is_same(state[n], a)}
        found.add(("from", a if isinstance(a, Var) else exact_key(a)))
        return found

    def leaves_more(self, until: dict[Any, float], end: int) -> bool:
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
        made.difference_update(self.final.values())
        return any([until.get(v, 0) > end for v in made])

    def loop(self, values: dict[Var, Any]) -> list[Equation] | None:
        """The loop, and what has to hold after it; None where a value of it is not known."""
        search, names, trace = self.search, self.carried, self.trace
        forms = [(self.states[-1][n].shape, self.states[-1][n].dtype) for n in names]
        test, line = self.tests[-1], search.met[-1].guard.source
        before = search.met[-2]
        first = [self.states[0][n] for n in names]
        init = [_begun(a, dtype) for a, (_, dtype) in zip(first, forms, strict=True)]
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
        add = Primitive.registry["add"]
        equations.append(Equation(add, (count, np.int64(1)), {}, (more,), line))
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


def _test(inputs: list[Var], example: list[Any], at: int, goes: bool, limit: int | None) -> Body:
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
