"""Roots and fixed points of a function of one number, with the derivative of what is found.

A program that `linad.jit` records holds the search as a loop (`linad.scipy.bracketloops`,
`linad.scipy.openloops`); elsewhere SciPy searches, on plain numbers.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.api.derivatives import derivative
from linad.arrays.zero_dim import array
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.rules.creation import asarray
from linad.scipy.bracketloops import SEARCHES, bracketed_root
from linad.scipy.implicit_solutions import (
    TO_ROUNDING,
    Watched,
    check_near,
    for_search,
    in_program,
    plain,
    root_of_number,
    root_of_vector,
    roots_of_numbers,
    told,
    while_tracing,
    with_derivative,
)
from linad.scipy.lone_roots import apart, gives_values_alone, lone_trace, moved_root, values_alone
from linad.scipy.openloops import approached
from linad.scipy.refusedparts import RefusedPart
from linad.scipy.searchesanew import searched
from linad.transforms.linearize import LinearTrace

Function = Callable[..., Any]

_EPS = float(np.finfo(float).eps)

_TELLING = {"full_output", "disp"}
"""What a search is asked to tell, and what it does where it finds nothing; in a program that is
another path, on which SciPy searches."""


def _results_of(name: str, method: str, root: Any, steps: Any) -> Any:
    """What SciPy tells of a root, of one that a loop of a program has found."""
    result = theirs.RootResults(root, asarray(steps).astype(int), 0, 0, method)
    calls = "a program does not count the calls of its functions"
    result.function_calls = RefusedPart(name, "function_calls", calls)
    return result


def _root_in_loop(name: str, method: str, g: Watched, found: Any, telling: dict[str, Any]) -> Any:
    """What SciPy returns, of a root that a loop of a program has found."""
    root = root_of_number(name, g, found[0])
    return (root, _results_of(name, method, root, found[1])) if telling.get("full_output") else root


def _root_by_scipy(name: str, g: Watched, found: Any) -> Any:
    """What SciPy has returned, with the derivative of the root."""
    first, *rest = found if isinstance(found, tuple) else (found,)
    several = np.ndim(first) > 0
    root = (roots_of_numbers if several else root_of_number)(name, g, first)
    if rest and not several:
        rest[0].root = root
    return (root, *rest) if rest else root


def _root_alone(name: str, trace: LinearTrace, g: Watched, search: Callable[[], Any]) -> Any:
    """What SciPy returns of a search where one linearization runs."""
    if gives_values_alone(trace):
        return search()
    with values_alone(trace):
        found = search()
    first, *rest = found if isinstance(found, tuple) else (found,)
    with np.errstate(all="ignore"):
        led = moved_root(trace, g.values, first, TO_ROUNDING)
    if led is None:
        return _root_by_scipy(name, Watched(apart(trace, g.values)), found)
    if led is first:
        return found
    x, stepped = led
    check_near(name, x, stepped.concrete)
    root = told(g.values, with_derivative(first, stepped))
    if rest:
        rest[0].root = root
    return (root, *rest) if rest else root


# Between two ends.


def _limits(name: str) -> dict[str, Any]:
    """The options of SciPy's search that its steps depend on, with their defaults."""
    taken = inspect.signature(getattr(theirs, name)).parameters
    aside = {"f", "a", "b", "args", *_TELLING}
    return {key: taken[key].default for key in taken if key not in aside}


def _is_taken(name: str, xtol: Any, rtol: Any, maxiter: Any, k: Any = 1) -> bool:
    """Whether SciPy's search takes such limits; it says what is wrong with others."""
    encloses = name == "toms748"
    least = _EPS if encloses else 4 * _EPS
    steps = _is_number_of(maxiter, 1 if encloses else 0) and _is_number_of(k, 1) and k <= 100
    return bool(steps and xtol > 0 and rtol >= least)


def _is_number_of(n: Any, least: int) -> bool:
    return isinstance(n, (int, np.integer)) and bool(n >= least)


def _in_loop(name: str, g: Watched, a: Array, b: Array, given: dict[str, Any]) -> Any:
    """The root that a loop of the program finds and the number of its steps, or None."""
    limits = _limits(name)
    if not in_program() or not given.keys() <= limits.keys():
        return None
    limits |= given
    return bracketed_root(name, g.values, a, b, **limits) if _is_taken(name, **limits) else None


def _bracketing(name: str) -> Function:
    original = getattr(theirs, name)

    @while_tracing(original)
    def form(f: Function, a: Array, b: Array, args: tuple[Any, ...] = (), **kwargs: Any) -> Any:
        g = Watched(f, args_of(args))
        given = {key: value for key, value in kwargs.items() if key not in _TELLING}
        if (found := _in_loop(name, g, a, b, given)) is not None:
            return _root_in_loop(name, name, g, found, kwargs)
        if (trace := lone_trace()) is not None:
            return _root_alone(name, trace, g, lambda: original(g, plain(a), plain(b), **kwargs))
        found = original(g, plain(a), plain(b), **kwargs)
        return _root_by_scipy(name, g, found) if g.traced else found

    return form


brentq = _bracketing("brentq")
brenth = _bracketing("brenth")
bisect = _bracketing("bisect")
ridder = _bracketing("ridder")
toms748 = _bracketing("toms748")


# From a first guess.


@while_tracing(theirs.newton)
def newton(func: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    args = tuple(args)  # a list serves as well
    g = Watched(func, args)
    is_real = not np.ndim(x0) and not np.iscomplexobj(x0)
    if is_real and in_program():
        steps = {key: value for key, value in given.items() if key not in _TELLING}
        if (found := _approached_root(g, x0, **steps)) is not None:
            return _root_in_loop("newton", _method_of(**steps), g, found, given)
    found = searched(theirs.newton, g, x0, **for_search(given, args))
    return _root_by_scipy("newton", g, found) if g.traced else found


def _method_of(fprime: Any = None, fprime2: Any = None, **rest: Any) -> str:
    if fprime is None:
        return "secant"
    return "newton" if fprime2 is None else "halley"


def _approached_root(
    g: Watched,
    x0: Array,
    fprime: Any = None,
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
) -> Any:
    """What Newton's method or the secant's finds in a loop and its number of steps, or None."""
    if not (_is_number_of(maxiter, 1) and tol > 0):
        return None  # SciPy says what is wrong
    tolerances = tol, rtol
    if fprime is not None:
        slopes = [Watched(f, g.args).values for f in (fprime, fprime2) if f is not None]
        return approached("tangent", (g.values, *slopes), (x0,), tolerances, maxiter)
    if x1 is None:
        near = x0 * (1 + 1e-4)  # SciPy's second point
        x1 = near + np.where(near >= 0, 1e-4, -1e-4)
    return approached("secant", (g.values,), (x0, x1), tolerances, maxiter)


# By the name of a method.


@while_tracing(theirs.root_scalar)
def root_scalar(f: Function, args: Any = (), **given: Any) -> Any:
    g, slopes = _parts_of(f, args_of(args), **given)
    if in_program():
        method = _chosen(slopes, **given)
        if (found := _root_by(method, g, slopes, **given)) is not None:
            root = root_of_number("root_scalar", g, found[0])
            return _results_of("root_scalar", method, root, found[1])
    watched = Watched(f, args_of(args))
    result = theirs.root_scalar(watched, **for_search(given, watched.args))
    if watched.traced:
        result.root = root_of_number("root_scalar", g, result.root)
    return result


def _parts_of(
    f: Function,
    args: tuple[Any, ...],
    fprime: Any = None,
    fprime2: Any = None,
    **rest: Any,
) -> tuple[Watched, list[Function]]:
    """The function, and the derivatives that are given: by ``fprime=True`` it gives them itself."""
    flags = [fprime, fprime2]
    gives = [bool(s) and not callable(s) for s in flags]
    g = Watched((lambda t, *a: f(t, *a)[0]) if any(gives) else f, args)
    if gives[1]:
        flags[0] = gives[0] = True  # the second never comes without the first
    slopes = []
    for place, (slope, given) in enumerate(zip(flags, gives, strict=True), 1):
        if given:
            slopes.append(lambda t, *a, place=place: f(t, *a)[place])
        elif callable(slope):
            slopes.append(slope)
    return g, slopes


def _chosen(
    slopes: list[Function],
    method: str | None = None,
    bracket: Any = None,
    x0: Any = None,
    x1: Any = None,
    **rest: Any,
) -> str:
    """The method that SciPy takes."""
    if method:
        return method.lower()
    if bracket is not None:
        return "brentq"
    if x0 is None:
        return ""
    if slopes:
        return "halley" if len(slopes) > 1 else "newton"
    return "newton" if x1 is None else "secant"


def _root_by(
    by: str,
    g: Watched,
    slopes: list[Function],
    bracket: Any = None,
    x0: Any = None,
    x1: Any = None,
    options: Any = None,
    **given: Any,
) -> Any:
    """The root that a loop of the program finds and the number of its steps, or None."""
    limits = {k: given[k] for k in ("xtol", "rtol", "maxiter") if given.get(k) is not None}
    limits |= options or {}
    if by in SEARCHES:
        if bracket is None or len(bracket) < 2:
            return None  # SciPy says what is missing
        return _in_loop(by, g, bracket[0], bracket[1], limits)
    if by not in ("newton", "halley", "secant") or x0 is None or np.ndim(x0):
        return None
    if np.iscomplexobj(x0) or not limits.keys() <= {"xtol", "tol", "rtol", "maxiter"}:
        return None
    if "xtol" in limits:
        limits["tol"] = limits.pop("xtol")
    if by == "secant":
        return _approached_root(g, x0, x1=x1, **limits)
    if by == "halley" and len(slopes) < 2:
        return None
    if not slopes:  # SciPy takes differences there
        return _approached_root(Watched(g.values), x0, fprime=derivative(g.values), **limits)
    second = slopes[1] if by == "halley" else None
    return _approached_root(g, x0, fprime=slopes[0], fprime2=second, **limits)


# Fixed points.


@while_tracing(theirs.fixed_point)
def fixed_point(func: Function, x0: Any, args: Any = (), **kwargs: Any) -> Any:
    g = Watched(func, tuple(args))
    difference = Watched(lambda x: asarray(g.values(x)) - x)
    if not np.ndim(x0) and in_program():
        method, tolerances = kwargs.get("method", "del2"), (kwargs.get("xtol", 1e-8), 0.0)
        point = None
        steps = kwargs.get("maxiter", 500)
        if method in ("del2", "iteration") and _is_number_of(steps, 1):
            point = approached(method, (g.values,), (x0,), tolerances, steps)
        if point is not None:
            return array(root_of_number("fixed_point", difference, point[0]))
    found = searched(theirs.fixed_point, g, x0, **kwargs)
    if not g.traced:
        return found
    if np.ndim(found):
        return root_of_vector("fixed_point", difference.values, found)
    return array(root_of_number("fixed_point", difference, found))
