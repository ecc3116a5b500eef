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
