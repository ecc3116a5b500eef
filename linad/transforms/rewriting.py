"""The table of rewrites, and what its rows are written with.

A rule looks at one equation and at how its operands were made, and names what can take its
place. The rows are in modules of their own, a topic each, which `linad.transforms.simplify` names;
it applies them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linad.core.regions import Region
from linad.core.tape import Equation, Var

Rule = Callable[[Any, Equation], Any]
"""``rule(simplifier, equation)``: an operand that stands for the result, or None to keep the
equation."""

RULES: dict[str, list[Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rewrite of the primitives of these names."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES.setdefault(name, []).append(function)
        return function

    return register


def number_of(a: Any) -> Any:
    """The number that all entries of a known array are, to the bit, or None."""
    if isinstance(a, Var):
        return None
    if type(a) in (int, float, bool, complex):
        return a
    array = np.asarray(a)
    if not array.size or array.dtype.kind not in "biufc":
        return None
    if array.ndim and not any(array.strides):
        return array[(0,) * array.ndim]
    flat = array.reshape(-1)
    first = flat[0]
    if array.size > 1 and (flat[-1] != first or not (flat == first).all()):
        return None
    if first == 0 and flat.tobytes() != first.tobytes() * array.size:
        return None  # zeros of both signs
    return first


def fits(a: Any, eqn: Equation) -> bool:
    """Whether an operand can stand for the result."""
    out = eqn.outputs[0]
    return isinstance(a, Var) and a.shape == out.shape and a.dtype == out.dtype


def standing_for(a: Any, stands: Mapping[Var, Any]) -> Any:
    """What stands for an operand in the end."""
    while isinstance(a, Var) and a in stands:
        a = stands[a]
    return a


# Equality.


def value_key(a: Any) -> Any:
    """Equal for operands of equal values, as far as that can be said."""
    if isinstance(a, Var):
        return a
    if isinstance(a, np.ndarray):
        if a.nbytes > 256:
            return "array", id(a)
        return "array", a.shape, a.dtype, a.tobytes()
    return type(a), repr(a)


def params_key(params: dict[str, Any]) -> Any:
    """Equal for equal parameters; hashing it raises TypeError where that cannot be said."""
    return tuple([(k, _param_key(v)) for k, v in params.items()])


def _param_key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value_key(value)
    if isinstance(value, Region):
        return value.key
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    if isinstance(value, tuple):
        return tuple([_param_key(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _param_key(v)) for k, v in value.items()])
    if isinstance(value, (float, complex)):
        return type(value), repr(value)  # zeros of two signs are equal
    return type(value), value
