"""Minima under constraints, differentiated: the equations of Karush, Kuhn and Tucker.

    ∇f(x) + Σ_i λ_i ∇c_i(x) = 0,    c_i(x) = 0

for the constraints that hold with equality at the minimum. Where their gradients are independent
and no multiplier is zero they stay the same under small changes, and (x, λ) is a root that moves
with what f and c depend on.

Source: J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, section 12.3.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.api.derivatives import jacobian
from linad.api.gradients import grad
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.core.shapes import Shape
from linad.errors import ConvergenceError
from linad.rules.creation import asarray
from linad.scipy.boxes import Standing
from linad.scipy.implicit_solutions import Watched, plain, root_of_vector, watched
from linad.scipy.mirror import holds_traced

Function = Callable[..., Any]

NEAR = 1e-6
"""Within which distance, relative to the size of the numbers, a constraint holds with equality."""


class Constraint:
    """One constraint of SciPy's: what SciPy is given, and what it asks of a traced point.

    Parameters
    ----------
    given : dict, LinearConstraint or NonlinearConstraint

    Attributes
    ----------
    plain : dict, LinearConstraint or NonlinearConstraint
        The same with plain numbers.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, theirs.LinearConstraint):
            self.values: Function = lambda x: asarray(given.A) @ x
            self.low, self.high = given.lb, given.ub
            ends = plain(given.lb), plain(given.ub)
            self.plain: Any = theirs.LinearConstraint(plain(given.A), *ends, given.keep_feasible)
            self.watched = None
            self._parts: tuple[Any, ...] = given.A, given.lb, given.ub
            return
        if isinstance(given, theirs.NonlinearConstraint):
            self.watched = Watched(given.fun)
            self.low, self.high = given.lb, given.ub
            self.plain = theirs.NonlinearConstraint(
                *(self.watched, plain(given.lb), plain(given.ub), watched(given.jac)),
                watched(given.hess),
                given.keep_feasible,
            )
        else:
            self.watched = Watched(given["fun"], args_of(given.get("args", ())))
            self.low, self.high = 0.0, 0.0 if given["type"].lower() == "eq" else np.inf
            self.plain = {"type": given["type"], "fun": self.watched}
            if given.get("jac") is not None:
                self.plain["jac"] = watched(given["jac"], self.watched.args)
        self.values = self.watched.values
        self._parts = (self.low, self.high)

    @property
    def is_traced(self) -> bool:
        """Whether traced values took part in what SciPy was given."""
        return holds_traced(self._parts) or (self.watched is not None and self.watched.traced)

    def held(self, x: Array) -> Iterator[Function]:
        """Functions that are zero where the constraint holds with equality at a plain point."""
        values = np.atleast_1d(plain(self.values(x)))
        low, high = (np.broadcast_to(plain(end), values.shape) for end in (self.low, self.high))
        size = NEAR * (1 + np.abs(values))
        at_low = np.abs(values - low) <= size
        at_high = (np.abs(values - high) <= size) & (low != high)
        for end, held in ((self.low, at_low), (self.high, at_high)):
            if held.any():
                yield self._distance(end, np.flatnonzero(held), values.shape)

    def _distance(self, end: Any, where: Array, shape: Shape) -> Function:
        def distance(x: Array) -> Any:
            values = np.atleast_1d(asarray(self.values(x))).reshape(shape)
            return (values - np.broadcast_to(asarray(end), shape))[where]

        return distance


def constraints_of(given: Any) -> list[Constraint]:
    """SciPy's ``constraints=``: one, or a sequence."""
    kinds = (dict, theirs.LinearConstraint, theirs.NonlinearConstraint)
    return [Constraint(c) for c in ([given] if isinstance(given, kinds) else given)]


def constrained_minimum(
    name: str, f: Function, found: Array, place: Standing, constraints: list[Constraint]
) -> Any:
    """A minimum under constraints, in the entries that are not at their bounds."""
    where = np.flatnonzero(place.free)
    embed = np.eye(found.size)[:, where]
    held = [distance for c in constraints for distance in c.held(found)]

    def at(z: Array) -> Any:
        return place.held + embed @ z

    def distances(z: Array) -> Any:
        return np.concatenate([distance(at(z)) for distance in held])

    slope = grad(lambda z: asarray(f(at(z))).reshape(()))
    if not held:
        return at(root_of_vector(name, slope, found[where]))
    rows, n = jacobian(distances), where.size
    normals, downhill = (plain(v(found[where])) for v in (rows, slope))
    if np.linalg.matrix_rank(normals) < normals.shape[0]:
        raise ConvergenceError(
            f"{name}: {normals.shape[0]} constraints hold with equality at the minimum, and their "
            f"gradients are not independent: its derivative is not determined",
            found,
        )
    multipliers = np.linalg.lstsq(normals.T, -downhill, rcond=None)[0]

    def conditions(point: Array) -> Any:
        z, m = point[:n], point[n:]
        return np.concatenate([slope(z) + m @ rows(z), distances(z)])

    solved = root_of_vector(name, conditions, np.concatenate([found[where], multipliers]))
    return at(solved[:n])
