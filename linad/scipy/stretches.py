"""The steps through an initial value problem, stretch by stretch of a smooth right side.

The time τ of a crossing from f to g moves with all that the solution depends on: there a margin m
is zero. So with the flows of f, before, and of g, behind,

    y(t) = flow_g(t - τ, flow_f(τ - s, y(s)))        m(τ, flow_f(τ - s, y(s))) = 0

whose first derivatives jump at τ by (f - g) dτ, the saltation matrix. Both are the smooth functions
of their side, which go on beyond it, and τ is taken with derivatives, so it holds to higher orders.

Source: R. I. Leine and H. Nijmeijer, "Dynamics and Bifurcations of Non-Smooth Mechanical Systems",
2004, chapter 7.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.scipy.heldsides import Field
from linad.scipy.trajectories import ahead

ORDERS = 3
"""Steps of Newton's method to the time of a crossing: derivatives are exact up to the third."""


class Passage(NamedTuple):
    """From one field to the next, where a margin is zero.

    Attributes
    ----------
    after : callable
        The field behind.
    margin : callable
    slope : float
        Of the margin along the field before.
    """

    after: Field
    margin: Field
    slope: float


class SmoothStretch(NamedTuple):
    """A part of the time on which the right side is smooth.

    Attributes
    ----------
    times : list of float
        Where its steps begin and end.
    field : callable
    passages : list of Passage
        At its end; the last one leads to the field of the next stretch. None where that is at a
        time that does not move.
    """

    times: list[float]
    field: Field
    passages: list[Passage]


class PiecewiseReplay:
    """The steps through stretches on which a right side is smooth, on traced values.

    Parameters
    ----------
    make : callable
        ``make(field, times, y)``: the steps of one stretch.
    stretches : list of SmoothStretch
    y0 : array (n,)

    Attributes
    ----------
    times, states, stages
        As of `RungeKuttaReplay`.
    """

    def __init__(self, make: Callable[..., Any], stretches: list[SmoothStretch], y0: Array) -> None:
        self.parts: list[tuple[Any, Field]] = []
        self.times: list[float] = []
        y = y0
        for times, field, passages in stretches:
            replay = make(field, times, y)
            self.parts.append((replay, field))
            self.times += times
            y = replay.states[-1]
            for passage in passages:
                y = passed(field, passage, times[-1], y)
                field = passage.after
        self.stages = self.parts[0][0].stages
        self.states = [y0, y]

    def _part(self, t: float) -> int:
        """The number of the stretch that holds a time; the earlier one at a crossing."""
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        ends = [direction * replay.times[-1] for replay, _ in self.parts[:-1]]
        return int(np.searchsorted(ends, direction * t))

    def field_at(self, t: float) -> Field:
        """The right side around a time, as the solution up to there has it."""
        return self.parts[self._part(t)][1]

    def at(self, times: Any) -> list[Any]:
        """The solution at other times within, in the order of integration."""
        found: list[Any] = []
        numbers = [self._part(float(t)) for t in times]
        for k in sorted(set(numbers)):
            own = [t for t, number in zip(times, numbers, strict=True) if number == k]
            found += list(self.parts[k][0].at(own))
        return found


def passed(before: Field, passage: Passage, t: float, y: Any) -> Any:
    """The state behind a crossing at about a time, at that time: derivatives know that it moves."""
    after, margin, slope = passage
    time: Any = t
    for _ in range(ORDERS):
        time = time - margin(time, ahead(before, t, y, time - t)) / slope
    return ahead(after, time, ahead(before, t, y, time - t), t - time)
