"""The rule of one argument of a function of one entry at a time.

y = f(a, b, ...)     dy = f_a da + f_b db + ...

A trace that meets such a rule, and an argument that has the shape of the result already, makes
the diagonal operator itself: programs are made of these functions, and each call counts.

Where an argument is infinite and the result is not, as in exp(-inf) = 0 or 1 / inf = 0, the result
does not move with it: the slope is 0, whatever the argument's own derivative is, which may well be
infinite, as that of -k t in k at t = inf. No product tells so, since 0 · inf is NaN. Those entries
are not read, as those that `numpy.where` leaves out (`linad.transforms.unread_entries`).
"""

from collections.abc import Callable
from math import isinf
from typing import Any

import numpy as np
from numpy import float64

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.reordering import Broadcast, broadcast
from linad.operators.structured import Masked, diagonal

TRUE = b"\1"
"""What the bytes of an array of truth values hold where one is true: asked for in half the time of
``any()``, which is a function of Python's."""

MANY = 1000
"""Entries of which the sum of squares is asked for first, in a ninth of the time."""


FACTOR, POLE, SINGULAR, QUOTIENT, POWER = "factor", "pole", "singular", "quotient", "power"
"""What a slope says of poles, where finite arguments have an infinite result.

It is that of a product, and stays 0 with the other factor. Or it is not finite at poles only; or
there and where an argument is infinite; or there and where the dividend of a quotient is infinite,
of which it is the slope in the divisor; or there and where a power, of which it is the slope in the
base, has no finite negative exponent.
"""


def _levelled(J: JacobianOperator, moves: Any) -> JacobianOperator:
    """A diagonal, 0 but where a mask says that the result moves: on both sides of a slope that may
    be NaN, so that neither warns."""
    mask = Masked(moves, J.out_shape, J.out_dtype)
    return Chain((mask, J, mask))


class SlopeRule:
    """A Jacobian rule: the diagonal of a slope, after the broadcast of its argument.

    Parameters
    ----------
    name : str
        As messages call it: ``"multiply_wrt_a"``.
    place : int
        Which argument it is the rule of.
    slope : callable or None
        ``slope(y, *args, **params)``, an array that broadcasts to the shape of y; None is the
        slope 1.

    Attributes
    ----------
    levels : bool
        Whether the function is finite at an infinity of the argument: it levels off there.
    steep : str or None
        What the slope says of poles, see `POLE`.
    at_poles : bool
        Whether it is one of both: asked of each operation, it takes one look.
    """

    __slots__ = ("at_poles", "levels", "name", "place", "slope", "steep")

    def __init__(self, name: str, place: int, slope: Callable[..., Any] | None) -> None:
        self.name, self.place, self.slope = name, place, slope
        self.levels, self.at_poles = False, False
        self.steep: str | None = None

    def level_off(self) -> None:
        """Say that the function levels off at an infinity of the argument."""
        self.levels = self.at_poles = True

    def grow_steep(self, kind: str) -> None:
        """Say what the slope says of poles."""
        self.steep, self.at_poles = kind, True

    def __call__(self, y: Array, *args: Any, **params: Any) -> JacobianOperator:
        x, shape = args[self.place], y.shape
        if self.slope is None:
            return broadcast(shape, x.shape, y.dtype)
        J: JacobianOperator = diagonal(self.slope(y, *args, **params), shape, y.dtype)
        if self.levels and reaches_infinity(x):
            J = _levelled(J, ~(np.isinf(x) & np.isfinite(y)))
        return J if x.shape == shape else Chain((J, Broadcast(shape, x.shape, y.dtype)))

    def beside_poles(self, moving: Any, y: Array, *args: Any, **params: Any) -> JacobianOperator:
        """As a call, where infinite entries of the argument are those of poles: all of them, or
        those that a mask names."""
        x, shape = args[self.place], y.shape
        assert self.slope is not None
        J: JacobianOperator = diagonal(self.slope(y, *args, **params), shape, y.dtype)
        if moving is not True:
            J = _levelled(J, moving | ~(np.isinf(x) & np.isfinite(y)))
        return J if x.shape == shape else Chain((J, Broadcast(shape, x.shape, y.dtype)))

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


def reaches_infinity(x: Array) -> bool:
    """Whether an entry is infinite, here: programs are recorded for what is met, and others do
    without masks."""
    if type(x) is float64:
        return isinf(x)
    if isinstance(x, Traced):
        x = concrete(x)
    if x.size > MANY:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.vdot(x, x)):
                return False
    return TRUE in np.isinf(x).tobytes()
