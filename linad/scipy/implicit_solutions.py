"""Derivatives of what an iteration has found, whatever the function closes over.

SciPy's own solver runs on plain values. Its answer t* is then a constant, and Newton's method on
traced values carries the derivative, since

    t - g(t, θ) / g_t(t, θ)

at t = t* has the first derivative of the root t(θ), and the step after it has all up to the
third: each step doubles the order to which the iterate agrees with the root (A. Griewank, A.
Walther, "Evaluating Derivatives", 2nd edition, 2008, section 15.3). The value stays SciPy's.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from linad.api.derivatives import derivative, jacobian, stop_gradient
from linad.arrays.buffers import concrete
from linad.arrays.traces import running_trace
from linad.core.marks import running_traces
from linad.core.primitive import Traced
from linad.core.tolerances import tell_tolerance
from linad.core.tree import bare
from linad.errors import ConvergenceError
from linad.rules.creation import asarray
from linad.scipy.mirror import arguments_of, full_name, holds_traced
from linad.scipy.option_kinds import check_options

Function = Callable[..., Any]
TOLERANCES = ("xtol", "epsrel", "tol")
"""What the tolerance of a search is called."""

STEPS = 2
"""Newton's steps on traced values: derivatives are exact up to the third."""


def plain(value: Any) -> Any:
    """Plain numbers in place of traced ones, in containers as well."""
    value = bare(value)
    if isinstance(value, Traced):
        return value.decided
    if isinstance(value, (list, tuple)) and holds_traced(value):
        return type(value)([plain(v) for v in value])
    if isinstance(value, dict) and holds_traced(value):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, scipy.optimize.Bounds) and holds_traced((value.lb, value.ub)):
        return type(value)(plain(value.lb), plain(value.ub), value.keep_feasible)
    return value


def in_program() -> bool:
    """Whether what runs here becomes part of a program that is recorded."""
    return any(trace.records for trace in running_traces())


class Watched:
    """A user's function, which gives plain numbers to SciPy.

    Attributes
    ----------
    traced : bool
        Whether one of its results was traced.
    """

    def __init__(self, function: Function, args: tuple[Any, ...] = ()) -> None:
        self.function, self.args, self.traced = function, args, False
        if not args:
            self.__wrapped__ = function  # SciPy counts the parameters

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = self.function(*args, *self.args, **kwargs)
        if isinstance(result, (list, tuple)) and holds_traced(result):
            result = asarray(result)
        if not holds_traced(result):
            return result
        self.traced = True
        return plain(result)

    def values(self, *args: Any) -> Any:
        """What the function gives, traced."""
        return asarray(self.function(*args, *self.args))


def watched(function: Any, args: tuple[Any, ...] = ()) -> Any:
    """A function to watch; what is not a function (None, "2-point") stays."""
    return Watched(function, args) if callable(function) else function


SLOPES = ("fprime", "fprime2", "jac", "hess", "hessp", "Dfun", "fhess", "fhess_p")
"""Keywords of derivatives, which take the further arguments of the function as well."""


def for_search(given: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """What else SciPy is given: derivatives to watch, and plain values."""
    return {k: watched(v, args) if k in SLOPES else plain(v) for k, v in given.items()}


def with_slope(fun: Function, args: tuple[Any, ...]) -> tuple[Watched, Watched]:
    """The two results of a function, its value and its derivative, each to watch."""
    return Watched(lambda *a: fun(*a)[0], args), Watched(lambda *a: fun(*a)[1], args)


def polished(name: str, found: Any, step: Function) -> Any:
    """What was found, with its derivative.

    Parameters
    ----------
    name : str
        Of SciPy's function, for messages.
    found : float or array
        Plain.
    step : callable
        Newton's step at a point, to be subtracted.
    """
    x, here = found, concrete(found)
    with np.errstate(all="ignore"):  # a slope of zero is told of below
        for _ in range(STEPS + 1):  # the first goes from SciPy's tolerance to rounding
            x = x - step(x)
    far = np.max(np.abs(concrete(x) - here), initial=0.0)  # looked at, decides nothing else
    if not far <= 1e-2 * (1 + np.max(np.abs(here), initial=0.0)):
        raise ConvergenceError(
            f"{name}: a step of Newton's method leads {far:.2g} away from what was found, "
            f"{here}: it is not a solution, or a degenerate one, and has no derivative",
            here,
        )
    return with_derivative(found, x)


def with_derivative(found: Any, exact: Any) -> Any:
    """What SciPy has found, with the derivative of what it stands for."""
    return found + (exact - stop_gradient(exact))


def root_of_number(name: str, g: Watched, found: Any) -> Any:
    """A root of a function of one number."""
    slope = derivative(lambda t: asarray(g.values(t)).reshape(()))
    return polished(name, found, lambda t: g.values(t).reshape(()) / slope(t))


def roots_of_numbers(name: str, g: Watched, found: Any) -> Any:
    """Roots of a function that is applied entry by entry."""
    total = derivative(lambda s, t: g.values(t + s))
    return polished(name, found, lambda t: g.values(t) / total(0.0, t))


def root_of_vector(name: str, g: Function, found: Any) -> Any:
    """A root of a function of a vector, which gives as many numbers."""
    matrix = jacobian(g)

    def step(x: Any) -> Any:
        try:
            return np.linalg.solve(matrix(x), g(x))
        except np.linalg.LinAlgError as error:
            raise ConvergenceError(
                f"{name}: what was found, {found}, has no derivative: the equation that it solves "
                f"has a singular Jacobian there, as where a solution is one of many, or lies at "
                f"the edge of where the function is finite; fix what is not determined",
                found,
            ) from error

    return polished(name, found, step)


def while_tracing(original: Function) -> Callable[[Function], Function]:
    """Make the decorated function take over while a trace runs, whose values may be closed over.

    Parameters
    ----------
    original : callable
        SciPy's function, which answers all other calls. Its name, documentation and signature
        are those of the result; the form gets all arguments by their names.

    Raises
    ------
    ArgumentError
        From the form, for arguments that SciPy's function does not take.
    """
    arguments = arguments_of(original)
    taken = inspect.signature(original).parameters
    tolerance = next((name for name in TOLERANCES if name in taken), None)

    def decorate(form: Function) -> Function:
        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            if running_trace() is None:
                return original(*args, **kwargs)
            check_options(full_name(original), original.__name__, kwargs)
            given = arguments(*args, **kwargs)
            if tolerance is not None:
                value = given.get(tolerance, taken[tolerance].default)
                tell_tolerance(original.__name__, tolerance, value)
            return form(**given)

        return function

    return decorate
