"""The derivative of a solution along one direction of all that it depends on, in plain numbers.

    v' = f_y v + f_c c'

One c' in which all parameters have a part, each as much as changes f by its size in all: what none
of them asks for, none of the steps needs. f_y v + f_c c' is a difference of f, of one more run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import size_of
from linad.scipy.heldsides import HeldSides, Side

STEP = 1e-7
"""Differences by which v' is known, relative to the sizes of what they move."""

ONES = 32
"""Numbers of a parameter, such as those of a table, that are moved together if they are more."""

GROUPS = 32
"""Parameters that are moved one by one to know how much each does; more are, in so many groups."""

LOOKS = 4
"""Points at which it is asked how much parameters do."""

NOISE = 1e-6
"""Entries of v that are smaller than others by this count as rounding; so do effects of
parameters."""


class Sensitivity:
    """The derivative v along one direction of all that a solution depends on.

    Parameters
    ----------
    recorded : HeldSides
        The right side.
    moves : bool
        Whether the first state depends on parameters.
    times : array (m,)
    states : array (n, m)
        The solution, which tells sizes.
    """

    def __init__(self, recorded: HeldSides, moves: bool, times: Array, states: Array) -> None:
        self.recorded, self.decides = recorded, recorded.decides
        sizes = np.max(np.abs(states), axis=1, initial=0.0)
        largest = np.max(sizes, initial=0.0)
        self.size = np.where(sizes > 0, sizes, largest if largest > 0 else 1.0)
        self.first = self.size * _turned(2.0, sizes.shape) * (1.0 if moves else 0.0)
        self.span = abs(float(times[-1]) - float(times[0])) or 1.0
        places = np.unique(np.linspace(0, len(times) - 1, LOOKS).astype(int))
        self.points = [(float(times[k]), states[:, k]) for k in places]
        self.toward: list[Any] = []
        self.reach = 0.0
        self._side: Side | None = None

    @property
    def is_still(self) -> bool:
        """Whether nothing is moved."""
        return not (self.first.any() or any(np.any(d) for d in self._directions()))

    def field(self, t: float, y: Array) -> Any:
        """f in plain numbers, on its side of what it decides."""
        if self.decides or self._side is None:
            self._side = self.recorded.side(t, y)
        return self.recorded.run(self._side, t, y, self.recorded.plain_captured())

    def slopes(self, t: float, y: Array, v: Array, f: Array | None = None) -> Any:
        """v' where the state is y, and its slope f."""
        return self.along(v)(t, y, v, f)

    def along(self, v: Array) -> Callable[..., Any]:
        """`slopes`, by differences as long as are good for v of about that size."""
        directions = self._directions()
        h = STEP / max(self.reach, float(np.max(np.abs(v) / self.size)), 1e-300)
        held = self.recorded.plain_captured()
        moved = [c if d is None else c + h * d for c, d in zip(held, directions, strict=True)]
        run, first = self.recorded.run, Side(self.recorded.paths[0], {})

        def slopes(t: float, y: Array, v: Array, f: Array | None = None) -> Any:
            if f is None or self.decides:
                f = self.field(t, y)
            return (run(self._side or first, t, y + h * v, moved) - f) / h

        return slopes

    def both(self, t: float, z: Array) -> Any:
        """The slopes of y and v, one behind the other."""
        y, v = np.split(z, 2)
        f = self.field(t, y)
        return np.concatenate([f, self.slopes(t, y, v, f)])

    def matrix(self, t: float, z: Array) -> Any:
        """Their derivatives, but for f_yy v: enough for Newton's method."""
        y = z[: z.size // 2]
        f = self.field(t, y)
        side = self._side or Side(self.recorded.paths[0], {})
        held = self.recorded.plain_captured()
        columns = []
        for k, size in enumerate(self.size):
            h = STEP * max(abs(y[k]), STEP * size)
            aside = y.copy()
            aside[k] += h
            columns.append((self.recorded.run(side, t, aside, held) - f) / (aside[k] - y[k]))
        return np.kron(np.eye(2), np.stack(columns, axis=1))

    def _directions(self) -> list[Any]:
        """How each of the parameters is moved: by as much as that changes f by its size in all."""
        if len(self.toward) < len(self.recorded.captured):
            there = []
            for t, y in self.points:
                f = self.field(t, y)  # this may find more of them
                assert self._side is not None
                there.append((t, y, self._side, f))
            held = self.recorded.plain_captured()
            new = np.arange(len(self.toward), len(held))
            for group in np.array_split(new, min(new.size, GROUPS)):
                self.toward += self._together(held, group.tolist(), there)
        return self.toward

    def _together(self, held: list[Any], group: list[int], there: list[Any]) -> list[Any]:
        """The directions of parameters that are moved together."""
        toward = {k: _direction(held[k], k) for k in group if _is_moved(held[k])}
        if not toward:
            return [None for _ in group]
        moved = [c + STEP * toward[k] if k in toward else c for k, c in enumerate(held)]
        effect = 0.0
        for t, y, side, f in there:
            change = np.abs(self.recorded.run(side, t, y, moved) - f) / (STEP * self.size)
            effect = max(effect, float(np.max(change)) if np.isfinite(change).all() else 0.0)
        part = 1.0 / (effect * self.span) if effect * self.span > NOISE else 1.0
        self.reach = max(self.reach, part)
        return [part * toward[k] if k in toward else None for k in group]


def _is_moved(c: Array) -> bool:
    return c.dtype.kind in "fc" and c.size > 0


def _direction(c: Array, k: int) -> Any:
    """A direction of a parameter's own size."""
    own = float(np.max(np.abs(c)))
    own = own if 0 < own < np.inf else 1.0
    return own * _turned(1.0 + k, c.shape)


def _turned(start: float, shape: tuple[int, ...]) -> Any:
    """A direction in which each of a few numbers has another part, and many have the same."""
    size = size_of(shape)
    return np.cos(start + np.arange(size)).reshape(shape) if size <= ONES else np.ones(shape)
