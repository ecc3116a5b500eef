"""Bounds on unknowns: how users give them, and the steps of the unknowns that are free.

An unknown on its bound whose gradient points outwards stays there for a step; a step of the others
is cut off at the bounds. Damped enough, such a step brings the cost down.

Source: C. Kanzow, N. Yamashita, M. Fukushima, "Levenberg-Marquardt methods with strong local
convergence properties for solving nonlinear equations with convex constraints", 2004.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import OptionError, ShapeError, TreeError
from linad.solve.labels import refuse_bounds_in_other_order
from linad.solve.problems import as_point


class Box:
    """Lower and upper bounds of a vector of unknowns.

    Parameters
    ----------
    lower, upper : ndarray (n,)
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper

    def clip(self, x: Array) -> Any:
        """The nearest point inside."""
        return np.clip(x, self.lower, self.upper)

    def free(self, x: Array, gradient: Array) -> Any:
        """A mask of the unknowns that may move."""
        held = (x <= self.lower) & (gradient > 0) | (x >= self.upper) & (gradient < 0)
        return ~(held | (self.lower == self.upper))


def as_box(name: str, bounds: Any, unknown: Any, names: list[str] | None = None) -> Box | None:
    """What a user gave as bounds; None where nothing is bounded.

    Parameters
    ----------
    name : str
        The solver, for messages.
    bounds : None, (lower, upper), scipy.optimize.Bounds or sequence of pairs
        Each a number for all unknowns, or a container like x0, of numbers or arrays; None or an
        infinity where there is no bound. A pair for each of one, three or more numbers, as
        `scipy.optimize.minimize` takes them; of two unknowns it is lower and upper.
    unknown : Unknown
    names : list of str, optional
        What messages call its numbers.

    Raises
    ------
    ShapeError, OptionError
        If bounds do not fit x0, cross, or leave x0 outside.
    """
    if bounds is None:
        return None
    lower, upper = sides(name, bounds, unknown, names)
    x = unknown.start
    wrong = ~((lower <= x) & (x <= upper))
    if wrong.any():
        i = int(np.argmax(wrong))
        called = f"unknown {i}" if names is None else names[i]
        start = "x0" if names is None else "the start"
        remedy = "start it between them"
        if x.size == 2 and isinstance(bounds, (list, tuple)) and all(map(_is_pair, bounds)):
            remedy += ", or if these are pairs, one for each unknown, write tuple(zip(*pairs))"
        raise OptionError(
            f"{name}: {start} must lie within the bounds, but {called} starts at {x[i]:g}, outside "
            f"[{lower[i]:g}, {upper[i]:g}]; {remedy}"
        )
    if np.isinf(lower).all() and np.isinf(upper).all():
        return None
    return Box(lower.astype(x.dtype), upper.astype(x.dtype))


def sides(name: str, bounds: Any, unknown: Any, names: list[str] | None = None) -> tuple[Any, Any]:
    """Lower and upper bounds as vectors; infinite where there are none. Errors as of `as_box`."""
    if bounds is None:
        bounds = None, None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = bounds.lb, bounds.ub
    refuse_bounds_in_other_order(name, bounds, unknown.given)
    if tree.is_leaf(unknown.structure) or unknown.structure.type in (list, tuple):
        bounds = of_pairs(bounds, unknown.start.size, unknown.slots)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        _refuse_form(name, bounds, unknown, names)
    lower, upper = (
        _vector(name, side, given, unknown, none, names)
        for side, given, none in zip(("lower", "upper"), bounds, (-np.inf, np.inf), strict=True)
    )
    wrong = ~(lower <= upper)
    if wrong.any():
        i = int(np.argmax(wrong))
        pairs = lower.size == 2 and lower[0] <= lower[1] and upper[0] <= upper[1]
        pairs = pairs and not _by_name(unknown, names)
        hint = "; pairs, one for each unknown, become that by tuple(zip(*pairs))" if pairs else ""
        raise OptionError(
            f"{name}: a lower bound must not exceed the upper one, got {lower[i]:g} and "
            f"{upper[i]:g} for {f'unknown {i}' if names is None else names[i]}{hint}"
        )
    return lower, upper


def of_pairs(bounds: Any, n: int, slots: Any) -> Any:
    """Lower and upper bounds of pairs, one for each of n numbers; other bounds as they are.

    Two pairs for two unknowns may be either; they are what SciPy's `least_squares` takes them for.
    """
    if not isinstance(bounds, (list, tuple, np.ndarray)) or len(bounds) != n or n == 2:
        return bounds
    if len(slots) not in (1, n) or not all(map(_is_pair, bounds)):
        return bounds
    lower, upper = zip(*bounds, strict=True)
    if n == 1:
        return lower[0], upper[0]
    return (lower, upper) if len(slots) == n else (list(lower), list(upper))


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, (list, tuple, np.ndarray)) or len(pair) != 2:
        return False
    return all([v is None or np.ndim(v) == 0 for v in pair])


def _refuse_form(name: str, bounds: Any, unknown: Any, names: list[str] | None) -> NoReturn:
    """Raise for bounds that are no two sides, with what to write."""
    form, came = "bounds must be (lower, upper) or scipy.optimize.Bounds", shown(bounds)
    n, paired = unknown.start.size, isinstance(bounds, (list, tuple, np.ndarray)) and len(bounds)
    remedy = _by_name(unknown, names)
    if paired and all(map(_is_pair, bounds)):
        came = f"{len(bounds)} pairs"
        if not remedy:
            remedy = "; give two containers like x0, of lower and of upper bounds"
            if len(bounds) != n:
                came += f" for {n} {'unknowns' if names is None else 'parameters'}"
                remedy = "; of pairs there must be one for each"
    raise OptionError(f"{name}: {form}, got {came}{remedy}")


def _by_name(unknown: Any, names: list[str] | None) -> str:
    """How bounds are given where x0 is a dict; "" where it is none."""
    like = unknown.container(unknown.start)
    if not isinstance(like, Mapping) or not like:
        return ""
    key = next(iter(like))
    if names is None:
        return f"; with a dict give two like it, ({{{key!r}: 0, ...}}, {{{key!r}: 1, ...}})"
    return f"; with a dict give bounds by name: bounds={{{key!r}: (0, 1), ...}}"


def numbers_of(what: str, given: Any, none: float) -> Any:
    """Bounds as an array of floats, with ``none`` where there are none.

    Raises
    ------
    OptionError
        If they are no numbers; ``what`` is what messages call them.
    """
    try:
        held = np.asarray(given, object)
        entries = [none if v is None else v for v in held.ravel()]
        if not any(isinstance(v, (str, bytes)) for v in entries):
            return np.array(entries, float).reshape(held.shape)
    except (TypeError, ValueError):
        pass  # told below
    raise OptionError(f"{what} must be numbers or None, got {shown(given)}")


def _vector(
    name: str, side: str, given: Array, unknown: Any, none: float, names: list[str] | None
) -> Any:
    """One side of the bounds, as a vector."""
    if given is None or isinstance(given, (int, float, np.number)):
        return np.full(unknown.start.shape, none if given is None else float(given))
    slots = unknown.slots
    if unknown.structure == tree.LEAF:
        leaves = [given]
    else:
        try:
            given = with_arrays(without_none(given, none), unknown.container(unknown.start))
            leaves, structure = tree.flatten(given)
            if structure != unknown.structure:
                leaves, structure = tree.flatten(as_point(given))
        except (TypeError, ValueError) as error:
            raise TreeError(f"{name}: the {side} bounds are not a container like x0") from error
        if structure != unknown.structure:
            raise TreeError(
                f"{name}: the {side} bounds must be a number, or a container like x0; got "
                f"{shown(given)}{_by_name(unknown, names)}"
            )
    parts = []
    for leaf, slot in zip(leaves, slots, strict=True):
        values = numbers_of(f"{name}: the {side} bounds", leaf, none)
        try:
            values = np.broadcast_to(values, slot.shape)
        except ValueError as error:
            raise ShapeError(
                f"{name}: the {side} bounds must have the shape {slot.shape} of the unknowns, or "
                f"be a number; got {np.shape(leaf)}"
            ) from error
        parts.append(values.ravel())
    return np.concatenate(parts)


def with_arrays(given: Any, like: Any) -> Any:
    """With arrays for lists where a container has an array."""
    if isinstance(like, np.ndarray) and like.ndim and type(given) in (list, tuple):
        return np.stack(given) if any(isinstance(v, Traced) for v in given) else np.array(given)
    if isinstance(like, dict) and type(given) is type(like) and given.keys() == like.keys():
        return type(given)((key, with_arrays(given[key], like[key])) for key in given)
    if type(like) in (list, tuple) and type(given) is type(like) and len(given) == len(like):
        return type(given)(map(with_arrays, given, like))
    return given


def without_none(given: Any, none: float) -> Any:
    """With numbers for None, which a container would take for one without leaves."""
    if given is None:
        return none
    if isinstance(given, dict):
        form = OrderedDict if isinstance(given, OrderedDict) else dict
        return form([(k, without_none(v, none)) for k, v in given.items()])
    if type(given) in (list, tuple):
        return type(given)(without_none(v, none) for v in given)
    return given
