"""Refusing derivatives that do not see what a function searches for.

A bisection by hand returns a point of an interval: its derivative, with all decisions as they were
taken, is that of the ends of the interval, and not that of the root. Where the decisions of a
function look like those of a search (`linad.core.near_ties`), it is run again, on plain numbers
beside its arguments, and its differences are compared with its derivative. They agree where a
search only finds where to start, a step of Newton's method from its end say, or what is stationary
there, the least value of what is minimised. Where they do not, at any length of the step, though
they agree with each other, the derivative is wrong, and is refused.
"""

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.core import tree
from linad.core.array_type import Array
from linad.core.callers import defining_package
from linad.core.during import during
from linad.core.marks import outside_of_traces
from linad.core.settings import current
from linad.core.shapes import is_inexact, name_of
from linad.errors import SearchError
from linad.transforms.push import push_leaves

LENGTHS = (100.0, 10.0, 1.0, 0.1, 0.01)
"""Of differences, in fourth roots of eps: where a search ends early, the long ones tell."""

LOOKED_AT_FIRST = (1.0, 0.1, 0.01)
"""The lengths at which a derivative may agree with the function; it mostly does at the first."""

AGREES = 5e-4
"""How far apart, relative to the larger, a difference and a derivative may be that agree."""

STEADY = 0.1
"""How far apart differences over two lengths in turn may be, relative to how far both are from the
derivative, where they are sure of themselves. Three in a row have to be."""

NOISE = 64.0
"""Times eps: errors of a value, relative to it, that a difference is not to be made of."""

_looking: ContextVar[bool] = ContextVar("linad_looking_for_searches", default=False)

Leaves = list[Any]


def check_searches(f: Callable[..., Any], run: Callable[[Leaves], Any], leaves: Leaves) -> None:
    """Refuse a derivative that is another one than that of the function.

    Parameters
    ----------
    f : callable
        What is differentiated.
    run : callable
        Calls it, with others in the place of the leaves that it is differentiated in, and returns
        the result.
    leaves : list of array
        These, as they came.

    Raises
    ------
    SearchError
        If the differences of ``f`` are steady, and are not what its derivative says.

    Notes
    -----
    Costs a derivative in forward mode, and two runs of ``f`` on plain numbers if they agree.
    """
    point = [np.array(plain(x)) for x in leaves]
    direction = _direction(point)
    quiet = np.errstate(all="ignore"), warnings.catch_warnings()
    with outside_of_traces(), during(_looking, True), quiet[0], quiet[1]:
        warnings.simplefilter("ignore")
        found = _compared(run, point, direction)
    if found is not None:
        where, told, seen = found
        raise SearchError(
            f"{name_of(f)}: it searches by comparisons, as a bisection by hand does, and its "
            f"derivative does not see what is found by them: in one direction it is {told:.6g}, "
            f"where the {where} changes by {seen:.6g}. Let linad.scipy.optimize.brentq or "
            f"linad.solve.root find a root, linad.scipy.optimize.minimize_scalar or minimize a "
            f"minimum, which have their derivatives; what is meant to be constant is "
            f'linad.stop_gradient(found). linad.config(disconnected="ignore") does not ask'
        )


def looks_for_searches(f: Callable[..., Any], trace: Trace) -> bool:
    """Whether a function that has run may search by comparisons, and somebody wants to know."""
    if not trace.may_search() or _looking.get() or current().disconnected == "ignore":
        return False
    return defining_package(f) != "linad"


def plain(x: Any) -> Any:
    """A value without its traces; a copy of an array, which ``f`` may write into."""
    if isinstance(x, Tracer):
        x = x.concrete
    return x.copy() if type(x) is np.ndarray else x


def _direction(point: Leaves) -> Leaves:
    """A tangent in which each entry changes by a part of itself, none by the same."""
    rng = np.random.default_rng(0)
    made = []
    for x in point:
        sizes = np.abs(x)
        sizes = np.where(sizes > 0, sizes, np.max(sizes, initial=0.0) or 1.0)
        parts = rng.uniform(0.5, 1.0, x.shape) * rng.choice([-1.0, 1.0], x.shape)
        made.append((sizes * parts).astype(x.dtype))
    return made


def _compared(run: Callable[[Leaves], Any], point: Leaves, direction: Leaves) -> Any:
    """A result whose differences do not agree with its derivative: which, what the derivative
    says, and what they say; None if there is none."""

    def values(part: float) -> Any:
        moved = [x + (part * d).astype(x.dtype) for x, d in zip(point, direction, strict=True)]
        return _vector(tree.flatten(run([_as_given(x) for x in moved]))[0])

    try:
        # A derivative of its own, since that around it may keep what is traced by others.
        _, results, pushed = push_leaves(
            run, [_as_given(x.copy()) for x in point], [_as_given(d) for d in direction]
        )
        at, told = _vector(results), _vector(pushed)
        eps = max([float(np.finfo(x.dtype).eps) for x in (*point, at)])
        wrong = np.isfinite(told)
        seen = {}
        for length in (*LOOKED_AT_FIRST, *LENGTHS):
            if length in seen:
                continue
            h = length * eps**0.25
            seen[length] = found = (values(h) - values(-h)) / (2.0 * h)
            if length in LOOKED_AT_FIRST:
                near = AGREES * np.maximum(np.abs(found), np.abs(told))
                wrong &= np.abs(found - told) > near + NOISE * eps * np.abs(at) / h
                if not wrong.any():
                    return None
    except Exception:  # of any kind: of a function that cannot be run there nothing is known
        return None
    rows = np.array([seen[length] for length in LENGTHS])
    off = np.abs(rows - told)
    steady = np.abs(np.diff(rows, axis=0)) <= STEADY * np.minimum(off[1:], off[:-1])
    (places,) = np.nonzero(wrong & (steady[1:] & steady[:-1]).any(axis=0))
    if not places.size:
        return None
    k = int(places[0])
    where = "result" if at.size == 1 else f"entry {k} of the result"
    return where, told[k], seen[1.0][k]


def _as_given(x: Array) -> Any:
    """An array as it is; a number for one without axes."""
    return x if x.ndim else x[()]


def _vector(leaves: Leaves) -> Any:
    """The entries of the floating leaves of a result, one after the other."""
    arrays = [np.asarray(plain(y)) for y in leaves]
    kept = [a.ravel() for a in arrays if is_inexact(a.dtype)]
    return np.concatenate(kept) if kept else np.zeros(0)
