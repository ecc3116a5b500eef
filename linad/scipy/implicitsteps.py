"""Steps of Radau IIA on traced values, for the implicit methods of `scipy.integrate.solve_ivp`.

The three stages of order five solve Y_i = y + h Σ_j a_ij f(t + c_j h, Y_j). The steps are those
that SciPy's method took, whichever it is; the derivative is that of Radau's solution along them.

The stages are found on plain values. A step of Newton's method with the plain matrix

    M = I - h A ⊗ f_y

then carries the first derivative, and each further one the next order, for the error is multiplied
by 1 - M^-1 M(traced), which is 0 at the plain values. So one step more than derivatives are asked
for also makes up for a matrix of differences.

Where a loop can hold the steps, each is the root of its equations, differentiated as such.

Source: E. Hairer and G. Wanner, "Solving Ordinary Differential Equations II", 1996, IV.5, IV.8.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.optimize

from linad.control import loops
from linad.core.array_type import Array
from linad.errors import ConvergenceError
from linad.rules.shaping import form
from linad.solve.solutions import root

ROOT = 6**0.5
A = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)
C = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
CARRYING = 4
"""Steps on traced values: derivatives are exact up to the third."""
SEARCHES = 30

Field = Callable[[float, Any], Any]


class ImplicitReplay:
    """Radau's method on traced values, along steps that are known.

    Parameters
    ----------
    field : callable
        f(t, y)
    times : sequence of float
        Where the steps begin and end.
    y0 : array (n,)
    guess : callable
        The solution at a plain time, as SciPy found it.
    """

    def __init__(self, field: Field, times: Sequence[float], y0: Array, guess: Any) -> None:
        self.field, self.times, self.guess = field, list(times), guess
        self.states, self.stages = [y0], [field(times[0], y0)]
        for start, end in zip(self.times[:-1], self.times[1:], strict=True):
            self.states.append(self.step(start, self.states[-1], end - start))

    def step(self, t: float, y: Array, h: float) -> Any:
        """The state h later."""
        n, here = y.shape[0], form(y)
        nodes = t + C * h
        stages = np.stack([self.guess(node) for node in nodes]).astype(here.dtype)

        def plain_field(at: float, Y: Array) -> Any:
            return form(self.field(at, Y))

        def slopes(Y: Array) -> Any:
            return np.stack([self.field(at, Y[i]) for i, at in enumerate(nodes)])

        scale = 1 + np.max(np.abs(here), initial=0.0)
        change = np.inf
        for search in range(SEARCHES):
            if search % 5 == 0:
                blocks = [_matrix(plain_field, at, stages[i]) for i, at in enumerate(nodes)]
                M = np.eye(3 * n, dtype=here.dtype)
                for i in range(3):
                    for j in range(3):
                        M[i * n : (i + 1) * n, j * n : (j + 1) * n] -= h * A[i, j] * blocks[j]
                inverse = np.linalg.inv(M)
            residual = stages - here - h * (A @ form(slopes(stages)))
            move = (inverse @ residual.reshape(-1)).reshape(stages.shape)
            stages = stages - move
            before, change = change, float(np.max(np.abs(move)))
            if change <= 1e-14 * scale or (change <= 1e-9 * scale and change >= 0.5 * before):
                break
        else:
            raise ConvergenceError(
                f"solve_ivp: the step that carries the derivative, from t = {t:.6g} over {h:.2g}, "
                f"was not found; ask for smaller steps by rtol= and atol=",
                stages,
            )
        Y: Any = stages
        for _ in range(CARRYING):
            residual = Y - y - h * (A @ slopes(Y))
            Y = Y - (inverse @ residual.reshape(-1)).reshape(Y.shape)
        return Y[2]

    def at(self, times: Any) -> list[Any]:
        """The solution at other times within: by shorter steps from where steps begin."""
        ends = np.asarray(self.times)
        direction = -1.0 if ends[-1] < ends[0] else 1.0
        found = []
        for t in np.asarray(times, float):
            i = int(np.searchsorted(direction * ends, direction * t, side="right")) - 1
            i = min(max(i, 0), len(ends) - 1)
            start = self.states[i]
            found.append(start if t == ends[i] else self.step(ends[i], start, float(t - ends[i])))
        return found


class LoopedImplicitReplay:
    """The same as `ImplicitReplay`, as loops over the steps and over the times within.

    A step is a `linad.solve.root` for its stages, from SciPy's solution: in a loop a compiled
    Newton iteration with exact Jacobians, whose derivative is that of the equations.
    """

    def __init__(self, field: Field, times: Sequence[float], y0: Array, guess: Any) -> None:
        self.field, self.times, self.guess = field, np.asarray(times), guess
        self.stages = [field(times[0], y0)]
        starts, lengths = self.times[:-1], np.diff(self.times)

        def on(y: Array, row: tuple[Any, ...]) -> Any:
            y = self._step(y, row)
            return y, y

        with _worded():
            _, states = loops.scan(on, y0, (starts, lengths, self._guesses(starts, lengths)))
        self.states = np.concatenate([np.stack([y0]), states])

    def _guesses(self, starts: Array, lengths: Array) -> Any:
        """SciPy's solution at the nodes of steps: (m, 3, n)."""
        nodes = starts[:, None] + np.asarray(lengths)[:, None] * C
        found = self.guess(nodes.ravel())
        return np.ascontiguousarray(found.T.reshape(*nodes.shape, -1))

    def _step(self, y: Array, row: tuple[Any, ...]) -> Any:
        """The state a step later."""
        t, h, guess = row

        def residual(Y: Array) -> Any:
            slopes = np.stack([self.field(t + c * h, Y[i]) for i, c in enumerate(C)])
            return Y - y - h * (A @ slopes)

        return root(residual, guess, linear_solver="dense")[2]

    def at(self, times: Any) -> Any:
        """The solution at other times within, (m, n): by shorter steps from where steps begin."""
        here = np.asarray(times, float)
        direction = -1.0 if self.times[-1] < self.times[0] else 1.0
        i = np.searchsorted(direction * self.times, direction * here, side="right") - 1
        i = np.clip(i, 0, len(self.times) - 1)
        starts = self.times[i]
        lengths = here - starts
        rows = (self.states[i], starts, lengths, self._guesses(starts, lengths))
        with _worded():
            return loops.map(lambda row: self._step(row[0], row[1:]), rows)


@contextmanager
def _worded() -> Iterator[None]:
    try:
        yield
    except ConvergenceError as error:
        raise ConvergenceError(
            "solve_ivp: a step that carries the derivative was not found; ask for smaller steps by "
            "rtol= and atol=",
            error.result,
        ) from error


def _matrix(field: Field, t: float, y: Array) -> Any:
    """f_y, by differences."""
    if np.iscomplexobj(y):
        size = 1e-7 * (1 + np.abs(y))
        here = field(t, y)
        moves = size * np.eye(y.shape[0])
        return np.stack([(field(t, y + m) - here) / s for m, s in zip(moves, size, strict=True)], 1)
    return scipy.optimize.approx_fprime(y, lambda z: field(t, z)).reshape(y.shape * 2)
