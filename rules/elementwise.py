"""Arithmetic and elementary functions, entry by entry.

y = f(x)          dy = f'(x) dx          a diagonal Jacobian
y = f(a, b)       dy = f_a da + f_b db   each with a broadcast from its own shape

Slopes are written with the result y where that is cheaper. Points without a derivative
follow one convention: the slope of |x| and sign at 0 is 0; of max and min at a tie each
argument gets one half; sqrt at 0 has slope inf, as IEEE arithmetic gives it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.dispatch import UFUNCS
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.structured import Broadcast, Conjugation, Diagonal, Identity
from linad.primitive import Primitive

Slope = Callable[..., Any]


def unary(name: str, ufunc: Any, slope: Slope) -> Primitive:
    """A primitive y = f(x) with ``slope(y, x)`` = f'(x)."""
    primitive = Primitive(name, ufunc)

    def rule(y: Any, x: Any) -> JacobianOperator:
        return Diagonal(slope(y, x), y.shape, y.dtype)

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_x"
    primitive.jacobian(wrt=0)(rule)
    UFUNCS[ufunc] = primitive
    return primitive


def diagonal(slope: Any, y: Any, x: Any) -> JacobianOperator:
    """Diagonal(slope) after the broadcast of ``x`` to the shape of ``y``; None is slope 1."""
    shape = y.shape
    if x.shape == shape:
        return Identity(shape, y.dtype) if slope is None else Diagonal(slope, shape, y.dtype)
    repeat = Broadcast(shape, x.shape, y.dtype)
    return repeat if slope is None else Chain((Diagonal(slope, shape, y.dtype), repeat))


def binary(name: str, ufunc: Any, slope_a: Slope, slope_b: Slope) -> Primitive:
    """A primitive y = f(a, b) with slopes ``slope(y, a, b)``, which may be None for 1."""
    primitive = Primitive(name, ufunc)

    def wrt_a(y: Any, a: Any, b: Any) -> JacobianOperator:
        return diagonal(slope_a(y, a, b), y, a)

    def wrt_b(y: Any, a: Any, b: Any) -> JacobianOperator:
        return diagonal(slope_b(y, a, b), y, b)

    wrt_a.__name__ = wrt_a.__qualname__ = f"{name}_wrt_a"
    wrt_b.__name__ = wrt_b.__qualname__ = f"{name}_wrt_b"
    primitive.jacobian(wrt=0)(wrt_a)
    primitive.jacobian(wrt=1)(wrt_b)
    UFUNCS[ufunc] = primitive
    return primitive


def constant(name: str, ufunc: Any) -> Primitive:
    """A primitive whose derivative is zero wherever it exists."""
    primitive = Primitive(name, ufunc, constant=True)
    UFUNCS[ufunc] = primitive
    return primitive


# Arithmetic.

add = binary("add", np.add, lambda y, a, b: None, lambda y, a, b: None)
subtract = binary("subtract", np.subtract, lambda y, a, b: None, lambda y, a, b: -1)
multiply = binary("multiply", np.multiply, lambda y, a, b: b, lambda y, a, b: a)
divide = binary("divide", np.true_divide, lambda y, a, b: 1 / b, lambda y, a, b: -y / b)
negative = unary("negative", np.negative, lambda y, x: -1)
positive = unary("positive", np.positive, lambda y, x: 1)

# Exponentials and logarithms.

exp = unary("exp", np.exp, lambda y, x: y)
log = unary("log", np.log, lambda y, x: 1 / x)
sqrt = unary("sqrt", np.sqrt, lambda y, x: 0.5 / y)

# Trigonometric (radians) and hyperbolic.

sin = unary("sin", np.sin, lambda y, x: np.cos(x))
cos = unary("cos", np.cos, lambda y, x: -np.sin(x))
tanh = unary("tanh", np.tanh, lambda y, x: 1 - y * y)

# Comparison.

less = constant("less", np.less)
greater = constant("greater", np.greater)

# Complex parts: linear over the reals.

conjugate = Primitive("conjugate", np.conjugate)
UFUNCS[np.conjugate] = conjugate


@conjugate.jacobian(wrt=0)
def conjugate_wrt_x(y: Any, x: Any) -> JacobianOperator:
    if y.dtype.kind != "c":
        return Identity(y.shape, y.dtype)
    return Conjugation(y.shape, y.dtype)
