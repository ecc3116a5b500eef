"""The rule of one argument of a function of one entry at a time.

y = f(a, b, ...)     dy = f_a da + f_b db + ...

A trace that meets such a rule, and an argument that has the shape of the result already, makes
the diagonal operator itself: programs are made of these functions, and each call counts.
"""

from collections.abc import Callable
from typing import Any

from linad.core.array_type import Array
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.reordering import Broadcast, broadcast
from linad.operators.structured import diagonal


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
    """

    __slots__ = ("name", "place", "slope")

    def __init__(self, name: str, place: int, slope: Callable[..., Any] | None) -> None:
        self.name, self.place, self.slope = name, place, slope

    def __call__(self, y: Array, *args: Any, **params: Any) -> JacobianOperator:
        x, shape = args[self.place], y.shape
        if self.slope is None:
            return broadcast(shape, x.shape, y.dtype)
        J = diagonal(self.slope(y, *args, **params), shape, y.dtype)
        return J if x.shape == shape else Chain((J, Broadcast(shape, x.shape, y.dtype)))

    def __repr__(self) -> str:
        return f"<rule {self.name}>"
