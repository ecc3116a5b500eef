"""What implicit methods share as loops of a program, see `linad.scipy.steploops`.

A step is searched for on values that are not part of derivatives: Newton's iteration with the
matrix of an earlier step where that is good enough, its length halved where it fails, as SciPy
does. What is found is then the solution of the step's equations, whose derivative is that of the
implicit function theorem, see `linad.solve.implicit`; the value is SciPy's, but that the first
Jacobians are exact where SciPy takes differences.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from linad.api.derivatives import jacobian, stop_gradient
from linad.control.captured import with_captured
from linad.control.deciding import cond, while_loop
from linad.core.array_type import Array
from linad.scipy.steploops import Field, StepLoops
from linad.solve.implicit import solved

SEARCHING, FOUND, LOST = 0.0, 1.0, 2.0


class StageSearch(NamedTuple):
    """Newton's iteration on its way."""

    z: Any
    size: Any  # of the latest change
    rate: Any  # the latest change relative to the one before; 0 at first
    count: Any
    status: Any


class WorkCounts(NamedTuple):
    """SciPy's nfev, njev and nlu."""

    fields: Any
    matrices: Any
    factors: Any


class ImplicitLoops(StepLoops):
    """An implicit method.

    Parameters
    ----------
    method, field, span, y0, options
        As for `StepLoops`.
    matrix : callable or array, optional
        f_y: a function of t and y, or the same for all; else by linad.
    """

    most_changes: int
    """In a search."""

    def __init__(
        self,
        method: Any,
        field: Field,
        span: tuple[Any, Any],
        y0: Array,
        options: dict[str, Any],
        matrix: Any = None,
    ) -> None:
        super().__init__(method, field, span, y0, options)
        self.given = matrix
        self.fixed = matrix is not None and not callable(matrix)
        eps = np.finfo(float).eps
        self.accuracy = max(10 * eps / self.rtol, min(0.03, self.rtol**0.5))

    def value(self, t: Array, y: Array) -> Any:
        """f, no part of derivatives, whatever it refers to."""
        return stop_gradient(self.field(t, y))

    def matrix(self, t: Array, y: Array) -> Any:
        """f_y, no part of derivatives."""
        if self.given is None:
            return stop_gradient(jacobian(lambda y: self.field(t, y))(y))
        given = self.given(t, y) if callable(self.given) else self.given
        return stop_gradient(given) + 0.0 * y[0]

    def newer(self, wanted: Array, t: Array, y: Array, known: Array) -> Any:
        """f_y there where that is wanted, or else the one that is known."""
        if self.fixed:
            return known
        return cond(wanted, lambda t, y, _: self.matrix(t, y), lambda t, y, k: k, t, y, known)

    def search(self, change: Callable[[Any], Any], z: Array, scale: Array) -> StageSearch:
        """Newton's iteration, stopped as SciPy stops it.

        Parameters
        ----------
        change : callable
            The next change of z.
        z : array
            Where it begins.
        scale : array
            Of the tolerances.
        """

        def go(s: StageSearch) -> StageSearch:
            dz = change(s.z)
            size = self.norm(dz / scale)
            later = s.count > 0
            rate = np.where(later, size / np.where(later, s.size, 1.0), 0.0)
            slow = rate >= 1
            share = np.where(slow, 0.5, rate)
            left = share ** (self.most_changes - s.count) / (1 - share) * size
            lost = ~np.isfinite(size) | (later & (slow | (left > self.accuracy)))
            near = later & (share / (1 - share) * size < self.accuracy)
            found = ~lost & ((size == 0) | near)
            status = np.where(lost, LOST, np.where(found, FOUND, SEARCHING))
            return StageSearch(np.where(lost, s.z, s.z + dz), size, rate, s.count + 1.0, status)

        zero = 0.0 * np.sum(z)
        return while_loop(  # type: ignore[no-any-return]
            lambda s: (s.status == SEARCHING) & (s.count < self.most_changes),
            go,
            StageSearch(z, zero, zero, zero, zero),
        )

    def solution(self, equations: Callable[[Any], Any], found: Array) -> Any:
        """What solves equations, with its derivative, where it is found already."""
        g, theta = with_captured(equations, found, ())
        return solved(
            "solve_ivp",
            g,
            lambda x, _: OptimizeResult(x=x, success=True),
            found,
            theta,
            "dense",
            None,
            lambda _: lambda x, theta: x,
        )

    def counts(self, s: Any, met: Array) -> tuple[Any, Any, Any]:
        return s.counts
