"""Equations that Python would have to run, as programs that do the same: the iteration of a
solver, say, as a loop."""

from collections.abc import Callable, Mapping
from typing import Any

from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape
from linad.transforms.simplify import simplify

Expansion = Callable[[Equation], Tape | None]

EVERYWHERE: dict[Primitive, Expansion] = {}
"""Programs, by primitive, for every target."""

ON_GRIDS: dict[Primitive, Expansion] = {}
"""Programs, by primitive, that a grid of threads needs and the host does not: NumPy is at hand
there."""

ON_HOST: dict[Primitive, Expansion] = {}
"""Programs, by primitive, that the host runs by routines of NumPy's or SciPy's."""

NONE: Mapping[Primitive, Expansion] = {}


class _Inlined(Primitive):
    """A call of a program, which `simplify` replaces by what is in it."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape.name, tape.run, outputs=len(tape.outputs), register=False)
        self.tape = tape


def expanded(tape: Tape, more: Mapping[Primitive, Expansion] = NONE) -> Tape:
    """The tape with programs in place of the equations that have one, or have one in ``more``."""
    equations = [_expansion(eqn, more) for eqn in tape.equations]
    if all([new is old for new, old in zip(equations, tape.equations, strict=True)]):
        return tape
    return simplify(
        Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)
    )


def _expansion(eqn: Equation, more: Mapping[Primitive, Expansion]) -> Equation:
    own: Any = eqn.primitive.expansion
    for expansion in (own, EVERYWHERE.get(eqn.primitive), more.get(eqn.primitive)):
        inner = None if expansion is None else expansion(eqn)
        if inner is not None:
            return Equation(_Inlined(inner), eqn.inputs, {}, eqn.outputs, eqn.source)
    return eqn
