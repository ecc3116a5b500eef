"""Branches of solutions of F(x, λ) = 0 by pseudo-arclength continuation.

A branch is followed by its arclength s, so it may turn back in λ. From a point z = (x, λ) with
unit tangent t a step predicts z + h t and corrects it by Newton's method on

    F(x, λ) = 0
    <t, z - z_0> = h                <z, w> = xᵀx_w / n + λ λ_w

whose Jacobian [J_x J_λ; t] is regular at folds too, where J_x is singular. Dividing by n makes a
step mean the same on every grid. A fold is where the λ-part of the tangent changes sign; it is
found by interpolating in s until that part vanishes.

Newton's method may end on another branch that passes near. A step is taken back, and halved, unless

    <t_0, t_1> >= cos 30°                           the branch turns little
    z_1 - z_0 is nearly along t_0 + t_1             as it is on an arc: not beside it
    det [J_x J_λ; t] has kept its sign              neighbouring branches have opposite signs

That determinant changes its sign at a branch point, where two branches cross, as well. There it has
another sign on the other side however short the step; so a change of sign is bisected until either
the two points are seen to lie beside each other, on two branches, or on one that crosses another.

Sources: H. B. Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems", 1977;
E. L. Allgower, K. Georg, "Introduction to numerical continuation methods", 1990, chapters 6 and 8.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import (
    COUNT,
    FLAG,
    FUNCTION,
    NUMBER,
    POSITIVE,
    SIGN,
    TOLERANCE,
    Kind,
    is_number,
    takes,
)
from linad.core.primitive import Traced
from linad.core.shapes import name_of
from linad.errors import ConvergenceError, DTypeError, OptionError, ShapeError, SingularError
from linad.operators.blocks import vstack
from linad.operators.factors import SparseLU
from linad.solve.bordered import ACCURATE, BorderedSystem, bordered_matrix, bordered_system
from linad.solve.newton import REUSED, largest
from linad.solve.problems import Residual, args_tuple, as_point
from linad.solve.status import Callback, Monitor, Status, Stop, make_result
from linad.solve.step_systems import (
    LINEAR_SOLVER,
    KeptFactors,
    choose,
    seen_through,
    system,
)

COLUMNS = ("parameter", "slope", "step")
FOLD_STEPS = 30

TURN = 0.866
"""Cosine of the largest angle between the tangents at both ends of a step."""

ASIDE, ASIDE_SOMEWHERE = 0.1, 0.25
"""How far a step may go beside the mean of its tangents, in its own length: in root mean square,
and in the largest entry, where a branch jumps in a few entries out of many."""

BISECTIONS = 20
"""Of a step within which the determinant changes its sign."""

PARAMETER = Kind("a finite number", lambda value: isinstance(value, Traced) or NUMBER.fits(value))
BOUNDS = Kind(
    "a pair of numbers",
    lambda pair: isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(is_number, pair)),
)


@takes(
    f=FUNCTION,
    parameter=PARAMETER,
    step=POSITIVE,
    min_step=POSITIVE,
    max_step=POSITIVE,
    direction=SIGN,
    bounds=BOUNDS,
    folds=COUNT.optional,
    ftol=TOLERANCE.optional,
    maxiter=COUNT,
    linear_solver=LINEAR_SOLVER,
    callback=FUNCTION.optional,
    disp=FLAG,
)
def continuation(
    f: Callable[..., Any],
    x0: Any,
    parameter: float,
    args: Any = (),
    *,
    step: float = 0.1,
    min_step: float = 1e-8,
    max_step: float = 1.0,
    direction: int = 1,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    folds: int | None = None,
    ftol: float | None = None,
    maxiter: int = 100,
    linear_solver: str = "auto",
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Follow solutions of ``f(x, parameter) = 0`` as the parameter changes, past folds.

    Parameters
    ----------
    f : callable
        ``f(x, parameter, *args)`` in plain NumPy; returns as many numbers as ``x`` has.
    x0 : array or container of arrays
        Near a solution at the first parameter; real.
    parameter : float
        Where to start.
    args : tuple
        Further arguments of ``f``.
    step, min_step, max_step : float
        First, smallest and largest step in arclength, in which x counts by its root mean
        square. A step grows after quick corrections and is halved after one that fails.
    direction : int
        1 to let the parameter grow at first, -1 to let it shrink.
    bounds : pair of float
        Parameters between which to stay.
    folds : int, optional
        Stop after so many folds.
    ftol : float, optional
        Largest ``|F_i|`` of a solution. Default sqrt(eps) times the largest at the
        predictions of the points so far.
    maxiter : int
        Most points.
    linear_solver : str
        "dense", "sparse", "krylov" or "auto", as for `newton`.
    callback : callable, optional
        ``callback(intermediate_result)`` after each point; raise StopIteration to stop.
    disp : bool
        Print a line a point.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` and ``parameter`` of the last point; ``path`` a list of x, and ``parameters``
        (points,), of all; ``slopes``, the λ-parts of the unit tangents; ``folds`` and
        ``branch_points``, where another branch crosses, lists of results with ``x`` and
        ``parameter``; ``fun jac nit nfev njev njvp nvjp success status message``. Success is to
        end at a bound, after ``folds`` folds, or with ``maxiter`` points when neither was asked
        for.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0 or what ``f`` returns cannot be meant. Everything else ends with a status.

    Notes
    -----
    A correction step costs one linearization and one factorisation of a bordered Jacobian.

    A step that may have left the branch for another is taken back and halved: where it turns by
    more than 30 degrees, goes beside the tangents of its ends, or where the determinant of the
    bordered Jacobian changes its sign and no branch point is the reason. Branches nearer to each
    other than about 1e-4 of their size count as crossing. With ``linear_solver="krylov"`` there is
    no determinant: branch points are not found, and ``max_step`` keeps branches apart that pass
    close to each other.

    Examples
    --------
    The unit circle has its folds at parameters 1 and -1:

    >>> import numpy as np, linad
    >>> found = linad.solve.continuation(lambda x, a: x**2 + a**2 - 1, np.array([1.0]), 0.0,
    ...                                  folds=1)
    >>> round(found.folds[0].parameter, 10)
    1.0
    """
    if not min_step <= step <= max_step:
        raise OptionError(
            f"continuation: expected min_step <= step <= max_step, got {min_step!r}, {step!r} "
            f"and {max_step!r}"
        )
    if not bounds[0] <= parameter <= bounds[1]:
        raise OptionError(
            f"continuation: parameter must be within bounds={bounds!r}, got {parameter!r}"
        )
    monitor = Monitor("continuation", callback, disp, COLUMNS)
    branch = SolutionBranch(f, x0, parameter, args, ftol, linear_solver)
    try:
        branch.start(direction)
        monitor.report(branch.fields, **branch.shown())
        while True:
            branch.check_end(bounds, folds, maxiter)
            step = branch.advance(step, min_step, max_step, bounds)
            monitor.report(branch.fields, **branch.shown())
    except Stop as stop:
        return monitor.finish(stop, branch.fields())


class SolutionBranch:
    """A branch of solutions: the points found so far, and the tangent at the last."""

    def __init__(
        self,
        f: Callable[..., Any],
        x0: Any,
        parameter: float,
        args: Any,
        ftol: float | None,
        linear_solver: str,
    ) -> None:
        start = (as_point(x0), float(parameter))
        extra = args_tuple(args)

        f = seen_through(f, linear_solver, x0)

        def of_both(z: Any) -> Any:
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

    def correct(self, z: Any, t: Any, exact: bool = False) -> tuple[Any, Any, int]:
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

    def inner(self, a: Any, b: Any) -> float:
        """The inner product that arclength is measured by."""
        return float(np.sum(self.weights * a * b))

    def _goal(self, exact: bool) -> float:
        if self.ftol is not None:
            return self.ftol
        if exact:
            return 0.0
        met = self.largest if self.points else self.predicted
        return float(np.sqrt(self.eps)) * met

    def _negligible(self, length: float, z: Any) -> bool:
        """Whether a step was so short that only rounding is left; so it is where a branch starts
        at a solution, and F has never been large."""
        return self.ftol is None and length <= np.sqrt(self.eps * self.inner(z, z))

    def _solve(self, row: Any, b: Any, rtol: float) -> Any:
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

    def _check_arc(self, z: Any, t: Any, z1: Any, t1: Any) -> None:
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

    def _side(self, t: Any) -> float:
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

    def _crossing(self, z1: Any, t1: Any) -> Any:
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

    def _keep(self, z: Any, tangent: Array, predicted: float) -> None:
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
