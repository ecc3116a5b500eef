"""Searches of `scipy.optimize` for roots, of functions of one number and of a vector."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.arrays.zero_dim import array
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.rules.creation import asarray
from linad.scipy.bracketloops import STEPS, bracketed_root
from linad.scipy.implicit_solutions import (
    Watched,
    for_search,
    function_of,
    in_program,
    plain,
    root_of_number,
    root_of_vector,
    roots_of_numbers,
    while_tracing,
    with_derivative,
)
from linad.scipy.minpack import FACTORS, covariance_of, flat
from linad.scipy.openloops import approached
from linad.scipy.refusedparts import refuse_parts

Function = Callable[..., Any]


# Roots of a function of one number.


def _bracketing(name: str) -> Function:
    original = getattr(theirs, name)
    taken = inspect.signature(original).parameters
    limits = {key: taken[key].default for key in ("xtol", "rtol", "maxiter")}

    @while_tracing(original)
    def form(f: Function, a: Array, b: Array, args: tuple[Any, ...] = (), **kwargs: Any) -> Any:
        g = Watched(f, args_of(args))
        if name in STEPS and kwargs.keys() <= limits.keys() and in_program():
            given = {**limits, **kwargs}
            tolerances = given["xtol"], given["rtol"]
            root = bracketed_root(name, g.values, a, b, tolerances, given["maxiter"])
            if root is not None:
                return root_of_number(name, g, root)
        found = original(g, plain(a), plain(b), **kwargs)
        if not g.traced:
            return found
        if kwargs.get("full_output"):
            r, result = found
            result.root = root_of_number(name, g, r)
            return result.root, result
        return root_of_number(name, g, found)

    return form


brentq = _bracketing("brentq")
brenth = _bracketing("brenth")
bisect = _bracketing("bisect")
ridder = _bracketing("ridder")
toms748 = _bracketing("toms748")


@while_tracing(theirs.newton)
def newton(func: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    args = tuple(args)  # a list serves as well
    g = Watched(func, args)
    is_real = not np.ndim(x0) and not np.iscomplexobj(x0)
    if is_real and in_program() and not given.get("full_output"):
        root = _approached_root(g, x0, **given)
        if root is not None:
            return root_of_number("newton", g, root)
    found = theirs.newton(g, plain(x0), **for_search(given, args))
    if not g.traced:
        return found
    first = found[0] if isinstance(found, tuple) else found
    if np.ndim(first):
        root = roots_of_numbers("newton", g, first)
    else:
        root = root_of_number("newton", g, first)
    if not isinstance(found, tuple):
        return root
    if not np.ndim(first):
        found[1].root = root
    return (root, *found[1:])


def _approached_root(
    g: Watched,
    x0: Array,
    fprime: Any = None,
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    **rest: Any,
) -> Any:
    """What Newton's method or the secant's finds; None where the program cannot hold the search."""
    tolerances = tol, rtol
    if fprime is not None:
        slopes = [Watched(f, g.args).values for f in (fprime, fprime2) if f is not None]
        return approached("tangent", (g.values, *slopes), (x0,), tolerances, maxiter)
    if x1 is None:
        near = x0 * (1 + 1e-4)  # SciPy's second point
        x1 = near + np.where(near >= 0, 1e-4, -1e-4)
    return approached("secant", (g.values,), (x0, x1), tolerances, maxiter)


@while_tracing(theirs.root_scalar)
def root_scalar(f: Function, args: Any = (), **given: Any) -> Any:
    g = Watched(f, args_of(args))
    result = theirs.root_scalar(g, **for_search(given, g.args))
    if g.traced:
        slopes = [given.get(key) for key in ("fprime", "fprime2")]
        if any(bool(s) and not callable(s) for s in slopes):  # f gives its derivatives as well
            g = Watched(lambda t, *a: f(t, *a)[0], g.args)
        result.root = root_of_number("root_scalar", g, result.root)
    return result


@while_tracing(theirs.fixed_point)
def fixed_point(func: Function, x0: Any, args: Any = (), **kwargs: Any) -> Any:
    g = Watched(func, tuple(args))
    difference = Watched(lambda x: asarray(g.values(x)) - x)
    if not np.ndim(x0) and in_program():
        method, tolerances = kwargs.get("method", "del2"), (kwargs.get("xtol", 1e-8), 0.0)
        point = None
        if method in ("del2", "iteration"):
            steps = kwargs.get("maxiter", 500)
            point = approached(method, (g.values,), (x0,), tolerances, steps)
        if point is not None:
            return array(root_of_number("fixed_point", difference, point))
    found = theirs.fixed_point(g, plain(x0), **kwargs)
    if not g.traced:
        return found
    if np.ndim(found):
        return root_of_vector("fixed_point", difference.values, found)
    return array(root_of_number("fixed_point", difference, found))


# Roots of a function of a vector.

def _vector_root(name: str, g: Watched, found: Array) -> Any:
    return root_of_vector(name, lambda x: g.values(x).reshape(-1), found.reshape(-1)).reshape(
        found.shape
    )


@while_tracing(theirs.root)
def root(fun: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    g, given = function_of(fun, args_of(args), given)
    result = theirs.root(g, plain(x0), **given)
    if g.traced:
        result.x = _vector_root("root", g, result.x)
        result.fun = g.values(result.x)
        if result.get("cov_x") is not None:
            result.cov_x = with_derivative(result.cov_x, covariance_of(flat(g), result.x))
        refuse_parts(result, "root", FACTORS)
    return result


@while_tracing(theirs.fsolve)
def fsolve(func: Function, x0: Any, args: Any = (), **given: Any) -> Any:
    g = Watched(func, args_of(args))
    found = theirs.fsolve(g, plain(x0), **for_search(given, g.args))
    if not g.traced:
        return found
    if isinstance(found, tuple):
        x, told, *rest = found
        refuse_parts(told, "fsolve", FACTORS)
        return (_vector_root("fsolve", g, x), told, *rest)
    return _vector_root("fsolve", g, found)


def _unknown(name: str) -> Function:
    """A root found by corrections to an approximate Jacobian."""
    original = getattr(theirs, name)
    first, second, *_ = inspect.signature(original).parameters

    @while_tracing(original)
    def form(**given: Any) -> Any:
        g, start = Watched(given.pop(first)), plain(given.pop(second))
        found = original(g, start, **given)
        return _vector_root(name, g, np.asarray(found, float)) if g.traced else found

    return form


anderson = _unknown("anderson")
broyden1 = _unknown("broyden1")
broyden2 = _unknown("broyden2")
diagbroyden = _unknown("diagbroyden")
linearmixing = _unknown("linearmixing")
newton_krylov = _unknown("newton_krylov")
