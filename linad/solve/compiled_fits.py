"""Least-squares fits as loops of a program: what the methods of `linad.solve.fits.Fit`
share.

Steps and tests are those of the solvers with a dense Jacobian, but for one thing: a damped system
is solved by the normal equations of scaled columns,

    (S J^H J S + λ S D² S) q = -S J^H r          p = S q, S = 1 / |columns of J|

A fit ends by a step that is damped by 1e-8, for which these are good enough. Whatever goes wrong (a
fit that does not end, or ends where the residuals have ceased to depend on an unknown) stops the
program; then Python runs the solver itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from linad.api.derivatives import jacobian
from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.solve.compiled_krylov import length, squared
from linad.solve.compiled_newton import CONVERGED, IN_TROUBLE, RUNNING, largest
from linad.solve.damped import least_norm
from linad.solve.fits import NOTHING, ROUNDED
from linad.solve.rounding import suspects

LIGHT = 1e-8


class FitState(NamedTuple):
    """A point on its way to a least-squares solution."""

    x: Any
    r: Any
    own: Any  # what the method keeps
    gain: Any  # of the last step, and what follows too
    change: Any  # of the cost
    step: Any  # its relative length
    fresh: Any  # whether no step from here has been tried
    steps: Any
    status: Any


class Model(NamedTuple):
    """The linear model at a point, in the unknowns that are free."""

    J: Any
    gradient: Any
    sizes: Any  # the norms of the columns
    norms: Any  # the same, 1 for 0
    free: Any  # which columns there are; of the others all entries are zero

    def damped(self, lam: Array, D: Array, right: Array) -> Any:
        """-(J^H J + λ D²)^-1 right."""
        S = 1.0 / self.norms
        scaled = self.J * S
        A = scaled.T @ scaled + np.diag((lam * (S * D) ** 2).astype(self.J.dtype))
        return -S * np.linalg.solve(A, (S * right)[:, None])[:, 0]

    def promise(self, p: Array, lam: Array, D: Array) -> Any:
        return 0.5 * squared(self.J @ p) + lam * squared(D * p)


class FitTrial(NamedTuple):
    """What a method proposes."""

    x: Any
    r: Any
    own: Any
    accepted: Any
    gain: Any
    ended: Any  # whether the model cannot be improved
    stuck: Any  # whether no step brings the cost down
    next_step: Any  # what the next one would be, hardly damped,
    promised: Any  # and would bring
    lost: Any  # whether a step cannot be found


class FitMethod(Protocol):
    """How steps are found."""

    def first(self, x0: Any) -> Any:
        """What it keeps at first."""
        ...

    def __call__(self, fit: "CompiledFit", s: FitState, model: Model, light: Any) -> FitTrial:
        """A step from a point; ``light`` is one that is hardly damped."""
        ...

    def keeps_all(self, fit: "CompiledFit", s: FitState, model: Model) -> Any:
        """Whether the residuals depend on all unknowns at the end, as they did."""
        ...


class CompiledFit:
    """See `linad.solve.fits.Fit`.

    Parameters
    ----------
    residuals : callable
    eps : float
    method : FitMethod
    tolerances : tuple
        ftol, xtol and gtol, as the solver is given them.
    maxiter : int
    exact : bool
        Whether a fit goes on until the next step changes each unknown by less than xtol of itself.
    loss : Loss, optional
    limits : tuple of Tracer, optional
        Lower and upper bounds, as vectors.
    """

    def __init__(
        self,
        residuals: Callable[[Any], Any],
        eps: float,
        method: FitMethod,
        tolerances: tuple[float | None, float | None, float | None],
        maxiter: int,
        exact: bool,
        loss: Any,
        limits: tuple[Any, Any] | None,
    ) -> None:
        self.residuals, self.eps, self.method = residuals, eps, method
        default = 1e-8 if eps < 1e-10 else 3e-4
        ftol, xtol, self.gtol = tolerances
        self.ftol = default if ftol is None else ftol
        self.xtol = default if xtol is None else xtol
        self.maxiter, self.exact, self.loss, self.limits = maxiter, exact, loss, limits

    def run(self, x0: Array) -> tuple[Any, Any]:
        """The last point, and whether the fit has ended well there."""
        r = self.residuals(x0)
        first = self.cost(r)
        model = self.model(x0, r)
        faint = self.eps**1.5 * largest(model.gradient)
        reach = (1.0 + length(x0)) / self.eps
        sound = np.isfinite(first) & (self.maxiter > 0)
        if self.limits is not None:
            lower, upper = self.limits
            sound = sound & ((lower <= x0) & (x0 <= upper)).all()
        start = FitState(
            x0,
            r,
            self.method.first(x0),
            1.0,
            first,
            np.inf,
            np.True_,
            0,
            np.where(sound, RUNNING, IN_TROUBLE),
        )
        s = while_loop(lambda s: s.status == RUNNING, lambda s: self._next(s, faint, reach), start)
        kept = self.method.keeps_all(self, s, self.model(s.x, s.r))
        kept = kept | (s.steps == 0)
        return s.x, (s.status == CONVERGED) & kept

    def cost(self, r: Array) -> Any:
        """Half the sum of squares, or of losses."""
        return 0.5 * squared(r) if self.loss is None else self.loss.cost(r)

    def noise(self, cost: Array) -> Any:
        """Rounding error of the cost."""
        return 1e3 * self.eps * cost

    def weighted(self, r: Array, change: Array) -> Any:
        """What a change of the residuals r is in the model."""
        return change if self.loss is None else self.loss.model(r)[0] * change

    def at(self, x: Array) -> Any:
        """The nearest point within the bounds."""
        return x if self.limits is None else np.clip(x, *self.limits)

    def model(self, x: Array, r: Array) -> Model:
        """The linear model at a point with residuals r."""
        J = jacobian(self.residuals)(x)
        if self.loss is not None:
            weights, r = self.loss.model(r)
            J = weights[:, None] * J
        gradient, free = J.T @ r, np.True_
        if self.limits is not None:
            lower, upper = self.limits
            held = ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
            free = ~(held | (lower == upper))
            J, gradient = np.where(free, J, 0.0), np.where(free, gradient, 0.0)
        sizes = np.sqrt(np.sum(J * J, axis=0))
        return Model(J, gradient, sizes, np.where(sizes > 0, sizes, 1.0), free)

    def response(self, s: FitState, model: Model) -> Any:
        """How the residuals respond to each unknown, and to relative changes of it."""
        norms = np.stack([model.sizes, model.sizes * np.abs(s.x)])
        cost = self.cost(s.r)
        return np.where(cost > 0, norms / np.sqrt(np.where(cost > 0, cost, 1.0)), np.inf)

    def relative(self, model: Model, x: Array, p: Array) -> Any:
        """The length of a step relative to x, each unknown weighted by its column of J."""
        scale, long = length(model.norms * x), length(model.norms * p)
        return np.where(scale > 0, long / np.where(scale > 0, scale, 1.0), np.inf)

    def shorter_gradient(self, x: Array, r: Array, model: Model) -> Any:
        """Whether the gradient at a point is clearly smaller than that of a model."""
        there = self.model(x, r).gradient
        return length(there / model.norms) < 0.9 * length(model.gradient / model.norms)

    def _next(self, s: FitState, faint: Array, reach: Array) -> FitState:
        """The next state: where a step is for the better, there."""
        model, cost = self.model(s.x, s.r), self.cost(s.r)
        light = model.damped(LIGHT, model.norms, model.gradient)
        promised = model.promise(light, LIGHT, model.norms)
        settled = (s.steps > 0) & self._settled(s, model, light, promised, cost)
        t = self.method(self, s, model, light)
        flat = self._is_flat(s, model, light, promised, cost, faint)
        ended = (s.fresh & (flat | settled)) | t.ended
        new = self.cost(t.r)
        rounded = np.isfinite(new) & (
            (self.relative(model, s.x, t.next_step) <= self.xtol)
            | (t.promised <= max(self.ftol, 10 * self.eps) * cost)
        )
        scale = np.maximum(length(t.x), length(s.x))
        steps = s.steps + t.accepted
        lost = t.lost | (t.accepted & (scale > reach)) | ~np.isfinite(cost)
        lost = lost | ~np.isfinite(length(model.gradient))
        faded = (model.J != 0).any(axis=0) & (model.sizes <= least_norm(s.x.dtype))
        lost = lost | (s.fresh & (faded | suspects(model.sizes, s.x, self.eps)).any())
        status = np.where(steps < self.maxiter, RUNNING, IN_TROUBLE)
        status = np.where(t.stuck, np.where(rounded, CONVERGED, IN_TROUBLE), status)
        status = np.where(ended, CONVERGED, np.where(lost, IN_TROUBLE, status))
        accepted = t.accepted & ~ended
        gone = np.where(scale > 0, length(t.x - s.x) / np.where(scale > 0, scale, 1.0), 0.0)
        return FitState(
            np.where(accepted, t.x, s.x),
            np.where(accepted, t.r, s.r),
            t.own,
            t.gain,
            np.where(t.accepted, cost - new, s.change),
            np.where(t.accepted, gone, s.step),
            t.accepted,
            steps,
            status,
        )

    def _is_flat(
        self, s: FitState, model: Model, p: Array, promised: Array, cost: Array, faint: Array
    ) -> Any:
        """Whether the gradient is as small as gtol; see `linad.solve.fits.Fit`."""
        gradient = largest(model.gradient)
        if self.gtol is not None:
            return gradient <= self.gtol
        size = np.sqrt(2.0 * cost)
        cosine = largest(model.gradient / model.norms) <= np.sqrt(self.eps) * size
        vanish = cost <= max(NOTHING, float(np.finfo(s.x.dtype).tiny))
        vanish = vanish | (size <= ROUNDED * self.eps * length(model.sizes * s.x))
        small = cosine | vanish | self._unmoved(s, p, promised, cost)
        return (gradient <= faint) & small

    def _unmoved(self, s: FitState, p: Array, promised: Array, cost: Array) -> Any:
        """Whether the next step, hardly damped, would change any unknown by very little."""
        unchanged = (promised <= self.xtol * cost) & (np.abs(p) <= self.xtol * np.abs(s.x)).all()
        return unchanged | (promised <= self.xtol**2 * cost)

    def _settled(self, s: FitState, model: Model, p: Array, promised: Array, cost: Array) -> Any:
        """Whether the next step, hardly damped, changes nothing that counts."""
        before, told = cost + s.change, s.gain >= 0.25
        if self.exact:
            short = told & ((s.step <= 1e-3) | (s.change <= 1e-4 * before))
            return short & self._unmoved(s, p, promised, cost)
        relative = self.relative(model, s.x, p)

        def within(tolerance: float) -> Any:
            few = promised <= 10 * tolerance * cost + self.noise(cost)
            return few | (relative <= 10 * tolerance)

        by_cost = np.False_
        if self.ftol:
            by_cost = (s.change <= self.ftol * before) & within(self.ftol)
        return told & (by_cost | ((s.step <= self.xtol) & within(self.xtol)))
