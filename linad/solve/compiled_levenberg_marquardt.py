"""Steps of `linad.solve.levenberg_marquardt` in programs."""

from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.solve.compiled_fits import LIGHT, CompiledFit, FitState, FitTrial, Model
from linad.solve.compiled_krylov import length, squared
from linad.solve.least_squares import BENT, PROBE


class Damping(NamedTuple):
    """What the method keeps from step to step."""

    size: Any
    growth: Any
    D: Any  # the largest norms of the columns so far; 0 before the first step
    seen: Any  # the largest responses so far


class DampedSteps:
    """Damped steps along the curve that keeps the residuals going straight."""

    def __init__(self, damping: float) -> None:
        self.damping = float(damping)

    def first(self, x0: Array) -> Damping:
        return Damping(self.damping, 2.0, np.zeros_like(x0), np.zeros((2, x0.size), float))

    def __call__(self, fit: CompiledFit, s: FitState, model: Model, light: Any) -> FitTrial:
        """A step that brings the cost down, or more damping."""
        own, cost = s.own, fit.cost(s.r)
        largest = np.maximum(own.D, model.sizes)
        D = np.where(largest > 0, largest, 1.0)
        p = model.damped(own.size, D, model.gradient)
        predicted = model.promise(p, own.size, D)
        minute = s.fresh & (predicted <= fit.noise(cost))
        curved, straight = self._along_the_curve(fit, s, model, p, D, minute)
        x = fit.at(s.x + curved)
        if fit.limits is not None:
            cut = (x != s.x + curved).any()
            left = -np.sum(model.gradient * (x - s.x)).astype(float)
            left = left - 0.5 * squared(model.J @ (x - s.x))
            predicted = np.where(cut, left, predicted)
        r = fit.residuals(x)
        down = cost - fit.cost(r)
        by_gradient = minute & (np.abs(down) <= fit.noise(cost))
        gain = np.where(predicted > 0, down / np.where(predicted > 0, predicted, 1.0), -1.0)
        good = ~by_gradient & straight & (gain > 1e-4)
        accepted = good | (by_gradient & fit.shorter_gradient(x, r, model))
        eased = own.size * np.maximum(0.1, 1.0 - (2.0 * gain - 1.0) ** 3)
        eased = np.where(good, np.maximum(eased, 1e-15), own.size)
        following = Damping(
            np.where(accepted, eased, own.size * own.growth),
            np.where(good, 2.0, np.where(accepted, own.growth, 2.0 * own.growth)),
            largest,
            np.maximum(own.seen, fit.response(s, model)),
        )
        return FitTrial(
            x,
            r,
            following,
            accepted,
            np.where(good, gain, 1.0),
            np.False_,
            ~accepted & (by_gradient | (fit.relative(model, s.x, p) <= fit.eps)),
            light,
            model.promise(light, LIGHT, model.norms),
            ~np.isfinite(length(p)) | (~accepted & (own.size > 1e40)),
        )

    def keeps_all(self, fit: CompiledFit, s: FitState, model: Model) -> Any:
        now, seen = fit.response(s, model), s.own.seen
        lost = np.isfinite(now) & (now <= 1e-8 * seen) & (seen > 0)
        return (~lost.all(axis=0) | ~model.free).all()

    def _along_the_curve(
        self, fit: CompiledFit, s: FitState, model: Model, p: Array, D: Array, minute: Array
    ) -> Any:
        """The step, bent so that the residuals go straight, and whether it bends little enough."""
        near = minute | (fit.relative(model, s.x, p) < np.cbrt(fit.eps))
        change = fit.weighted(s.r, (fit.residuals(s.x + PROBE * p) - s.r) / PROBE)
        curvature = (2 / PROBE) * (change - model.J @ p)
        bend = model.damped(s.own.size, D, model.J.T @ curvature)
        fine = np.isfinite(length(curvature)) & (length(D * bend) <= BENT * length(D * p))
        return np.where(near, p, p + 0.5 * bend), near | fine
