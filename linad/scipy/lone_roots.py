"""A root of a number where one linearization runs, and nothing else: no search is kept of it.

While SciPy searches, operations give plain numbers. At the root the equation runs once on the
trace, with t as a value of its own, and the operators that are kept of it say

    g_t             from t to g, pushed through them
    dt = -g_θ dθ / g_t

where the general way (`linad.scipy.implicit_solutions`) differentiates within the derivative, which
takes ten times as long. Both come to the same numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.marks import running_traces
from linad.core.primitive import Primitive
from linad.operators.base import JacobianOperator
from linad.transforms.linearize import LinearTrace
from linad.transforms.needed_steps import Link
from linad.transforms.tuple_entries import Entry

ROUNDING = 8 * float(np.finfo(float).eps)
"""A step of Newton's method that is less of the root moves it no more."""


def lone_trace() -> LinearTrace | None:
    """The trace that runs, if it is one linearization alone."""
    traces = list(running_traces())
    return traces[0] if len(traces) == 1 and type(traces[0]) is LinearTrace else None


@contextmanager
def values_alone(trace: LinearTrace) -> Iterator[None]:
    """Operations on values of the trace give plain ones in here."""
    trace.apply = _plain  # type: ignore[method-assign]
    try:
        yield
    finally:
        del trace.apply  # type: ignore[method-assign]


def gives_values_alone(trace: LinearTrace) -> bool:
    """Whether a search around this one asks for `values_alone`."""
    return "apply" in vars(trace)


def _plain(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return primitive(*[a.concrete if isinstance(a, Tracer) else a for a in args], **params)


class Slope:
    """A function of a number at a point: its value, traced, and how it changes with the number.

    Attributes
    ----------
    value : Tracer
    slope : float
    moves : bool
        Whether the value depends on anything else that is traced.
    known : bool
        Whether the operators could be read: no writes, no operation of several results.
    """

    slope, known = 0.0, False

    def __init__(self, trace: LinearTrace, g: Callable[[Any], Any], t: Any) -> None:
        unknown, begun = trace.input(np.float64(t)), len(trace.steps)
        self.value = y = g(unknown)
        self.moves = False
        if not isinstance(y, Tracer):
            return
        refresh_node(y)
        pushed: dict[Any, Any] = {unknown._node: np.float64(1.0)}
        moving: dict[Any, bool] = {unknown._node: False}
        readable = True
        for made, links in trace.steps[begun:]:
            moves = any([moving.get(node, True) for node, _ in links])
            moving.update(dict.fromkeys((made,) if type(made) is int else made, moves))
            readable = readable and type(made) is int and all([_pushes(J) for _, J in links])
            if readable:
                pushed[made] = _met(links, pushed)
        self.moves = moving.get(y._node, True)
        if readable and not y.shape and y.dtype == float:
            slope = pushed.get(y._node)
            self.slope, self.known = 0.0 if slope is None else float(slope), True


def _pushes(J: JacobianOperator) -> bool:
    return not J.writes and type(J) is not Entry


def _met(links: Sequence[Link], pushed: dict[Any, Any]) -> Any:
    """The tangent of what several values meet in; None if none of them has one."""
    total = None
    for node, J in links:
        tangent = pushed.get(node)
        if tangent is not None:
            part = J.pushforward(tangent)
            total = part if total is None else total + part
    return total


def moved_root(trace: LinearTrace, g: Callable[[Any], Any], found: Array, most: int) -> Any:
    """The root that at most so many steps of Newton's method lead to, and what it is moved by.

    Returns
    -------
    (x, stepped) or found or None
        The root, plain, and a last step from there, traced; what was found, if nothing that is
        traced moves it; None if the function must be differentiated in the general way.
    """
    x = np.float64(found)
    for left in range(most, -1, -1):
        at = Slope(trace, g, x)
        if not at.moves:
            return found
        if not at.known:
            return None
        step = at.value.concrete / np.float64(at.slope)
        if not left or abs(step) <= ROUNDING * abs(x):
            return x, x - at.value / np.float64(at.slope)
        x = x - step
    raise AssertionError("the last step has returned")


def apart(trace: LinearTrace, g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that takes plain numbers as traced ones, lest it finds what it has kept of them
    while operations gave plain values."""
    return lambda t: g(t if isinstance(t, Tracer) else trace.input(np.float64(t)))
