"""The traced numbers that an operator holds, taken out and put back.

An operator made inside a derivative may hold tracers among its residuals. `lifted` gives them
as a list, with a recipe to make the same operator with others in their place; so an operator
can be an argument of a primitive.
"""

from collections.abc import Callable, Sequence
from typing import Any

from linad.core.primitive import Traced
from linad.operators.base import JacobianOperator
from linad.operators.system_matrix import SystemMatrix

HOLDERS = (JacobianOperator, SystemMatrix)
"""Classes whose attributes are looked through."""

DERIVED = ("_adjoint_ref", "_transpose_ref", "_xp", "shape", "ndim", "_factors")
"""Attributes that are made anew."""


class Placeholder:
    """Stands where a traced array was taken out."""

    def __init__(self, index: int) -> None:
        self.index = index


Recipe = Callable[[Sequence[Any]], JacobianOperator]


def lifted(op: JacobianOperator) -> tuple[list[Any], Recipe]:
    """Take the traced arrays out of an operator.

    Returns
    -------
    arrays : list of traced array
        Each once.
    recipe : callable
        Makes the operator of a list of arrays like these.
    """
    arrays: list[Any] = []
    places: dict[int, Placeholder] = {}

    def take(x: Any) -> Any:
        if not isinstance(x, Traced):
            return x
        if id(x) not in places:
            places[id(x)] = Placeholder(len(arrays))
            arrays.append(x)
        return places[id(x)]

    return arrays, _Filled(_mapped(op, take, {}))


class _Filled:
    """An operator with places for its arrays, made of these; a class, to be pickled."""

    def __init__(self, template: Any) -> None:
        self.template = template

    def __call__(self, values: Sequence[Any]) -> JacobianOperator:
        def put(x: Any) -> Any:
            return values[x.index] if type(x) is Placeholder else x

        return _mapped(self.template, put, {})  # type: ignore[no-any-return]


def _mapped(x: Any, function: Callable[..., Any], known: dict[int, tuple[Any, Any]]) -> Any:
    """``x`` with ``function`` applied to its leaves; what holds no changed leaf is kept."""
    if id(x) in known:
        return known[id(x)][1]
    result: Any = x
    if isinstance(x, HOLDERS):
        attributes = {k: v for k, v in vars(x).items() if k not in DERIVED}
        new = {k: _mapped(v, function, known) for k, v in attributes.items()}
        if any(new[k] is not v for k, v in attributes.items()):
            result = object.__new__(type(x))
            result.__dict__.update(new)
            if isinstance(x, SystemMatrix):
                result._factors = None
    elif type(x) in (list, tuple):
        parts = [_mapped(v, function, known) for v in x]
        changed = any(p is not v for p, v in zip(parts, x, strict=True))
        result = type(x)(parts) if changed else x
    elif type(x) is dict:
        values = {k: _mapped(v, function, known) for k, v in x.items()}
        result = values if any(values[k] is not v for k, v in x.items()) else x
    else:
        return function(x)
    known[id(x)] = (x, result)
    return result
