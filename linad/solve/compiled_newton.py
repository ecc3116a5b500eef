"""Newton's method as a loop of a program: what `root` and `fixed_point` are once compiled.

The steps, the line search and the tests are those of `linad.solve.newton` with dense systems, and
the solution is that of `root` outside of programs. Whatever goes wrong (a singular matrix, a
number that is not finite, no decrease, too many steps) stops the program; then Python runs the
solver itself, which goes on by other means or raises.

A system A p = b is solved with rows and columns scaled, A' = R A C, and refused as
`linad.operators.factors.DenseLU` refuses it:

    1 / (|A'|_1 |A'^-1|_1) < eps          p = C A'^-1 R b
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import jacobian, jvp
from linad.control.bodies import BodyTrace, tape_of
from linad.control.control_primitive import ControlPrimitive, uncompiled
from linad.control.deciding import while_loop
from linad.core.compiler_lock import compiling
from linad.core.tape import Tape, guard, needed, raises, unchanged
from linad.errors import LinadError
from linad.linalg.linear_systems import SMALL
from linad.solve.linesearch import DECREASE, SHRINK
from linad.solve.newton import BACKWARD, newton
from linad.sweeps.assurances import assured
from linad.sweeps.instructions import Fallback
from linad.sweeps.lower import Lowering
from linad.sweeps.program import simplified
from linad.transforms.record import node_of

Residual = Callable[[Any], Any]
OPTIONS = frozenset({"xtol", "ftol", "maxiter"})
RUNNING, CONVERGED, IN_TROUBLE = 0, 1, 2


def as_tape(name: str, f: Callable[..., Any], example: list[Any]) -> Tape | None:
    """What a function of arrays computes, as a program without Python in it.

    None where there is none: it decides on values in Python, or NumPy has to run a part of it.
    """
    with compiling:
        from linad.sweeps.cpu.target import CPU  # it imports Numba

    recorder = BodyTrace()
    ins = [recorder.input(v) for v in example]
    try:
        with np.errstate(all="ignore"), uncompiled(), recorder:
            output = node_of(recorder, f(*ins))
    except (LinadError, np.linalg.LinAlgError):
        return None
    inputs = [t._node for t in ins]
    tape = tape_of(name, inputs, needed(recorder.equations, [output]), [output])
    if _decides(tape):
        return None
    lowering = Lowering(simplified(tape), CPU)
    return None if any(isinstance(i, Fallback) for i in lowering.instructions) else tape


def _decides(tape: Tape) -> bool:
    """Whether Python decides on values that the program computes."""
    for eqn in tape.equations:
        owner = eqn.primitive
        if owner in (guard, unchanged, raises):
            return True
        if isinstance(owner, ControlPrimitive) and any(_decides(b.tape) for b in owner.parts):
            return True
    return False


# Linear systems.


class ScaledSystem(NamedTuple):
    """A matrix with its rows and columns scaled, and whether it can be solved with."""

    matrix: Any
    rows: Any
    columns: Any
    sound: Any

    def solve(self, b: Any) -> Any:
        """A^-1 b, for vectors b (..., n)."""
        if self.matrix.shape == (1, 1):
            return b / self.matrix[0, 0]
        z = np.linalg.solve(self.matrix, (self.rows * b)[..., None])[..., 0]
        return self.columns * z


def _scales(sizes: Any) -> Any:
    """Powers of two near the sizes; 1 for zero."""
    return np.exp2(-np.rint(np.log2(np.where(sizes > 0, sizes, 1.0))))


def scaled(A: Any) -> ScaledSystem:
    """A matrix (n, n), ready to be solved with."""
    n = A.shape[0]
    if n == 1:
        return ScaledSystem(A, 1.0, 1.0, np.isfinite(A[0, 0]) & (A[0, 0] != 0))
    rows = _scales(np.max(np.abs(A), axis=1))
    A = rows[:, None] * A
    columns = _scales(np.max(np.abs(A), axis=0))
    A = A * columns
    inverse = np.linalg.inv(A)
    norms = np.max(np.sum(np.abs(A), axis=0)) * np.max(np.sum(np.abs(inverse), axis=0))
    return ScaledSystem(A, rows, columns, norms * np.finfo(A.dtype).eps <= 1.0)


def solved_with(matrix: Callable[..., Any], adjoint: bool) -> Callable[..., Any]:
    """(t, x, θ) -> A^-1 t, or A^-H t, with A = matrix(x, θ) and vectors t (..., n)."""

    def solve(t: Any, x: Any, theta: Any) -> Any:
        A = matrix(x, theta)
        system = scaled(np.conj(A.T) if adjoint else A)
        return assured(system.solve(t), system.sound)

    return solve


# Roots.


class Search(NamedTuple):
    """A point on its way to a root."""

    x: Any
    r: Any
    size: Any  # the largest |F_i|
    worst: Any  # the largest |F_i| relative to its row, of the last step that told
    steps: Any
    status: Any


class Trial(NamedTuple):
    """A search along a direction."""

    alpha: Any
    r: Any
    value: Any  # |F|²/2
    beta: Any  # the trial before, and its value; 0 for none
    last: Any
    finite: Any  # whether any trial was


def root_of(
    residual: Callable[[Any, Any], Any],
    *,
    eps: float,
    xtol: float | None = None,
    ftol: float | None = None,
    maxiter: int = 50,
) -> Callable[[Any, Any], Any]:
    """(x0, θ) -> x with residual(x, θ) = 0, which stops its program where it finds none."""
    xtol = xtol if xtol is not None else (8 * eps if ftol is None else None)

    def search(x0: Any, theta: Any) -> Any:
        newton = NewtonLoop(lambda x: residual(x, theta), eps, xtol, ftol, maxiter)
        found = newton.run(x0)
        return assured(found.x, found.status == CONVERGED)

    return search


class NewtonLoop:
    """Newton's method on traced values, for real vectors; see `linad.solve.newton.RootSearch`."""

    def __init__(
        self, F: Residual, eps: float, xtol: float | None, ftol: float | None, maxiter: int
    ) -> None:
        self.F, self.eps, self.xtol, self.ftol, self.maxiter = F, eps, xtol, ftol, maxiter

    def run(self, x0: Any) -> Search:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], x0.shape[0])
        self.signs = signs.astype(x0.dtype)
        r = self.F(x0)
        size = _largest(r)
        small = self.eps**1.5 * size if self.ftol is None else self.ftol
        status = np.where(np.isfinite(size), np.where(size <= small, CONVERGED, RUNNING), 2)
        start = Search(x0, r, size, np.inf, 0, status)
        return while_loop(  # type: ignore[no-any-return]
            lambda s: s.status == RUNNING, lambda s: self._step(s, small), start
        )

    def _step(self, s: Search, small: Any) -> Search:
        x, r, eps = s.x, s.r, self.eps
        A = jacobian(self.F)(x)
        system = scaled(A)
        p = -system.solve(r)
        half = 0.5 * _squared(r)
        scale = np.sqrt(_squared(x))
        relative = np.where(scale > 0, np.sqrt(_squared(p)) / np.where(scale > 0, scale, 1), np.inf)
        within = (relative > 0) & np.isfinite(relative)
        smallest = np.where(within, np.minimum(1e-3, eps / np.where(within, relative, 1)), 1e-12)
        found = self._along(x, p, half, smallest)
        accepted = found.alpha >= smallest
        alpha = np.where(accepted, found.alpha, 0.0)
        here = np.where(accepted, x + alpha.astype(x.dtype) * p, x)
        r = np.where(accepted, found.r, r)
        size = _largest(r)
        with np.errstate(all="ignore"):
            own = np.abs(alpha * p) / np.abs(here)
        own = _largest(np.where(np.isnan(own), 0.0, own))
        scale = np.maximum(np.sqrt(_squared(here)), scale)
        step = np.where(scale > 0, alpha * np.sqrt(_squared(p)) / np.where(scale > 0, scale, 1), 0)
        error = np.where(alpha == 1.0, step * step, np.inf)
        worst, falls = s.worst, np.False_
        rows = np.abs(jvp(self.F, (here,), (self.signs * here,))[1])
        if self.xtol is not None:
            tells = (error <= self.xtol) & (own > 10 * np.sqrt(max(eps, self.xtol)))
            worst, falls = self._row_by_row(s, r, rows, tells)
        done = size <= small
        stuck = np.False_
        if self.xtol is not None:
            done = done | ((error <= self.xtol) & ~falls)
            stuck = (size <= BACKWARD * eps * _largest(rows)) | (relative * relative <= self.xtol)
            stuck = stuck & found.finite
        sound = system.sound & np.isfinite(_squared(p)) & np.isfinite(scale) & np.isfinite(half)
        more = np.where(s.steps + 1 < self.maxiter, RUNNING, IN_TROUBLE)
        after = np.where(accepted, np.where(done, CONVERGED, more), np.where(stuck, 1, 2))
        status = np.where(sound, after, IN_TROUBLE)
        return Search(here, r, size, worst, s.steps + 1, status)

    def _row_by_row(self, s: Search, r: Any, rows: Any, tells: Any) -> tuple[Any, Any]:
        """The worst equation, and whether it is far from holding and comes closer."""
        assert self.xtol is not None
        held = np.abs(r) <= 1e3 * max(self.eps, self.xtol) * rows
        some = rows > 0
        share = np.where(some, np.abs(r) / np.where(some, rows, 1.0), np.inf)
        worst = _largest(np.where(held, 0.0, share))
        falls = tells & (worst > 0) & (worst < 0.5 * s.worst)
        return np.where(tells, worst, s.worst), falls

    def _along(self, x: Any, p: Any, half: Any, smallest: Any) -> Trial:
        """Backtracking from the full step, as `linad.solve.linesearch.backtrack`."""
        slope = -2.0 * half

        def trial(alpha: Any, beta: Any, last: Any, finite: Any) -> Trial:
            r = self.F(x + alpha.astype(x.dtype) * p)
            value = 0.5 * _squared(r)
            value = np.where(np.isfinite(value), value, np.inf)
            return Trial(alpha, r, value, beta, last, finite | np.isfinite(value))

        def goes_on(t: Trial) -> Any:
            return (t.alpha >= smallest) & ~(t.value <= half + DECREASE * t.alpha * slope)

        def shorter(t: Trial) -> Trial:
            known = np.isfinite(t.value)
            following = _minimiser(t.alpha, t.value, half, slope, t.beta, t.last)
            following = np.clip(following, SHRINK * t.alpha, 0.5 * t.alpha)
            alpha = np.where(known, following, SHRINK * t.alpha)
            beta, last = np.where(known, t.alpha, 0.0), np.where(known, t.value, 0.0)
            return trial(alpha, beta, last, t.finite)

        return while_loop(  # type: ignore[no-any-return]
            goes_on, shorter, trial(np.float64(1.0), 0.0, 0.0, np.False_)
        )


def _minimiser(alpha: Any, value: Any, half: Any, slope: Any, beta: Any, last: Any) -> Any:
    """Where the parabola, or the cubic, through what is known has its minimum."""
    r, s = value - half - slope * alpha, last - half - slope * beta
    parabola = -slope * alpha**2 / (2.0 * r)
    first = beta == 0.0
    b0 = np.where(first, 0.5 * alpha, beta)
    a = (r / alpha**2 - s / b0**2) / (alpha - b0)
    b = (-b0 * r / alpha**2 + alpha * s / b0**2) / (alpha - b0)
    inside = b * b - 3.0 * a * slope
    flat = first | (a == 0.0) | (inside < 0.0)
    cubic = (-b + np.sqrt(np.where(flat, 1.0, inside))) / (3.0 * np.where(flat, 1.0, a))
    return np.where(flat, parabola, cubic)


def _largest(r: Any) -> Any:
    return np.max(np.abs(r)).astype(float)


def _squared(r: Any) -> Any:
    return np.sum(r * r).astype(float)


def fits(x0: Any, linear_solver: str) -> bool:
    """Whether the systems in x are real, and dense for `linad.solve.step_systems.choose`."""
    n = sum([slot.size for slot in x0.slots])
    return x0.dtype.kind == "f" and 0 < n <= SMALL and linear_solver in ("auto", "dense")


def loop_of(solver: Any, options: dict[str, Any]) -> Callable[[Any, Any], Any] | None:
    """What a solver with these options is in a program, as
    `linad.solve.implicit.ImplicitEquation` takes it, if it is known."""
    if solver is not newton or not options.keys() <= OPTIONS:
        return None

    def loop(residual: Any, x0: Any) -> Any:
        eps = float(max(np.finfo(slot.dtype).eps for slot in x0.slots))
        return root_of(residual, eps=eps, **options)

    return loop
