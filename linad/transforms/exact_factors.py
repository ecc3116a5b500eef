"""Factors that are powers of two: they join other numbers without another rounding.

a (b x) = (a b) x        one of a and b a power of two
b x + b x = (2 b) x

A half squared and differentiated, 0.5 z z -> 0.5 z + 0.5 z, is z again, and 100 (2 z) is one
product. Where b x overflows a b x must do so, too: |b| <= 1, or |a| >= 1. And b x must not have
lost more than a digit or two where it is denormal: the short form keeps them.
"""

import math
from typing import Any

import numpy as np

from linad.core.tape import Equation, Var
from linad.transforms.rewriting import fits, number_of, rule


def factor_of(a: Any, dtype: np.dtype) -> Any:
    """The number that all entries of a known operand are, in the precision of a product."""
    number = number_of(a)
    if number is None or dtype.kind != "f" or isinstance(number, (complex, np.complexfloating)):
        return None
    factor = dtype.type(number)
    return factor if np.isfinite(factor) and factor != 0 else None


def product_with_number(s: Any, a: Any, dtype: np.dtype) -> tuple[Any, Var] | None:
    """The number and the array, where an operand is a product of such."""
    maker = s.maker(a)
    if maker is None or maker.primitive.name != "multiply":
        return None
    for number, x in (maker.inputs, maker.inputs[::-1]):
        factor = factor_of(number, dtype)
        if factor is not None and fits(x, maker) and x.dtype == dtype:
            return factor, x
    return None


def is_power_of_two(factor: Any) -> bool:
    return abs(math.frexp(factor)[0]) == 0.5


def may_join(outer: Any, inner: Any) -> bool:
    """Whether the product of two factors does what one does after the other."""
    if abs(inner) > 1 and abs(outer) < 1:
        return False
    if is_power_of_two(inner) and abs(inner) >= 0.5:
        return True
    return is_power_of_two(outer) and abs(outer) <= 4


@rule("multiply")
def product_of_factors(s: Any, eqn: Equation) -> Any:
    """a (b x) = (a b) x."""
    out = eqn.outputs[0]
    for number, a in (eqn.inputs, eqn.inputs[::-1]):
        outer = factor_of(number, out.dtype)
        if outer is None or not fits(a, eqn):
            continue
        found = product_with_number(s, a, out.dtype)
        if found is not None and may_join(outer, found[0]):
            return _multiple(s, eqn, outer, *found)
    return None


@rule("add")
def twice_a_product(s: Any, eqn: Equation) -> Any:
    """b x + b x = (2 b) x."""
    a, b = eqn.inputs
    if a is not b or not fits(a, eqn):
        return None
    out = eqn.outputs[0]
    found = product_with_number(s, a, out.dtype)
    return found and _multiple(s, eqn, out.dtype.type(2), *found)


def _multiple(s: Any, eqn: Equation, outer: Any, inner: Any, x: Var) -> Any:
    with np.errstate(over="ignore"):
        factor = outer * inner
    return s.emit_like("multiply", [np.asarray(factor), x], eqn) if np.isfinite(factor) else None
