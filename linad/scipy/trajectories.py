"""The traced solution of an initial value problem as a function of time, and its events."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.rules.shaping import form, ravel
from linad.scipy.implicit_solutions import Watched, root_of_number
from linad.scipy.mirror import holds_traced
from linad.scipy.replays import Field

APART = 0.1
"""How far two solutions may be apart that are taken for one, relative to the size of y."""


def ahead(field: Field, t: Any, y: Any, h: Any) -> Any:
    """The state h later, for a traced h whose value is 0, or next to it.

    By the classical method of Runge and Kutta: exact in the derivatives in h up to the fourth.
    """
    k1 = field(t, y)
    k2 = field(t + h / 2, y + h / 2 * k1)
    k3 = field(t + h / 2, y + h / 2 * k2)
    k4 = field(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class Solution:
    """The traced solution as a function of time: `sol` of a traced `solve_ivp`.

    Parameters
    ----------
    replay : RungeKuttaReplay or ImplicitReplay
    around : callable
        ``around(t)``: the right side as it is about a time.
    plain : OdeSolution
        SciPy's own.
    """

    def __init__(self, replay: Any, around: Callable[[float], Field], plain: Any) -> None:
        self.replay, self.around, self.plain = replay, around, plain

    def __call__(self, t: Any) -> Any:
        """y (n,) at a time, or (n, m) at m times."""
        here = np.asarray(form(t), float)
        order = np.argsort(here.ravel(), kind="stable")
        if self.replay.times[-1] < self.replay.times[0]:
            order = order[::-1]
        states: list[Any] = [None] * here.size
        for place, state in zip(order, self.replay.at(here.ravel()[order]), strict=True):
            value = self.plain(float(here.ravel()[place]))
            y = value + (state - form(state))
            if holds_traced(t):
                moment = ravel(t)[int(place)]
                start = form(moment)
                y = ahead(self.around(start), start, y, moment - start)
            states[place] = y
        y = np.stack(states, axis=1)
        return y[:, 0] if here.ndim == 0 else y


def watched_event(event: Any, args: Any) -> Any:
    """An event for SciPy: of plain numbers."""

    def watch(t: float, y: Array) -> Any:
        return form(event(t, y, *args))

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(watch, name, getattr(event, name))
    return watch


def events_of(events: Any) -> tuple[Any, ...]:
    """SciPy's ``events``: none, a function, or several."""
    return () if events is None else (events,) if callable(events) else tuple(events)


def move_events(result: Any, events: Any, args: Any, sol: Solution) -> None:
    """The times of events with their derivatives, t with g(t, y(t)) = 0, and the states there."""
    for i, event in enumerate(events):
        times, states = [], []
        for t in result.t_events[i]:
            start = sol(t)

            def moved(time: Array, t: Any = t, start: Any = start) -> Any:
                return ahead(sol.around(t), t, start, time - t)

            crossing = Watched(lambda time, g=event, y=moved: g(time, y(time), *args))
            time = root_of_number("solve_ivp", crossing, t)
            times.append(time)
            states.append(moved(time))
        if times:
            result.t_events[i] = np.stack(times)
            result.y_events[i] = np.stack(states)


def tell_of_two(method: str, atol: Any, result: Any, states: Any) -> None:
    """Warn where the steps that carry the derivative lead elsewhere than SciPy's solution."""
    size = np.max(np.abs(result.y), axis=1, initial=0.0)
    size = size + 1e-3 * np.max(size, initial=0.0) + np.asarray(atol) / APART
    for t, value, y in zip(result.t, result.y.T, states, strict=True):
        if (np.abs(form(y) - value) > APART * size).any():
            warn_user(
                f"solve_ivp: at t = {t:.6g} SciPy's solution by {method} is "
                f"another than that of the steps which carry the derivative: one of the two is far "
                f"off, as where a method steps over a jump, or where a solution is chaotic; take "
                f'method="RK45", or smaller steps by rtol=, atol= and max_step='
            )
            return
