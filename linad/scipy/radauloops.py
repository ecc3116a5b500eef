"""Radau's method of order five as loops of a program, see `linad.scipy.implicitloops`.

The stages of a step are Y_i = y + Z_i with Z = h A f(y + Z). With T^-1 A^-1 T = Λ of blocks of one
and two rows, W = T^-1 Z is searched for by

    K dW = T^-1 f(y + Z) - Λ W / h          K = Λ / h ⊗ 1 - 1 ⊗ f_y

and the error is estimated by the first block of K^-1. A step begins with the polynomial of the
step before.

Source: E. Hairer and G. Wanner, "Solving Ordinary Differential Equations II", 1996, IV.8.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.control.deciding import cond, while_loop
from linad.core.array_type import Array
from linad.scipy.implicitloops import FOUND, ImplicitLoops, WorkCounts
from linad.scipy.implicitsteps import ROOT, A, C

ESTIMATE = np.array([-13 - 7 * ROOT, -13 + 7 * ROOT, -1]) / 3
POLYNOMIAL = np.array(
    [
        [13 / 3 + 7 * ROOT / 3, -23 / 3 - 22 * ROOT / 3, 10 / 3 + 5 * ROOT],
        [13 / 3 - 7 * ROOT / 3, -23 / 3 + 22 * ROOT / 3, 10 / 3 - 5 * ROOT],
        [1 / 3, -8 / 3, 10 / 3],
    ]
)
T = np.array(
    [
        [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
        [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
        [1.0, 1.0, 0.0],
    ]
)
INVERSE_T = np.linalg.inv(T)
SHRINK, GROW = 0.2, 10.0

_REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
_SHARED = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3))
_TURN = 0.5 * (3 ** (5 / 6) + 3 ** (7 / 6))
BLOCKS = np.array([[_REAL, 0.0, 0.0], [0.0, _SHARED, _TURN], [0.0, -_TURN, _SHARED]])
"""Λ"""


class RadauState(NamedTuple):
    """Where the integration is, and what the next step begins with."""

    t: Any
    y: Any
    slope: Any  # f(t, y)
    before: Any  # t and y before the step, and its length
    y_before: Any
    length: Any
    terms: Any  # the coefficients of the step's polynomial, (3, n)
    h: Any  # the length of the next attempt
    h_before: Any  # that of the step before; 0 if there is none to compare with
    error: Any  # of the step before
    matrix: Any  # f_y, of some step before
    current: Any  # 1.0 if the matrix is that of this point
    inverse: Any  # K^-1
    known: Any  # 1.0 if that inverse is good enough
    failed: Any
    counts: WorkCounts


class RadauAttempt(NamedTuple):
    """A step that is searched for."""

    t: Any  # where it ends
    h: Any
    h_before: Any
    error_before: Any
    matrix: Any
    current: Any
    inverse: Any
    known: Any
    Z: Any
    count: Any  # changes of the search
    rate: Any
    error: Any
    rejected: Any
    accepted: Any
    failed: Any
    counts: WorkCounts


class RadauLoops(ImplicitLoops):
    """Radau IIA of three stages."""

    starting_order = 3
    most_changes = 6

    def begin(self) -> RadauState:
        y = self.y0
        slope = self.field(self.start, y)
        h = self.first_length(stop_gradient(y), stop_gradient(slope))
        zero = 0.0 * h
        t = self.start + zero
        matrix = self.matrix(t, stop_gradient(y))
        counts = WorkCounts(self.first_evaluations + zero, zero + (not self.fixed), zero)
        inverse = np.zeros((3 * y.shape[0],) * 2) + zero
        return RadauState(
            *(t, y, slope, t, y, 1.0 + zero, np.stack([0.0 * y] * 3), h, zero, zero),
            *(matrix, 1.0 + zero, inverse, zero, zero, stop_gradient(counts)),
        )

    def advance(self, s: RadauState) -> RadauState:
        return self.step(s)

    def step(self, s: RadauState) -> RadauState:
        now = stop_gradient(s)
        a = stop_gradient(self._found(now))
        h = a.t - now.t

        def equations(Z: Array) -> Any:
            slopes = [self.field(now.t + c * h, s.y + Z[i]) for i, c in enumerate(C)]
            return Z - h * (A @ np.stack(slopes))

        Z = self.solution(equations, a.Z)
        y = s.y + Z[2]
        slope = self.field(a.t, y)
        fresh = (a.count > 2) & (a.rate > 1e-3) & (not self.fixed)
        grown = np.minimum(GROW, self._safety(a.count) * self._factor(a, a.error))
        keeps = ~fresh & (grown < 1.2)
        matrix = self.newer(fresh, a.t, stop_gradient(y), a.matrix)
        counts = WorkCounts(a.counts.fields + 1.0, a.counts.matrices + fresh, a.counts.factors)
        current = a.current if self.fixed else np.where(fresh, 1.0, 0.0)
        return RadauState(
            *(a.t, y, slope, now.t, s.y, h, POLYNOMIAL.T @ Z),
            *(a.h * np.where(keeps, 1.0, grown), now.h, a.error, matrix, current),
            *(a.inverse, np.where(keeps, a.known, 0.0), a.failed, counts),
        )

    def _safety(self, count: Array) -> Any:
        total = 2 * self.most_changes + 1
        return 0.9 * total / (total - 1 + count)

    def _factor(self, a: RadauAttempt, error: Array) -> Any:
        """What the length may be multiplied by, by the errors of this step and the last."""
        some = error > 0
        safe = np.where(some, error, np.finfo(float).tiny)  # SciPy's factor of 0 is infinite
        compares = some & (a.h_before > 0)
        last = np.where(compares, a.h_before, 1.0)
        trend = a.h / last * np.where(compares, a.error_before / safe, 1.0) ** 0.25
        return np.where(compares, np.minimum(1.0, trend), 1.0) * safe**-0.25

    def _found(self, s: RadauState) -> RadauAttempt:
        """The step's length, and its solution, on values that are not differentiated."""
        shortest = self.shortest(s.t)
        h = np.minimum(np.maximum(s.h, shortest), self.max_step)
        zero = 0.0 * s.t
        start = RadauAttempt(
            *(s.t, h, np.where(h == s.h, s.h_before, 0.0), s.error, s.matrix, s.current),
            *(s.inverse, s.known, 0.0 * s.terms, zero, zero, zero, zero, zero, zero, s.counts),
        )
        return while_loop(  # type: ignore[no-any-return]
            lambda a: (a.accepted == 0) & (a.failed == 0),
            lambda a: self._attempt(s, a, shortest),
            start,
        )

    def _attempt(self, s: RadauState, a: RadauAttempt, shortest: Array) -> RadauAttempt:
        n = s.y.shape[0]
        failed = np.where(a.h < shortest, 1.0, 0.0)
        t = s.t + a.h * self.direction
        t = np.where(self.direction * (t - self.end) > 0, self.end, t)
        h = t - s.t
        a = a._replace(t=t, h=np.abs(h))
        inverse = cond(
            a.known > 0,
            lambda h, J, known: known,
            lambda h, J, known: np.linalg.inv(
                np.kron(BLOCKS / h, np.eye(n)) - np.kron(np.eye(3), J)
            ),
            *(h, a.matrix, a.inverse),
        )

        def change(W: Array) -> Any:
            Z = T @ W
            slopes = [self.value(s.t + c * h, s.y + Z[i]) for i, c in enumerate(C)]
            residual = INVERSE_T @ np.stack(slopes) - BLOCKS / h @ W
            return (inverse @ residual.ravel()).reshape((3, n))

        first = self.between(s, s.t + h * C[:, None]) - s.y
        scale = self.atol + self.rtol * np.abs(s.y)
        found = self.search(change, INVERSE_T @ first, scale)
        met = found.status == FOUND
        again = ~met & (a.current == 0)
        Z = T @ found.z
        scale = self.atol + self.rtol * np.maximum(np.abs(s.y), np.abs(s.y + Z[2]))
        estimate = ESTIMATE @ Z / h
        block = inverse[:n, :n]
        error = block @ (s.slope + estimate)
        twice = met & (a.rejected > 0) & (self.norm(error / scale) > 1)
        error = cond(
            twice,
            lambda e: block @ (self.value(s.t, s.y + e) + estimate),
            lambda e: e,
            error,
        )
        size = self.norm(error / scale)
        accepted = met & ~(size > 1)
        smaller = np.maximum(SHRINK, self._safety(found.count) * self._factor(a, size))
        factor = np.where(met, np.where(accepted, 1.0, smaller), np.where(again, 1.0, 0.5))
        counts = WorkCounts(
            a.counts.fields + len(C) * found.count + twice,
            a.counts.matrices + again,
            a.counts.factors + np.where(a.known > 0, 0.0, 2.0),
        )
        return RadauAttempt(
            *(t, a.h * factor, a.h_before, a.error_before),
            *(self.newer(again, s.t, s.y, a.matrix), np.where(again, 1.0, a.current)),
            *(inverse, np.where(accepted, 1.0, 0.0), Z, found.count, found.rate, size),
            *(np.where(met & ~accepted, 1.0, a.rejected), np.where(accepted, 1.0, 0.0)),
            *(failed, counts),
        )

    def between(self, s: RadauState, t: Array) -> Any:
        """The polynomial through the stages."""
        x = (t - s.before) / s.length
        return s.y_before + x * (s.terms[0] + x * (s.terms[1] + x * s.terms[2]))
