"""Loops and branches for a grid of threads: in registers, or as programs that the host repeats.

*In registers*: one kernel, whose threads are lanes (`linad.control.lane_kernels`).

*By the host*: the body is a program of its own, and the instruction says which run is next
(`linad.sweeps.cuda.host_loops`). Carries go to and fro between two places.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from linad.control import lowering_loops as on_cpu, lowering_whiles
from linad.control.bodies import Body
from linad.control.ensemble_lanes import PARTIAL, EnsembleLanes, NotInLanesError, lanes_of
from linad.control.lane_kernels import LaneBody, add_up, emit_branch, emit_repeat, emit_while
from linad.control.memory_arrays import needing_memory, overwritten
from linad.control.registers import NotSmallError
from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var, needed, tape_of
from linad.sweeps.cuda.host_loops import Choice, Repeating, Repetitions
from linad.sweeps.data_movement import contiguous
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Place, canonical, new_place
from linad.sweeps.rows import WHOLE
from linad.sweeps.target import Target


def lower_repeat(lowering: Any, eqn: Equation) -> bool:
    """Add the instructions of a loop to a device's program."""
    return on_cpu.lower(lowering, eqn, _on_a_grid)


def _on_a_grid(body: Body, owner: Any, lowering: Any) -> Any:
    found = body.once(("lanes", lowering.target.name), lambda: _in_lanes(body, lowering.target))
    return found or ByTheHost(body, program_of(body, lowering, in_place=True))


def _ways(tape: Tape, carries: int, target: Target) -> list[EnsembleLanes]:
    """Lanes that a body could have, the best first; in the end the whole body as one."""
    return [*lanes_of(tape, carries, target), EnsembleLanes(tape, 1, target)]


def _added(tape: Tape, carries: int) -> list[Any] | None:
    """What each repetition adds to each carry, if that is all that it does with them."""
    read = [a for e in tape.equations for a in e.inputs if isinstance(a, Var)]
    read += [a for a in tape.outputs if isinstance(a, Var)]
    count, made_by = Counter(read), {v: e for e in tape.equations for v in e.outputs}
    terms = []
    for v, out in zip(tape.inputs[:carries], tape.outputs, strict=False):
        eqn = made_by.get(out) if isinstance(out, Var) else None
        if eqn is None or eqn.primitive.name != "add" or v.dtype.kind not in "ifc":
            return None
        if count[v] != 1 or count[out] != 1 or not any(a is v for a in eqn.inputs):
            return None
        term = eqn.inputs[eqn.inputs[0] is v]
        if getattr(term, "shape", None) != v.shape or term.dtype != v.dtype:
            return None
        terms.append(term)
    return terms


def _in_lanes(body: Body, target: Target) -> Any:
    """A loop in registers, or False."""
    tape, nc = on_cpu.simple(body), body.carries
    terms = _added(tape, nc) if nc else None
    if terms is not None:
        outputs = [*terms, *tape.outputs[nc:]]
        equations = needed(tape.equations, outputs)
        alone = tape_of(tape.name, tape.inputs[nc:], equations, outputs)
        found = _in_lanes(Body(alone, body.example[nc:], 0, body.rows), target)
        return found and AddedUp(found, nc)
    for lanes in _ways(tape, body.carries, target):
        with suppress(NotSmallError):
            memory = needing_memory(lanes.tape)
            return InLanes(LaneBody(lanes, body.carries, body.rows, memory))
    return False


class InLanes:
    """A loop in one kernel."""

    def __init__(self, body: LaneBody) -> None:
        self.body = body
        self.in_place = body.in_memory

    def emit(
        self, lowering: Any, owner: Any, counter: Any, places: list[Place], results: list[Place]
    ) -> None:
        emit_repeat(lowering, owner, self.body, counter, places, results)


def program_of(body: Body, lowering: Any, in_place: bool = False) -> Lowering:
    """A body as instructions; where it may, it overwrites the carries that it writes into."""
    tape = on_cpu.simple(body)
    owned = overwritten(tape, body.carries) if in_place else ()
    return Lowering(tape, lowering.target, lowering.chosen, owned)


def _between(places: list[Place]) -> tuple[list[Place], list[Place]]:
    """Two places for what goes from one repetition to the next."""
    first, second = ([new_place(p.shape, p.dtype) for p in places] for _ in range(2))
    return first, second


class ByTheHost:
    """A loop over a program of its own."""

    def __init__(self, body: Body, program: Lowering) -> None:
        self.body, self.program = body, program
        self.in_place = program.owned

    def emit(
        self, lowering: Any, owner: Any, counter: Any, places: list[Place], results: list[Place]
    ) -> None:
        nc, nx = self.body.carries, self.body.rows
        carries, last, between = places[:nc], results[:nc], _between(places[:nc])
        for k in range(nc):
            if k in self.in_place:
                carries[k] = between[0][k] = between[1][k] = last[k]
            elif counter is not None or not owner.n:
                lowering.copy(last[k], carries[k], "carry")
        steps = len(self.program.instructions)
        made = Repetitions(
            on_cpu.label(owner, f"{steps} instructions each"),
            self.program,
            owner.n if counter is None else counter,
            owner.reverse,
            carries=carries,
            rows=places[nc : nc + nx],
            constants=places[nc + nx :],
            last=last,
            made=results[nc:],
            between=between,
        )
        lowering.instructions.append(made)


class AddedUp:
    """A loop whose repetitions only add to its carries: what they add are rows, and summed."""

    in_place: Sequence[int] = ()

    def __init__(self, loop: InLanes, carries: int) -> None:
        self.loop, self.carries = loop, carries

    def emit(
        self, lowering: Any, owner: Any, counter: Any, places: list[Place], results: list[Place]
    ) -> None:
        nc = self.carries
        rows = [new_place((owner.n, *p.shape), p.dtype) for p in results[:nc]]
        if counter is not None:
            for part in rows:
                lowering.fill(part, 0)
        self.loop.emit(lowering, owner, counter, places[nc:], [*rows, *results[nc:]])
        for part, result, start in zip(rows, results, places, strict=False):
            add_up(lowering, part, 0, result, start)


def lower_while(lowering: Any, eqn: Equation) -> bool:
    """Add the instructions of a while loop to a device's program."""
    return lowering_whiles.lower(lowering, eqn, _while_on_a_grid)


def _while_on_a_grid(lowering: Any, owner: Any) -> lowering_whiles.Way:
    key = "while in lanes", id(owner.test), lowering.target.name
    found = owner.body.once(key, lambda: _while_in_lanes(owner, lowering.target))
    if found:
        return functools.partial(emit_while, found), found[1].in_memory
    test = program_of(owner.test, lowering)
    body = program_of(owner.body, lowering, in_place=True)
    return functools.partial(_emit_while, test, body), body.owned


def _while_in_lanes(owner: Any, target: Target) -> Any:
    """Test and body in registers, or False."""
    nc = owner.body.carries
    asked, done = on_cpu.simple(owner.test), on_cpu.simple(owner.body)
    for lanes in _ways(done, nc, target):
        with suppress(NotSmallError, NotInLanesError):
            test = EnsembleLanes(asked, lanes.n, target)
            if PARTIAL in lanes.inputs or test.outputs != [WHOLE] or test.tables:
                continue
            memory = needing_memory(test.tape) | needing_memory(lanes.tape)
            body = LaneBody(lanes, nc, 0, memory)
            return LaneBody(test, nc, 0, memory, prefix="g", is_test=True), body
    return False


def _emit_while(
    test: Lowering,
    body: Lowering,
    lowering: Any,
    owner: Any,
    places: list[Place],
    results: list[Place],
) -> None:
    nc = owner.body.carries
    carries, last, between = places[:nc], results[:nc], _between(places[:nc])
    for k in body.owned:
        carries[k] = between[0][k] = between[1][k] = last[k]
    made = Repeating(
        f"while, {len(body.instructions)} instructions each",
        test,
        body,
        limit=owner.limit,
        leap=owner.leap,
        carries=carries,
        constants=places[nc:],
        go=new_place((), np.dtype(bool)),
        between=between,
        last=last,
        counts=results[nc : nc + 1 + bool(owner.kept)],
        kept=results[nc + 2 :] if owner.kept else [],
    )
    lowering.instructions.append(made)


def lower_branch(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction of a choice to a device's program."""
    owner: Any = eqn.primitive
    for body in owner.parts:
        variables = (*body.tape.inputs, *body.outputs)
        if any(name_of_dtype(v.dtype) is None or not size_of(v.shape) for v in variables):
            return False
    index, *places = [contiguous(lowering, lowering.place_of(a)) for a in eqn.inputs]
    wanted = [canonical(d) for _, d in owner.shapes[1:]]
    if index.dtype != np.int64 or [p.dtype for p in places] != wanted:
        return False
    results = [lowering.result(v) for v in eqn.outputs]
    key = "branches in lanes", tuple(map(id, owner.parts)), lowering.target.name
    found = owner.body.once(key, lambda: _branches_in_lanes(owner, lowering.target))
    if found:
        emit_branch(lowering, found, index, places, results)
        return True
    programs = [program_of(body, lowering) for body in owner.parts]
    label = f"one of {len(programs)} branches"
    lowering.instructions.append(Choice(label, programs, index, places, results))
    return True


def _branches_in_lanes(owner: Any, target: Target) -> Any:
    """The branches in registers, or False."""
    tapes = [on_cpu.simple(body) for body in owner.parts]
    for first in _ways(tapes[0], 0, target):
        with suppress(NotSmallError, NotInLanesError):
            every = [first, *[EnsembleLanes(tape, first.n, target) for tape in tapes[1:]]]
            if any(b.outputs != first.outputs or PARTIAL in b.outputs for b in every):
                continue
            memory = set().union(*[needing_memory(b.tape) for b in every])
            return [LaneBody(b, 0, 0, memory, prefix=f"b{k}") for k, b in enumerate(every)]
    return False
