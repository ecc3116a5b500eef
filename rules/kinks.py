"""Slopes at the tip of a kink: a number, whose own derivative does not exist.

|x|, a norm, a standard deviation have a tip at 0, where their slope is 0 by convention. The
slope jumps there, so what is differentiated once more must not find a constant:

    f = |x|²        f'  = 2 |x| side(x)                       0 at 0, as it should be
                    f'' = 2 side(x)² + 2 |x| side'(x)         2, and not the 0 of side' = 0

So side' is NaN at 0, and the NaN goes wherever a second derivative would have needed it.

side(x)    sign(x)              derivative 0, NaN at 0
tip(x)     x, and 1 for 0       derivative 1, NaN at 0        a / tip(b) = 0 where a = b = 0
root(x)    sqrt(x)              slope 0 at 0, not inf

The third power of what has a tip, |x|³, is of its square s = x², smooth, s' = 0 where s is 0:

cube_of_tip(s)    s^(3/2)       slope 3/2 root(s)

    f = cube_of_tip(s)    f'' = 3/2 (root'(s) s'² + root(s) s'')      0 at 0, as |x|³ has it
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.operators.base import JacobianOperator
from linad.operators.structured import Zero, diagonal
from linad.rules.elementwise import unary


def _at_zero(x: Array, here: float, elsewhere: float, y: Array) -> Any:
    return np.where(x == 0, y.dtype.type(here), y.dtype.type(elsewhere))


def _tip(x: Array) -> Any:
    return x + (x == 0)


def _sqrt(x: Array) -> Any:
    return np.sqrt(x)


def _cubed_root(s: Array) -> Any:
    return s * np.sqrt(s)


side_ = Primitive("side", np.sign)
tip_ = unary("tip", _tip, lambda y, x: _at_zero(x, np.nan, 1.0, y))
root = unary("root", _sqrt, lambda y, x: _at_zero(x, 0.0, 0.5, y) / tip(y))
cube_of_tip = unary("cube_of_tip", _cubed_root, lambda y, s: 1.5 * root(s))


@side_.jacobian(wrt=0)
def side_wrt_x(y: Array, x: Array) -> JacobianOperator:
    """Zero, without an operation, where it is seen that no entry is at the tip."""
    if not isinstance(x, Traced) and (x != 0).all():
        return Zero(y.shape, x.shape, y.dtype)
    return diagonal(_at_zero(x, np.nan, 0.0, y), y.shape, y.dtype)


def size_squared(d: Array) -> Any:
    """|d|², real."""
    return np.real(d) ** 2 + np.imag(d) ** 2 if d.dtype.kind == "c" else d * d


def side(x: Array) -> Any:
    """The sign of a real x, as the slope of what has a kink at 0."""
    return side_(x) if isinstance(x, Traced) else np.sign(x)


def tip(x: Array) -> Any:
    """A denominator, 1 in place of 0, where the numerator is 0 as well."""
    return tip_(x) if isinstance(x, Traced) else _tip(x)
