"""Newton's method as a loop of a program: what `root` and `fixed_point` are once compiled.

The steps, the line search and the tests are those of `linad.solve.newton`, and the solution is that
of `root` outside of programs. Systems are solved by dense factors, or by GMRES as far as the
progress so far deserves (`linad.solve.newton_krylov`). Whatever goes wrong (a singular matrix, a
number that is not finite, no decrease, too many steps) stops the program; then Python runs the
solver itself, which goes on by other means or raises.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import jacobian, jvp, linearize
from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.linalg.iterative_inverses import RESTART
from linad.solve.compiled_krylov import gmres, length, squared
from linad.solve.compiled_linesearch import Trial, backtracked
from linad.solve.compiled_systems import scaled
from linad.solve.newton import BACKWARD, newton
from linad.solve.newton_krylov import ETA_MAX, GAMMA, newton_krylov
from linad.solve.step_systems import PRODUCTS
from linad.sweeps.assurances import assured

Residual = Callable[[Any], Any]
RUNNING, CONVERGED, IN_TROUBLE = 0, 1, 2

NEWTON = frozenset({"xtol", "ftol", "maxiter", "linear_solver"})
NEWTON_KRYLOV = frozenset({"xtol", "ftol", "maxiter", "preconditioner", "restart", "inner_maxiter"})


class RootState(NamedTuple):
    """A point on its way to a root."""

    x: Any
    r: Any
    size: Any  # the largest |F_i|
    worst: Any  # the largest |F_i| relative to its row, of the last step that told
    length: Any  # of the last step, relative to |x|
    steps: Any
    status: Any
    forcing: Any  # what a direction knows of the step before


class Direction(NamedTuple):
    """A Newton step."""

    p: Any
    eta: Any  # relative residual of its system; 0 where it is exact
    slope: Any  # of |F|²/2 along it
    sound: Any
    forcing: Any


class Dense:
    """Steps by the factors of a dense matrix."""

    first: Any = ()

    def __call__(self, F: Residual, s: RootState) -> Direction:
        system = scaled(jacobian(F)(s.x))
        p = -system.solve(s.r)
        return Direction(p, 0.0, -squared(s.r), system.sound & np.isfinite(squared(p)), ())


class Krylov:
    """Steps by GMRES, to a fixed relative residual.

    Parameters
    ----------
    rtol : float
    restart, most : int
        Vectors that are kept, and most products per step.
    """

    first: Any = ()

    def __init__(self, rtol: float, restart: int, most: int) -> None:
        self.rtol, self.restart, self.most = rtol, restart, most

    def __call__(self, F: Residual, s: RootState) -> Direction:
        return self._step(F, s, self.rtol)

    def _step(self, F: Residual, s: RootState, eta: Any, forcing: Any = ()) -> Direction:
        _, J = linearize(F, s.x)
        found = gmres(J.pushforward, -s.r, eta, self.restart, self.most)
        half = 0.5 * squared(s.r)
        # J p = -F - rest
        with_rest = s.r.real * found.rest.real + s.r.imag * found.rest.imag
        slope = -2.0 * half - np.sum(with_rest).astype(float)
        sound = (found.reached < 1.0 - 1e-8) & (slope < -1e-10 * half)
        return Direction(found.x, found.reached, slope, sound, forcing)


class Inexact(Krylov):
    """Steps by GMRES, each as far as the progress so far deserves; see
    `linad.solve.newton_krylov.Forcing`."""

    def __init__(
        self, eps: float, xtol: float | None, ftol: float | None, restart: int, most: int
    ) -> None:
        super().__init__(0.0, restart, most)
        self.eps, self.xtol, self.ftol = eps, xtol, ftol
        self.first = 0.5, 0.0  # the relative residual asked for, and |F| before; 0 for none

    def __call__(self, F: Residual, s: RootState) -> Direction:
        asked, before = s.forcing
        size = np.sqrt(squared(s.r))
        eta = self._next(size, asked, before, s.length)
        found = self._step(F, s, eta, (0.0, size))
        reached = np.maximum(found.eta, self.eps)
        return found._replace(eta=reached, forcing=(np.maximum(eta, found.eta), size))

    def _next(self, size: Any, asked: Any, before: Any, step: Any) -> Any:
        known = before > 0
        share = size / np.where(known, before, 1.0)
        safeguard = GAMMA * asked * asked
        chosen = GAMMA * share * share
        chosen = np.where(safeguard > 0.1, np.maximum(chosen, safeguard), chosen)
        eta = np.minimum(np.where(known, chosen, asked), ETA_MAX)
        if self.ftol:
            eta = np.maximum(eta, np.minimum(ETA_MAX, 0.5 * self.ftol / size))
        if self.xtol:
            tells = known & (step > 0)
            coming = np.where(tells, step * share, 1.0)
            enough = np.minimum(ETA_MAX, 0.5 * self.xtol / coming)
            eta = np.maximum(eta, np.where(tells, enough, 0.0))
        return np.maximum(eta, 4 * self.eps)


def root_of(
    residual: Callable[[Any, Any], Any],
    direction: Callable[[Residual, RootState], Direction],
    *,
    eps: float,
    xtol: float | None,
    ftol: float | None,
    maxiter: int,
) -> Callable[[Any, Any], Any]:
    """(x0, θ) -> x with residual(x, θ) = 0, which stops its program where it finds none."""

    def search(x0: Array, theta: Array) -> Any:
        newton = NewtonLoop(lambda x: residual(x, theta), direction, eps, xtol, ftol, maxiter)
        found = newton.run(x0)
        return assured(found.x, found.status == CONVERGED)

    return search


class NewtonLoop:
    """Newton's method on traced values; see `linad.solve.newton.RootSearch`."""

    def __init__(
        self,
        F: Residual,
        direction: Callable[[Residual, RootState], Direction],
        eps: float,
        xtol: float | None,
        ftol: float | None,
        maxiter: int,
    ) -> None:
        self.F, self.eps = F, eps
        self.direction: Any = direction
        self.xtol, self.ftol, self.maxiter = xtol, ftol, maxiter

    def run(self, x0: Array) -> RootState:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], x0.shape[0])
        self.signs = signs.astype(x0.dtype)
        r = self.F(x0)
        size = largest(r)
        small = self.eps**1.5 * size if self.ftol is None else self.ftol
        begun = RUNNING if self.maxiter else IN_TROUBLE
        status = np.where(size <= small, CONVERGED, begun)
        status = np.where(np.isfinite(size), status, IN_TROUBLE)
        start = RootState(x0, r, size, np.inf, 0.0, 0, status, self.direction.first)
        return while_loop(  # type: ignore[no-any-return]
            lambda s: s.status == RUNNING, lambda s: self._step(s, small), start
        )

    def _step(self, s: RootState, small: Array) -> RootState:
        x, r, eps = s.x, s.r, self.eps
        step = self.direction(self.F, s)
        p, eta = step.p.astype(x.dtype), step.eta
        half, long = 0.5 * squared(r), length(p)
        scale = length(x)
        relative = np.where(scale > 0, long / np.where(scale > 0, scale, 1), np.inf)
        within = (relative > 0) & np.isfinite(relative)
        smallest = np.where(within, np.minimum(1e-3, eps / np.where(within, relative, 1)), 1e-12)
        found = self._along(x, p, half, step.slope, smallest)
        accepted = found.alpha >= smallest
        alpha = np.where(accepted, found.alpha, 0.0)
        here = np.where(accepted, x + alpha.astype(x.dtype) * p, x)
        r = np.where(accepted, found.found, r)
        size = largest(r)
        with np.errstate(all="ignore"):
            own = np.abs(alpha * p) / np.abs(here)
        own = largest(np.where(np.isnan(own), 0.0, own))
        scale = np.maximum(length(here), scale)
        gone = np.where(scale > 0, alpha * long / np.where(scale > 0, scale, 1), 0)
        error = np.where(alpha == 1.0, gone * np.maximum(gone, eta), np.inf)
        worst, falls = s.worst, np.False_
        rows = np.abs(jvp(self.F, (here,), (self.signs * here,))[1])
        if self.xtol is not None:
            tells = (error <= self.xtol) & (own > 10 * np.sqrt(max(eps, self.xtol)))
            worst, falls = self._row_by_row(s, r, rows, tells)
        done = size <= small
        stuck = np.False_
        if self.xtol is not None:
            done = done | ((error <= self.xtol) & ~falls)
            near = relative * np.maximum(relative, eta) <= self.xtol
            stuck = ((size <= BACKWARD * eps * largest(rows)) | near) & found.finite
        sound = step.sound & np.isfinite(long) & np.isfinite(scale) & np.isfinite(half)
        more = np.where(s.steps + 1 < self.maxiter, RUNNING, IN_TROUBLE)
        after = np.where(accepted, np.where(done, CONVERGED, more), np.where(stuck, 1, 2))
        status = np.where(sound, after, IN_TROUBLE)
        return RootState(here, r, size, worst, gone, s.steps + 1, status, step.forcing)

    def _row_by_row(self, s: RootState, r: Array, rows: Array, tells: Array) -> tuple[Any, Any]:
        """The worst equation, and whether it is far from holding and comes closer."""
        assert self.xtol is not None
        held = np.abs(r) <= 1e3 * max(self.eps, self.xtol) * rows
        some = rows > 0
        share = np.where(some, np.abs(r) / np.where(some, rows, 1.0), np.inf)
        worst = largest(np.where(held, 0.0, share))
        falls = tells & (worst > 0) & (worst < 0.5 * s.worst)
        return np.where(tells, worst, s.worst), falls

    def _along(self, x: Any, p: Any, half: Any, slope: Any, smallest: Any) -> Trial:
        def phi(alpha: Array) -> tuple[Any, Any]:
            r = self.F(x + alpha.astype(x.dtype) * p)
            return 0.5 * squared(r), r

        return backtracked(phi, half, slope, smallest)


def largest(r: Array) -> Any:
    return np.max(np.abs(r)).astype(float)


def options_of(
    solver: Any, one: Callable[..., Any], known: frozenset[str], given: dict[str, Any]
) -> dict[str, Any] | None:
    """The options that the loop of one solver knows, with the solver's own defaults; None if it
    is another solver, or is given other options."""
    if solver is not one or not given.keys() <= known:
        return None
    parameters = inspect.signature(solver).parameters
    return {name: parameters[name].default for name in known} | given


def loop_of(solver: Any, options: dict[str, Any]) -> Any:
    """What a solver with these options is in a program, if that is known; see
    `linad.solve.implicit.ImplicitEquation`."""
    for one, known, loop in (
        (newton, NEWTON, _newton_loop),
        (newton_krylov, NEWTON_KRYLOV, _newton_krylov_loop),
    ):
        chosen = options_of(solver, one, known, options)
        if chosen is not None:
            return functools.partial(loop, **chosen)
    return None


Loop = Callable[[Any, Any], Any]


def _newton_loop(
    equation: Any,
    *,
    linear_solver: str,
    xtol: float | None,
    ftol: float | None,
    maxiter: int,
) -> Loop | None:
    kind, eps = equation.kind_of_system(linear_solver), equation.eps
    if kind == "dense":
        direction: Any = Dense()
    elif kind == "krylov":
        direction = Krylov(max(1e-10, 10 * eps), RESTART, PRODUCTS)
    else:
        return None
    xtol = _tolerance(xtol, ftol, eps)
    return root_of(equation.residual, direction, eps=eps, xtol=xtol, ftol=ftol, maxiter=maxiter)


def _newton_krylov_loop(
    equation: Any,
    *,
    xtol: float | None,
    ftol: float | None,
    maxiter: int,
    preconditioner: Any,
    restart: int,
    inner_maxiter: int,
) -> Loop | None:
    plain = preconditioner is None or (
        isinstance(preconditioner, str)
        and preconditioner == "auto"
        and equation.kind_of_system("auto") in ("dense", "krylov")
    )
    eps = equation.eps
    xtol = _tolerance(xtol, ftol, eps)
    if not plain:
        return None
    direction = Inexact(eps, xtol, ftol, restart, inner_maxiter)
    return root_of(equation.residual, direction, eps=eps, xtol=xtol, ftol=ftol, maxiter=maxiter)


def _tolerance(xtol: float | None, ftol: float | None, eps: float) -> float | None:
    return 8 * eps if xtol is None and ftol is None else xtol
