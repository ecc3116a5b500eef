"""Derivatives of what an iteration has found, whatever the function closes over.

SciPy's own solver runs on plain values. Newton's method leads from its answer, which is as good as
its tolerance, to a root t* in rounding. From there steps on traced values carry the derivative,

    t <- t - g(t, θ) / s        s = g_t(t*, θ*), a constant

each of which makes the derivatives of one more order those of the root t(θ), since what the error
of t is multiplied by, 1 - g_t(t, θ) / s, is zero at t* (A. Griewank, A. Walther, "Evaluating
Derivatives", 2nd edition, 2008, section 15.3). There are as many as derivatives are being taken.
At a root that is not simple t* is near it only, and t is kept there: the derivatives are those of
g(t, θ) = g(t*, θ*), which are right where all of g moves with the root. The value stays SciPy's.
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
from linad.core.array_type import Array
from linad.core.marks import running_traces
from linad.core.primitive import Primitive, Traced
from linad.core.tape import Equation, Tape, Var, stop, tape_of
from linad.core.tolerances import tell_tolerance
from linad.core.tree import bare
from linad.errors import ConvergenceError, SingularError
from linad.operators.base import JacobianOperator
from linad.operators.structured import Identity, Zero
from linad.rules.creation import asarray
from linad.scipy.mirror import arguments_of, full_name, holds_traced
from linad.scipy.option_kinds import check_options_of
from linad.solve.multiple_roots import aside_of, too_near

Function = Callable[..., Any]
TOLERANCES = ("xtol", "epsrel", "tol")
"""What the tolerance of a search is called."""

TO_ROUNDING = 2
"""Newton's steps from SciPy's tolerance to rounding."""

LATER = 2
"""Derivatives that may be taken of a recorded program, beyond those that are being taken."""

FAR = 1e-2
"""How far from what was found a root may be, relative to it."""


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
        return scipy.optimize.Bounds(plain(value.lb), plain(value.ub), value.keep_feasible)
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


def function_of(
    fun: Function, args: tuple[Any, ...], given: dict[str, Any]
) -> tuple[Watched, dict[str, Any]]:
    """A function to watch, and what else SciPy is given; ``jac=True``: it gives both."""
    if given.get("jac") is not True:
        return Watched(fun, args), for_search(given, args)
    f, slope = with_slope(fun, args)
    return f, {**for_search(given, args), "jac": slope}


def _value_alone(eqn: Equation) -> Tape:
    value, moving = [Var(k, np.shape(a), eqn.outputs[0].dtype) for k, a in enumerate(eqn.inputs)]
    kept = Var(2, value.shape, value.dtype)
    copy = Equation(stop, (value,), {}, (kept,), eqn.source)
    return tape_of(eqn.primitive.name, [value, moving], [copy], [kept])


moving_at = Primitive("moving_at", lambda value, moving: value, register=False)
moving_at.__module__ = __name__  # where a pickle finds it
moving_at.expansion = _value_alone  # which takes no steps
"""The value of the first with the derivatives of the second, which may be NaN."""


@moving_at.jacobian(wrt=0)
def moving_at_wrt_value(y: Any, value: Any, moving: Any) -> JacobianOperator:
    return Zero(y.shape, y.shape, y.dtype)


@moving_at.jacobian(wrt=1)
def moving_at_wrt_moving(y: Any, value: Any, moving: Any) -> JacobianOperator:
    return Identity(y.shape, y.dtype)


def _polished(name: str, found: Any, g: Function, step_at: Function) -> Any:
    """What was found, with its derivative.

    Parameters
    ----------
    name : str
        Of SciPy's function, for messages.
    found : float or array
        Plain.
    g : callable
        The equation.
    step_at : callable
        ``step_at(x) -> step`` with ``step(y)`` Newton's step from y with the slope at x.

    Raises
    ------
    ConvergenceError, SingularError
        Where a derivative is being taken and there is none. In a program that is only recorded it
        is NaN.
    """
    orders = sum(not trace.records for trace in running_traces())
    recorded = in_program()
    with np.errstate(all="ignore"):  # a slope of zero is told of below
        try:
            x = found
            for _ in range(TO_ROUNDING):
                x = stop_gradient(x - step_at(x)(x))
            step, moving, stepped = step_at(x), x, x
            for _ in range(orders + LATER * recorded):
                stepped = moving - step(moving)
                moving = with_derivative(x, stepped)  # near a root that is not simple it is not x
        except np.linalg.LinAlgError as error:
            if orders:
                raise undetermined(name, found) from error
            return with_derivative(found, np.nan * g(found))
        here = concrete(found)
        if orders:
            check_near(name, here, concrete(stepped))
        turned, aside = _turned(step, x, orders) if orders > 1 else (0.0, 0.0)
        if orders and not concrete(turned) <= concrete(aside):
            raise too_near(name, here, orders)
        if recorded:  # where the program is run, nobody looks
            near = np.abs(stepped - found) <= FAR * (1 + np.max(np.abs(found), initial=0.0))
            near = np.all(near) & (turned <= aside)
            moving = moving * np.where(np.all(near), 1.0, np.nan)
    return told(g, with_derivative(found, moving))


def told(g: Function, root: Any) -> Any:
    """A root, of which the function has been told: what it keeps beside is as the root moves."""
    with np.errstate(all="ignore"):
        g(root)
    return root


def check_near(name: str, here: Any, stepped: Any) -> None:
    """Raise where Newton's method leads away from what was found."""
    far = np.max(np.abs(stepped - here), initial=0.0)
    if not far <= FAR * (1 + np.max(np.abs(here), initial=0.0)):
        raise ConvergenceError(
            f"{name}: a step of Newton's method leads {far:.2g} away from what was found, "
            f"{here}: it is not a solution, or a degenerate one, and has no derivative",
            here,
        )


def undetermined(name: str, found: Any) -> SingularError:
    """The error of an answer that the equations do not determine."""
    return SingularError(
        f"{name}: the Jacobian is singular at what was found, {found}: an unknown that nothing "
        f"depends on, or several that act as one, are not determined and have no derivative"
    )


def _turned(step: Function, x: Any, order: int) -> tuple[Any, Any]:
    """How far a step with the slope at x leads past x from somewhat aside, and how far that was."""
    aside = aside_of(x, order)
    turned = stop_gradient(step(stop_gradient(x) + aside) - step(stop_gradient(x))) - aside
    return np.max(np.abs(turned), initial=0.0), np.max(np.abs(aside), initial=0.0)


def with_derivative(value: Any, moving: Any) -> Any:
    """A plain value, or a recorded one, with the derivative of another."""
    dtype = moving.dtype if type(value) is float else value.dtype
    return moving_at(asarray(value).astype(dtype), asarray(moving).astype(dtype))[()]


def root_of_number(name: str, g: Watched, found: Array) -> Any:
    """A root of a function of one number."""
    slope = derivative(lambda t: asarray(g.values(t)).reshape(()))

    def step_at(t: Any) -> Function:
        s = stop_gradient(slope(t))
        return lambda t: g.values(t).reshape(()) / s

    return _polished(name, found, lambda t: g.values(t).reshape(()), step_at)


def roots_of_numbers(name: str, g: Watched, found: Any) -> Any:
    """Roots of a function that is applied entry by entry."""
    total = derivative(lambda s, t: g.values(t + s))

    def step_at(t: Any) -> Function:
        s = stop_gradient(total(0.0, t))
        return lambda t: g.values(t) / s

    return _polished(name, found, g.values, step_at)


def _check_rank(A: Array) -> None:
    """Raise LinAlgError for a matrix that is singular to working precision, whatever the scales of
    its rows and columns: `numpy.linalg.solve` raises for a pivot of exactly 0 only."""
    if not isinstance(A, np.ndarray) or not np.isfinite(A).all():
        return
    for axis in (1, 0):
        A = A / np.max(np.abs(A), axis=axis, keepdims=True, initial=np.finfo(A.dtype).tiny)
    if np.linalg.cond(A, 1) > 1 / (len(A) * np.finfo(A.dtype).eps):
        raise np.linalg.LinAlgError("Singular matrix")


def root_of_vector(name: str, g: Function, found: Array) -> Any:
    """A root of a function of a vector, which gives as many numbers."""
    matrix = jacobian(g)

    def step_at(x: Any) -> Function:
        A = stop_gradient(matrix(x))
        _check_rank(concrete(A))
        return lambda x: np.linalg.solve(A, g(x))

    return _polished(name, found, g, step_at)


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
            check_options_of(full_name(original), original, kwargs)
            given = arguments(*args, **kwargs)
            if tolerance is not None:
                value = given.get(tolerance, taken[tolerance].default)
                tell_tolerance(original.__name__, tolerance, value)
            return form(**given)

        return function

    return decorate
