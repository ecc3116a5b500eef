"""Bounds of unknowns, which may be traced: an unknown that rests at one moves with it.

The other unknowns see it move, as they see all else that the function depends on.
"""

from typing import Any, Self

import numpy as np
import scipy.optimize

from linad.core.array_type import Array
from linad.rules.creation import asarray
from linad.scipy.implicit_solutions import plain, with_derivative
from linad.scipy.mirror import holds_traced

NEAR = 1e-8
"""Within which distance, relative to the size of the numbers, an unknown rests at a bound."""


class MovingBounds:
    """The bounds of a vector.

    Parameters
    ----------
    low, high : number or array
        Infinite where there is none.

    Attributes
    ----------
    is_traced : bool
    """

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = asarray(low), asarray(high)
        self.is_traced = holds_traced((self.low, self.high))

    @classmethod
    def of_pairs(cls, bounds: Any) -> Self:
        """Of what minimisers take: pairs in which None is no bound, SciPy's `Bounds`, or None."""
        if bounds is None or isinstance(bounds, scipy.optimize.Bounds):
            return cls.of_ends(bounds)
        low = [-np.inf if low is None else low for low, _ in bounds]
        return cls(low, [np.inf if high is None else high for _, high in bounds])

    @classmethod
    def of_ends(cls, bounds: Any) -> Self:
        """Of what fits take: all lower and all upper ones, SciPy's `Bounds`, or None."""
        if isinstance(bounds, scipy.optimize.Bounds):
            bounds = bounds.lb, bounds.ub
        return cls(*((-np.inf, np.inf) if bounds is None else bounds))

    def _rests(self, end: Any, x: Array, near: float) -> Array:
        gap = np.abs(x - np.broadcast_to(plain(end), x.shape))
        return np.asarray(gap <= near * (1 + np.abs(x)))

    def free(self, x: Array, near: float = NEAR) -> Array:
        """Where a plain point is not at its bounds."""
        return ~(self._rests(self.low, x, near) | self._rests(self.high, x, near))

    def resting(self, x: Array, near: float = NEAR) -> Any:
        """A plain point, whose entries at their bounds move with these."""
        if not self.is_traced:
            return x
        at_high = self._rests(self.high, x, near)
        low, high = (np.broadcast_to(end, x.shape) for end in (self.low, self.high))
        held = np.where(self._rests(self.low, x, near) | at_high, 1.0, 0.0)
        # Infinite bounds, at which nothing rests, have no part in it.
        ends = np.where(held > 0, np.where(at_high, high, low), 0.0)
        return with_derivative(x, held * ends)
