"""Derivatives of expressions: partial derivatives against differences, parts computed once."""

import math

import pytest

from linad.kernels.expression_source import text
from linad.kernels.expressions import Expr, add, call, div, get, mul, num, sub, var
from linad.kernels.partials import Derivative, Values

X, Y = var("x"), var("y")
POINT = {"x": 0.7, "y": 1.9}
EXPRESSIONS = {
    "sum": add(mul(num(3.0), X), Y),
    "product": mul(X, mul(Y, X)),
    "quotient": div(sub(X, Y), mul(X, Y)),
    "power": Expr("**", (X, Y)),
    "remainder": Expr("%", (Y, X)),
    "functions": call("sin", mul(X, call("exp", Y))),
    "root": call("sqrt", add(mul(X, X), Y)),
    "choice": Expr("if", (Expr("<", (X, Y)), mul(X, Y), X)),
}


def value(e, scope):
    functions = {
        name: getattr(math, name) for name in ("sin", "cos", "exp", "sqrt", "log", "floor")
    }
    functions |= {"npfloor": math.floor, "float64": float}
    return eval(text(e), functions | {"math": math, "np": math}, dict(scope))


def run(lets, scope):
    scope = dict(scope)
    for s in lets:
        scope[s.name] = value(s.value, scope)
    return scope


def pulled(e):
    """The cotangents of x and y for one of 1, and the statements that they need."""
    lets, count = [], iter(range(99))
    values = Values({"x": "f", "y": "f"}, lambda name: f"{name}_{next(count)}", lets)
    found = {"x": [], "y": []}
    derivative = Derivative(values, {"x", "y"})
    derivative.pull(e, num(1.0), lambda leaf, w: found[leaf.parts[0]].append(w), lets)
    return found, lets


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_cotangents(name):
    e, h = EXPRESSIONS[name], 1e-6
    found, lets = pulled(e)
    scope = run(lets, POINT)
    for v in POINT:
        up, down = (value(e, POINT | {v: POINT[v] + s}) for s in (h, -h))
        total = sum(value(w, scope) for w in found[v])
        assert total == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_equal_parts_have_one_name():
    lets, part = [], call("exp", X)
    values = Values({"x": "f"}, "{}_".format, lets)
    assert values.atom(part) == values.atom(call("exp", X))
    assert len(lets) == 1
    assert values.flat(add(part, num(1.0))) == add(values.atom(part), num(1.0))
    assert values.atom(num(2)) == num(2)


def test_what_was_read_from_an_array_that_is_written():
    lets = []
    values = Values({"x": "f", "a": "f"}, lambda name: f"{name}{len(lets)}", lets)
    part = call("exp", X)
    name = values.atom(part)
    values.known[get("a", num(0))] = var("old")
    values.forget("a")
    assert values.known == {part: name}


def test_what_varies():
    derivative = Derivative(Values({"x": "f", "y": "f", "n": "i"}, str, []), {"x"})
    assert derivative.varies(mul(X, Y))
    assert not derivative.varies(Y)
    assert not derivative.varies(Expr("//", (X, Y)))
    assert not derivative.varies(call("sign", X))
