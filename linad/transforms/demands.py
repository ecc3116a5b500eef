"""What operations demand of values, as that a matrix be definite: those that may raise."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from linad.core.tape import Equation, Var

CAUGHT = (np.linalg.LinAlgError, ArithmeticError)
"""What values make an operation raise, and not shapes: a function may catch it and go on."""


def may_raise(e: Equation) -> bool:
    """Whether an operation raises for some values of its operands."""
    if not e.primitive.partial:
        return False
    if e.primitive.stumbles is None:
        return isinstance(e.inputs[0], Var)  # a constant has been as it must be
    return e.primitive.stumbles(*e.inputs)


def demand_of(e: Equation) -> Any:
    """What an equation that may raise demands, and of which arrays."""
    if e.primitive.parts:
        return e.primitive, tuple([id(a) for a in e.inputs])
    bounds = tuple([e.params[name] for name in e.primitive.bounds])
    return e.primitive.partial, id(e.inputs[0]), bounds


def demands(equations: Iterable[Equation]) -> set[Any]:
    """What those among equations demand that may raise."""
    return {demand_of(e) for e in equations if may_raise(e)}


def missed(equations: Iterable[Equation], kept: Iterable[Equation]) -> list[Equation]:
    """The equations that may raise and whose demands those that are kept do not make."""
    known = demands(kept)
    return [e for e in equations if may_raise(e) and demand_of(e) not in known]
