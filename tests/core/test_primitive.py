"""Primitives: what follows from what is said of them, and the two ways to call one."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive

X = np.array([0.5, 2.0])


@pytest.mark.parametrize(
    "name, value",
    [
        ("constant", True),
        ("outputs", 1),
        ("vjp_rule", lambda x: (x, lambda c: (c,))),
        ("whole", lambda arrays, active: (arrays, None)),
        ("zero_slope_args", frozenset({0})),
    ],
)
def test_plain_follows_what_is_said(name, value):
    """An eager operation goes the short way only as long as nothing else is to be done."""
    primitive = Primitive("tested", np.sin, register=False)
    before = getattr(primitive, name)
    assert primitive.plain
    setattr(primitive, name, value)
    assert not primitive.plain
    setattr(primitive, name, before)
    assert primitive.plain


def test_on_is_a_call():
    """On plain arrays, on traced ones, and on both."""
    power, take = Primitive.registry["power"], Primitive.registry["sum"]
    assert power.on((X, 3.0), {}).tolist() == power(X, 3.0).tolist() == [0.125, 8.0]
    gradient = linad.grad(lambda x: take.on((power.on((x, 3.0), {}),), {"axes": (0,)}))(X)
    assert gradient.tolist() == [0.75, 12.0]
    inner = linad.grad(
        lambda x: linad.grad(lambda y: take.on((power.on((x, y), {}),), {"axes": (0,)}))(2.0)
    )
    outer = linad.grad(lambda x: linad.grad(lambda y: np.sum(x**y))(2.0))
    assert inner(X).tolist() == outer(X).tolist()
