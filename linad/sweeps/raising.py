"""Whether an operation raises, in programs for runs in which it does not.

A program does what Python does, where an operation may raise whose result nobody reads. So it is
tried. A kernel stops the program where it cannot do its work, and whoever runs the program does the
same by other means: where none has stopped, the operation has not raised.
"""

from typing import Any

import numpy as np

from linad.core.tape import Equation, Var, guard
from linad.sweeps.places import constant_place
from linad.sweeps.routines import routine

STOPPING = ("finite", "regular", "positive definite", "within the axis")
"""Demands of operations whose kernels stop where these are not met."""


@routine("raises")
def lower(lowering: Any, eqn: Equation) -> bool:
    primitive, out = eqn.params["primitive"], eqn.outputs[0]
    if primitive.partial not in STOPPING or primitive.parts or not _expected_not_to(lowering, out):
        return False
    if not lowering.target.lower(lowering, tried(eqn)):
        return False
    lowering.result(out, constant_place(np.False_))
    return True


def _expected_not_to(lowering: Any, out: Var) -> bool:
    """Whether all that read the answer are guards that expect a no."""
    readers = [e for e in lowering.tape.equations if any([a is out for a in e.inputs])]
    return all([e.primitive is guard and not e.params["expected"] for e in readers])


def tried(eqn: Equation) -> Equation:
    """The operation itself, with results that are on no tape."""
    primitive, params = eqn.params["primitive"], eqn.params["params"]
    results = getattr(primitive, "results", None) or _results(primitive, eqn.inputs, params)
    made = [Var(-1 - k, *kind) for k, kind in enumerate(results)]
    return Equation(primitive, eqn.inputs, params, tuple(made), eqn.source)


def _results(primitive: Any, inputs: Any, params: Any) -> list[Any]:
    """Shape and dtype of each result of an operation, which are those of any numbers."""
    y = primitive(*[_example(a) if isinstance(a, Var) else a for a in inputs], **params)
    return [(part.shape, part.dtype) for part in (y if isinstance(y, tuple) else (y,))]


def _example(v: Var) -> Any:
    """Numbers that make positive definite matrices, and regular ones if they are its diagonals;
    positions along any axis."""
    if v.dtype.kind in "iu":
        return np.zeros(v.shape, v.dtype)
    i, j = np.indices(v.shape[-2:]) if len(v.shape) > 1 else (0, 1)
    n = max(v.shape, default=1)
    return np.broadcast_to(1 / (1 + i + j) + n * np.equal(i, j), v.shape).astype(v.dtype)
