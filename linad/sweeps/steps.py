"""What a plan consists of: loops, which compute many equations, and calls, one each."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from linad.core.shapes import Shape
from linad.core.tape import Equation, Var
from linad.sweeps.loop_reductions import is_reduction

WRITE = "write_region"
"""The primitive that writes into an array."""


class Loop:
    """Elementwise equations and reductions that go over one index space together.

    Attributes
    ----------
    shape : tuple of int
    equations : list of Equation
    """

    def __init__(self, shape: Shape, equations: list[Equation]) -> None:
        self.shape, self.equations = shape, equations
        made = {eqn.outputs[0] for eqn in equations if not is_reduction(eqn)}
        self.made = made
        self.reads = unique(
            a for eqn in equations for a in eqn.inputs if isinstance(a, Var) and a not in made
        )

    @property
    def writes(self) -> list[Var]:
        return [eqn.outputs[0] for eqn in self.equations]


class CallStep:
    """One equation that a routine of its own computes, in compiled code or in NumPy.

    The routine may read more than the equation says.
    """

    def __init__(self, equation: Equation, more: Iterable[Var] = ()) -> None:
        self.equation = equation
        self.reads = unique([*[a for a in equation.inputs if isinstance(a, Var)], *more])

    @property
    def writes(self) -> list[Var]:
        return list(self.equation.outputs)


Step = Loop | CallStep


def unique(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def operands_of(eqn: Equation) -> list[Any]:
    """The operands of an elementwise equation, in the order of its row."""
    if eqn.primitive.name == "masked":
        return [np.asarray(eqn.params["mask"]), *eqn.inputs]
    return list(eqn.inputs)


def needed_equations(equations: list[Equation], stored: set[Var]) -> list[Equation]:
    """The equations of a loop that what is stored depends on."""
    live = set(stored)
    kept = []
    for eqn in reversed(equations):
        if eqn.outputs[0] in live:
            live.update(a for a in eqn.inputs if isinstance(a, Var))
            kept.append(eqn)
    kept.reverse()
    return kept
