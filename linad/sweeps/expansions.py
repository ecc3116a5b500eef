"""Equations that Python would have to run, as programs that do the same: the iteration of a
solver, say, as a loop."""

from typing import Any

from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape
from linad.transforms.simplify import simplify


class _Inlined(Primitive):
    """A call of a program, which `simplify` replaces by what is in it."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape.name, tape.run, outputs=len(tape.outputs), register=False)
        self.tape = tape


def expanded(tape: Tape) -> Tape:
    """The tape with programs in place of the equations for which there is one."""
    equations = [_expansion(eqn) for eqn in tape.equations]
    if all([new is old for new, old in zip(equations, tape.equations, strict=True)]):
        return tape
    return simplify(
        Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)
    )


def _expansion(eqn: Equation) -> Equation:
    expansion: Any = eqn.primitive.expansion
    inner = None if expansion is None else expansion(eqn)
    if inner is None:
        return eqn
    return Equation(_Inlined(inner), eqn.inputs, {}, eqn.outputs, eqn.source)
