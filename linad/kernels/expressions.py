"""Expressions of kernels: what is computed of scalars and of entries of arrays.

An expression is a small tree that can be compared and used as a key:

    num text | var name | get array indices | dim array axis | neg a | not a | if test yes no
    + - * / // % ** & | ^ << >> a b | < <= > >= == != a b | and or a b | call name arguments
"""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linad.sweeps.elementary_names import ELEMENTARY


class ArrayKind(NamedTuple):
    """The type of an array: name of its dtype, and number of axes."""

    dtype: str
    ndim: int

    @property
    def scalar(self) -> str:
        """The kind of its entries."""
        return {"f": "f", "i": "i", "u": "i", "b": "b"}[np.dtype(self.dtype).kind]


Kind = str | ArrayKind
"""Of a scalar "f", "i" or "b"; or of an array."""


class Expr(NamedTuple):
    """A node of an expression."""

    op: str
    parts: tuple[Any, ...]


COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_BINDING: dict[str, float] = {"if": 0, "or": 1, "and": 2, "not": 3}
_BINDING.update(dict.fromkeys(COMPARISONS, 4))
_BINDING.update({"|": 4.2, "^": 4.4, "&": 4.6, "<<": 4.8, ">>": 4.8})
_BINDING.update({"+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "neg": 7, "**": 8})


def num(value: Any) -> Expr:
    """A constant."""
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if not math.isfinite(value):
            return Expr("num", (f"np.{value}" if value > 0 or value != value else "-np.inf",))
    elif isinstance(value, np.generic):
        value = value.item()
    return Expr("num", (repr(value),))


def var(name: str) -> Expr:
    """A scalar."""
    return Expr("var", (name,))


ZERO, ONE, NONE = num(0), num(1), num(0.0)


def binary(op: str, a: Expr, b: Expr) -> Expr:
    """``a op b``, without additions of 0 and multiplications by 1."""
    if op == "+":
        if a in (ZERO, NONE):
            return b
        if b in (ZERO, NONE):
            return a
        if b.op == "neg":
            return binary("-", a, b.parts[0])
    elif op == "-":
        if b in (ZERO, NONE):
            return a
        if a in (ZERO, NONE):
            return negative(b)
        if b.op == "neg":
            return binary("+", a, b.parts[0])
    elif op == "*":
        if a in (ONE, num(1.0)):
            return b
        if b in (ONE, num(1.0)):
            return a
        if a.op == "neg":
            return negative(binary("*", a.parts[0], b))
        if b.op == "neg":
            return negative(binary("*", a, b.parts[0]))
    if op in "+-*" and is_integer(a) and is_integer(b):
        x, y = int(a.parts[0]), int(b.parts[0])
        return num({"+": x + y, "-": x - y, "*": x * y}[op])
    return Expr(op, (a, b))


def is_integer(e: Expr) -> bool:
    """Whether an expression is an integer constant."""
    return e.op == "num" and e.parts[0].lstrip("-").isdigit()


def compared(op: str, a: Expr, b: Expr) -> Expr:
    """``a op b``; of constants, whether it holds."""
    if is_integer(a) and is_integer(b):
        return num(bool(_HOLDS[op](int(a.parts[0]), int(b.parts[0]))))
    return Expr(op, (a, b))


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def negative(a: Expr) -> Expr:
    """``-a``."""
    if a.op == "neg":
        return a.parts[0]  # type: ignore[no-any-return]
    if a.op == "num" and not a.parts[0].startswith("np."):
        text = a.parts[0]
        return Expr("num", (text[1:] if text.startswith("-") else f"-{text}",))
    return Expr("neg", (a,))


def add(a: Expr, b: Expr) -> Expr:
    """``a + b``."""
    return binary("+", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    return binary("-", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """``a * b``."""
    return binary("*", a, b)


def div(a: Expr, b: Expr) -> Expr:
    """``a / b``."""
    return Expr("/", (a, b))


def call(name: str, *arguments: Expr) -> Expr:
    """A function of scalars."""
    return Expr("call", (name, arguments))


def get(array: str, *indices: Expr) -> Expr:
    """An entry of an array."""
    return Expr("get", (array, indices))


def dim(array: str, axis: int) -> Expr:
    """The length of an axis."""
    return Expr("dim", (array, axis))


def operands(e: Expr) -> tuple[Expr, ...]:
    """The expressions right under a node."""
    if e.op in ("num", "var", "dim"):
        return ()
    if e.op in ("get", "call"):
        return e.parts[1]  # type: ignore[no-any-return]
    return e.parts


def rebuilt(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The node with other operands."""
    if e.op in ("num", "var", "dim"):
        return e
    if e.op in ("get", "call"):
        return Expr(e.op, (e.parts[0], tuple([change(x) for x in e.parts[1]])))
    return Expr(e.op, tuple([change(x) for x in e.parts]))


def rebuilt_or_none(e: Expr, change: Callable[[Expr], Expr | None]) -> Expr | None:
    """The node with other operands, not entries of arrays; None if one of them is None."""
    parts = [change(x) for x in operands(e)]
    if None in parts:
        return None
    if e.op in ("num", "var", "dim"):
        return e
    if e.op == "call":
        return Expr("call", (e.parts[0], tuple(parts)))
    return Expr(e.op, tuple(parts))


def nodes(e: Expr) -> Iterator[Expr]:
    """An expression and all within it."""
    yield e
    for part in operands(e):
        yield from nodes(part)


def names(e: Expr) -> set[str]:
    """The scalars and arrays whose values an expression reads; shapes are not among them."""
    return {x.parts[0] for x in nodes(e) if x.op in ("var", "get")}


def renamed(e: Expr, versions: dict[str, Expr]) -> Expr:
    """An expression with other expressions in the place of scalars."""
    if e.op == "var":
        return versions.get(e.parts[0], e)
    return rebuilt(e, lambda x: renamed(x, versions))


def kind_of(e: Expr, kinds: dict[str, Kind]) -> str:
    """ "f", "i" or "b"; of scalars that nothing is known of yet "i"."""
    if e.op == "num":
        text = e.parts[0]
        return "b" if text in ("True", "False") else "i" if is_integer(e) else "f"
    if e.op == "var":
        kind = kinds.get(e.parts[0], "i")
        assert isinstance(kind, str)
        return kind
    if e.op == "get":
        kind = kinds[e.parts[0]]
        assert isinstance(kind, ArrayKind)
        return kind.scalar
    if e.op == "dim":
        return "i"
    if e.op in COMPARISONS or e.op in ("and", "or", "not"):
        return "b"
    if e.op == "/":
        return "f"
    if e.op == "call":
        found = FUNCTIONS[e.parts[0]].kind
        return found or joined([kind_of(x, kinds) for x in e.parts[1]])
    found = joined([kind_of(x, kinds) for x in operands(e)[1 if e.op == "if" else 0 :]])
    return "i" if found == "b" and e.op not in ("if", "&", "|", "^") else found


def joined(kinds: list[str]) -> str:
    """The kind that holds values of all of these."""
    return "f" if "f" in kinds else "i" if "i" in kinds else "b"


def text(e: Expr, outside: float = -1) -> str:
    """Source of an expression."""
    if e.op in ("num", "var"):
        found = str(e.parts[0])
        return f"({found})" if found.startswith("-") and outside >= 6 else found
    if e.op == "get":
        return f"{e.parts[0]}[{', '.join([text(i) for i in e.parts[1]])}]"
    if e.op == "dim":
        return f"{e.parts[0]}.shape[{e.parts[1]}]"
    if e.op == "call":
        given = [text(i) for i in e.parts[1]]
        source = FUNCTIONS[e.parts[0]].source
        if "{0}" in source:
            return source.format(*given)
        together = ", ".join(given)
        return source.format(together) if "{}" in source else f"{source}({together})"
    mine = _BINDING[e.op]
    if e.op == "neg":
        found = f"-{text(e.parts[0], mine)}"
    elif e.op == "not":
        found = f"not {text(e.parts[0], mine)}"
    elif e.op == "if":
        test, yes, no = [text(x, 1) for x in e.parts]
        found = f"{yes} if {test} else {no}"
    else:
        a, b = e.parts
        tight = e.op in COMPARISONS or e.op == "**"
        found = f"{text(a, mine + tight)} {e.op} {text(b, mine + (e.op != '**'))}"
    return f"({found})" if mine < outside else found


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


def _choice(source: str, test: str) -> "Function":
    """Python's, of two numbers the second where it is beyond the first: not if one is NaN."""
    return Function(
        source,
        "",
        (lambda y, a, b: _if(test, b, a, NONE, _ONE), lambda y, a, b: _if(test, b, a, _ONE, NONE)),
    )


def _extremum(source: str) -> "Function":
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
    """x / (a^2 + b^2), the square not formed: it might overflow."""
    size = call("hypot", a, b)
    return div(div(x, size), size)


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
