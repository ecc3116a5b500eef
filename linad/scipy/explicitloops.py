"""Explicit Runge-Kutta methods as loops of a program, see `linad.scipy.steploops`.

With h the step, e the estimate of its error and q the order of the estimate,

    |e| < 1: the step is accepted       h <- h clip(0.9 |e|^(-1/(q+1)), 0.2, 10)

in SciPy's norm.

A step at rest is accepted, and then taken in parts by which derivatives are carried, see
`linad.scipy.restingsteps`; values at its end and within are those of the whole.

Source: E. Hairer, S. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993,
II.4.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from linad.api.derivatives import jvp, stop_gradient
from linad.control.deciding import cond
from linad.core.array_type import Array
from linad.scipy.restingsteps import (
    COARSE,
    ITERATIONS,
    MIXED,
    RESTING,
    differences,
    leading,
    longest,
)
from linad.scipy.steploops import Field, StepLoops

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""SciPy's limits of what a step becomes of the one before."""


class Goal(NamedTuple):
    """The last step that is taken in parts, in plain numbers, and how many are left."""

    t: Any
    y: Any
    left: Any
    before: Any  # t and y where it begins
    y_before: Any
    stages: Any


class Fastest(NamedTuple):
    """What is known of f_y."""

    direction: Any  # of the next power iteration, in `differences`
    size: Any  # of f_y
    largest: Any  # |y| so far


class State(NamedTuple):
    """Where the integration is, and the step that led there."""

    t: Any
    y: Any
    slope: Any  # f(t, y)
    h: Any  # the length of the next attempt
    rejected: Any  # 1.0 after an attempt that failed, else 0.0
    before: Any  # t and y before the step, or part
    y_before: Any
    stages: Any  # of the step, or part
    goal: Goal
    fastest: Fastest
    attempts: Any
    failed: Any  # 1.0 where steps became too short, or have too many parts


def weighted(weights: Array, terms: Any) -> Any:
    """Σ w_j k_j, without the terms of weight 0."""
    total: Any = 0.0
    for j, w in enumerate(weights):
        if w:
            total = total + float(w) * terms[j]
    return total


def stages_of(method: Any, field: Field, t: Any, y: Array, slope: Array, h: Any) -> list[Any]:
    """The stages k_s of a step, but for the slope at its end."""
    k = [slope]
    for row, c in zip(method.A[1:], method.C[1:], strict=True):
        k.append(field(t + c * h, y + h * weighted(row, k)))
    return k


def dop853_between(
    field: Field, t: Array, y: Array, y_new: Array, h: Array, k: list[Any]
) -> Callable[[Any], Any]:
    """The polynomial of degree seven of DOP853, which needs three more stages: of x in [0, 1]."""
    first, last, dy = k[0], k[-1], y_new - y
    for row, c in zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True):
        k = [*k, field(t + c * h, y + h * weighted(row, k))]
    terms = [dy, h * first - dy, 2 * dy - h * (last + first)]
    terms += [h * weighted(row, k) for row in DOP853.D]

    def value(x: Array) -> Any:
        total: Any = 0.0
        for j, term in enumerate(reversed(terms)):
            total = (total + term) * (1 - x if j % 2 else x)
        return y + total

    return value


class ExplicitLoops(StepLoops):
    """RK23, RK45 or DOP853.

    Parameters
    ----------
    method, field, span, y0, options
        As of `StepLoops`.
    part : float
        The length beyond which a step is taken in parts, that derivatives be resolved, see
        `linad.scipy.resolvedsteps`.
    """

    def __init__(
        self,
        method: Any,
        field: Field,
        span: tuple[Any, Any],
        y0: Array,
        options: dict[str, Any],
        part: float,
    ) -> None:
        super().__init__(method, field, span, y0, options)
        self.part = part

    @property
    def starting_order(self) -> int:  # type: ignore[override]
        return self.method.error_estimator_order  # type: ignore[no-any-return]

    def begin(self) -> State:
        """Before the first step."""
        y, slope = self.y0, self.field(self.start, self.y0)
        h = self.first_length(stop_gradient(y), stop_gradient(slope))
        zero = 0.0 * h
        stages = np.stack([slope] * (self.method.n_stages + 1))
        t = self.start + zero
        plain = stop_gradient(y)
        goal = Goal(t, plain, zero, t, plain, stop_gradient(stages))
        fastest = Fastest(self.noise + 0.0 * plain, zero, np.abs(plain))
        return State(t, y, slope, h, zero, t, y, stages, goal, fastest, zero, zero)

    @property
    def noise(self) -> Any:
        """A direction that is none of f_y's."""
        return np.cos(1.0 + np.arange(self.y0.shape[0]))

    def advance(self, s: State) -> State:
        """An attempt of a step, accepted or to be made again with a shorter one; or a part."""
        shortest = self.shortest(s.t)
        h = np.minimum(s.h, self.max_step)
        failed = np.where(s.rejected * (h < shortest) > 0, 1.0, 0.0)
        h = np.maximum(h, shortest)
        left = s.goal.left
        in_parts = left > 0
        part = (s.goal.t - s.t) / np.where(in_parts, left, 1.0)
        t = s.t + np.where(in_parts, part, h * self.direction)
        t = np.where(self.direction * (t - self.end) > 0, self.end, t)
        t = np.where(left == 1, s.goal.t, t)
        h = t - s.t
        k = stages_of(self.method, self.field, s.t, s.y, s.slope, h)
        y = s.y + h * weighted(self.method.B, k)
        k.append(self.field(t, y))
        y0, y1 = stop_gradient(s.y), stop_gradient(y)
        error = self._error([stop_gradient(x) for x in k], h, y0, y1)
        accepted = ~in_parts & (error < 1)
        exponent = -1 / (self.method.error_estimator_order + 1)
        grown = SAFETY * np.where(error > 0, error, 1.0) ** exponent
        grow = np.where(error == 0, GROW, np.minimum(GROW, grown))
        grow = np.where(s.rejected > 0, np.minimum(1.0, grow), grow)
        shrink = np.where(error >= 1, np.maximum(SHRINK, grown), SHRINK)  # SHRINK for NaN
        factor = np.where(accepted, grow, shrink)

        stages = np.stack(k)
        ends = Goal(t, y1, left, s.t, y0, stop_gradient(stages))
        moved = self._moved(y0, y1)
        slow = accepted & (np.min(moved) <= RESTING)
        fastest, goal = cond(
            slow | in_parts,
            self._goal,
            lambda fastest, goal, *_: (fastest, goal),
            *(s.fastest, s.goal, ends, moved, np.where(slow, 1.0, 0.0)),
        )
        if self.part < np.inf:
            parts = np.minimum(np.ceil(np.abs(h) / self.part), COARSE)
            long = accepted & (parts > 1) & (parts > goal.left)
            whole = ends._replace(left=parts)
            goal = Goal(*[np.where(long, a, b) for a, b in zip(whole, goal, strict=True)])
        divided = accepted & (goal.left > 0)
        failed = np.where(divided & (goal.left > COARSE), 1.0, failed)
        ahead = in_parts | (accepted & ~divided)  # else it stays, for another attempt or parts

        def taken(new: Any, old: Any) -> Any:
            return np.where(ahead, new, old)

        def arrived(value: Array, wanted: Array) -> Any:
            return np.where(left == 1, wanted + (value - stop_gradient(value)), value)

        return State(
            *(taken(t, s.t), taken(arrived(y, s.goal.y), s.y)),
            taken(arrived(k[-1], s.goal.stages[-1]), s.slope),
            np.where(in_parts, s.h, np.abs(h) * factor),
            np.where(in_parts | accepted, 0.0, 1.0),
            *(taken(s.t, s.before), taken(s.y, s.y_before), taken(stages, s.stages)),
            *(goal, fastest),
            *(s.attempts + np.where(in_parts, 0.0, 1.0), failed),
        )

    def _moved(self, y: Array, y_new: Array) -> Any:
        """By how many tolerances each entry moves."""
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        return np.abs(y_new - y) / scale

    def _goal(
        self, known: Fastest, goal: Goal, step: Goal, moved: Array, slow: Any
    ) -> tuple[Fastest, Goal]:
        """What is known of f_y behind a step or a part, and the step that is taken in parts: one
        in which little moves, if it is too long, or the one before."""
        fastest = cond(slow > 0, self._fastest, lambda known, t, y: known, known, step.t, step.y)
        rests = (slow > 0) & (np.max(leading(fastest.direction) * moved) <= RESTING)
        allowed = longest(self.method, float(np.max(self.rtol)))
        ratio = np.abs(step.t - step.before) * np.maximum(known.size, fastest.size) / allowed
        divided = rests & (ratio > 1)
        new = step._replace(left=np.ceil(ratio))
        old = goal._replace(left=np.maximum(goal.left - 1.0, 0.0))
        found = [np.where(divided, a, b) for a, b in zip(new, old, strict=True)]
        return fastest, Goal(*found)

    def _fastest(self, known: Fastest, t: Any, y: Array) -> Fastest:
        """What is known of f_y by further power iterations."""
        largest = np.maximum(known.largest, np.abs(y))
        steps = differences(largest, self.atol)
        direction, growth = known.direction, 1.0 + 0.0 * known.size
        for _ in range(ITERATIONS):
            slopes = jvp(lambda y: self.field(t, y), (y,), (steps * direction,))[1]
            moved = stop_gradient(slopes) / steps
            most = np.max(np.abs(moved))
            told = np.isfinite(most) & (most > 0)
            direction = np.where(told, moved / np.where(told, most, 1.0), 0.0) + MIXED * self.noise
            growth = growth * np.where(told, most, 0.0)
        return Fastest(direction, growth ** (1 / ITERATIONS), largest)

    def _error(self, k: list[Any], h: Array, y: Array, y_new: Array) -> Any:
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        if self.method is not DOP853:
            return self.norm(h * weighted(self.method.E, k) / scale)
        fifth = np.sum(np.abs(weighted(DOP853.E5, k) / scale) ** 2)
        third = np.sum(np.abs(weighted(DOP853.E3, k) / scale) ** 2)
        total = fifth + 0.01 * third
        safe = np.where(total == 0, 1.0, total)
        return np.where(total == 0, 0.0, np.abs(h) * fifth / np.sqrt(safe * y.shape[0]))

    def step(self, s: State) -> State:
        return self.until(  # type: ignore[no-any-return]
            lambda s: (s.rejected > 0) | (s.goal.left > 0), self.advance(s)
        )

    def stepped_once(self) -> State:
        start = self.begin()  # in a loop, for an attempt has a condition of its own
        return self.until(lambda s: s.t == start.t, start)  # type: ignore[no-any-return]

    def ended(self, before: State, s: State) -> Any:
        return (s.t != before.t) & (s.goal.left == 0)

    def counts(self, s: State, met: Array) -> tuple[Any, Any, Any]:
        more = len(DOP853.C_EXTRA) if self.method is DOP853 else 0
        evaluations = self.method.n_stages * s.attempts + more * met
        return self.first_evaluations + evaluations, 0, 0

    def between(self, s: State, t: Array) -> Any:
        """The state at a time within the last step, by SciPy's interpolant; with the derivative of
        its part where it was taken in parts."""
        in_parts = (s.goal.left > 0) | (s.goal.t == s.t)

        def of_part(s: State, t: Array) -> Any:
            return self._interpolated(t, s.before, s.t, s.y_before, s.y, s.stages)

        def of_whole(s: State, t: Array) -> Any:
            goal, y = s.goal, of_part(s, t)
            step = goal.before, goal.t, goal.y_before, goal.y, goal.stages
            return stop_gradient(self._interpolated(t, *step)) + (y - stop_gradient(y))

        return cond(in_parts, of_whole, of_part, s, t)

    def _interpolated(
        self, t: Array, before: Array, end: Array, y: Array, y_end: Array, stages: Array
    ) -> Any:
        """The state at a time within a step, by the step's interpolant."""
        h = end - before
        x = np.where(h == 0, 0.0, (t - before) / np.where(h == 0, 1.0, h))
        if self.method is not DOP853:
            powers = [x]
            for _ in range(self.method.P.shape[1] - 1):
                powers.append(powers[-1] * x)
            terms = [weighted(self.method.P[:, j], stages) for j in range(len(powers))]
            return y + h * sum(p * q for p, q in zip(powers, terms, strict=True))
        k = [stages[j] for j in range(stages.shape[0])]
        return dop853_between(self.field, before, y, y_end, h, k)(x)
