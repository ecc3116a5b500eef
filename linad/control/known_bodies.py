"""Bodies that are remembered: a loop that Python meets again is the same body, compiled once."""

from collections import OrderedDict
from typing import Any

from linad.control.bodies import Body
from linad.core.tape import Var
from linad.transforms.rewriting import params_key, value_key

REMEMBERED = 256
"""How many, at most."""


def _signature(body: Body) -> Any:
    """Equal for bodies that compute the same; hashing it may raise TypeError."""
    tape = body.tape
    number: dict[Var, int] = {}
    for v in tape.inputs:
        number[v] = len(number)
    parts: list[Any] = [body.carries, [(v.shape, v.dtype) for v in tape.inputs]]

    def operand(a: Any) -> Any:
        if isinstance(a, Var):
            return number[a]
        return "constant", getattr(a, "dtype", None), value_key(a)

    for eqn in tape.equations:
        inputs = tuple([operand(a) for a in eqn.inputs])
        for v in eqn.outputs:
            number[v] = len(number)
        shapes = tuple([(v.shape, v.dtype) for v in eqn.outputs])
        parts.append((eqn.primitive, inputs, params_key(eqn.params), shapes))
    parts.append([operand(a) for a in tape.outputs])
    return (
        body.rows,
        tuple([tuple(p) if isinstance(p, list) else p for p in parts]),
    )


_bodies: "OrderedDict[Any, Body]" = OrderedDict()


def known(body: Body) -> Body:
    """The body that computes the same and was met before, or this one."""
    key = _signature(body)
    try:
        found = _bodies.get(key)
    except TypeError:
        return body
    if found is None:
        found = _bodies.setdefault(key, body)
        if len(_bodies) > REMEMBERED:
            _bodies.popitem(last=False)
    return found
