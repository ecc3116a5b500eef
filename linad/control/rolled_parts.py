"""What a recorder has recorded of a function, as a function of its own, where it is a loop.

A derivative that is taken inside a program goes through the loop then, and not through its steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

from linad.arrays.tracer import Tracer
from linad.control.bodies import run_equations
from linad.control.rolling import LEAST_EQUATIONS, roll
from linad.control.search_loops import with_searches_as_loops
from linad.core.tape import Var, guard, needed, tape_of
from linad.transforms.record import RecordTrace


def rolled_part(
    trace: RecordTrace, mark: int, inputs: Sequence[Any], others: Sequence[Any], results: Any
) -> Callable[[Sequence[Any]], list[Any]] | None:
    """What a recorder has recorded since ``mark``, as a function of ``inputs``, if it is a loop.

    Parameters
    ----------
    inputs : list of array
        Traced by the recorder, or plain.
    others : list of Tracer
        Other values that the part may have read.
    results : list of array
        What the part has made.
    """
    recorded = trace.equations[mark:]
    traced = [x for x in inputs if isinstance(x, Tracer) and x._trace is trace]
    if len(traced) < len(inputs):
        return None
    outputs = [y._node if isinstance(y, Tracer) and y._trace is trace else y for y in results]
    known_here = {x._node: x for x in [*others, *traced] if x._trace is trace}
    values = {node: x.concrete for node, x in known_here.items()}
    whole = with_searches_as_loops(trace, recorded, trace.ended_searches(), outputs, values)
    equations = needed(whole, outputs)
    if len(equations) < LEAST_EQUATIONS and whole is recorded:
        return None
    made = {v for e in equations for v in e.outputs}
    own = {x._node for x in traced}
    if len(own) < len(traced):
        return None
    free = dict.fromkeys(
        a for e in equations for a in e.inputs if isinstance(a, Var) and a not in made
    )
    more = [a for a in free if a not in own]
    if any(a not in known_here for a in more):
        return None
    tracers = [*traced, *[known_here[a] for a in more]]
    tape = tape_of("f", [t._node for t in tracers], equations, outputs)
    rolled = roll(tape, lambda: [t.concrete for t in tracers])
    if rolled is tape and whole is recorded:
        return None
    # What is checked by the loop from now on need not be checked before it.
    steps = set(needed(recorded, outputs))
    trace.redone |= steps
    trace.equations[mark:] = [
        e for e in trace.equations[mark:] if e.primitive is not guard or e not in steps
    ]

    def run(leaves: Sequence[Any]) -> list[Any]:
        given = dict(zip(rolled.inputs, [*leaves, *tracers[len(traced) :]], strict=True))
        found = run_equations(rolled.equations, given, [trace])  # each names its own line
        return [found[a] if isinstance(a, Var) else a for a in rolled.outputs]

    return run
