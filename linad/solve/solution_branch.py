"""A branch of solutions on its way: steps along it, folds and crossings.

The method, and its sources, are in `linad.solve.continuation`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import args_of
from linad.core.shapes import name_of
from linad.errors import ConvergenceError, DTypeError, ShapeError, SingularError
from linad.operators.blocks import vstack
from linad.operators.factors import SparseLU
from linad.solve.bordered import ACCURATE, BorderedSystem, bordered_matrix, bordered_system
from linad.solve.newton import REUSED, largest
from linad.solve.problems import Residual, as_point
from linad.solve.status import Status, Stop, make_result
from linad.solve.step_systems import KeptFactors, choose, seen_through, system

FOLD_STEPS = 30

TURN = 0.866
"""Cosine of the largest angle between the tangents at both ends of a step."""

ASIDE, ASIDE_SOMEWHERE = 0.1, 0.25
"""How far a step may go beside the mean of its tangents, in its own length: in root mean square,
and in the largest entry, where a branch jumps in a few entries out of many."""

BISECTIONS = 20
"""Of a step within which the determinant changes its sign."""


class SolutionBranch:
    """A branch of solutions: the points found so far, and the tangent at the last."""

    def __init__(
        self,
        f: Callable[..., Any],
        x0: Any,
        parameter: float,
        args: tuple[Any, ...],
        ftol: float | None,
        linear_solver: str,
    ) -> None:
        start = (as_point(x0), float(parameter))
        extra = args_of(args)

        f = seen_through(f, linear_solver, x0)

        def of_both(z: tuple[Any, ...]) -> Any:
            return f(z[0], z[1], *extra)

        of_both.__name__ = name_of(f)
        self.problem = Bordered(of_both, start, (), "continuation")
        self.z = self.problem.x.start
        self.n = self.z.size - 1
        self.weights = np.full(self.z.size, 1.0 / max(self.n, 1), self.z.dtype)
        self.weights[-1] = 1.0
        self.ftol, self.linear_solver = ftol, linear_solver
        self.kept = KeptFactors()
        self.eps = self.problem.x.eps
        self.largest = self.predicted = 0.0
        self.points: list[Any] = []
        self.slopes: list[float] = []
        self.folds: list[Any] = []
        self.branch_points: list[Any] = []
        self.side = 0.0
        self.tangent: Array = np.zeros_like(self.z)
        self.tangent[-1] = 1.0
        self.steps = np.nan
        self.r: Any = None
        self.J: Any = None

    def start(self, direction: int) -> None:
        """Correct the first point at its parameter, and find the tangent there."""
        self.z, tangent, _ = self.correct(self.z, self.tangent)
        self.tangent = tangent if tangent[-1] * direction >= 0 else -tangent
        self.side = self._side(self.tangent)
        self._keep(self.z, self.tangent, self.predicted)

    def advance(
        self, step: float, min_step: float, max_step: float, bounds: tuple[float, float]
    ) -> float:
        """Go one step along the branch; returns the length of the next."""
        while True:
            try:
                z, t, count = self._next(step, bounds)
                at, predicted = (self.r, self.J), self.predicted
                self._check_arc(self.z, self.tangent, z, t)
                side = self._side(t)
                crossing = self._crossing(z, t) if side * self.side < 0 else None
            except Stop as stop:
                if stop.status is Status.STOPPED or step * 0.5 < min_step:
                    raise
                step *= 0.5
                continue
            break
        shortened = self.inner(z - self.z, self.tangent)
        self.steps = shortened
        if t[-1] * self.tangent[-1] < 0:
            self.folds.append(self._fold(shortened, t, crossing))
        if crossing is not None:
            self.branch_points.append(crossing)
        self.z, self.tangent = z, t
        self.side = side or self.side
        self.r, self.J = at
        self._keep(z, t, predicted)
        return min(max_step, 1.5 * step) if count <= 3 else step * (1.0 if count <= 5 else 0.6)

    def correct(self, z: Array, t: Array, exact: bool = False) -> tuple[Any, Any, int]:
        """Newton's method within the plane through ``z`` across ``t``, to rounding if ``exact`` and
        ``ftol`` is not given.

        Returns
        -------
        z, tangent, steps

        Raises
        ------
        Stop
            If it does not converge quickly.
        """
        z = z.astype(self.z.dtype, copy=False)
        row = (t * self.weights).astype(z.dtype)
        before = np.inf
        for count in range(9):
            self.r, self.J = self.problem.linearize(z)
            size = largest(self.r)
            if not np.isfinite(size):
                raise Stop(Status.NOT_FINITE, f"in f at parameter {z[-1]:.6g}")
            if count == 0:
                self.predicted = size
            small = size <= self._goal(exact) or self._negligible(before, z)
            try:
                unit = np.zeros(z.size, z.dtype)
                unit[-1] = 1.0
                if small:
                    tangent = self._solve(row, unit, ACCURATE).astype(z.dtype, copy=False)
                    tangent /= np.sqrt(self.inner(tangent, tangent))
                    return z, tangent, count
                p = self._solve(row, np.concatenate([-self.r, np.zeros(1, z.dtype)]), REUSED)
            except SingularError as error:
                raise Stop(Status.SINGULAR, f"at parameter {z[-1]:.6g}: {error}") from error
            except ConvergenceError as error:
                raise Stop(Status.LINEAR_SOLVER, str(error)) from error
            length = np.sqrt(self.inner(p, p))
            if not length <= 2.0 * before:
                break
            before = length
            z = (z + p).astype(z.dtype, copy=False)
        raise Stop(
            Status.STAGNATED,
            f"the correction at parameter {z[-1]:.6g} did not converge, the largest |F_i| is "
            f"{size:.1e}",
        )

    def inner(self, a: Array, b: Array) -> float:
        """The inner product that arclength is measured by."""
        return float(np.sum(self.weights * a * b))

    def _goal(self, exact: bool) -> float:
        if self.ftol is not None:
            return self.ftol
        if exact:
            return 0.0
        met = self.largest if self.points else self.predicted
        return float(np.sqrt(self.eps)) * met

    def _negligible(self, length: float, z: Array) -> bool:
        """Whether a step was so short that only rounding is left; so it is where a branch starts
        at a solution, and F has never been large."""
        return self.ftol is None and length <= np.sqrt(self.eps * self.inner(z, z))

    def _solve(self, row: Array, b: Array, rtol: float) -> Any:
        """Solve with the bordered Jacobian."""
        bordered = vstack([self.J, row[None, :]])
        rtol = max(rtol, 10 * self.eps)

        def make() -> Any:
            kind = choose(self.J, self.linear_solver)
            if kind == "sparse":
                return bordered_system(self.J.tosparse("csr"), row, b)
            return system(bordered, kind, max(1e-10, 10 * self.eps))

        return self.kept.solve(bordered, b, rtol, make)[0]

    def _next(self, step: float, bounds: tuple[float, float]) -> tuple[Any, Any, int]:
        """The point a step further, or where the branch meets a bound before."""
        z, t, count = self.correct(self.z + step * self.tangent, self.tangent)
        bound = float(np.clip(z[-1], *bounds))
        if bound == z[-1]:
            return z, t, count
        share = (bound - self.z[-1]) / (z[-1] - self.z[-1])
        z = self.z + share * (z - self.z)
        z[-1] = bound
        fixed = np.zeros_like(self.z)  # across the axis of the parameter
        fixed[-1] = 1.0
        z, t, count = self.correct(z, fixed)
        return z, t if self.inner(t, self.tangent) > 0 else -t, count

    def _check_arc(self, z: Array, t: Array, z1: Array, t1: Array) -> None:
        """Raise Stop unless a short arc of one branch could lead from z to z1.

        On an arc of a circle the chord is along the sum of the tangents at its ends. What is left
        across it is of third order in the length, but as large as the gap after a jump.
        """
        if self.inner(t, t1) < TURN:
            raise Stop(Status.STAGNATED, f"the branch turns sharply at parameter {z[-1]:.6g}")
        chord, along = z1 - z, t + t1
        across = chord - along * (self.inner(chord, along) / self.inner(along, along))
        noise = np.sqrt(self.eps)
        length, aside = np.sqrt(self.inner(chord, chord)), np.sqrt(self.inner(across, across))
        if aside > ASIDE * length + noise * np.sqrt(self.inner(z, z)) or largest(
            across
        ) > ASIDE_SOMEWHERE * largest(chord) + noise * largest(z):
            raise Stop(Status.STAGNATED, f"at parameter {z[-1]:.6g} steps end beside the branch")

    def _side(self, t: Array) -> float:
        """The sign of det [J; t] at the point that was corrected last; 0 where it is not known.

        Its factors are kept: they serve the next step.
        """
        kind = choose(self.J, self.linear_solver)
        row = t * self.weights
        if kind == "krylov":
            return 0.0
        if kind == "dense":
            return float(np.linalg.slogdet(np.vstack([self.J.todense(), row]))[0])
        whole = bordered_matrix(self.J.tosparse("csr"), row)
        try:
            made = BorderedSystem(whole)
        except SingularError:
            try:
                return SparseLU(whole, "the bordered Jacobian").sign()
            except SingularError:
                return 0.0
        self.kept.apply = made.apply
        return made.sign()

    def _crossing(self, z1: Array, t1: Array) -> Any:
        """The branch point between the last point and z1, by bisection.

        Raises
        ------
        Stop
            If z1 lies on another branch.
        """
        z, t = self.z, self.tangent
        # Where two branches cross, F is of third order in places, and says no more nearer to them.
        blurred = 10.0 * np.cbrt(self.eps) * np.sqrt(self.inner(z1, z1))
        for _ in range(BISECTIONS):
            step = 0.5 * self.inner(z1 - z, t)
            try:
                middle, t_middle, _ = self.correct(z + step * t, t, exact=True)
                if step > blurred:
                    self._check_arc(z, t, middle, t_middle)
                    self._check_arc(middle, t_middle, z1, t1)
            except Stop as stop:
                if stop.status is Status.STOPPED or step > blurred:
                    raise
                break  # at the branch point itself the system is singular
            side = self._side(t_middle)
            if side == 0.0:
                break
            if side == self.side:
                z, t = middle, t_middle
            else:
                z1, t1 = middle, t_middle
        x, parameter = self.problem.x.container(0.5 * (z + z1))
        return make_result(x=x, parameter=float(parameter), slope=float(t[-1]))

    def _fold(self, step: float, tangent: Array, crossing: Any) -> Any:
        """The fold between the last point and the next, by the secant method with bisection.

        At a branch point that is a fold as well, as of a pitchfork, the system is singular.
        """
        low, high = 0.0, step
        below, above = float(self.tangent[-1]), float(tangent[-1])
        z, t, side = self.z, self.tangent, 0
        for _ in range(FOLD_STEPS):
            middle = (low * above - high * below) / (above - below)
            try:
                z, t, _ = self.correct(self.z + middle * self.tangent, self.tangent, exact=True)
            except Stop as stop:
                if crossing is None or stop.status is Status.STOPPED:
                    raise
                return crossing
            slope = float(t[-1])
            # λ differs from that of the fold by about slope² times the radius of curvature.
            if slope**2 <= self.eps or high - low <= self.eps * step:
                break
            if slope * below > 0:
                low, below = middle, slope
                above = above * 0.5 if side == 1 else above  # the Illinois rule
                side = 1
            else:
                high, above = middle, slope
                below = below * 0.5 if side == -1 else below
                side = -1
        x, parameter = self.problem.x.container(z)
        return make_result(x=x, parameter=float(parameter), slope=float(t[-1]))

    def _keep(self, z: Array, tangent: Array, predicted: float) -> None:
        self.largest = max(self.largest, predicted)
        self.points.append(z)
        self.slopes.append(float(tangent[-1]))

    def check_end(self, bounds: tuple[float, float], folds: int | None, maxiter: int) -> None:
        """Raise Stop where the branch has been followed far enough."""
        parameter = float(self.z[-1])
        if folds is not None and len(self.folds) >= folds:
            at = ", ".join(f"{fold.parameter:.8g}" for fold in self.folds)
            raise Stop(Status.CONVERGED, f"{len(self.folds)} folds, at {at}")
        near = 1e-6 * max(1.0, abs(parameter))
        out = (self.slopes[-1] > 0 and parameter >= bounds[1] - near) or (
            self.slopes[-1] < 0 and parameter <= bounds[0] + near
        )
        if out:
            raise Stop(Status.CONVERGED, f"at the bound, parameter {parameter:.8g}")
        if len(self.points) >= maxiter:
            asked = folds is not None or np.isfinite(bounds).any()
            words = f"{len(self.points)} points, parameter {parameter:.8g}"
            raise Stop(Status.MAXITER if asked else Status.CONVERGED, words)

    def shown(self) -> dict[str, float]:
        """The columns that ``disp`` prints."""
        return {
            "parameter": float(self.z[-1]),
            "slope": self.slopes[-1],
            "step": float(self.steps),
        }

    def fields(self) -> dict[str, Any]:
        """What a result says of the branch."""
        container = self.problem.x.container
        x, parameter = container(self.z)
        return {
            "x": x,
            "parameter": float(parameter),
            "path": [container(z)[0] for z in self.points],
            "parameters": np.array([z[-1] for z in self.points]),
            "slopes": np.array(self.slopes),
            "folds": self.folds,
            "branch_points": self.branch_points,
            "fun": None if self.r is None else self.problem.result(self.r),
            "jac": None if self.J is None else self.J.bare,
            "nit": len(self.points),
            **self.problem.counted,
        }


class Bordered(Residual):
    """F of (x, λ): one equation fewer than unknowns."""

    def _check_sizes(self) -> None:
        assert self.out_slots is not None
        m, n = sum(slot.size for slot in self.out_slots), self.x.start.size - 1
        if m != n:
            raise ShapeError(
                f"{self.name}: {name_of(self.f)} must return {n} numbers for {n} unknowns beside "
                f"the parameter, it returned {m}"
            )
        if self.x.dtype.kind == "c":
            raise DTypeError(f"{self.name}: x0 must be real, got complex numbers")
