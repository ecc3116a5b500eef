"""Backward differentiation formulas as loops of a program, see `linad.scipy.implicitloops`.

With the backward differences D_j = ∇^j y of steps of one length h, a step of order k solves

    y' = Σ_{j≤k} D_j + d          d - c f(t', y') + Σ_{1≤j≤k} γ_j D_j / α_k = 0

for d = ∇^{k+1} y', where c = h / α_k, γ_j = Σ_{i≤j} 1/i and α_k = (1 - κ_k) γ_k. Where the length
becomes that times s, the differences become U^T R(s)^T D of the first k + 1, with

    R(s)_ij = Π_{m≤i} (m - 1 - s j) / m          U = R(1)

All of it is linear in the differences, which are traced; order, lengths and matrices are not. The
number of rows that counts is the order's: a mask.

Source: L. F. Shampine, M. W. Reichelt, "The MATLAB ODE suite", SIAM Journal on Scientific Computing
18, 1997.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.control.deciding import cond, while_loop
from linad.scipy.implicitloops import FOUND, ImplicitLoops, WorkCounts

ORDERS = 5
ROWS = ORDERS + 3
KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
GAMMA = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, ORDERS + 1))])
ALPHA = (1 - KAPPA) * GAMMA
ERROR = KAPPA * GAMMA + 1 / np.arange(1, ORDERS + 2)
SHRINK, GROW = 0.2, 10.0

PLACES = np.arange(float(ROWS))
ABOVE = np.arange(ORDERS + 1.0)


def _at_order(table: Any, order: Any) -> Any:
    """The entry of a table over orders 0 to 5."""
    return np.sum(np.where(order == ABOVE, table, 0.0))


def _rows_of(s: Any) -> list[Any]:
    """The rows of R(s), for differences of up to the fifth order."""
    rows: list[Any] = [np.ones(ROWS) + 0.0 * s]
    for m in range(1, ORDERS + 1):
        rows.append(rows[-1] * np.where(PLACES > 0, (m - 1 - s * PLACES) / m, 0.0))
    return rows


_U = np.stack([*_rows_of(1.0), *[np.zeros(ROWS)] * 2])


def changing(order: Any, s: Any) -> Any:
    """What differences are multiplied by where the length becomes that times s."""
    counts = np.where(order >= PLACES, 1.0, 0.0)
    inside = counts[:, None] * counts
    R = np.stack([*_rows_of(s), *[np.zeros(ROWS) + 0.0 * s] * 2])
    return inside * ((inside * _U).T @ (inside * R).T) + np.diag(np.ones(ROWS)) * (1 - counts)


class BDFState(NamedTuple):
    """Where the integration is, and what the next step begins with."""

    t: Any
    y: Any
    D: Any
    order: Any
    h: Any  # the length that D is of, and of the next attempt
    equal: Any  # steps of this length and order
    matrix: Any  # f_y, of some step before
    inverse: Any  # (1 - c f_y)^-1, for some c
    known: Any  # 1.0 if that inverse is good enough
    failed: Any
    counts: WorkCounts


class BDFAttempt(NamedTuple):
    """A step that is searched for."""

    t: Any  # where it ends
    h: Any
    change: Any  # what the differences are multiplied by
    equal: Any
    matrix: Any
    inverse: Any
    known: Any
    current: Any  # 1.0 if the matrix is that of this step
    d: Any
    safety: Any
    error: Any
    accepted: Any
    failed: Any
    counts: WorkCounts


class BDFLoops(ImplicitLoops):
    """Orders one to five."""

    starting_order = 1
    most_changes = 4

    def begin(self) -> BDFState:
        y = self.y0
        slope = self.field(self.start, y)
        h = self.first_length(stop_gradient(y), stop_gradient(slope))
        zero = 0.0 * h
        t = self.start + zero
        D = np.stack([y, slope * h * self.direction, *[0.0 * y] * (ROWS - 2)])
        matrix = self.matrix(t, stop_gradient(y))
        counts = WorkCounts(self.first_evaluations + zero, zero + (not self.fixed), zero)
        return BDFState(
            t, y, D, 1.0 + zero, h, zero, matrix, 0.0 * matrix, zero, zero, stop_gradient(counts)
        )

    def advance(self, s: BDFState) -> BDFState:
        return self.step(s)

    def step(self, s: BDFState) -> BDFState:
        now = stop_gradient(s)
        a = stop_gradient(self._found(now))
        D = a.change @ s.D
        order = now.order
        predicted, psi, c = self._equation(D, order, now.t, a.t)

        def equations(d: Any) -> Any:
            return d - c * self.field(a.t, predicted + d) + psi

        d = self.solution(equations, a.d)
        below = np.where(order >= PLACES, 1.0, 0.0)
        sums = np.where(PLACES[:, None] <= PLACES, 1.0, 0.0) * below * below[:, None]
        one = np.where(order + 1 == PLACES, 1.0, 0.0)
        two = np.where(order + 2 == PLACES, 1.0, 0.0)
        rest = np.diag(1.0 - below - one - two)
        # The last but one of the new differences, less that of the step before.
        D = (sums + rest - two[:, None] * one) @ D + (below + one + two)[:, None] * d
        y = predicted + d
        equal = a.equal + 1.0
        chooses = equal >= order + 1
        moved, grown = self._choice(stop_gradient(y), stop_gradient(D), order, a)
        order = order + np.where(chooses, moved, 0.0)
        factor = np.where(chooses, grown, 1.0)
        return BDFState(
            *(a.t, y, np.where(chooses, changing(order, factor) @ D, D), order, a.h * factor),
            *(np.where(chooses, 0.0, equal), a.matrix, a.inverse),
            *(np.where(chooses, 0.0, a.known), a.failed, a.counts),
        )

    def _equation(self, D: Any, order: Any, t: Any, t_new: Any) -> tuple[Any, Any, Any]:
        """What a step adds d to, ψ, and c."""
        alpha = _at_order(ALPHA, order)
        counts = np.where(order >= PLACES, 1.0, 0.0)
        gamma = np.concatenate([GAMMA, np.zeros(2)])
        psi = (counts * gamma / alpha) @ D
        return counts @ D, psi, (t_new - t) / alpha

    def _found(self, s: BDFState) -> BDFAttempt:
        """The step's length, and its solution, on values that are not differentiated."""
        shortest = self.shortest(s.t)
        h = np.minimum(np.maximum(s.h, shortest), self.max_step)
        same = h == s.h
        change = np.where(same, np.diag(np.ones(ROWS)), changing(s.order, h / s.h))
        zero = 0.0 * s.t
        start = BDFAttempt(
            *(s.t, h, change, np.where(same, s.equal, 0.0), s.matrix, s.inverse, s.known),
            *(zero + self.fixed, 0.0 * s.y, 1.0 + zero, zero, zero, zero, s.counts),
        )
        return while_loop(  # type: ignore[no-any-return]
            lambda a: (a.accepted == 0) & (a.failed == 0),
            lambda a: self._attempt(s, a, shortest),
            start,
        )

    def _attempt(self, s: BDFState, a: BDFAttempt, shortest: Any) -> BDFAttempt:
        order = s.order
        failed = np.where(a.h < shortest, 1.0, 0.0)
        t = s.t + a.h * self.direction
        beyond = self.direction * (t - self.end) > 0
        t = np.where(beyond, self.end, t)
        h = np.abs(t - s.t)
        change = np.where(beyond, changing(order, h / a.h) @ a.change, a.change)
        equal, known = np.where(beyond, 0.0, a.equal), np.where(beyond, 0.0, a.known)
        predicted, psi, c = self._equation(change @ s.D, order, s.t, t)
        inverse = cond(
            known > 0,
            lambda c, J, known: known,
            lambda c, J, known: np.linalg.inv(np.diag(np.ones(J.shape[0])) - c * J),
            *(c, a.matrix, a.inverse),
        )

        def correction(d: Any) -> Any:
            return inverse @ (c * self.value(t, predicted + d) - psi - d)

        found = self.search(correction, 0.0 * predicted, self.atol + self.rtol * np.abs(predicted))
        met = found.status == FOUND
        again = ~met & (a.current == 0)
        matrix = self.newer(again, t, predicted, a.matrix)
        total = 2 * self.most_changes + 1
        safety = 0.9 * total / (total - 1 + found.count)
        scale = self.atol + self.rtol * np.abs(predicted + found.z)
        error = self.norm(_at_order(ERROR, order) * found.z / scale)
        accepted = met & ~(error > 1)
        smaller = safety * np.where(error > 1, error, 1.0) ** (-1 / (order + 1))
        factor = np.where(met, np.where(accepted, 1.0, np.maximum(SHRINK, smaller)), 0.5)
        factor = np.where(again, 1.0, factor)
        turned = factor != 1
        counts = WorkCounts(
            a.counts.fields + found.count,
            a.counts.matrices + again,
            a.counts.factors + np.where(known > 0, 0.0, 1.0),
        )
        return BDFAttempt(
            *(t, h * factor, np.where(turned, changing(order, factor) @ change, change)),
            *(np.where(turned, 0.0, equal), matrix, inverse, np.where(met, 1.0, 0.0)),
            *(np.where(again, 1.0, a.current), found.z, safety, error),
            *(np.where(accepted, 1.0, 0.0), failed, counts),
        )

    def _choice(self, y: Any, D: Any, order: Any, a: BDFAttempt) -> tuple[Any, Any]:
        """By how much the order changes, and what the length is multiplied by."""
        scale = self.atol + self.rtol * np.abs(y)

        def factor(size: Any, k: Any, exists: Any) -> Any:
            """By which steps of order k would grow."""
            least = np.finfo(float).tiny  # SciPy's factor of an error of 0 is infinite
            return np.where(exists, np.maximum(size, least) ** (-1 / (k + 1)), 0.0)

        def other(k: Any, place: Any) -> Any:
            term = np.where(place == PLACES, 1.0, 0.0) @ D
            return self.norm(_at_order(ERROR, k) * term / scale)

        down = factor(other(order - 1, order), np.maximum(order - 1, 1.0), order > 1)
        stay = factor(a.error, order, np.True_)
        up = factor(other(order + 1, order + 2), order + 1, order < ORDERS)
        best = np.maximum(np.maximum(down, stay), up)
        moved = np.where(down == best, -1.0, np.where(stay == best, 0.0, 1.0))
        return moved, np.minimum(GROW, a.safety * best)

    def between(self, s: BDFState, t: Any) -> Any:
        """Newton's polynomial through the latest points."""
        h = s.h * self.direction
        product, y = 1.0, s.D[0]
        for j in range(ORDERS):
            product = product * (t - (s.t - h * j)) / (h * (1 + j))
            y = y + np.where(s.order > j, product, 0.0) * s.D[j + 1]
        return y
