"""A least-squares fit on its way: the point, the model of the residuals there, and when it ends.

What Gauss-Newton and Levenberg-Marquardt share; their steps are in `linad.solve.least_squares`.
"""

import copy
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.core.shapes import name_of
from linad.errors import DTypeError, ShapeError
from linad.solve.bounds import Box, as_box
from linad.solve.damped import Factory, FreeSteps, light_step, promise
from linad.solve.losses import Loss
from linad.solve.lost_labels import of_labels
from linad.solve.newton import largest, squared
from linad.solve.no_progress import disagrees, follows, why_stuck
from linad.solve.problems import Residual, quiet
from linad.solve.read_data import words_of_nan
from linad.solve.real_parts import RealParts
from linad.solve.rounding import without_rounding
from linad.solve.saturated import replacements, without_overflow, words_of_kinks
from linad.solve.shaken import shaken_data, shaken_function, shaken_numbers
from linad.solve.status import Monitor, Status, Stop
from linad.solve.turned import faded_columns, left_to_gain, steps_of_others
from linad.solve.waiting import Waiting


def as_accurate(promise: float, cost: float) -> str:
    """That a fit has ended at what rounding in f, or a tolerance in it, leaves visible."""
    return f"as far as f is accurate: the next step promises {promise:.1e} of {cost:.6g}"


ROUNDED = 1e3
"""Times eps: residuals smaller than that, beside what the unknowns make of them, are rounding."""


NOTHING = 1e-100
"""A cost, of residuals of 1e-50, that is none in any unit."""


LOOK = 40
"""Steps after which the residuals are compared with their derivatives: most fits have ended."""

SHORT = 1e-4
"""The part of the residuals that a step is to change to tell whether it does."""


class Fit:
    """A point on its way to a least-squares solution: what both methods share."""

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        tolerances: tuple[float | None, float | None, float | None],
        maxiter: int,
        linear_solver: str,
        bounds: tuple[Any, ...] | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.problem = problem = Residual(f, x0, args, name)
        if problem.x.dtype.kind == "c":
            raise DTypeError(
                f"{name}: x0 is complex; fit its real and imaginary parts, as two arrays"
            )
        problem.f = self.parts = RealParts(f)
        self.box: Box | None = as_box(name, bounds, problem.x)
        self.loss = loss
        self.maxiter = maxiter
        self.eps = problem.x.eps
        default = 1e-8 if self.eps < 1e-10 else 3e-4
        ftol, xtol, gtol = tolerances
        self.exact = name == "levenberg_marquardt" and ftol is None and xtol is None
        self.ftol = default if ftol is None else ftol
        self.xtol = default if xtol is None else xtol
        self.x = problem.x.start
        # A factor of exp(-k t), for t in years of a calendar, is some 1e17: no end at 1 / eps.
        self.reach = (1.0 + float(np.linalg.norm(self.x))) / self.eps**2
        self.lam, self.growth, self.first_lam = 0.0, 2.0, 0.0
        self.D: Any = None
        self.seen: Any = 0.0
        self.weights: Any = None
        self.rounding: Any = np.zeros(self.x.shape, bool)
        self.turned: Any = np.zeros(self.x.shape, bool)
        self.saturated: Any = np.zeros((0, 0))
        self.kinks: Any = np.zeros(0, bool)
        self.memory = True
        self.nit = self.told = self.taken = 0
        self.step = self.gain = self.moved = np.nan
        self.refused = self.strange = self.unlike = 0
        self.is_last = False  # begun in another way it would only take as long again
        self.factory = Factory(linear_solver)
        self.trials = problem.limit_trials()
        self.r, self.J = problem.linearize(self.x)
        self.trials.accept()
        called = problem.waiting.name  # by the user: `fit` calls a solver
        if not self.r.size:
            raise ShapeError(f"{called}: {name_of(f)} returned no numbers")
        if self.x.size > 1 and problem.returns_number:
            raise ShapeError(
                f"{called}: expected residuals (an array), got one number from {name_of(f)} for "
                f"{self.x.size} unknowns; return r, not np.sum(r**2), or minimise what is not a "
                f"sum of squares by linad.solve.trust_region, lbfgs or newton_cg"
            )
        self.cost = self.cost_of(self.r)
        self.gradient: Any = np.full(self.x.shape, np.nan)
        self.steps: Any = None
        self.gtol, self.faint = gtol, np.nan

    def cost_of(self, r: Array) -> float:
        """Half the sum of squares, or of losses."""
        if self.loss is None:
            return 0.5 * squared(r)
        return self.loss.cost(r)

    def run(self, step: Callable[["Fit"], float], monitor: Monitor) -> Stop:
        """Take steps until something ends it."""
        before = self.cost
        try:
            if not np.isfinite(self.cost):
                raise Stop(Status.NOT_FINITE, self._not_finite())
            while True:
                with quiet():
                    self._prepare()
                if self.nit > self.told:
                    self.told = self.nit
                    monitor.report(
                        self.fields, cost=self.cost, optimality=self.optimality, step=self.step
                    )
                    with quiet():
                        self._check(before, self.step)
                        self._look_at_derivatives()
                if self.nit >= self.maxiter:
                    raise self.out_of_steps()
                before = self.cost
                with quiet():
                    self.step = step(self)
                self.nit += 1
        except Stop as stop:
            if stop.status is Status.CONVERGED and self.kinks.any():
                return Stop(Status.NOT_FINITE, words_of_kinks(self.kinks))
            words = self.trials.told()
            if stop.status is Status.CONVERGED or not words:
                return stop.kept()
            return Stop(stop.status, f"{stop.detail}; {words}" if stop.detail else words)

    def out_of_steps(self) -> Stop:
        """That no more steps are allowed, with those of all tries."""
        steps = self.taken + self.nit
        words = f"{steps} steps, cost {self.cost:.6g}; start nearer, or allow more by maxiter"
        return Stop(Status.MAXITER, words)

    def _not_finite(self) -> str:
        """Where the residuals at x0 are not numbers."""
        bad = np.flatnonzero(~np.isfinite(self.r))
        if not bad.size:
            return "in f(x0): the sum of squares overflows; start nearer"
        came = f"in f(x0): {bad.size} of {self.r.size} residuals, first that of index {bad[0]}"
        said = of_labels(self.problem, self.x)
        waiting = self.problem.waiting
        args = (*self.problem.args, *getattr(waiting.run, "args", ()))
        read = "" if said else words_of_nan(waiting.given, args)
        return came + (said or f"; {read or 'start elsewhere, or leave such points out'}")

    def _prepare(self) -> None:
        """The model at the point."""
        try:
            r = self.r
            if self.loss is not None:
                self.weights, r = self.loss.model(r)
            free = self._free if self.box else None
            self.steps = self.factory(self.J, r, self.weights, free, self._cleaned)
        except np.linalg.LinAlgError as error:
            raise Stop(Status.NOT_FINITE, f"in the Jacobian: {error}") from error
        self.gradient = self.steps.gradient
        if not np.isfinite(self.gradient).all():
            raise Stop(Status.NOT_FINITE, "in the gradient, whose sums overflow; start nearer")
        if np.isnan(self.faint):
            self.faint = self.eps**1.5 * self.optimality
        if self._is_flat():
            raise Stop(Status.CONVERGED, f"the largest |gradient| is {self.optimality:.1e}")

    def _is_flat(self) -> bool:
        """Whether the gradient is as small as gtol; by default, as none.

        A gradient may be small beside that of the start because the start was far too large. So
        it has to be small at the point as well: no column may point along the residuals, or the
        next step must be small, or there are no residuals left.
        """
        if self.gtol is not None:
            return self.optimality <= self.gtol
        if self.optimality > self.faint:
            return False
        return self.cosine <= np.sqrt(self.eps) or self._vanish() or bool(self._exact())

    @property
    def cosine(self) -> float:
        """The largest between the residuals and a column, which has no unit."""
        norms = np.asarray(self.steps.column_norms, float)
        slope = np.abs(self.gradient) / np.where(norms > 0, norms, 1.0)
        size = np.sqrt(2 * self.cost)
        return largest(slope) / size if size > 0 else 0.0

    def _cleaned(self, matrix: Array) -> Any:
        """The Jacobian without columns that are rounding errors, or entries of 0 times infinity."""
        given, value = (self.x, self.r), self.problem.value
        self.saturated, self.kinks = replacements(matrix, *given, value)
        matrix = without_overflow(matrix, self.saturated)
        if np.isfinite(matrix).all():
            matrix, self.rounding = without_rounding(
                matrix, *given, value, self.eps, self._shaken
            )
        return matrix

    def _shaken(self) -> Any:
        """The residuals and their matrix where the last digits of data and unknowns are changed;
        None where the function takes no such data."""
        given, problem = self.parts.f, copy.copy(self.problem)
        run, problem.trials = given.run if isinstance(given, Waiting) else given, None
        for whole in (True, False):
            with Attempt(Exception):
                problem.f = RealParts(shaken_function(run, whole))
                problem.args = shaken_data(self.problem.args, whole)
                r, J = problem.linearize(shaken_numbers(self.x))
                return r, np.asarray(J.todense())
        return None

    def slopes(self, x: Array, r: Array, J: Any) -> Any:
        """The gradient at another point."""
        g = J.H @ r
        if self.factory.kind != "dense" or np.isfinite(g).all():
            return g
        matrix = J.todense()
        replaced, _ = replacements(matrix, x, r, self.problem.value)
        return without_overflow(matrix, replaced).conj().T @ r

    def _free(self, gradient: Array) -> Any:
        """A mask of the unknowns that bounds do not hold."""
        assert self.box is not None
        return self.box.free(self.x, gradient)

    @property
    def noise(self) -> float:
        """Rounding error of the cost; residuals are often small differences of large numbers."""
        return 1e3 * self.eps * self.cost

    @property
    def insignificant(self) -> float:
        """What of the cost moves no unknown by more than a hundredth of its standard error."""
        return 1e-4 * self.cost / self.r.size

    @property
    def optimality(self) -> float:
        """The largest entry of the gradient."""
        return largest(self.gradient)

    def fields(self) -> dict[str, Any]:
        """What a result says of the point."""
        problem = self.problem
        found = {
            "x": problem.x.container(self.x),
            "fun": self.parts.joined(problem.result(self.r)),
            "cost": self.cost,
            "jac": self.J.bare,
            "grad": problem.x.container(self.gradient),
            "optimality": self.optimality,
            "nit": self.taken + self.nit,
            "rounding": self.rounding,
            "turned": self.turned,
            "saturated": self.saturated,
            "kinks": self.kinks,
            **problem.counted,
        }
        if self.lam:
            found["damping"] = self.lam
        return found

    def _check(self, before: float, step: float) -> None:
        change = before - self.cost
        dense = self.exact and self.factory.kind == "dense"
        if dense and change <= 1e3 * self.noise and (words := self.turns(self.xtol**2)):
            raise Stop(Status.CONVERGED, words)
        if dense and (words := self._inaccurate(change)):
            raise Stop(Status.CONVERGED, words)
        if dense and self.strange > 1 and self.moved <= self.xtol and change <= self.insignificant:
            self._stand_still()
        if self.gain < 0.25:  # the model is poor: a small step says nothing
            return
        if dense:
            if (step <= 1e-3 or change <= 1e-4 * before) and (words := self._exact()):
                raise Stop(Status.CONVERGED, words)
            return
        if self.ftol and change <= self.ftol * before and self._settled(self.ftol):
            raise Stop(Status.CONVERGED, f"the cost, {self.cost:.6g}, changed by {change:.1e}")
        if step <= self.xtol and self._settled(self.xtol):
            raise Stop(Status.CONVERGED, f"the last step was {step:.1e} of |x|")

    def _stand_still(self) -> NoReturn:
        """End a fit whose steps are refused until they move no unknown: derivatives promise more,
        and nothing is gained.
        """
        self.is_last = True
        why = why_stuck(self.problem, self.x, self.r, self.J, self.light_step()[1])
        raise Stop(Status.STAGNATED, f"{self.nit} steps, cost {self.cost:.6g}; {why}")

    def _look_at_derivatives(self) -> None:
        """End a long fit whose residuals do not change as their derivatives say, at two points."""
        if self.taken or self.nit not in (LOOK, LOOK + 1) or self.factory.kind != "dense":
            return
        p = self.light_step()[1]
        if np.linalg.norm(self.J @ p) <= SHORT * np.linalg.norm(self.r):
            return  # rounding may hide what so short a step changes
        self.unlike += not follows(self.problem, self.x, self.r, self.J, p)
        if self.unlike > 1:
            self.is_last = True
            words = (
                f"{self.nit} steps, cost {self.cost:.6g}; {disagrees(self.problem.waiting.called)}"
            )
            raise Stop(Status.STAGNATED, words)

    def _exact(self) -> str:
        """How little the next step, hardly damped, would change any unknown; "" where too much."""
        promise, p = self.light_step()
        if self._moves_none(promise, p, self.x):
            return f"the next step changes no unknown by more than {self.xtol:.0e} of itself"
        if promise <= self.xtol**2 * self.cost:
            return f"the next step brings {promise:.1e} of the cost {self.cost:.6g}"
        return ""

    def _moves_none(self, promise: float, p: Array, x: Array) -> bool:
        explained = promise <= self.xtol * self.cost  # the deviations have settled as well
        return explained and bool((np.abs(p) <= self.xtol * np.abs(x)).all())

    def turns(self, tolerance: float) -> str:
        """Whether the cost is least at unknowns that act by their square, as far as can be told,
        and the step of the others promises no more than a part of it: the words, or ""."""
        _, whole = self.light_step()
        faded = faded_columns(self, whole)
        # So few residuals could all be zero: one that is their sum is no fit.
        if not faded.any() or self.r.size <= self.x.size:
            return ""
        steps, moving = steps_of_others(self, faded)
        promise, p = light_step(steps)
        if not (promise <= tolerance * self.cost or self._moves_none(promise, p, self.x[moving])):
            return ""
        left = left_to_gain(self, faded, whole)
        if not left <= self.noise:
            return ""
        self.turned = faded
        return (
            f"the cost {self.cost:.6g} is least where residuals do not respond to first order to "
            f"{np.count_nonzero(faded)} of {faded.size} unknowns; there is {left:.1e} to gain"
        )

    def _inaccurate(self, change: float) -> str:
        """Whether f is not accurate enough for a better point: the words for that, or "".

        At the lowest point that can be told, steps are refused that should bring the cost down, or
        bring it down by far more than they should: two such steps, one behind the other, where no
        more is left to gain than what standard errors would not show.
        """
        self.strange = self.strange + 1 if self.refused >= 3 or self.gain > 4 else 0
        if self.strange < 2 or change > self.insignificant:
            return ""
        promise, _ = self.light_step()
        return as_accurate(promise, self.cost) if promise <= self.insignificant else ""

    def is_doubtful(self, stop: Stop) -> bool:
        """Whether a run ended where another one may come further."""
        if stop.status is Status.STOPPED or not self.nit or self.is_last:
            return False
        if stop.status is not Status.CONVERGED:
            return True
        if self.turned.any():
            return False
        now = self._response()
        lost = (np.isfinite(now) & (now <= 1e-8 * self.seen) & (self.seen > 0)).all(axis=0)
        if isinstance(self.steps, FreeSteps):
            lost &= self.steps.free
        return bool(lost.any())

    def look(self) -> Any:
        """The norms of the columns; the largest responses to the unknowns are kept."""
        self.seen = np.fmax(self.seen, self._response())
        return np.asarray(self.steps.column_norms, float)

    def _response(self) -> Any:
        """How the residuals respond to each unknown, and to relative changes of it, beside their
        own size: no less where they and the columns come down from a start that was far too
        large, and more on the way to residuals of zero."""
        norms = np.asarray(self.steps.column_norms, float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.stack([norms, norms * np.abs(self.x)]) / np.sqrt(self.cost)

    def _vanish(self) -> bool:
        """Whether the residuals are nothing, or rounding errors of what they are the difference
        of."""
        if self.cost <= max(NOTHING, np.finfo(self.x.dtype).tiny):
            return True
        reached = float(np.linalg.norm(np.asarray(self.steps.column_norms, float) * self.x))
        return bool(np.sqrt(2 * self.cost) <= ROUNDED * self.eps * reached)

    def _settled(self, tolerance: float) -> bool:
        """Whether the next step, hardly damped, would be no more than a tolerance allows.

        The last one may have been short because it was shortened, or because an unknown that
        is large, and of no account, makes |x| large.
        """
        promise, p = self.light_step()
        return (
            promise <= 10 * tolerance * self.cost + self.noise or self.relative(p) <= 10 * tolerance
        )

    def relative(self, p: Array) -> float:
        """The length of a step relative to x, each unknown weighted by its column of J."""
        norms = np.asarray(self.steps.column_norms, float)
        with quiet():
            length, scale = float(np.linalg.norm(norms * p)), float(np.linalg.norm(norms * self.x))
        return length / scale if scale else np.inf

    def move(self, x: Array, found: Any) -> float:
        """Go to a point, linearized there already or not; the relative length of the step."""
        length = float(np.linalg.norm(x - self.x))
        scale = max(float(np.linalg.norm(x)), float(np.linalg.norm(self.x)))
        self.moved = largest((x - self.x) / np.where(x != 0, x, 1.0))
        self.x = x
        self.r, self.J = found or self.problem.linearize(x)
        self.trials.accept()
        self.cost = self.cost_of(self.r)
        if scale > self.reach:
            words = (
                f"the cost, {self.cost:.6g}, still comes down at |x| = {scale:.1e}; where a model "
                f"has exp(k t) with t far from 0, as years, let it be of t - np.mean(t); bounds= "
                f"keep parameters from running away"
            )
            raise Stop(Status.UNBOUNDED, words)
        return length / scale if scale else 0.0

    def at(self, p: Array, alpha: float = 1.0) -> Any:
        """x + alpha p, no further than the bounds."""
        x = (self.x + alpha * p).astype(self.x.dtype, copy=False)
        return x if self.box is None else self.box.clip(x)

    def promise_of_cut(self, p: Array) -> float:
        """What the model promises of a step that bounds have cut."""
        return -float(self.gradient @ p) - 0.5 * self.steps.product(p)

    def promise(self, p: Array, lam: float, D: Array) -> float:
        """See `linad.solve.damped.promise`."""
        return promise(self.steps, p, lam, D)

    def light_step(self) -> tuple[float, Any]:
        """See `linad.solve.damped.light_step`."""
        return light_step(self.steps)


def cleaned_jacobian(result: Any) -> Any:
    """The matrix of a fit, without rounding errors, 0 times infinity, and columns that vanish."""
    with quiet():
        J = np.array(without_overflow(result.jac.todense(), result.saturated))
    J[:, result.rounding | result.turned] = 0.0
    return J
