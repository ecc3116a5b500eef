"""Minima within bounds, as equations: an unknown is held by a bound, or its gradient is zero.

    x_i = l_i  where g_i > 0 there        x_i = u_i  where g_i < 0        g_i(x, θ) = 0  elsewhere

What is held (B) and what is free (F) is told at the solution, so with H = ∂g/∂x

    dx_B = db        dx_F = -H_FF^-1 (H_FB db + H_Fθ dθ)

Methods that stay inside come to a bound but for rounding: there what is left to the bound is small,
and smaller than the gradient. An unknown on its bound with a gradient of zero counts as free; x
then has a derivative to one side only.

In the equations of the free ones the bounds stand for the unknowns that they hold, so that the
matrix is symmetric, as H is.

Source: A. V. Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear Programming",
1983, chapter 3.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import is_number
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import OptionError, ShapeError, TreeError
from linad.solve.bounds import numbers_of, of_pairs, with_arrays, without_none
from linad.transforms.spaces import Slot, split


class Stationary:
    """The equations of a minimum within bounds: ``stationary(x, lower, upper, *theta)``, with
    bounds that are containers like x.

    Parameters
    ----------
    gradient : callable
        ``gradient(x, *theta)``, a container like x.
    """

    def __init__(self, gradient: Callable[..., Any]) -> None:
        self.gradient = gradient

    def __call__(self, x: Array, lower: Array, upper: Array, *theta: Any) -> Any:
        leaves, structure = tree.flatten(x)
        slopes = tree.flatten(self.gradient(*stop_gradient((x, *theta))))[0]
        inside, rows = [], []
        for v, g, low, high in zip(
            leaves, slopes, tree.flatten(lower)[0], tree.flatten(upper)[0], strict=True
        ):
            below = _holds(v - low, g, low) | (low == high)
            held = below | _holds(high - v, -g, high)
            bound = np.where(below, low, high)
            inside.append(np.where(held, bound, v))
            rows.append((held, v - bound))
        found = tree.flatten(self.gradient(tree.unflatten(structure, inside), *theta))[0]
        left = [np.where(held, apart, g) for (held, apart), g in zip(rows, found, strict=True)]
        return tree.unflatten(structure, left)


def _holds(left: Array, gradient: Array, bound: Array) -> Any:
    """Whether a bound that is so far away, and lower, holds an unknown."""
    close = np.sqrt(np.finfo(left.dtype).eps) * np.maximum(1.0, np.abs(bound))
    return (left <= close) & (gradient > left)


def sides_of(name: str, bounds: Any, x0: Any, of_vector: bool) -> tuple[Any, Any]:
    """Lower and upper bounds as containers like x0, whose entries may be traced.

    Parameters
    ----------
    name : str
        For messages.
    bounds : pair, sequence of pairs or scipy.optimize.Bounds
        As of the solver; infinite, or None, where there is none.
    x0 : container of arrays
    of_vector : bool
        Whether `scipy.optimize.Bounds`, and a pair for each unknown, are of x0 as one vector, as
        `scipy.optimize.minimize` has them. Else they are like x0.

    Raises
    ------
    ShapeError, TreeError, OptionError
        If they do not fit x0. That they do not cross the solver checks.
    """
    leaves, structure = tree.flatten(x0)
    slots = [Slot(leaf) for leaf in leaves]
    n = sum([slot.size for slot in slots])
    as_vector = False
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds, as_vector = (bounds.lb, bounds.ub), of_vector
    elif of_vector and not _are_sides(bounds, n, tree.is_leaf(structure)):
        bounds, as_vector = _by_sides(name, bounds, n), True
    elif tree.is_leaf(structure):
        bounds = of_pairs(bounds, n, slots)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise OptionError(
            f"{name}: bounds must be (lower, upper) or scipy.optimize.Bounds, got {shown(bounds)}"
        )
    sides = []
    for side, given, none in zip(("lower", "upper"), bounds, (-np.inf, np.inf), strict=True):
        if as_vector:
            vector = _bounds_of_array(name, side, given, none, (n,), np.dtype(float))
            parts = split(vector, slots)
        elif given is None or is_number(given) or getattr(given, "shape", None) == ():
            parts = [given] * len(slots)
        elif tree.is_leaf(structure):
            parts = [given]
        else:
            what = f"{name}: the {side} bounds"
            try:
                plain = with_arrays(without_none(given, none), x0)
                parts = tree.flatten_like(plain, structure, what)
            except (TypeError, ValueError) as error:
                raise TreeError(f"{what} are not a container like x0") from error
        made = [
            _bounds_of_array(name, side, part, none, slot.shape, slot.dtype)
            for part, slot in zip(parts, slots, strict=True)
        ]
        sides.append(tree.unflatten(structure, made))
    return sides[0], sides[1]


def _are_sides(bounds: Any, n: int, plain: bool) -> bool:
    """Whether they are a lower and an upper side, and not a pair for each unknown."""
    return isinstance(bounds, tuple) and len(bounds) == 2 and not (plain and n == 2)


def _by_sides(name: str, bounds: Any, n: int) -> tuple[Any, Any]:
    """Pairs, one for each unknown, as two sides."""
    if not isinstance(bounds, (Sequence, np.ndarray)) or isinstance(bounds, str):
        raise OptionError(
            f"{name}: bounds must be scipy.optimize.Bounds, a pair of containers like x0 or a "
            f"sequence of pairs, got {shown(bounds)}"
        )
    if len(bounds) != n:
        raise OptionError(f"{name}: bounds must have {n} pairs, one per unknown, got {len(bounds)}")
    for k, pair in enumerate(bounds):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise OptionError(
                f"{name}: bounds[{k}] must be a pair of numbers or None, got {shown(pair)}"
            )
    return [pair[0] for pair in bounds], [pair[1] for pair in bounds]


def _bounds_of_array(
    name: str, side: str, given: Any, none: float, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    """Bounds of an array of unknowns: an array of the same shape and dtype."""
    if isinstance(given, (list, tuple)) and any([isinstance(v, Traced) for v in given]):
        given = np.stack([none if v is None else v for v in given])
    if not isinstance(given, Traced):
        given = numbers_of(f"{name}: the {side} bounds", given, none)
    if given.dtype.kind not in "biuf":
        raise OptionError(f"{name}: bounds must be real numbers, got dtype {given.dtype}")
    try:
        given = np.broadcast_to(given, shape)
    except ValueError as error:
        raise ShapeError(
            f"{name}: the {side} bounds must have the shape {shape} of the unknowns, or be a "
            f"number; got {np.shape(given)}"
        ) from error
    return given.astype(dtype)
