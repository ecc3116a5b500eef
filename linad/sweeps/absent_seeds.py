"""Linear sweeps without the seeds that nobody gives."""

from collections.abc import Container
from typing import Any

import numpy as np

from linad.core.tape import Equation, Tape, Var, tape_of


def without_seeds(tape: Tape, first: int, gone: Container[int]) -> Tape:
    """A linear sweep, whose inputs from ``first`` on are seeds, where those of these numbers are
    zero and no inputs any more."""
    zero = {v for i, v in enumerate(tape.inputs) if i in gone}
    moving = set(tape.inputs[first:])
    equations = []
    for e in tape.equations:
        linear_in = [a for a in e.inputs if isinstance(a, Var) and a in moving]
        moving.update(e.outputs if linear_in else ())
        if linear_in and zero.issuperset(linear_in):
            zero.update(e.outputs)
        else:
            read = tuple([_zeros_for(a, zero) for a in e.inputs])
            equations.append(Equation(e.primitive, read, e.params, e.outputs, e.source))
    inputs = [v for i, v in enumerate(tape.inputs) if i not in gone]
    outputs = [_zeros_for(a, zero) for a in tape.outputs]
    return tape_of(tape.name, inputs, equations, outputs)


def _zeros_for(a: Any, zero: Container[Var]) -> Any:
    return np.zeros(a.shape, a.dtype) if isinstance(a, Var) and a in zero else a
