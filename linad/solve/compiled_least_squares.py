"""The Levenberg-Marquardt method as a loop of a program: what `least_squares` is once compiled.

Steps and tests are those of `linad.solve.least_squares` with a dense Jacobian, but for one thing:
a damped system is solved by the normal equations of scaled columns,

    (S J^H J S + λ S D² S) q = -S J^H r          p = S q, S = 1 / |columns of J|

A fit ends by a step that is damped by 1e-8, for which these are good enough. Whatever goes wrong (a
fit that does not end, or ends where the residuals have ceased to depend on an unknown) stops the
program; then Python runs the solver itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import jacobian
from linad.control.deciding import while_loop
from linad.core import tree
from linad.solve.compiled_krylov import length, squared
from linad.solve.compiled_newton import CONVERGED, IN_TROUBLE, RUNNING, Loop, largest, options_of
from linad.solve.damped import MANY
from linad.solve.least_squares import BENT, PATIENCE, PROBE, levenberg_marquardt
from linad.sweeps.assurances import assured
from linad.transforms.spaces import joined

OPTIONS = frozenset({"gtol", "maxiter", "damping"})
LIGHT = 1e-8


class FitState(NamedTuple):
    """A point on its way to a least-squares solution."""

    x: Any
    r: Any
    damping: Any
    growth: Any
    D: Any  # the largest norms of the columns so far; 0 before the first step
    gain: Any  # of the last step, and what follows too
    change: Any  # of the cost
    step: Any  # its relative length
    fresh: Any  # whether no step from here has been tried
    steps: Any
    status: Any


class Model(NamedTuple):
    """The linear model at a point."""

    J: Any
    gradient: Any
    norms: Any  # of the columns, 1 for 0

    def damped(self, lam: Any, D: Any, right: Any) -> Any:
        """-(J^H J + λ D²)^-1 right."""
        S = 1.0 / self.norms
        scaled = self.J * S
        A = scaled.T @ scaled + np.diag((lam * (S * D) ** 2).astype(self.J.dtype))
        return -S * np.linalg.solve(A, (S * right)[:, None])[:, 0]

    def promise(self, p: Any, lam: Any, D: Any) -> Any:
        return 0.5 * squared(self.J @ p) + lam * squared(D * p)


def least_squares_loop(
    r: Callable[..., Any], solver: Any, options: dict[str, Any]
) -> Callable[[Any], Loop | None] | None:
    """What a solver with these options is in a program, if that is known; see
    `linad.solve.implicit.ImplicitEquation`."""
    chosen = options_of(solver, levenberg_marquardt, OPTIONS, options)
    if chosen is None:
        return None

    def loop(equation: Any) -> Loop | None:
        if equation.kind_of_system("auto") != "dense" or equation.x0.dtype.kind != "f":
            return None

        def residuals(x: Any, theta: Any) -> Any:
            y = r(equation.x0.container(x), *equation.theta.container(theta))
            leaves = tree.flatten(y)[0]
            return joined(leaves, (), np.result_type(*leaves, x.dtype))

        y = residuals(*equation.example)
        if y.dtype != equation.x0.dtype or not 0 < y.size * equation.example[0].size <= MANY:
            return None

        def search(x0: Any, theta: Any) -> Any:
            damped = _Damped(lambda x: residuals(x, theta), equation.eps, **chosen)
            return assured(*damped.run(x0))

        return search

    return loop


class _Damped:
    """See `linad.solve.least_squares.Fit`."""

    def __init__(
        self,
        residuals: Callable[[Any], Any],
        eps: float,
        gtol: float | None,
        maxiter: int,
        damping: float,
    ) -> None:
        self.residuals, self.eps, self.gtol = residuals, eps, gtol
        self.maxiter, self.damping = min(maxiter, PATIENCE), float(damping)
        self.tol = 1e-8 if eps < 1e-10 else 3e-4

    def run(self, x0: Any) -> tuple[Any, Any]:
        """The last point, and whether the fit has ended well there."""
        r = self.residuals(x0)
        first = 0.5 * squared(r)
        reach = (1.0 + length(x0)) / self.eps
        model = self._model(x0, r)
        gtol = self.eps**1.5 * largest(model.gradient) if self.gtol is None else self.gtol
        start = FitState(
            x0,
            r,
            self.damping,
            2.0,
            np.zeros_like(x0),
            1.0,
            first,
            np.inf,
            np.True_,
            0,
            np.where(np.isfinite(first), RUNNING if self.maxiter else IN_TROUBLE, IN_TROUBLE),
        )
        s = while_loop(lambda s: s.status == RUNNING, lambda s: self._trial(s, gtol, reach), start)
        norms = self._model(s.x, s.r).norms
        kept = (norms > 1e-8 * s.D).all() | (0.5 * squared(s.r) <= 1e-12 * first) | (s.steps == 0)
        return s.x, (s.status == CONVERGED) & kept

    def _model(self, x: Any, r: Any) -> Model:
        J = jacobian(self.residuals)(x)
        norms = np.sqrt(np.sum(J * J, axis=0))
        return Model(J, J.T @ r, np.where(norms > 0, norms, 1.0))

    def _trial(self, s: FitState, gtol: Any, reach: Any) -> FitState:
        """A step that brings the cost down, or more damping."""
        model, cost = self._model(s.x, s.r), 0.5 * squared(s.r)
        light = model.damped(LIGHT, model.norms, model.gradient)
        promised = model.promise(light, LIGHT, model.norms)
        ended = s.fresh & (
            (largest(model.gradient) <= gtol) | self._settled(s, light, promised, cost)
        )
        D = np.maximum(s.D, model.norms)
        p = model.damped(s.damping, D, model.gradient)
        predicted = model.promise(p, s.damping, D)
        noise = 1e3 * self.eps * cost
        minute = s.fresh & (predicted <= noise)
        curved, straight = self._along_the_curve(s, model, p, D, minute)
        x = s.x + curved
        r = self.residuals(x)
        new = 0.5 * squared(r)
        down = cost - new
        by_gradient = minute & (np.abs(down) <= noise)
        gain = np.where(predicted > 0, down / np.where(predicted > 0, predicted, 1.0), -1.0)
        good = ~by_gradient & straight & (gain > 1e-4)
        there = self._model(x, r).gradient / model.norms
        better = length(there) < 0.9 * length(model.gradient / model.norms)
        accepted = good | (by_gradient & better)
        small = ~accepted & (by_gradient | (length(p) <= self.eps * length(s.x)))
        rounded = np.isfinite(new) & (
            (self._relative(model, s.x, light) <= self.tol)
            | (promised <= max(self.tol, 10 * self.eps) * cost)
        )
        scale = np.maximum(length(x), length(s.x))
        steps = s.steps + accepted
        lost = ~np.isfinite(length(p)) | (accepted & (scale > reach)) | ~np.isfinite(cost)
        lost = lost | (~accepted & (s.damping > 1e40)) | ~np.isfinite(length(model.gradient))
        status = np.where(steps < self.maxiter, RUNNING, IN_TROUBLE)
        status = np.where(small, np.where(rounded, CONVERGED, IN_TROUBLE), status)
        status = np.where(ended, CONVERGED, np.where(lost, IN_TROUBLE, status))
        stays = ended | ~accepted
        eased = s.damping * np.maximum(0.1, 1.0 - (2.0 * gain - 1.0) ** 3)
        eased = np.where(good, np.maximum(eased, 1e-15), s.damping)
        gone = np.where(scale > 0, length(x - s.x) / np.where(scale > 0, scale, 1.0), 0.0)
        return FitState(
            np.where(stays, s.x, x),
            np.where(stays, s.r, r),
            np.where(accepted, eased, s.damping * s.growth),
            np.where(good, 2.0, np.where(accepted, s.growth, 2.0 * s.growth)),
            D,
            np.where(good, gain, 1.0),
            np.where(accepted, down, s.change),
            np.where(accepted, gone, s.step),
            accepted,
            steps,
            status,
        )

    def _settled(self, s: FitState, p: Any, promised: Any, cost: Any) -> Any:
        """Whether the next step, hardly damped, changes nothing that counts."""
        short = (s.steps > 0) & (s.gain >= 0.25)
        short = short & ((s.step <= 1e-3) | (s.change <= 1e-4 * (cost + s.change)))
        unchanged = (promised <= self.tol * cost) & (np.abs(p) <= self.tol * np.abs(s.x)).all()
        return short & (unchanged | (promised <= self.tol**2 * cost))

    def _relative(self, model: Model, x: Any, p: Any) -> Any:
        scale = length(model.norms * x)
        long = length(model.norms * p)
        return np.where(scale > 0, long / np.where(scale > 0, scale, 1.0), np.inf)

    def _along_the_curve(self, s: FitState, model: Model, p: Any, D: Any, minute: Any) -> Any:
        """The step, bent so that the residuals go straight, and whether it bends little enough."""
        near = minute | (self._relative(model, s.x, p) < np.cbrt(self.eps))
        change = (self.residuals(s.x + PROBE * p) - s.r) / PROBE
        curvature = (2 / PROBE) * (change - model.J @ p)
        bend = model.damped(s.damping, D, model.J.T @ curvature)
        fine = np.isfinite(length(curvature)) & (length(D * bend) <= BENT * length(D * p))
        return np.where(near, p, p + 0.5 * bend), near | fine
