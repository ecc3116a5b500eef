"""The derivatives of a loop's body: what they run, repetition by repetition, is a body again.

    push   carries (c, dc)    rows (x, dx)          constants (k, dk)   ->  c, dc; dy
    pull   carries (wc, wk)   rows (c_j, x_j, wy)   constants k         ->  wc, wk; wx

The pull runs the other way. It finds the carries c_j as they were before each repetition, and
computes everything else in the body once more. What it does not read is not kept for it. Of a
carry that is an array which the body writes here and there, what the body reads is kept instead;
and so are the results of searches by SciPy, and of some functions of arrays
(`linad.control.kept_values`).

Neither asks the body's decisions again: the run forward has, see `Body.unguarded`. Those that the
rules of its operations take are asked here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh
from linad.arrays.tracer import Tracer
from linad.control.bodies import Body, cast, own_copy
from linad.control.body_trace import BodyTrace
from linad.control.kept_values import kept_values
from linad.control.known_bodies import known
from linad.control.memory_arrays import arranged, reads_of
from linad.control.zeros_in_loops import ZerosInLoop
from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, is_inexact
from linad.core.tape import Equation, Tape, Var, needed, tape_of
from linad.core.zero_seeds import zero_seeds
from linad.transforms.linearize import linearize_leaves
from linad.transforms.record import node_of
from linad.transforms.rewriting import standing_for
from linad.transforms.spaces import Slot


def push_of(body: Body, active: tuple[int, ...], seeds: Shape) -> "Push":
    """The body of the push, for tangents of the inputs ``active``."""
    key = "push", active, seeds
    return body.once(key, lambda: Push(body.unguarded, active, seeds))  # type: ignore[no-any-return]


def pull_of(
    body: Body, active: tuple[int, ...], given: tuple[int, ...], seeds: Shape, keeps: bool
) -> "Pull":
    """The body of the pull, for cotangents of the outputs ``given``; ``keeps`` says whether it
    reads `linad.control.kept_values`."""
    key = "pull", active, given, seeds, keeps
    return body.once(key, lambda: Pull(body.unguarded, active, given, seeds, keeps))  # type: ignore[no-any-return]


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
            made, results, J = _linearized(body.tape, ins, inputs, wanted)
            given = [recorder.input(slot.zeros(seeds)) for slot in J.in_slots]
            tangents = [g._node for g in given]
            values = dict(zip(wanted, results, strict=True))
            values |= {j: _met_by(recorder, made[j]) for j in others}
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


def _met_by(recorder: Any, x: Array) -> Any:
    """A value as a recorder knows it, of one of a derivative that runs inside of it."""
    while isinstance(x, Tracer) and x._trace is not recorder:
        refresh(x)
        x = x._value
    return x


class Pull:
    """The body of a pull, and what it reads.

    Attributes
    ----------
    body : Body
    inputs : list of int
        Inputs of the body that have cotangents.
    kept : tuple of Var
        What it reads of the carries, of what the body reads of them, and of what is dear.
    rows, constants : tuple of int
        What it reads of the rows and constants, by their positions among the inputs.
    zeros : ZerosInLoop
        Which zeros it loses.
    """

    def __init__(
        self,
        body: Body,
        active: tuple[int, ...],
        given: tuple[int, ...],
        seeds: Shape,
        keeps: bool,
    ) -> None:
        nc, nx = body.carries, body.rows
        inputs, moving = body.activity(active)
        reached = _reached(body, inputs, [j for j in given if j in moving])
        carried = [i for i in inputs if i < nc and i in reached]
        self.inputs, self.carried = inputs, carried
        self.given = [j for j in given if j in moving and j >= nc]
        held = [i for i in inputs if i >= nc + nx]
        tape, reads, shown = _reading(body, keeps)
        recorder = BodyTrace()
        ins = [recorder.input(v) for v in (*body.example, *shown)]
        nodes = [t._node for t in ins]
        with recorder:
            wanted = [*carried, *self.given]
            _, _, J = _linearized(tape, ins, inputs, wanted)
            weights = [recorder.input(slot.zeros(seeds)) for slot in J.out_slots]
            totals = [recorder.input(Slot(body.example[i]).zeros(seeds)) for i in held]
            before = [w._node for w in weights], [t._node for t in totals]
            with zero_seeds():
                found = dict(zip(inputs, J.pull_leaves(weights, seeds), strict=True))
            found |= {i: t + found[i] for i, t in zip(held, totals, strict=True)}
            self.zeros = ZerosInLoop.of(J, [i in carried for i in inputs])
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


def _reached(body: Body, inputs: Sequence[int], given: Sequence[int]) -> set[int]:
    """Outputs whose cotangents are not zero, of some repetition, where ``given`` have one.

    What a carry has no slope in, a measure of progress that is only compared, has none. It is
    left out: zero times an infinite slope would be NaN.
    """
    reached = set(given)
    while True:
        live = {a for j in reached if isinstance(a := body.tape.outputs[j], Var)}
        for eqn in reversed(body.tape.equations):
            if not eqn.primitive.constant and not live.isdisjoint(eqn.outputs):
                flat = eqn.primitive.zero_slope_args
                reads = [a for i, a in enumerate(eqn.inputs) if i not in flat]
                live.update([a for a in reads if isinstance(a, Var) and is_inexact(a.dtype)])
        more = {i for i in inputs if i < body.carries and body.tape.inputs[i] in live}
        if more <= reached:
            return reached
        reached |= more


def _reading(body: Body, keeps: bool) -> tuple[Tape, list[Var], list[Any]]:
    """The same tape with what is read of arrays that it writes, and what is dear, as inputs of its
    own, after the others; what these are, and examples."""
    return body.once(("reading", keeps), lambda: _find_reading(body, keeps))  # type: ignore[no-any-return]


def _find_reading(body: Body, keeps: bool) -> tuple[Tape, list[Var], list[Any]]:
    t = body.tape
    reads = [y for k in range(body.carries) for e in reads_of(t, k) or () for y in e.outputs]
    dear = [y for e in t.equations if e.primitive.dear for y in e.outputs]
    reads += [*dear, *(kept_values(t) if keeps else [])]
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
        found = tape_of(t.name, t.inputs, needed(t.equations, reads), reads).run(body.example)
    stands = {y: given[y] for y in dear}
    equations = [
        replaced(e.with_inputs(tuple([standing_for(a, stands) for a in e.inputs])))
        for e in t.equations
        if not e.primitive.dear
    ]
    outputs = [standing_for(a, stands) for a in t.outputs]
    tape = tape_of(t.name, [*t.inputs, *given.values()], equations, outputs)
    return tape, reads, [own_copy(v) for v in found]


def _rule_before(y: Array, x: Array, read: Array, *rest: Any, of: Primitive, **params: Any) -> Any:
    return of.rule_of(0)(y, x, *rest, **params)


read_before = Primitive(
    "read_before",
    lambda x, read, *rest, of, **params: read,
    captures_args=False,
    register=False,
)
"""What was read of an array, or is a function of it, with the derivative of that."""

read_before.jacobian(wrt=0)(_rule_before)
read_before.zero_slope_args = frozenset({1})


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


def _linearized(
    tape: Tape, ins: Sequence[Any], inputs: Sequence[int], outputs: Sequence[int]
) -> tuple[list[Any], Any, Any]:
    """What a tape makes of its inputs; some of it, and its Jacobian in some of the inputs."""
    chosen = [ins[i] for i in inputs]
    made: list[Any] = []

    def run(leaves: list[Any]) -> list[Any]:
        given = list(ins)
        for i, leaf in zip(inputs, leaves, strict=True):
            given[i] = leaf
        made[:] = tape.run(given)
        return [_result(made[j]) for j in outputs]

    results, J = linearize_leaves(run, chosen, tree.flatten(chosen)[1])
    return made, results, J


def _result(value: Array) -> Any:
    return value if hasattr(value, "dtype") else np.asarray(value)[()]
