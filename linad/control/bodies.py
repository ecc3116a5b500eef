"""The body of a loop: a tape from (carries, rows, constants) to (carries, rows).

What its derivative runs, repetition by repetition, is a body again, recorded from the tape:

    push   carries (c, dc)    rows (x, dx)          constants (k, dk)   ->  c, dc; dy
    pull   carries (wc, wk)   rows (c_j, x_j, wy)   constants k         ->  wc, wk; wx

The pull runs the other way. It finds the carries c_j as they were before each repetition, and
computes everything else in the body once more. What it does not read is not kept for it. Of a
carry that is an array which the body writes here and there, what the body reads is kept instead.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.control.memory_arrays import arranged, reads_of
from linad.core import tree
from linad.core.moving_regions import example_values
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, is_inexact, size_of
from linad.core.tape import Equation, Tape, Var, needed, tape_of
from linad.core.zero_seeds import read_results, zero_seeds
from linad.errors import GuardError
from linad.transforms.linearize import linearize_leaves
from linad.transforms.record import RecordTrace, naming, node_of
from linad.transforms.rewriting import params_key, standing_for, value_key
from linad.transforms.spaces import Slot

REMEMBERED = 256
"""Bodies that are remembered: a loop that Python meets again is the same body."""


scripted: ContextVar[Callable[[Tracer], bool] | None] = ContextVar("linad_scripted", default=None)
"""What answers Python's decisions on values of a body, see `linad.control.both_ways`."""


class BodyTrace(RecordTrace):
    """A recorder of a body, on values that are examples."""

    def answer(self, tracer: Tracer, question: Callable[[Any], Any]) -> Any:
        script = scripted.get()
        if script is None or question is not bool:
            return super().answer(tracer, question)
        bool(tracer.concrete)  # raises what NumPy raises, of several entries
        test = tracer.reshape(()) if tracer.shape else tracer
        return script(test if test.dtype.kind == "b" else test != 0)

    def __enter__(self) -> "BodyTrace":
        with ExitStack() as around:
            around.enter_context(example_values())
            around.enter_context(read_results())
            super().__enter__()
            self._around_it = around.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._around_it.close()
        super().__exit__(kind, error, traceback)


def _rule_before(y: Any, x: Any, read: Any, *rest: Any, of: Primitive, **params: Any) -> Any:
    return of.rule_of(0)(y, x, *rest, **params)


read_before = Primitive(
    "read_before",
    lambda x, read, *rest, of, **params: read,
    captures_args=False,
    register=False,
)
"""What was read of an array, with the derivative of reading it."""

read_before.jacobian(wrt=0)(_rule_before)
read_before.zero_slope_args = frozenset({1})


class Body:
    """The body of a loop.

    Parameters
    ----------
    tape : Tape
        Its inputs are carries, then rows, then constants; its outputs new carries, then rows.
    example : list
        Values of the inputs for which the tape's guards hold.
    carries, rows : int
        How many of the inputs are carries, and how many are rows.

    Attributes
    ----------
    outputs : list of Var
        Shape and dtype of each output.
    """

    def __init__(self, tape: Tape, example: Sequence[Any], carries: int, rows: int) -> None:
        self.tape, self.example = tape, [_held(v) for v in example]
        self.carries, self.rows = carries, rows
        self.constants = len(tape.inputs) - carries - rows
        self.outputs = [_described(a) for a in tape.outputs]
        self._made: dict[Any, Any] = {}

    def once(self, key: Any, make: Any) -> Any:
        """What ``make()`` gave when it was first asked for by that key."""
        found = self._made.get(key)
        if found is None:
            with np.errstate(all="ignore"):  # of examples, perhaps of a branch that is not taken
                found = self._made.setdefault(key, make())
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Body, (self.tape, self.example, self.carries, self.rows)

    # Forward, with the carries that the way back needs.

    def keeping(self, kept: tuple[Var, ...]) -> "Body":
        """The same body; these carries, as they come in, and other values are rows of its
        results."""
        if not kept:
            return self
        return self.once(("keep", kept), lambda: self._keeping(kept))  # type: ignore[no-any-return]

    def _keeping(self, kept: tuple[Var, ...]) -> "Body":
        t = self.tape
        outputs = [*t.outputs, *kept]
        tape = tape_of(t.name, t.inputs, t.equations, outputs)
        return Body(tape, self.example, self.carries, self.rows)

    @property
    def carry_bytes(self) -> int:
        """Memory for what a derivative keeps of the carries of one repetition, at most."""
        total = 0
        for k, v in enumerate(self.tape.inputs[: self.carries]):
            reads = reads_of(self.tape, k)
            kept = [v] if reads is None else [y for e in reads for y in e.outputs]
            total += sum([size_of(y.shape) * y.dtype.itemsize for y in kept])
        return total

    def reading(self) -> tuple[Tape, list[Var], list[Any]]:
        """The same tape with what is read of arrays that it writes as inputs of its own, after
        the others; what these are, and examples."""
        return self.once("reading", self._reading)  # type: ignore[no-any-return]

    def _reading(self) -> tuple[Tape, list[Var], list[Any]]:
        t = self.tape
        reads = [y for k in range(self.carries) for e in reads_of(t, k) or () for y in e.outputs]
        if not reads:
            return t, [], []
        number = 1 + max([v.index for e in t.equations for v in e.outputs])
        given = {y: Var(number + k, y.shape, y.dtype) for k, y in enumerate(reads)}

        def replaced(e: Equation) -> Equation:
            if not e.outputs or e.outputs[0] not in given:
                return e
            array, *rest = e.inputs
            params = {"of": e.primitive, **e.params}
            operands = (array, given[e.outputs[0]], *rest)
            return Equation(read_before, operands, params, e.outputs, e.source)

        with BodyTrace():
            found = tape_of(t.name, t.inputs, needed(t.equations, reads), reads).run(self.example)
        equations = [replaced(e) for e in t.equations]
        tape = tape_of(t.name, [*t.inputs, *given.values()], equations, t.outputs)
        return tape, reads, [_held(v) for v in found]

    # Derivatives.

    def activity(self, active: Sequence[int]) -> tuple[list[int], list[int]]:
        """Inputs and outputs that have a derivative, where the inputs ``active`` have one.

        A carry has one from the first repetition on, or from the one after it was given one.
        """
        inputs, moving = set(active), set[int]()
        for _ in range(self.carries + 1):
            live = {self.tape.inputs[i] for i in inputs}
            for eqn in self.tape.equations:
                flat = eqn.primitive.zero_slope_args
                reads = [
                    a for i, a in enumerate(eqn.inputs) if isinstance(a, Var) and i not in flat
                ]
                if not eqn.primitive.constant and not live.isdisjoint(reads):
                    live.update([v for v in eqn.outputs if is_inexact(v.dtype)])
            moving = {
                j for j, a in enumerate(self.tape.outputs) if isinstance(a, Var) and a in live
            }
            more = {j for j in moving if j < self.carries and is_inexact(self.tape.inputs[j].dtype)}
            if more <= inputs:
                break
            inputs |= more
        carried = {i for i in inputs if i < self.carries}
        return sorted(inputs), sorted(moving | carried)

    def reached(self, inputs: Sequence[int], given: Sequence[int]) -> set[int]:
        """Outputs whose cotangents are not zero, of some repetition, where ``given`` have one.

        What a carry has no slope in, a measure of progress that is only compared, has none. It is
        left out: zero times an infinite slope would be NaN.
        """
        reached = set(given)
        while True:
            live = {a for j in reached if isinstance(a := self.tape.outputs[j], Var)}
            for eqn in reversed(self.tape.equations):
                if not eqn.primitive.constant and not live.isdisjoint(eqn.outputs):
                    flat = eqn.primitive.zero_slope_args
                    reads = [a for i, a in enumerate(eqn.inputs) if i not in flat]
                    live.update([a for a in reads if isinstance(a, Var) and is_inexact(a.dtype)])
            more = {i for i in inputs if i < self.carries and self.tape.inputs[i] in live}
            if more <= reached:
                return reached
            reached |= more

    def pull(self, active: tuple[int, ...], given: tuple[int, ...], seeds: Shape) -> "Pull":
        """The body of the pull, for cotangents of the outputs ``given``."""
        key = "pull", active, given, seeds
        return self.once(key, lambda: Pull(self, active, given, seeds))  # type: ignore[no-any-return]

    def push(self, active: tuple[int, ...], seeds: Shape) -> "Push":
        """The body of the push."""
        return self.once(("push", active, seeds), lambda: Push(self, active, seeds))  # type: ignore[no-any-return]

    def linearized(self, tape: Tape, ins: list[Any], inputs: list[int], outputs: list[int]) -> Any:
        """Results and Jacobian of some outputs with respect to some inputs, by a tape of its."""
        chosen = [ins[i] for i in inputs]

        def run(leaves: list[Any]) -> list[Any]:
            given = list(ins)
            for i, leaf in zip(inputs, leaves, strict=True):
                given[i] = leaf
            self.results = tape.run(given)
            return [_result(self.results[j]) for j in outputs]

        return linearize_leaves(run, chosen, tree.flatten(chosen)[1])


class Pull:
    """The body of a pull, and what it reads.

    Attributes
    ----------
    body : Body
    inputs : list of int
        Inputs of the body that have cotangents.
    kept : tuple of Var
        What it reads of the carries, and of what the body reads of them.
    rows, constants : tuple of int
        What it reads of the rows and constants, by their positions among the inputs.
    """

    def __init__(
        self, body: Body, active: tuple[int, ...], given: tuple[int, ...], seeds: Shape
    ) -> None:
        nc, nx = body.carries, body.rows
        inputs, moving = body.activity(active)
        reached = body.reached(inputs, [j for j in given if j in moving])
        carried = [i for i in inputs if i < nc and i in reached]
        self.inputs, self.carried = inputs, carried
        self.given = [j for j in given if j in moving and j >= nc]
        held = [i for i in inputs if i >= nc + nx]
        tape, reads, shown = body.reading()
        recorder = BodyTrace()
        ins = [recorder.input(v) for v in (*body.example, *shown)]
        nodes = [t._node for t in ins]
        with recorder:
            wanted = [*carried, *self.given]
            _, J = body.linearized(tape, ins, inputs, wanted)
            weights = [recorder.input(slot.zeros(seeds)) for slot in J.out_slots]
            totals = [recorder.input(Slot(body.example[i]).zeros(seeds)) for i in held]
            before = [w._node for w in weights], [t._node for t in totals]
            with zero_seeds():
                found = dict(zip(inputs, J.pull_leaves(weights, seeds), strict=True))
            found |= {i: t + found[i] for i, t in zip(held, totals, strict=True)}
            order = [*carried, *held, *[i for i in inputs if nc <= i < nc + nx]]
            outputs = [
                node_of(recorder, cast(found[i], Slot(body.example[i]).dtype)) for i in order
            ]
        equations, outputs = _with_reads(recorder.equations, outputs)
        read = {a for e in equations for a in e.inputs if isinstance(a, Var)}
        read |= {a for a in outputs if isinstance(a, Var)}
        count = len(body.tape.inputs)
        places = [i for i in (*range(nc), *range(count, len(nodes))) if nodes[i] in read]
        known_as = [*body.tape.inputs, *reads]
        self.kept = tuple([known_as[i] for i in places])
        self.rows = tuple([i for i in range(nc, nc + nx) if nodes[i] in read])
        self.constants = tuple([i for i in range(nc + nx, count) if nodes[i] in read])
        w, t = before
        n = len(carried)
        kept = [*places, *self.rows]
        variables = [*w[:n], *t, *[nodes[i] for i in kept], *w[n:]]
        variables += [nodes[i] for i in self.constants]
        example = [*weights[:n], *totals, *[ins[i] for i in kept], *weights[n:]]
        example += [ins[i] for i in self.constants]
        tape = arranged(tape_of(f"pull {body.tape.name}", variables, equations, outputs))
        rows = len(kept) + len(w) - n
        self.held = held
        self.body = known(Body(tape, [e.concrete for e in example], n + len(held), rows))


def _with_reads(
    equations: Sequence[Equation], outputs: Sequence[Any]
) -> tuple[list[Equation], list[Any]]:
    """The equations that are needed where what was read is at hand."""
    stands = {e.outputs[0]: e.inputs[1] for e in equations if e.primitive is read_before}

    def now(a: Any) -> Any:
        return standing_for(a, stands)

    outputs = [now(a) for a in outputs]
    rest = [e for e in equations if e.primitive is not read_before]
    return needed([e.with_inputs(tuple(map(now, e.inputs))) for e in rest], outputs), outputs


class Push:
    """The body of a push.

    Attributes
    ----------
    body : Body
    inputs : list of int
        Inputs of the body that have tangents.
    outputs : list of int
        Rows among its outputs that have tangents.
    """

    def __init__(self, body: Body, active: tuple[int, ...], seeds: Shape) -> None:
        nc, nx = body.carries, body.rows
        inputs, moving = body.activity(active)
        carried = [i for i in inputs if i < nc]
        self.inputs, self.carried = inputs, carried
        self.outputs = [j for j in moving if j >= nc]
        recorder = BodyTrace()
        ins = [recorder.input(v) for v in body.example]
        nodes = [t._node for t in ins]
        with recorder:
            wanted = [*carried, *self.outputs]
            others = [j for j in range(nc) if j not in carried]
            results, J = body.linearized(body.tape, ins, inputs, wanted)
            given = [recorder.input(slot.zeros(seeds)) for slot in J.in_slots]
            tangents = [g._node for g in given]
            values = dict(zip(wanted, results, strict=True))
            values |= {j: _met_by(recorder, body.results[j]) for j in others}
            with zero_seeds():
                pushed = J.push_leaves(given, seeds)
            n = len(carried)
            slots = [Slot(body.example[i]) for i in carried]
            pushed = [
                *[cast(t, s.dtype) for t, s in zip(pushed[:n], slots, strict=True)],
                *pushed[n:],
            ]
            outputs = [node_of(recorder, v) for v in (*[values[j] for j in range(nc)], *pushed)]
        equations = needed(recorder.equations, outputs)
        tangent = dict(zip(inputs, zip(tangents, given, strict=True), strict=True))
        order: list[Any] = []
        for low, high in ((0, nc), (nc, nc + nx), (nc + nx, len(nodes))):
            order += [(nodes[i], ins[i]) for i in range(low, high)]
            order += [tangent[i] for i in inputs if low <= i < high]
        tape = arranged(
            tape_of(f"push {body.tape.name}", [v for v, _ in order], equations, outputs)
        )
        rows = nx + len([i for i in inputs if nc <= i < nc + nx])
        self.body = known(Body(tape, [e.concrete for _, e in order], nc + n, rows))


def _met_by(recorder: Any, x: Any) -> Any:
    """A value as a recorder knows it, of one of a derivative that runs inside of it."""
    while isinstance(x, Tracer) and x._trace is not recorder:
        refresh(x)
        x = x._value
    return x


def run_tape(body: Body, values: list[Any]) -> list[Any]:
    """One run of a body, by NumPy."""
    try:
        return body.tape.run(values)
    except GuardError as error:
        raise GuardError(
            f"{body.tape.name}: a repetition of the loop takes another path than the one that was "
            f"recorded ({error}); write the decision as linad.cond or np.where"
        ) from error


def run_equations(
    equations: list[Equation], values: dict[Var, Any], around: Sequence[Trace] = ()
) -> dict[Var, Any]:
    """What equations make of values, plain or traced; with the values they are given.

    What recorders among the traces ``around`` write down names the lines that they name.
    """
    values = dict(values)
    for e in equations:
        operands = [values[a] if isinstance(a, Var) else a for a in e.inputs]
        with naming(e.source, around):
            result = e.primitive(*operands, **e.params)
        values.update(
            zip(e.outputs, result if isinstance(result, tuple) else (result,), strict=True)
        )
    return values


def _described(a: Any) -> Var:
    """Shape and dtype of an output: a variable, or a constant."""
    if isinstance(a, Var):
        return a
    value = np.asarray(a)
    return Var(-1, value.shape, value.dtype)


def _result(value: Any) -> Any:
    return value if hasattr(value, "dtype") else np.asarray(value)[()]


def cast(value: Any, dtype: Any) -> Any:
    """A value in a dtype; its real part where that is real."""
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value.astype(dtype)


def _held(value: Any) -> Any:
    """A value of the body's own: it is looked at later."""
    return value.copy() if isinstance(value, np.ndarray) else np.asarray(value)[()]


def signature(body: Body) -> Any:
    """Equal for bodies that compute the same; hashing it may raise TypeError."""
    tape = body.tape
    number: dict[Var, int] = {}
    for v in tape.inputs:
        number[v] = len(number)
    parts: list[Any] = [body.carries, [(v.shape, v.dtype) for v in tape.inputs]]

    def operand(a: Any) -> Any:
        if isinstance(a, Var):
            return number[a]
        return "constant", getattr(a, "dtype", None), value_key(a)

    for eqn in tape.equations:
        inputs = tuple([operand(a) for a in eqn.inputs])
        for v in eqn.outputs:
            number[v] = len(number)
        shapes = tuple([(v.shape, v.dtype) for v in eqn.outputs])
        parts.append((eqn.primitive, inputs, params_key(eqn.params), shapes))
    parts.append([operand(a) for a in tape.outputs])
    return (
        body.rows,
        tuple([tuple(p) if isinstance(p, list) else p for p in parts]),
    )


_bodies: "OrderedDict[Any, Body]" = OrderedDict()


def known(body: Body) -> Body:
    """The body that computes the same and was met before, or this one."""
    key = signature(body)
    try:
        found = _bodies.get(key)
    except TypeError:
        return body
    if found is None:
        found = _bodies.setdefault(key, body)
        if len(_bodies) > REMEMBERED:
            _bodies.popitem(last=False)
    return found
