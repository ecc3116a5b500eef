"""Initial value problems as loops of a program: what `solve_ivp` is under `linad.jit`.

The control of the steps is part of the program, so it is right for other values as well, which
take other steps: those of SciPy, with its first step and its limits. Their lengths count as
constants in derivatives, see `linad.scipy.initialvalue`.

For times to evaluate at, one loop over them holds another that takes steps until one is passed.
Without, a first loop counts the steps, and the program is good for that number.

Source: E. Hairer, S. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993,
II.4.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.control.deciding import while_loop
from linad.control.loops import scan
from linad.core.array_type import Array
from linad.core.reasons import because
from linad.rules.shaping import form

Field = Callable[[Any, Any], Any]

SCIPYS = {"rtol": 1e-3, "atol": 1e-6}
"""Tolerances of `solve_ivp` that are not given."""


def with_usual(tolerances: dict[str, Any]) -> dict[str, Any]:
    """The tolerances of `solve_ivp`, SciPy's where none is given."""
    return {key: tolerances.get(key, usual) for key, usual in SCIPYS.items()}


EVERY_STEP = (
    "solve_ivp without t_eval returns as many states as it takes steps, and each number is another "
    "program: give it t_eval, as t_eval=[end] where y[:, -1] is wanted"
)
"""Why a program is good for a number of steps."""


class StepLoops(ABC):
    """A method from one time to another.

    A state of it is a tuple with names, among them ``t``, ``y`` and ``failed``: 1.0 where steps
    became too short.

    Parameters
    ----------
    method : class
        A solver of `scipy.integrate`.
    field : callable
        f(t, y), of traced times.
    span : (number, number)
        Constants in derivatives; they may be traced.
    y0 : array (n,)
    options : dict
        SciPy's rtol, atol, first_step, max_step.
    """

    starting_order: int
    """Of the first step's error."""

    def __init__(
        self, method: Any, field: Field, span: tuple[Any, Any], y0: Array, options: dict[str, Any]
    ) -> None:
        self.method, self.field, self.y0 = method, field, y0
        self.start, self.end = span
        self.direction = -1.0 if self.end < self.start else 1.0
        n = y0.shape[0]
        # SciPy's own checks of the options.
        start, end = float(form(self.start)), float(form(self.end))
        checked = method(lambda t, y: np.zeros(n), start, np.zeros(n), end, **options)
        self.rtol, self.atol, self.max_step = checked.rtol, checked.atol, checked.max_step
        self.first_step = options.get("first_step")

    @abstractmethod
    def begin(self) -> Any:
        """The state before the first step."""

    @abstractmethod
    def advance(self, s: Any) -> Any:
        """The state after an attempt, of which every step takes at least one."""

    @abstractmethod
    def step(self, s: Any) -> Any:
        """The state after a step."""

    def stepped_once(self) -> Any:
        """The state after the first step."""
        return self.step(self.begin())

    def ended(self, before: Any, s: Any) -> Any:
        """Whether a step has ended by an attempt."""
        return s.t != before.t

    @abstractmethod
    def between(self, s: Any, t: Any) -> Any:
        """y at a time within the last step, by SciPy's interpolant."""

    @abstractmethod
    def counts(self, s: Any, met: Any) -> tuple[Any, Any, Any]:
        """SciPy's nfev, njev and nlu; ``met`` is the number of steps that hold a time."""

    def norm(self, x: Array) -> Any:
        """SciPy's: the root of the mean square. At 0 no slope of it is asked for: steps count as
        constants."""
        square = np.mean(np.abs(x) ** 2)
        still = square == 0
        return np.where(still, 0.0, np.sqrt(np.where(still, 1.0, square)))

    def first_length(self, y: Array, slope: Array) -> Any:
        """The length of the first attempt, by Hairer's II.4 as SciPy has it."""
        if self.first_step is not None:
            return float(self.first_step) + 0.0 * np.abs(y[0])
        length = np.abs(self.end - self.start)
        scale = self.atol + np.abs(y) * self.rtol
        d0, d1 = self.norm(y / scale), self.norm(slope / scale)
        tiny = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.minimum(np.where(tiny, 1e-6, 0.01 * d0 / np.where(tiny, 1.0, d1)), length)
        ahead = self.field(self.start + h0 * self.direction, y + h0 * self.direction * slope)
        d2 = self.norm((stop_gradient(ahead) - slope) / scale) / h0
        flat = (d1 <= 1e-15) & (d2 <= 1e-15)
        steepest = np.where(flat, 1.0, np.maximum(d1, d2))
        power = 1 / (self.starting_order + 1)
        h1 = np.where(flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / steepest) ** power)
        limit = np.minimum(length, self.max_step)
        h = stop_gradient(np.minimum(np.minimum(100 * h0, h1), limit))
        return np.where(np.isnan(h), 0.0, h)  # of NaN no attempt would be too short

    @property
    def first_evaluations(self) -> int:
        """How often the field is evaluated before the first step."""
        return 1 if self.first_step is not None else 2

    def shortest(self, t: Array) -> Any:
        """The length below which SciPy gives up."""
        return 10 * np.abs(np.nextafter(t, self.direction * np.inf) - t)

    def until(self, goes_on: Callable[[Any], Any], s: Any) -> Any:
        """Attempts as long as something holds, and none has failed."""
        return while_loop(lambda s: goes_on(s) & (s.failed == 0), self.advance, s)

    def at(self, times: Array) -> tuple[Any, Any, Any]:
        """The states (m, n) at times in the order of integration, where it ended, and the number
        of steps that hold a time."""

        def to(carry: Any, t: Array) -> tuple[Any, Any]:
            s, seen, met = carry
            s = self.until(lambda s: self.direction * (t - s.t) > 0, s)
            met = met + np.where(s.t == seen, 0.0, 1.0)
            return (s, s.t, met), self.between(s, t)

        s = self.stepped_once()
        nothing = 0.0 * s.t
        (s, _, met), states = scan(to, (s, self.start + nothing, nothing), times)
        s = self.until(lambda s: self.direction * (self.end - s.t) > 0, s)
        return states, s, met

    def every(self) -> tuple[Any, Any, Any, Any]:
        """Times (m,) and states (m, n) of all steps, and where it ended, as `at`."""
        start = self.begin()

        def count(carry: Any) -> Any:
            before, steps = carry
            s = self.advance(before)
            return s, steps + np.where(self.ended(before, s), 1.0, 0.0)

        def on(s: Any) -> Any:
            return (self.direction * (self.end - s.t) > 0) & (s.failed == 0)

        ended, steps = while_loop(lambda c: on(c[0]), count, stop_gradient((start, 0.0 * start.t)))
        number = int(form(steps))
        with because(EVERY_STEP):
            holds(steps, float(number))
        if not number:
            return np.stack([start.t]), np.stack([start.y]), ended, 0.0

        def on_and_keep(s: Any, _: Any) -> tuple[Any, Any]:
            s = self.step(s)
            return s, (s.t, s.y)

        s, (t, y) = scan(on_and_keep, start, length=number)
        s = s._replace(failed=ended.failed)  # by an attempt after the last step
        return (
            np.concatenate([np.stack([start.t]), t]),
            np.concatenate([np.stack([start.y]), y]),
            s,
            0.0,
        )


def holds(x: Array, value: float) -> bool:
    """Whether a number has a value; where a program is recorded, it is good for that answer."""
    return bool(x == value)
