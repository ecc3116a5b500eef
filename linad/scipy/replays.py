"""The steps that SciPy has taken through an initial value problem, once more on traced values.

Explicit methods of Runge and Kutta are here, those of Radau in `linad.scipy.implicitsteps`. The
formulas and their source are in `linad.scipy.initialvalue`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from linad.api.derivatives import stop_gradient
from linad.control import loops
from linad.control.both_ways import in_any_way
from linad.core.array_type import Array
from linad.errors import GuardError, TracerError
from linad.linalg.linear_systems import SMALL
from linad.rules.shaping import form
from linad.scipy.explicitloops import dop853_between, stages_of, weighted
from linad.scipy.implicitsteps import ImplicitReplay, LoopedImplicitReplay

MANY = 600
"""Stages from which on a loop over the steps is worth being compiled."""

Field = Callable[[float, Any], Any]


class RungeKuttaReplay:
    """An explicit Runge-Kutta method on traced values, along steps that are known.

    Parameters
    ----------
    method : class
        RK23, RK45 or DOP853 of `scipy.integrate`.
    field : callable
        f(t, y)
    times : sequence of float
        Where the steps begin and end.
    y0 : array (n,)
    known : dict, optional
        What states are at some of the times: those of whole steps of which these are parts.
    """

    def __init__(
        self,
        method: Any,
        field: Field,
        times: Sequence[float],
        y0: Array,
        known: dict[float, Array] | None = None,
    ) -> None:
        self.method, self.field, self.times, self.known = method, field, times, known or {}
        self.states, self.stages = [y0], [field(times[0], y0)]
        self._slopes: list[list[Any]] = []
        for i in range(len(times) - 1):
            self._step(i)

    def _step(self, i: int) -> None:
        t, y = self.times[i], self.states[i]
        h = self.times[i + 1] - t
        k = stages_of(self.method, self.field, t, y, self.stages[i], h)
        y = y + h * weighted(self.method.B, k)
        end = self.times[i + 1]
        if end in self.known:
            y = self.known[end] + (y - form(y))
        self.states.append(y)
        self.stages.append(self.field(t + h, y))
        self._slopes.append([*k, self.stages[-1]])

    def at(self, times: Any) -> list[Any]:
        """The solution at other times within, in the order of integration."""
        ends = np.asarray(self.times[1:])
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        steps = np.searchsorted(direction * ends, direction * np.asarray(times))
        found: dict[int, Any] = {}
        results = []
        for t, i in zip(times, steps, strict=True):
            i = int(i)
            if self.times[i] == self.times[i + 1]:
                results.append(self.states[i])
                continue
            if i not in found:
                interpolant = self._between_dop853 if self.method is DOP853 else self._between
                found[i] = interpolant(i)
            x = (float(t) - self.times[i]) / (self.times[i + 1] - self.times[i])
            results.append(found[i](x))
        return results

    def _between(self, i: int) -> Callable[[float], Any]:
        """The polynomial h Σ_s k_s Σ_p P_sp x^(p+1) of RK23 and RK45."""
        h, k, y = self.times[i + 1] - self.times[i], self._slopes[i], self.states[i]
        powers = np.arange(1, self.method.P.shape[1] + 1)

        def value(x: float) -> Any:
            return y + h * weighted(self.method.P @ x**powers, k)

        return value

    def _between_dop853(self, i: int) -> Callable[[float], Any]:
        """The polynomial of degree seven of DOP853, which needs three more stages."""
        t, t_new = self.times[i : i + 2]
        y, y_new = self.states[i : i + 2]
        return dop853_between(self.field, t, y, y_new, t_new - t, self._slopes[i])


class LoopedReplay:
    """The same as `RungeKuttaReplay`, as loops over the steps and over the times within."""

    def __init__(
        self,
        method: Any,
        field: Field,
        times: Sequence[float],
        y0: Array,
        known: dict[float, Array] | None = None,
    ) -> None:
        self.method, self.field, self.times = method, field, np.asarray(times)
        self.lengths = np.diff(self.times)
        rows: tuple[Any, ...] = self.times[:-1], self.lengths
        if known:
            nothing = np.full(y0.shape, np.nan)
            rows = (*rows, np.stack([known.get(t, nothing) for t in times[1:]]))

        def step(carry: tuple[Any, ...], row: tuple[Any, ...]) -> Any:
            (y, slope), (t, h, *wanted) = carry, row
            k = stages_of(method, field, t, y, slope, h)
            new = y + h * weighted(method.B, k)
            if wanted:
                whole = wanted[0] + (new - stop_gradient(new))
                new = np.where(np.isnan(wanted[0]), new, whole)
            last = field(t + h, new)
            return (new, last), (new, np.stack([*k, last]))

        self.stages = [field(self.times[0], y0)]
        _, (states, self._slopes) = loops.scan(step, (y0, self.stages[0]), rows)
        self.states = np.concatenate([np.stack([y0]), states])

    def at(self, times: Any) -> Any:
        """The solution at other times within, in the order of integration: an array (m, n)."""
        here = np.asarray(times, float)
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        i = np.searchsorted(direction * self.times[1:], direction * here)
        t, h, y, k = self.times[i], self.lengths[i], self.states[i], self._slopes[i]
        x = (here - t) / np.where(h == 0, 1.0, h)
        if self.method is not DOP853:
            powers = np.arange(1, self.method.P.shape[1] + 1)
            weights = x[:, None] ** powers @ self.method.P.T
            return y + h[:, None] * np.sum(weights[:, :, None] * k, axis=1)

        def between(row: Any) -> Any:
            t, h, y, y_new, k, x = row
            k = [k[j] for j in range(k.shape[0])]
            return dop853_between(self.field, t, y, y_new, h, k)(x)

        return loops.map(between, (t, h, y, self.states[i + 1], k, x))


def _looped(make: Callable[..., Any], field: Field) -> Any:
    return in_any_way(make, field, TracerError, GuardError)


def explicit_replay(
    method: Any,
    field: Field,
    times: Sequence[float],
    y0: Array,
    known: dict[float, Array] | None = None,
) -> Any:
    """The steps on traced values: as loops if they are many, or else one by one."""
    if method.n_stages * len(times) > MANY and y0.shape[0]:
        found = _looped(lambda f: LoopedReplay(method, f, times, y0, known), field)
        if found is not None:
            return found
    return RungeKuttaReplay(method, field, times, y0, known)


def implicit_replay(field: Field, times: Sequence[float], y0: Array, guess: Any) -> Any:
    """Radau's method on traced values: as a loop where its systems are small."""
    if 12 * len(times) > MANY and 0 < 3 * y0.shape[0] <= SMALL and y0.dtype.kind == "f":
        found = _looped(lambda f: LoopedImplicitReplay(f, times, y0, guess), field)
        if found is not None:
            return found
    return ImplicitReplay(field, times, y0, guess)
