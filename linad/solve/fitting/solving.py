"""The minimum of a fit: how it is found, again with parameters held, and how it has ended."""

import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.frames import library_of, place_of
from linad.core.options import check_names
from linad.solve.bounds import as_box
from linad.solve.fits import cleaned_jacobian
from linad.solve.fitting.domains import is_of_domain
from linad.solve.fitting.doubts import CUT_OFF, MOST
from linad.solve.fitting.fit_result import FitResult
from linad.solve.fitting.parameters import Parameters, told
from linad.solve.least_squares import levenberg_marquardt
from linad.solve.losses import Loss
from linad.solve.newton import squared
from linad.solve.problems import quiet
from linad.solve.real_parts import RealParts
from linad.solve.status import Status
from linad.solve.waiting import Waiting

FAR = 1e6
"""By how much a parameter grows on the way along a valley that has no end."""


class Refit:
    """A minimum with some parameters held at their start."""

    def __init__(
        self, residual: Waiting, parameters: Parameters, lower: Any, upper: Any, options: Any
    ) -> None:
        self.residual, self.parameters = residual, parameters
        self.lower, self.upper, self.options = lower, upper, options

    def __call__(self, start: Any, held: Any) -> Any:
        low, high = np.where(held, start, self.lower), np.where(held, start, self.upper)
        container = self.parameters.container
        return levenberg_marquardt(
            self.residual,
            container(start),
            bounds=(container(low), container(high)),
            **self.options,
        )

    def beside(self, start: Any, held: Any, _enough: float) -> Any:
        """The minimum with more parameters held, from near it."""
        return self(start, held)

    def is_finite_at(self, x: Any) -> bool:
        """Whether what it minimises, and its derivative, are finite at a point."""
        once = {**self.options, "maxiter": 0, "disp": False, "callback": None}
        try:
            with quiet():
                there = Refit(self.residual, self.parameters, self.lower, self.upper, once)
                return there(x, ~self.parameters.free).status != Status.NOT_FINITE
        except Exception as error:
            if is_of_domain(error):
                return False
            raise

    def cost_at(self, x: Any) -> float:
        """What it minimises, at a point."""
        with quiet():
            r = tree.vector(RealParts(self.residual)(self.parameters.container(x)))
        if self.options["loss"] == "linear":
            return 0.5 * squared(r)
        return float(Loss(self.options["loss"], self.options["f_scale"]).cost(r))


def solved(
    solver: Callable[..., Any],
    residual: Waiting,
    parameters: Parameters,
    bounds: Any,
    loss: Any,
    f_scale: float,
    absolute_sigma: bool,
    verbose: int,
    options: dict[str, Any],
) -> FitResult:
    """Minimise residuals, and tell how that has ended; ``solver`` is what the user has called."""
    name = residual.name
    check_names(name, options, solver, levenberg_marquardt)
    unknown = parameters.unknown
    unknown.start = parameters.start
    box = as_box(name, parameters.bounds(bounds), unknown, parameters.names)
    lower = np.full(parameters.start.shape, -np.inf) if box is None else box.lower
    upper = np.full(parameters.start.shape, np.inf) if box is None else box.upper
    options = {"disp": verbose == 2, "loss": loss, "f_scale": f_scale, **options}

    solve = Refit(residual, parameters, lower, upper, options)
    result = solve(parameters.start, ~parameters.free)
    result.message = result.message.replace("levenberg_marquardt", name, 1)
    beside = "; {}: what is divided by it has no value there, start beside 0"
    if result.status == Status.NOT_FINITE:
        zero = _zeros_to_blame(solve, result, solve.is_finite_at)
        slopeless = _without_slope(name, result, parameters, zero)
        result.message = slopeless or result.message
        said, where = _first_warning(solve, tree.vector(result.x))
        if zero and (not said or _DIVIDES.search(said)):
            result.message += beside.format(zero)
        elif said and not slopeless:
            result.message += f"; the first of NumPy's own warnings there is {said!r}{where}"
    elif result.status == Status.MAXITER and (run := _run_away(result, parameters)):
        result.message += (
            f"; {run} has run away from its start: bounds= keep parameters where they have meaning"
        )
    elif result.success and result.optimality == 0.0 and _is_cut_off(result, parameters):
        result.success, result.status = False, Status.SINGULAR
        zero = _zeros_to_blame(solve, result, lambda x: not _divides_by_zero(solve, x))
        result.message = (
            f"{name}: the Jacobian is singular: no residual depends on any parameter where the "
            f"fit started" + (beside.format(zero) if zero else f", {told(parameters)}; {CUT_OFF}")
        )
    saturated = ~np.isnan(result.saturated).all(axis=1)
    saturated[result.kinks] = False
    count = np.count_nonzero(saturated)
    if count:
        with quiet():
            given, left = np.asarray(result.jac.todense()), cleaned_jacobian(result)
        infinite = [(~np.isfinite(J[saturated])).any(axis=0) for J in (left, given)]
        moved = infinite[0] if infinite[0].any() else infinite[1]
        words = (
            f"{count} of {saturated.size} residuals do not change with "
            f"{_named(parameters, moved, tree.vector(result.x))}, where their derivative overflows"
        )
        said = result.message
        if not result.success:  # then it is the cause
            said = said.removeprefix(f"{name}: ")
            result.message = f"{name}: {words}: {said}"
        else:
            result.message = f"{said}; {words}"
    return FitResult(result, parameters, (lower, upper), loss, f_scale, absolute_sigma, solve)


def _named(parameters: Parameters, which: Any, values: Any = None) -> str:
    """Some of the free parameters with their values: "a = 1 and b = 0"; "" for none."""
    values = parameters.start if values is None else values
    found = np.flatnonzero(which & parameters.free)[:MOST]
    return " and ".join(f"{parameters.names[i]} = {values[i]:.3g}" for i in found)


def _run_away(result: Any, parameters: Parameters) -> str:
    """The parameters that are millions of times what they were, and of 1; "" where none is."""
    here, start = tree.vector(result.x), parameters.start
    return _named(parameters, np.abs(here) > FAR * np.maximum(np.abs(start), 1.0), here)


def _is_cut_off(result: Any, parameters: Parameters) -> bool:
    """Whether residuals that are not zero depend on no parameter that is free."""
    here = any(np.any(leaf) for leaf in tree.flatten(result.fun)[0])
    return here and not cleaned_jacobian(result)[:, parameters.free].any()


def _zeros_to_blame(solve: Refit, result: Any, is_well: Callable[[Any], bool]) -> str:
    """The parameters, with their value 0, without which all were well: that away from 0 it is, and
    with one of them there it is not. "" where there are none."""
    parameters, start = solve.parameters, solve.parameters.start
    zero = (tree.vector(result.x) == 0) & (start == 0) & parameters.free
    zero &= solve.lower < solve.upper
    for step in (1.0, 1e-3) if zero.any() else ():
        beside = np.where(solve.upper > 0, np.minimum(step, solve.upper), -step)
        moved = np.where(zero, np.maximum(beside, solve.lower), start)
        if is_well(moved):
            left = [np.where(np.arange(start.size) == i, 0.0, moved) for i in np.flatnonzero(zero)]
            zero[zero] = [not is_well(x) for x in left]
            return _named(parameters, zero)
    return ""


def _divides_by_zero(solve: Refit, x: Any) -> bool:
    """Whether residuals are quotients by 0: of exp(-t / 0) all is finite."""
    return bool(_warning_of(solve, x, divide="raise")[0])


_DIVIDES = re.compile("divide by zero|in .*(divide|remainder)")
"""What NumPy says of numbers that 0 itself has no value for, and others beside it have."""


def _first_warning(solve: Refit, x: Any) -> tuple[str, str]:
    """What NumPy would warn of first, of what has no value, else of what is too large; where."""
    said = _warning_of(solve, x, divide="raise", invalid="raise")
    return said if said[0] else _warning_of(solve, x, over="raise")


def _warning_of(solve: Refit, x: Any, **raised: Any) -> tuple[str, str]:
    """What NumPy says of residuals, "divide by zero encountered in divide", and where; "" if it
    says nothing, as of compiled ones."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        try:
            with np.errstate(**raised):
                solve.residual(solve.parameters.container(x))
        except FloatingPointError as error:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            own = [frame for frame in frames if not library_of(frame)]
            at = place_of(own[-1]) if own else ""
            return str(error), f" (at {at})" if at else ""
        except Exception as error:
            if not is_of_domain(error):
                raise
    return "", ""


def _without_slope(name: str, result: Any, parameters: Parameters, zero: str) -> str:
    """Where the model is finite and its derivative is not; ``zero`` names parameters that are 0."""
    if not all(np.isfinite(leaf).all() for leaf in tree.flatten(result.fun)[0]):
        return ""
    infinite = ~np.isfinite(cleaned_jacobian(result))
    bad = infinite.any(axis=1)
    if not bad.any():
        return ""
    by = f"by {_named(parameters, infinite.any(axis=0), tree.vector(result.x))} "
    if bad.all():
        return (
            f"{name}: infinite or NaN: in the derivatives {by}of all {bad.size} residuals, which "
            f"themselves are finite; start elsewhere: the model overflows there, or has no slope"
        )
    where = (
        f"{name}: infinite or NaN: in the derivatives {by}of {bad.sum()} of {bad.size} residuals, "
        f"first that of index {np.argmax(bad)}, which itself is finite; leave such points out, as "
        f"curve_fit does with those of weight 0"
    )
    if zero:
        return where
    return (
        f"{where}; or start elsewhere, or write the model without what has no slope there, as "
        f"np.sqrt(x) at 0 and np.arccos(x) at 1; "
        f"np.where(x < 1, np.arccos(np.where(x < 1, x, 0.0)), 0.0) is 0 from 1 on, with slope 0"
    )
