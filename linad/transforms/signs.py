"""Signs move to where a number or a sum takes them up, to the bit: a loop has fewer operations.

-(-x) = x
-(c x) = (-c) x        c (-x) = (-c) x        c a number
(-a) b = -(a b)        (-a) / b = a / (-b) = -(a / b)
a + (-b) = a - b       (-a) + b = b - a       a - (-b) = a + b

What is not here: (-a) - b = -(a + b) has the other sign where it is zero.
"""

from typing import Any

import numpy as np

from linad.core.tape import Equation, Var
from linad.transforms.exact_factors import factor_of, product_with_number
from linad.transforms.rewriting import fits, rule


def without_sign(s: Any, a: Any) -> Any:
    """x where an operand is -x, or None."""
    maker = s.maker(a)
    if maker is None or maker.primitive.name != "negative" or a.dtype.kind not in "fc":
        return None  # the negative of an unsigned integer is another number
    return maker.inputs[0]


@rule("negative")
def negative_of_negative(s: Any, eqn: Equation) -> Any:
    maker = s.maker(eqn.inputs[0])
    return maker.inputs[0] if maker is not None and maker.primitive.name == "negative" else None


@rule("negative")
def negative_of_multiple(s: Any, eqn: Equation) -> Any:
    """-(c x) = (-c) x."""
    found = product_with_number(s, eqn.inputs[0], eqn.outputs[0].dtype)
    return found and _multiple(s, eqn, -found[0], found[1])


@rule("multiply")
def multiple_of_negative(s: Any, eqn: Equation) -> Any:
    """c (-x) = (-c) x."""
    for number, a in (eqn.inputs, eqn.inputs[::-1]):
        factor, x = factor_of(number, eqn.outputs[0].dtype), without_sign(s, a)
        if factor is not None and isinstance(x, Var) and fits(x, eqn):
            return _multiple(s, eqn, -factor, x)
    return None


@rule("multiply", "divide")
def negative_factor(s: Any, eqn: Equation) -> Any:
    """(-a) b = -(a b), where -a is as large as the product."""
    if eqn.outputs[0].dtype.kind != "f":
        return None  # the parts of complex quotients, and of infinite products, have other signs
    for k, a in enumerate(eqn.inputs):
        x = without_sign(s, a)
        if x is not None and fits(x, eqn):
            inputs = [x, eqn.inputs[1]] if k == 0 else [eqn.inputs[0], x]
            product = s.emit_like(eqn.primitive.name, inputs, eqn)
            return s.emit_like("negative", [product], eqn)
    return None


@rule("add", "subtract")
def negative_term(s: Any, eqn: Equation) -> Any:
    """a + (-b) = a - b,  (-a) + b = b - a,  a - (-b) = a + b."""
    a, b = eqn.inputs
    adds = eqn.primitive.name == "add"
    x = without_sign(s, b)
    if x is not None:
        return s.emit_like("subtract" if adds else "add", [a, x], eqn)
    x = without_sign(s, a) if adds else None
    return None if x is None else s.emit_like("subtract", [b, x], eqn)


def _multiple(s: Any, eqn: Equation, factor: Any, x: Var) -> Any:
    return s.emit_like("multiply", [np.asarray(factor), x], eqn)
