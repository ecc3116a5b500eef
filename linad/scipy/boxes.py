"""The bounds of SciPy's searches: which of them hold an answer, and what it does there.

An unknown that a bound holds at the minimum stays on it, x_i = l_i(θ), and moves with the bound
alone. SciPy's methods come to a bound exactly or, where they stay inside or only compare values, to
their tolerance: there the bound holds x_i if Newton's step in this unknown leads well beyond it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from linad.api.derivatives import jacobian
from linad.api.gradients import grad
from linad.rules.creation import asarray
from linad.scipy.implicit_solutions import plain, with_derivative
from linad.scipy.mirror import holds_traced

AT = 1e-8
"""How far from a bound an unknown is on it, relative to its size."""

NEAR = 1e-3
"""How far from a bound, at most, a search ends that would have come to it."""

WELL = 3
"""How many times the distance to the bound Newton's step is then, at least."""

Sides = tuple[Any, Any]
"""Lower and upper bounds, numbers or arrays, which may be traced."""

NONE: Sides = (-np.inf, np.inf)


class Standing(NamedTuple):
    """Where an answer stands.

    Attributes
    ----------
    free : array of bool
        The unknowns that no bound holds.
    held : array
        The others, with the derivatives of their bounds; 0 where they are free.
    """

    free: Any
    held: Any


def sides_of_pairs(bounds: Any) -> Sides:
    """Bounds as `scipy.optimize.minimize` takes them: none, its class, or a pair an unknown."""
    if bounds is not None and not isinstance(bounds, scipy.optimize.Bounds):
        pairs = list(bounds)
        low = [-np.inf if pair[0] is None else pair[0] for pair in pairs]
        bounds = low, [np.inf if pair[1] is None else pair[1] for pair in pairs]
    return sides_of_pair(bounds)


def sides_of_pair(bounds: Any) -> Sides:
    """Bounds as `scipy.optimize.least_squares` takes them: none, its class, or two sides."""
    if bounds is None:
        return NONE
    if isinstance(bounds, scipy.optimize.Bounds):
        return bounds.lb, bounds.ub
    low, high = bounds
    return asarray(low), asarray(high)


def place_of(f: Callable[[Any], Any], x: Any, sides: Sides) -> Standing:
    """Which bounds hold the minimum x of f.

    Parameters
    ----------
    f : callable
        Of a vector; may refer to traced values.
    x : array (n,)
        Without derivatives. In a program, which holds for minima at the same bounds, a value of it.
    sides : (array, array)
    """
    if sides is NONE:
        return Standing(np.ones(x.shape, bool), np.zeros(x.shape))
    low, high = [np.broadcast_to(side, x.shape) for side in sides]
    to_low, to_high = x - plain(low), plain(high) - x
    size = 1 + np.abs(x)
    below, above = to_low <= AT * size, to_high <= AT * size
    near = ~(below | above) & (np.minimum(to_low, to_high) <= NEAR * size)
    if near.any():
        step = _steps(f, x)
        below = below | (near & (step > WELL * to_low))
        above = above | (near & (-step > WELL * to_high))
    free = plain(~(below | above))
    held = np.where(free, 0.0, x)
    if holds_traced((low, high)):
        held = with_derivative(held, np.where(free, 0.0, np.where(below, low, high)))
    return Standing(free, held)


def _steps(f: Callable[[Any], Any], x: Any) -> Any:
    """Newton's step in each unknown by itself; infinite, downhill, where f does not bend up."""
    slope = grad(lambda z: asarray(f(z)).reshape(()))
    g = plain(slope(x))
    bend = np.diagonal(plain(jacobian(slope)(x)))
    flat = np.where(g == 0, 0.0, np.copysign(np.inf, g))
    return np.where(bend > 0, g / np.where(bend > 0, bend, 1.0), flat)
