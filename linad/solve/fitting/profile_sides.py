"""One side of a profile: the best fits with a parameter held, each begun where the last ones point.

The fits with a parameter held lie on a curve. At the fit itself its tangent is known, a column of
the covariance Σ: with parameter i moved by d the others move by d Σ_ji / Σ_ii. Later fits begin on
the parabola through the last three. In a curved valley, as where two parameters make up for each
other, a fit that begins on its floor takes a few steps, and one that begins on its wall hundreds;
or ends on the way down, with a cost that is too high.
"""

from typing import Any

import numpy as np

from linad.core import tree
from linad.errors import ShapeError
from linad.solve.trials import REFUSALS

THROUGH = 3
"""Fits that a curve goes through."""

SIGHT, NEARER = 10.0, 4
"""How many times as far as asked τ may be where a fit begins; else it begins at a quarter of the
distance, and so on, up to so often."""


EXACT = 1e-7
"""Relative error of τ."""


class ProfileSide:
    """τ on one side of the best value of a parameter, where it is about t.

    Each fit starts where the last ones inside point, or, where that is no better, where the last
    one inside ended: one from outside may stay in a minimum of its own.
    """

    def __init__(self, fit: Any, i: int, side: float, t: float, met: Any) -> None:
        self.fit, self.i, self.side, self.t, self.met = fit, i, side, t, met
        self.best = float(fit.vector[i])
        self.held = ~fit.parameters.free
        self.held[i] = True
        self.inside = [(0.0, fit.vector.copy())]
        self.last = self.inside[0]
        self.seen = {0.0: 0.0}  # distances by τ

    def tau(self, distance: float) -> float:
        """τ at a distance from the best value; infinite where the model has no values."""
        found, enough = None, EXACT * self.t**2 * self.fit._scales[1]
        starts, _ = self._starts(distance)
        for start in starts:
            try:
                found = self.fit.solve.beside(start, self.held, enough)
            except ShapeError:
                continue  # an integration that ends early: the model has no values there
            except REFUSALS:
                if start is starts[-1]:
                    raise
                continue
            if np.isfinite(found.cost):
                break
        if found is None:
            self.met.add(self.i, np.inf, None)
            return np.inf
        self.met.add(self.i, float(found.cost), found.x)
        if np.isfinite(found.cost):
            self.last = distance, tree.vector(found.x).copy()
        scale = self.fit._scales[1]
        risen = max(found.cost - self.fit.cost, 0.0)
        tau = float(np.sqrt(risen * 2.0 / scale)) if scale > 0 else 0.0
        self.seen[tau] = distance
        return tau

    def expected(self) -> float:
        """The distance at which τ is t, by the parabola through those three of the distances so far
        that are nearest; NaN where there are no three."""
        near = sorted(self.seen, key=lambda tau: abs(tau - self.t))[:THROUGH]
        if len(near) < THROUGH or not np.isfinite(near).all():
            return np.nan
        return float(_parabola(np.array(near), self.t) @ [self.seen[tau] for tau in near])

    def in_sight(self, distance: float, t: float) -> float:
        """The distance, or one less far, from which a fit begins near the floor of its valley."""
        low = self.inside[-1][0]
        most = self.fit.cost + 0.5 * self.fit._scales[1] * (SIGHT * t) ** 2
        for k in range(NEARER):
            nearer = low + (distance - low) * 0.25**k
            if self._starts(nearer)[1] <= most:
                return nearer
        return distance

    def start_from_last(self) -> None:
        """The last fit is one inside."""
        if self.last[0] > self.inside[-1][0]:
            self.inside.append(self.last)

    def _starts(self, distance: float) -> tuple[list[Any], float]:
        """Where to begin: where the curve points, if that is better, then the last fit inside; and
        the cost at the first."""
        plain, pointed = self._at(distance, self.inside[-1][1]), self._pointed(distance)
        cost, ahead = self._cost(plain), np.inf if pointed is None else self._cost(pointed)
        return ([pointed, plain], ahead) if ahead < cost else ([plain], cost)

    def _at(self, distance: float, vector: Any) -> Any:
        """A vector with the parameter at a distance."""
        start = vector.copy()
        start[self.i] = self.best + self.side * distance
        return start

    def _pointed(self, distance: float) -> Any:
        """Where the last fits point, within bounds; None if they do not."""
        fit, last = self.fit, self.inside[-THROUGH:]
        if len(last) == 1:
            column = fit.covariance[:, self.i]
            with np.errstate(all="ignore"):
                found = fit.vector + self.side * distance * (column / column[self.i])
        else:
            at = np.array([d for d, _ in last])
            found = _parabola(at, distance) @ np.array([vector for _, vector in last])
        if not np.isfinite(found).all():
            return None
        held = self.held
        found = np.where(held, self.inside[-1][1], np.clip(found, *fit.bounds))
        return self._at(distance, found)

    def _cost(self, start: Any) -> float:
        """What the fit minimises, where it would begin; infinite where it has no value."""
        try:
            cost = float(self.fit.solve.cost_at(start))
        except (ShapeError, *REFUSALS):
            return np.inf
        return cost if np.isfinite(cost) else np.inf


def _parabola(at: Any, x: float) -> Any:
    """The weights of what is known at three points, or less, in the polynomial through them."""
    others = [np.delete(at, k) for k in range(len(at))]
    return np.array([np.prod((x - o) / (a - o)) for a, o in zip(at, others, strict=True)])
