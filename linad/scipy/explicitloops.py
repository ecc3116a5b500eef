"""Explicit Runge-Kutta methods as loops of a program: what `solve_ivp` is under `linad.jit`.

The control of the steps is part of the program, so it is right for other values as well, which
take other steps. With h the step, e the estimate of its error and q the order of the estimate,

    |e| < 1: the step is accepted       h <- h clip(0.9 |e|^(-1/(q+1)), 0.2, 10)

in SciPy's norm, with its first step and its limits, so the steps are SciPy's. Their lengths count
as constants in derivatives, see `linad.scipy.initialvalue`.

For times to evaluate at, one loop over them holds another that takes steps until one is passed.
Without, a first loop counts the steps, and the program is good for that number.

Source: E. Hairer, S. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993,
II.4.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from linad.api.derivatives import stop_gradient
from linad.control.deciding import while_loop
from linad.control.loops import scan
from linad.rules.shaping import form

Field = Callable[[Any, Any], Any]

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""SciPy's limits of what a step becomes of the one before."""


class State(NamedTuple):
    """Where the integration is, and the step that led there."""

    t: Any
    y: Any
    slope: Any  # f(t, y)
    h: Any  # the length of the next attempt
    rejected: Any  # 1.0 after an attempt that failed, else 0.0
    before: Any  # t and y before the step
    y_before: Any
    stages: Any  # of the step
    attempts: Any
    failed: Any  # 1.0 where steps became too short


def weighted(weights: Any, terms: Any) -> Any:
    """Σ w_j k_j, without the terms of weight 0."""
    total: Any = 0.0
    for j, w in enumerate(weights):
        if w:
            total = total + float(w) * terms[j]
    return total


def stages_of(method: Any, field: Field, t: Any, y: Any, slope: Any, h: Any) -> list[Any]:
    """The stages k_s of a step, but for the slope at its end."""
    k = [slope]
    for row, c in zip(method.A[1:], method.C[1:], strict=True):
        k.append(field(t + c * h, y + h * weighted(row, k)))
    return k


def dop853_between(
    field: Field, t: Any, y: Any, y_new: Any, h: Any, k: list[Any]
) -> Callable[[Any], Any]:
    """The polynomial of degree seven of DOP853, which needs three more stages: of x in [0, 1]."""
    first, last, dy = k[0], k[-1], y_new - y
    for row, c in zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True):
        k = [*k, field(t + c * h, y + h * weighted(row, k))]
    terms = [dy, h * first - dy, 2 * dy - h * (last + first)]
    terms += [h * weighted(row, k) for row in DOP853.D]

    def value(x: Any) -> Any:
        total: Any = 0.0
        for j, term in enumerate(reversed(terms)):
            total = (total + term) * (1 - x if j % 2 else x)
        return y + total

    return value


class ExplicitLoops:
    """An explicit method from one time to another.

    Parameters
    ----------
    method : class
        RK23, RK45 or DOP853 of `scipy.integrate`.
    field : callable
        f(t, y), of traced times.
    span : (float, float)
    y0 : array (n,)
    options : dict
        SciPy's rtol, atol, first_step, max_step.
    """

    def __init__(
        self, method: Any, field: Field, span: tuple[float, float], y0: Any, options: dict[str, Any]
    ) -> None:
        self.method, self.field, self.y0 = method, field, y0
        self.start, self.end = span
        self.direction = -1.0 if self.end < self.start else 1.0
        n = y0.shape[0]
        # SciPy's own checks of the options.
        checked = method(lambda t, y: np.zeros(n), self.start, np.zeros(n), self.end, **options)
        self.rtol, self.atol, self.max_step = checked.rtol, checked.atol, checked.max_step
        self.first_step = options.get("first_step")

    def _norm(self, x: Any) -> Any:
        """SciPy's: the root of the mean square."""
        return np.sqrt(np.mean(np.abs(x) ** 2))

    def begin(self) -> State:
        """Before the first step."""
        y, slope = self.y0, self.field(self.start, self.y0)
        h = self._first_step(stop_gradient(y), stop_gradient(slope))
        zero = 0.0 * h
        stages = np.stack([slope] * (self.method.n_stages + 1))
        t = self.start + zero
        return State(t, y, slope, h, zero, t, y, stages, zero, zero)

    def _first_step(self, y: Any, slope: Any) -> Any:
        """The length of the first attempt, by Hairer's II.4 as SciPy has it."""
        if self.first_step is not None:
            return float(self.first_step) + 0.0 * np.abs(y[0])
        length = abs(self.end - self.start)
        scale = self.atol + np.abs(y) * self.rtol
        d0, d1 = self._norm(y / scale), self._norm(slope / scale)
        tiny = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.minimum(np.where(tiny, 1e-6, 0.01 * d0 / np.where(tiny, 1.0, d1)), length)
        ahead = self.field(self.start + h0 * self.direction, y + h0 * self.direction * slope)
        d2 = self._norm((stop_gradient(ahead) - slope) / scale) / h0
        flat = (d1 <= 1e-15) & (d2 <= 1e-15)
        steepest = np.where(flat, 1.0, np.maximum(d1, d2))
        power = 1 / (self.method.error_estimator_order + 1)
        h1 = np.where(flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / steepest) ** power)
        limit = min(length, self.max_step)
        return stop_gradient(np.minimum(np.minimum(100 * h0, h1), limit))

    def attempt(self, s: State) -> State:
        """One attempt of a step: accepted, or to be made again with a shorter one."""
        shortest = 10 * np.abs(np.nextafter(s.t, self.direction * np.inf) - s.t)
        h = np.minimum(s.h, self.max_step)
        failed = np.where(s.rejected * (h < shortest) > 0, 1.0, 0.0)
        h = np.maximum(h, shortest)
        t = s.t + h * self.direction
        t = np.where(self.direction * (t - self.end) > 0, self.end, t)
        h = t - s.t
        k = stages_of(self.method, self.field, s.t, s.y, s.slope, h)
        y = s.y + h * weighted(self.method.B, k)
        k.append(self.field(t, y))
        error = self._error([stop_gradient(x) for x in k], h, stop_gradient(s.y), stop_gradient(y))
        accepted = error < 1
        exponent = -1 / (self.method.error_estimator_order + 1)
        grown = SAFETY * np.where(error > 0, error, 1.0) ** exponent
        grow = np.where(error == 0, GROW, np.minimum(GROW, grown))
        grow = np.where(s.rejected > 0, np.minimum(1.0, grow), grow)
        shrink = np.where(error >= 1, np.maximum(SHRINK, grown), SHRINK)  # SHRINK for NaN
        factor = np.where(accepted, grow, shrink)

        def taken(new: Any, old: Any) -> Any:
            return np.where(accepted, new, old)

        return State(
            *(taken(t, s.t), taken(y, s.y), taken(k[-1], s.slope)),
            *(np.abs(h) * factor, np.where(accepted, 0.0, 1.0)),
            *(taken(s.t, s.before), taken(s.y, s.y_before), taken(np.stack(k), s.stages)),
            *(s.attempts + 1.0, failed),
        )

    def _error(self, k: list[Any], h: Any, y: Any, y_new: Any) -> Any:
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        if self.method is not DOP853:
            return self._norm(h * weighted(self.method.E, k) / scale)
        fifth = np.sum(np.abs(weighted(DOP853.E5, k) / scale) ** 2)
        third = np.sum(np.abs(weighted(DOP853.E3, k) / scale) ** 2)
        total = fifth + 0.01 * third
        safe = np.where(total == 0, 1.0, total)
        return np.where(total == 0, 0.0, np.abs(h) * fifth / np.sqrt(safe * y.shape[0]))

    def until(self, goes_on: Callable[[State], Any], s: State) -> State:
        """Attempts as long as something holds, and none has failed."""
        return while_loop(  # type: ignore[no-any-return]
            lambda s: goes_on(s) & (s.failed == 0), self.attempt, s
        )

    def at(self, times: Any) -> tuple[Any, State, Any]:
        """The states (m, n) at times in the order of integration, where it ended, and the number
        of steps that hold a time."""

        def to(carry: Any, t: Any) -> tuple[Any, Any]:
            s, seen, met = carry
            s = self.until(lambda s: self.direction * (t - s.t) > 0, s)
            met = met + np.where(s.t == seen, 0.0, 1.0)
            return (s, s.t, met), self._between(s, t)

        s = self.attempt(self.begin())
        s = self.until(lambda s: s.rejected > 0, s)
        nothing = 0.0 * s.t
        (s, _, met), states = scan(to, (s, self.start + nothing, nothing), times)
        s = self.until(lambda s: self.direction * (self.end - s.t) > 0, s)
        return states, s, met

    def evaluations(self, s: State, met: Any = 0.0) -> Any:
        """How often SciPy would have evaluated the field."""
        first = 1 if self.first_step is not None else 2
        more = len(DOP853.C_EXTRA) if self.method is DOP853 else 0
        return first + self.method.n_stages * s.attempts + more * met

    def every(self) -> tuple[Any, Any, State, Any]:
        """Times (m,) and states (m, n) of all steps, and where it ended, as `at`."""
        start = self.begin()
        one = 0.0 * start.t

        def count(carry: Any) -> Any:
            s, steps = carry
            s = self.attempt(s)
            return s, steps + (1.0 - s.rejected)

        def on(s: State) -> Any:
            return (self.direction * (self.end - s.t) > 0) & (s.failed == 0)

        last, steps = while_loop(lambda c: on(c[0]), count, stop_gradient((start, one)))
        number = int(form(steps))
        holds(steps, float(number))
        if not number:
            return np.stack([start.t]), np.stack([start.y]), last, 0.0

        def step(s: State, _: Any) -> tuple[State, Any]:
            s = self.until(lambda s: s.rejected > 0, self.attempt(s))
            return s, (s.t, s.y)

        s, (t, y) = scan(step, start, length=number)
        return (
            np.concatenate([np.stack([start.t]), t]),
            np.concatenate([np.stack([start.y]), y]),
            s,
            0.0,
        )

    def _between(self, s: State, t: Any) -> Any:
        """The state at a time within the last step, by SciPy's interpolant."""
        h = s.t - s.before
        x = np.where(h == 0, 0.0, (t - s.before) / np.where(h == 0, 1.0, h))
        if self.method is not DOP853:
            powers = [x]
            for _ in range(self.method.P.shape[1] - 1):
                powers.append(powers[-1] * x)
            terms = [weighted(self.method.P[:, j], s.stages) for j in range(len(powers))]
            return s.y_before + h * sum(p * q for p, q in zip(powers, terms, strict=True))
        k = [s.stages[j] for j in range(s.stages.shape[0])]
        return dop853_between(self.field, s.before, s.y_before, s.y, h, k)(x)


def holds(x: Any, value: float) -> bool:
    """Whether a number has a value; where a program is recorded, it is good for that answer."""
    return bool(x == value)
