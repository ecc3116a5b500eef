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

from linad.core.options import (
    COUNT,
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
from linad.errors import OptionError
from linad.solve.solution_branch import SolutionBranch
from linad.solve.status import REPORTED, Callback, Monitor, Stop
from linad.solve.step_systems import LINEAR_SOLVER

COLUMNS = ("parameter", "slope", "step")
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
    **REPORTED,
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
        Stop after this many folds.
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
        Whether to print a line for each point.

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
        If x0, or what ``f`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

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
