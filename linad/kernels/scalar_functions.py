"""Functions of scalars in kernels: how generated code calls them, and their slopes."""

import math
from typing import Any, NamedTuple

from linad.kernels.expressions import NONE, Expr, add, call, div, mul, negative, num, sub
from linad.sweeps.elementary_names import ELEMENTARY


class Function(NamedTuple):
    """A function of scalars.

    Attributes
    ----------
    source : str
        How generated code calls it; "{}" stands for the arguments, if they come in between, and
        "{0}" for the first.
    kind : str
        Of its result; "" is that of its arguments.
    slopes : tuple
        For each argument the partial derivative, of the result and the arguments; None is zero.
        Empty if the function is piecewise constant.
    """

    source: str
    kind: str
    slopes: tuple[Any, ...] = ()


def _square(x: Expr) -> Expr:
    return mul(x, x)


def _if(test: str, a: Expr, b: Expr, yes: Expr, no: Expr) -> Expr:
    return Expr("if", (Expr(test, (a, b)), yes, no))


_ONE, _TWO, _NAN, _INFINITY = num(1.0), num(2.0), num(math.nan), num(math.inf)


def _choice(source: str, test: str) -> Function:
    """Python's, of two numbers the second where it is beyond the first: not if one is NaN."""
    return Function(
        source,
        "",
        (lambda y, a, b: _if(test, b, a, NONE, _ONE), lambda y, a, b: _if(test, b, a, _ONE, NONE)),
    )


def _extremum(source: str) -> Function:
    """NumPy's, of which ties have half of each, and of which a NaN has no slope."""

    def attained(y: Expr, x: Expr, other: Expr) -> Expr:
        return _if("==", x, y, _if("==", x, other, num(0.5), _ONE), NONE)

    return Function(
        source, "", (lambda y, a, b: attained(y, a, b), lambda y, a, b: attained(y, b, a))
    )


FUNCTIONS: dict[str, Function] = {
    "sin": Function("math.sin", "f", (lambda y, x: call("cos", x),)),
    "cos": Function("math.cos", "f", (lambda y, x: negative(call("sin", x)),)),
    "tan": Function("math.tan", "f", (lambda y, x: add(_ONE, _square(y)),)),
    "asin": Function("math.asin", "f", (lambda y, x: div(_ONE, _half_circle(x)),)),
    "acos": Function("math.acos", "f", (lambda y, x: div(num(-1.0), _half_circle(x)),)),
    "atan": Function("math.atan", "f", (lambda y, x: div(_ONE, add(_ONE, _square(x))),)),
    "sinh": Function("math.sinh", "f", (lambda y, x: call("cosh", x),)),
    "cosh": Function("math.cosh", "f", (lambda y, x: call("sinh", x),)),
    "tanh": Function("math.tanh", "f", (lambda y, x: sub(_ONE, _square(y)),)),
    "asinh": Function("math.asinh", "f", (lambda y, x: div(_ONE, _root(add(_square(x), _ONE))),)),
    "acosh": Function(
        "math.acosh",
        "f",
        (lambda y, x: div(_ONE, mul(_root(sub(x, _ONE)), _root(add(x, _ONE)))),),
    ),
    "atanh": Function(
        "math.atanh", "f", (lambda y, x: div(_ONE, mul(sub(_ONE, x), add(_ONE, x))),)
    ),
    "exp": Function("np.exp", "f", (lambda y, x: y,)),
    "exp2": Function("np.exp2", "f", (lambda y, x: mul(num(math.log(2)), y),)),
    "expm1": Function("math.expm1", "f", (lambda y, x: add(y, _ONE),)),
    "log": Function("np.log", "f", (lambda y, x: div(_ONE, x),)),
    "log2": Function("np.log2", "f", (lambda y, x: div(num(1 / math.log(2)), x),)),
    "log10": Function("np.log10", "f", (lambda y, x: div(num(1 / math.log(10)), x),)),
    "log1p": Function("np.log1p", "f", (lambda y, x: div(_ONE, add(_ONE, x)),)),
    "sqrt": Function("np.sqrt", "f", (lambda y, x: div(num(0.5), y),)),
    "cbrt": Function("np.cbrt", "f", (lambda y, x: div(_ONE, mul(num(3.0), _square(y))),)),
    "erf": Function("math.erf", "f", (lambda y, x: _bell(x),)),
    "erfc": Function("math.erfc", "f", (lambda y, x: negative(_bell(x)),)),
    "abs": Function("abs", "", (lambda y, x: call("npside", x),)),
    "fabs": Function("abs(float({}))", "f", (lambda y, x: call("npside", x),)),
    "square": Function("np.square", "", (lambda y, x: mul(_TWO, x),)),
    "reciprocal": Function("np.reciprocal", "", (lambda y, x: negative(_square(y)),)),
    "degrees": Function("math.degrees", "f", (lambda y, x: num(180 / math.pi),)),
    "radians": Function("math.radians", "f", (lambda y, x: num(math.pi / 180),)),
    "float": Function("float", "f", (lambda y, x: _ONE,)),
    "min": _choice("min", "<"),
    "max": _choice("max", ">"),
    **{name: _extremum(f"np.{name}") for name in ("minimum", "maximum", "fmin", "fmax")},
    # Both are a. One does not move with it; the other one moves with a nth of b as well.
    "npstill": Function("({0})", "f"),
    "npmoving": Function(
        "({0})", "f", (lambda y, a, b, n: _ONE, lambda y, a, b, n: div(_ONE, n), None)
    ),
    "clip": Function(
        "np.clip",
        "",
        (
            lambda y, x, low, high: _if("<=", low, x, _if("<=", x, high, _ONE, NONE), NONE),
            lambda y, x, low, high: _if("<", x, low, _if("<=", low, high, _ONE, NONE), NONE),
            lambda y, x, low, high: _if(">", x, high, _ONE, _if(">", low, high, _ONE, NONE)),
        ),
    ),
    "hypot": Function(
        "math.hypot", "f", (lambda y, a, b: _share(a, y), lambda y, a, b: _share(b, y))
    ),
    "atan2": Function(
        "math.atan2",
        "f",
        (
            lambda y, a, b: _per_square(b, a, b),
            lambda y, a, b: negative(_per_square(a, a, b)),
        ),
    ),
    "logaddexp": Function(
        "np.logaddexp",
        "f",
        (
            lambda y, a, b: call("exp", sub(a, _finite(y))),
            lambda y, a, b: call("exp", sub(b, _finite(y))),
        ),
    ),
    "copysign": Function(
        "math.copysign",
        "f",
        (lambda y, a, b: mul(call("npside", a), call("copysign", _ONE, b)), None),
    ),
    "sign": Function("np.sign", ""),
    "floor": Function("math.floor", "i"),
    "ceil": Function("math.ceil", "i"),
    "npfloor": Function("np.floor", "f"),
    "npceil": Function("np.ceil", "f"),
    "nptrunc": Function("np.trunc", "f"),
    "nprint": Function("np.rint", "f"),
    "npwithin": Function("within", "i"),
    "npside": Function("np.sign", "f", (lambda y, x: _if("==", x, NONE, _NAN, NONE),)),
    "int": Function("int", "i"),
    "len_range": Function("len(range({}))", "i"),
    "unsigned": Function("np.uint64", "i"),
    "bool": Function("bool", "b"),
    "isnan": Function("np.isnan", "b"),
    "isinf": Function("np.isinf", "b"),
    "isfinite": Function("np.isfinite", "b"),
}


def _root(x: Expr) -> Expr:
    return call("sqrt", x)


def _bell(x: Expr) -> Expr:
    return mul(num(2 / math.sqrt(math.pi)), call("exp", negative(_square(x))))


def _half_circle(x: Expr) -> Expr:
    """sqrt(1 - x^2), which loses no digits near 1."""
    return mul(_root(sub(_ONE, x)), _root(add(_ONE, x)))


def _share(a: Expr, y: Expr) -> Expr:
    """a / y, 0 at the tip, where the slope jumps: `npside`, the sign, is a slope of that kind."""
    return _if("==", y, NONE, call("npside", y), div(a, y))


def _per_square(x: Expr, a: Expr, b: Expr) -> Expr:
    """x / (a^2 + b^2), the square not formed: it might overflow. Far out it is 0, computed."""
    size = call("hypot", a, b)
    return _if("==", size, _INFINITY, div(_ONE, size), div(div(x, size), size))


def _finite(y: Expr) -> Expr:
    """log(e^a + e^b), 0 in the place of -inf, where both terms are 0."""
    return _if("==", y, negative(_INFINITY), NONE, y)


CANONICAL: dict[str, str] = {name: name for name in FUNCTIONS if not name.startswith("np")}
"""Names of functions in ``math``, ``numpy`` and Python, and what they are called here."""
CANONICAL |= {
    "absolute": "abs",
    **{name: known for name, known in ELEMENTARY.items() if known in FUNCTIONS},
    "arctan2": "atan2",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "float64": "float",
    "int64": "int",
    "trunc": "int",
}
