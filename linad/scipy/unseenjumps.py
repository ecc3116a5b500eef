"""Jumps of a right side that no operation of it decides on, or none that is seen.

Such as those in a function that Numba compiled, in the body of a loop, at the pole of a tangent. A
jump is what halving does not make less: of a step over which the right side changes much the half
with the larger change is taken, again and again. At a continuous right side the changes fade.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.marks import outside_of_traces
from linad.errors import UnsupportedError
from linad.scipy.heldsides import Field, HeldSides
from linad.scipy.loopedmethods import EXPLICIT

MUCH = 0.2
"""By how much of its size a right side changes over a step that is looked into."""

FADES = 0.7
"""What is left of a change in the larger half of a step, at most, where it fades."""

HALVES = 50

FEWEST = 10
"""How often a step is halved at least: shorter ones than time resolves tell nothing, as those of a
method that stands still beside a pole."""

ENOUGH = 20
"""Steps with jumps that are seen, or at fixed times, until no more are looked into: a solution
slides."""

FIRST, FEW = 200, 50
"""Steps that are looked ahead, and unknowns of an implicit method for which it is done."""

Point = tuple[float, Array, Array]
"""A time, a state, and the right side there."""


class JumpWatch:
    """Looks into the steps of a method, one after the other.

    Parameters
    ----------
    field : callable
        Of plain numbers.
    sides : HeldSides or None
        Where jumps are that are seen.
    """

    def __init__(self, field: Field, sides: HeldSides | None) -> None:
        self.field, self.sides = field, sides
        self.last: Point | None = None
        self.known = 0

    def stepped(self, t0: float, y0: Array, t1: float, y1: Array, slope: Any = None) -> None:
        """Raise if the right side jumps within a step, at a state and not at a time; ``slope`` is
        what it is at the end, where that is known."""
        if self.known == ENOUGH:
            return
        with outside_of_traces(), np.errstate(all="ignore"):
            start = self.last if self.last and self.last[0] == t0 else self._point(t0, y0)
            end = self.last = self._point(t1, y1) if slope is None else (t1, y1, slope)
            change = _changes_between(start, end)
            found = self._jump(start, end, change)
            if found is None or self._is_rounding(start, end, change):
                return
            if self._is_seen(start, end) or self._stays(*found, change):
                self.known += 1
                return
        raise UnsupportedError(
            f"solve_ivp: its function jumps at t = {found[1][0]:.6g}, by what is not seen: how the "
            f"time of the jump depends on parameters is not known there; decide by np.where, or by "
            f"np.sign, in the function itself, not in a function that Numba compiled, in the body "
            f"of a loop, or by a pole"
        )

    def _point(self, t: float, y: Array) -> Point:
        return t, y, np.asarray(self.field(t, y))

    def _jump(
        self, start: Point, end: Point, change: Callable[[Point, Point], float]
    ) -> tuple[Point, Point] | None:
        """Both sides of a jump between two points; None where the change fades."""
        left = change(start, end)
        if not left > MUCH:  # NaN neither
            return None
        for halves in range(HALVES):
            t = 0.5 * (start[0] + end[0])
            if t in (start[0], end[0]):
                if halves < FEWEST:
                    return None
                break
            middle = self._point(t, 0.5 * (start[1] + end[1]))
            before, behind = change(start, middle), change(middle, end)
            start, end = (start, middle) if before > behind else (middle, end)
            larger = max(before, behind)
            if not larger > FADES * left:
                return None
            left = larger
        again = self._point(*start[:2])  # of random numbers others are to say what is wrong
        return (start, end) if left > MUCH / 2 and change(start, again) == 0 else None

    def _is_seen(self, start: Point, end: Point) -> bool:
        if self.sides is None:
            return False
        one, other = (self.sides.side(t, y) for t, y, _ in (start, end))
        return not one.same(other)

    def _is_rounding(
        self, start: Point, end: Point, change: Callable[[Point, Point], float]
    ) -> bool:
        """Whether it changes as much with the last digits of a state, as at rest: there it is the
        difference of terms that are equal but for these."""
        for t, y, f in (start, end):
            for k in range(1, 5):
                last = np.finfo(y.dtype).eps * np.sign(np.cos(k * (1.0 + np.arange(y.size))))
                if change((t, y, f), self._point(t, y * (1 + k * last))) > MUCH / 2:
                    return True
        return False

    def _stays(
        self, start: Point, end: Point, change: Callable[[Point, Point], float]
    ) -> bool:
        """Whether it jumps at the same time where the state is another."""
        y = start[1]
        aside = y + 1e-3 * np.cos(1.0 + np.arange(y.size)) * (np.max(np.abs(y)) + np.abs(y))
        later = 1e-9 * abs(end[0] - start[0])
        return change(self._point(start[0] - later, aside), self._point(end[0], aside)) > MUCH / 2


def look_ahead(
    kind: Any,
    sides: HeldSides | None,
    field: Field,
    span: tuple[float, float],
    y0: Array,
    given: dict[str, Any],
) -> None:
    """Warn of jumps in the first steps of a method, of which a program is made.

    Parameters
    ----------
    kind : class
        The method, of SciPy's.
    sides, field
        As of `JumpWatch`.
    span, y0
        The times, and the first state.
    given : dict
        Tolerances and lengths of steps.
    """
    if kind not in EXPLICIT and y0.size > FEW:
        return
    watch = JumpWatch(field, sides)
    with outside_of_traces(), np.errstate(all="ignore"):
        method = kind(field, span[0], y0, span[1], **given)
        for _ in range(FIRST):
            if method.status != "running":
                return
            t, y = float(method.t), method.y
            method.step()
            if method.status == "failed":
                return
            try:
                watch.stepped(t, y, float(method.t), method.y)
            except UnsupportedError as found:
                warn_user(f"{found}; the program has right values, and derivatives without that")
                return


def _changes_between(start: Point, end: Point) -> Callable[[Point, Point], float]:
    """How far right sides are apart, relative to their sizes at two points."""
    size = np.maximum(np.abs(start[2]), np.abs(end[2]))
    size = size + 1e-9 * np.max(size, initial=0.0) + 1e-300

    def change(a: Point, b: Point) -> float:
        return float(np.max(np.abs(b[2] - a[2]) / size, initial=0.0))

    return change
