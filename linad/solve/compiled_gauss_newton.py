"""Steps of `linad.solve.gauss_newton` in programs."""

from typing import Any

import numpy as np

from linad.solve.compiled_fits import CompiledFit, FitState, FitTrial, Model
from linad.solve.compiled_krylov import length, squared
from linad.solve.compiled_linesearch import backtracked
from linad.solve.compiled_systems import scaled

SMALLEST = 1e-10
"""Part of a step below which a search along it gives up."""


class GaussSteps:
    """Steps of Gauss and Newton, shortened until the cost comes down.

    By the normal equations, refined once. Where these are singular Python takes the shortest step.
    """

    def first(self, x0: Any) -> Any:
        return ()

    def __call__(self, fit: CompiledFit, s: FitState, model: Model, light: Any) -> FitTrial:
        cost = fit.cost(s.r)
        S = 1.0 / model.norms
        columns = model.J * S
        system = scaled(columns.T @ columns)
        p = -S * system.solve(S * model.gradient)
        p = p - S * system.solve(columns.T @ (s.r + model.J @ p))
        slope = np.sum(model.gradient * p).astype(float)
        predicted = -0.5 * slope
        minute = predicted <= fit.noise(cost)

        def phi(alpha: Any) -> tuple[Any, Any]:
            r = fit.residuals(s.x + alpha.astype(p.dtype) * p)
            return 0.5 * squared(r), r

        # Too small for the cost to tell, a step is taken whole while the gradient goes down.
        found = backtracked(phi, cost, slope, np.where(minute, 2.0, SMALLEST))
        alpha = found.alpha
        x = s.x + alpha.astype(p.dtype) * p
        shorter = fit.shorter_gradient(x, found.found, model)
        accepted = np.where(minute, shorter, alpha >= SMALLEST)
        promised = np.where(minute, 1.0, predicted * alpha * (2.0 - alpha))
        return FitTrial(
            x,
            found.found,
            (),
            accepted,
            np.where(minute, 1.0, (cost - found.value) / promised),
            system.sound & ~(predicted > fit.eps**2 * cost),
            ~accepted,
            p,
            predicted,
            ~system.sound | ~np.isfinite(length(p)) | (~accepted & ~found.finite),
        )

    def keeps_all(self, fit: CompiledFit, s: FitState, model: Model) -> Any:
        return np.True_
