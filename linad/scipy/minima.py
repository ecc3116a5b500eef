"""Minima that SciPy searches for: those of `scipy.optimize.fmin` and its kin, and global ones.

SciPy searches on plain numbers. At a minimum the gradient is 0 in the entries that are not at a
bound, and that equation has the derivative; see `linad.scipy.implicit_solutions`. Entries at a
bound move with it, see `linad.scipy.boxes`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.api.derivatives import jacobian
from linad.api.gradients import grad
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import OptionError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import as_array, astype
from linad.scipy.boxes import NONE, Sides, Standing, place_of, sides_of_pairs
from linad.scipy.implicit_solutions import (
    Watched,
    for_search,
    plain,
    root_of_vector,
    while_tracing,
    with_derivative,
    with_slope,
)
from linad.scipy.mirror import holds_traced
from linad.scipy.refusedparts import RefusedPart, refuse_parts
from linad.scipy.searchesanew import searched

Function = Callable[..., Any]


def minimum_at(name: str, f: Function, found: Array, place: Standing) -> Any:
    """A minimum of a function of a vector, in the entries that are free."""
    where = np.flatnonzero(place.free)
    embed = np.eye(found.size)[:, where]

    def of_free(z: Array) -> Any:
        return asarray(f(place.held + embed @ z)).reshape(())

    moved = root_of_vector(name, grad(of_free), found[where]) if where.size else found[where]
    return place.held + embed @ moved


def minimum_within(name: str, f: Function, found: Any, sides: Sides) -> Any:
    """A minimum of a function of a vector within bounds."""
    return minimum_at(name, f, found, place_of(f, found, sides))


def minimum_of_number(name: str, f: Watched, found: Any, sides: Sides) -> Any:
    """A minimum of a function of one number; the bounds are numbers."""
    x = np.atleast_1d(astype(as_array(found), float))
    return minimum_within(name, lambda x: f.values(x[0]), x, sides)[0]


def value_at(f: Watched, x: Array) -> Any:
    """The number that a function gives at a point."""
    return f.values(x).reshape(())[()]


HESSIAN = "use linad.hessian of the function at the minimum"

REST = {
    "hess_inv": HESSIAN,
    "hess": HESSIAN,
    "jac": "use linad.grad of the function at the minimum, and linad.jacobian of the constraints",
    "grad": "use linad.grad of the function at the minimum",
    **dict.fromkeys(
        ("v", "multipliers", "lagrangian_grad", "constr"),
        "solve the stationarity of the Lagrangian at the minimum for its multipliers",
    ),
    **dict.fromkeys(
        ("population", "population_energies", "final_simplex"),
        "take it of a search on linad.stop_gradient of the data",
    ),
}
"""What a search may tell besides the minimum, and what to use where it is not traced."""


def move_rest(name: str, f: Watched, result: Any) -> None:
    """Let the gradient and the Hessian that a search tells move with the minimum.

    Their values are SciPy's approximations; the derivatives are those of the exact ones.
    """
    x, count = result.x, result.x.size

    def value(x: Any) -> Any:
        return value_at(f, x)

    untold = dict(REST)
    for key in ("jac", "grad"):
        told = result.get(key)
        if isinstance(told, (np.ndarray, Traced)) and told.shape == (count,):
            result[key] = with_derivative(told, grad(value)(x))
            del untold[key]
    for key in ("hess", "hess_inv"):
        told = result.get(key)
        if isinstance(told, (np.ndarray, Traced)) and told.shape == (count, count):
            exact = jacobian(grad(value))(x)
            exact = np.linalg.inv(exact) if key == "hess_inv" else exact
            result[key] = with_derivative(told, exact)
            del untold[key]
    refuse_parts(result, name, untold)


# From a starting point.


def _fmin(name: str, place: int | None = 1) -> Function:
    """A function that gives x, or a tuple of x and others; at ``place`` stands the minimum."""
    original = getattr(theirs, name)
    first, *others = inspect.signature(original).parameters
    gives_slope = "approx_grad" in others  # the value and the gradient, if nothing else is said

    @while_tracing(original)
    def form(x0: Any, args: tuple[Any, ...] = (), **given: Any) -> Any:
        constraints = [
            key for key in ("eqcons", "f_eqcons", "ieqcons", "f_ieqcons") if given.get(key)
        ]
        if constraints:
            raise UnsupportedError(
                f"{name}: {constraints[0]}= is not traced by linad; use minimize with constraints="
            )
        args, func = args_of(args), given.pop(first)
        bounds = given.get("bounds")
        sides = sides_of_pairs(bounds if bounds is not None and len(bounds) else None)
        f, given = Watched(func, args), for_search(given, args)
        if gives_slope and not (given.get("approx_grad") or given.get("fprime")):
            f, given["fprime"] = with_slope(func, args)
        found = searched(original, f, x0, **given)
        if not f.traced and not holds_traced(sides):
            return found
        several = isinstance(found, tuple)
        x = np.atleast_1d(found[0] if several else found)
        x = minimum_within(name, f.values, x, sides)
        if not several:
            return x
        rest = list(found[1:])
        if place is not None:
            rest[place - 1] = value_at(f, x)
        told = theirs.OptimizeResult(x=x, **{k: rest[i] for i, k in TOLD.get(name, {}).items()})
        move_rest(name, f, told)
        for i, key in TOLD.get(name, {}).items():
            rest[i] = told[key]
        if name == "fmin_l_bfgs_b":
            rest[1]["grad"] = with_derivative(rest[1]["grad"], grad(lambda x: value_at(f, x))(x))
        return (x, *rest)

    return form


TOLD = {"fmin_bfgs": {1: "jac", 2: "hess_inv"}}
"""Which further results are a gradient or a Hessian, by their places."""

fmin = _fmin("fmin")
fmin_bfgs = _fmin("fmin_bfgs")
fmin_cg = _fmin("fmin_cg")
fmin_l_bfgs_b = _fmin("fmin_l_bfgs_b")
fmin_ncg = _fmin("fmin_ncg")
fmin_powell = _fmin("fmin_powell")
fmin_slsqp = _fmin("fmin_slsqp")
fmin_tnc = _fmin("fmin_tnc", None)


# Of one number.


def _of_number(name: str) -> Function:
    original = getattr(theirs, name)

    @while_tracing(original)
    def form(func: Function, args: tuple[Any, ...] = (), **given: Any) -> Any:
        sides = (given["x1"], given["x2"]) if name == "fminbound" else NONE
        f, given = Watched(func, args_of(args)), plain(given)
        found = searched(original, f, **given)
        if not f.traced and not holds_traced(sides):
            return found
        several = isinstance(found, tuple)
        moved = minimum_of_number(name, f, found[0] if several else found, sides)
        return (moved, value_at(f, moved), *found[2:]) if several else moved

    return form


brent = _of_number("brent")
fminbound = _of_number("fminbound")
golden = _of_number("golden")


# Global.


def _moved(name: str, f: Watched, result: Any, bounds: Any) -> Any:
    """What SciPy returns, with the derivatives of the point and of the value there."""
    sides = sides_of_pairs(bounds)
    if f.traced or holds_traced(sides):
        result.x = minimum_within(name, f.values, result.x, sides)
        result.fun = value_at(f, result.x)
        move_rest(name, f, result)
        _move_further(name, f, result, sides)
    return result


def _move_further(name: str, f: Watched, result: Any, sides: Any) -> None:
    """Of the local minima that a global search tells."""
    if result.get("xl") is not None and len(result.xl):
        points = [minimum_within(name, f.values, x, sides) for x in result.xl]
        result.xl = np.stack(points)
        result.funl = np.stack([value_at(f, x) for x in points])
    if result.get("lowest_optimization_result") is not None:
        lowest = result.lowest_optimization_result
        lowest.x, lowest.fun = result.x, result.fun
        move_rest(name, f, lowest)


def _spread(name: str, args: Any) -> tuple[Any, ...]:
    """SciPy's ``args`` of these: the entries of anything that has some."""
    if args is None and name != "dual_annealing":
        return ()
    if not np.iterable(args):
        raise OptionError(f"{name}: args must be a tuple, got {shown(args)}")
    return tuple(args)


def _global(name: str) -> Function:
    original = getattr(theirs, name)

    @while_tracing(original)
    def form(func: Function, bounds: Any, args: Any = (), **given: Any) -> Any:
        if given.get("vectorized") or np.size(given.get("constraints", ())):
            raise UnsupportedError(
                f"{name}: vectorized= and constraints= are not traced by linad; search on "
                f"linad.stop_gradient of the data, and use minimize from there"
            )
        f = Watched(func, _spread(name, args))
        return _moved(name, f, original(f, plain(bounds), **given), bounds)

    return form


differential_evolution = _global("differential_evolution")
direct = _global("direct")
dual_annealing = _global("dual_annealing")
shgo = _global("shgo")


@while_tracing(theirs.basinhopping)
def basinhopping(func: Function, x0: Array, minimizer_kwargs: Any = None, **given: Any) -> Any:
    inner = dict(minimizer_kwargs or {})
    if inner.get("constraints") or inner.get("jac") is True:
        raise UnsupportedError(
            "basinhopping: constraints, and jac=True, of the minimizer are not traced by linad; "
            "pass jac a function of its own, and use minimize for constraints"
        )
    f = Watched(func, args_of(inner.pop("args", ())))
    bounds, inner = inner.get("bounds"), for_search(inner, f.args)
    result = theirs.basinhopping(f, plain(x0), minimizer_kwargs=inner, **given)
    return _moved("basinhopping", f, result, bounds)


@while_tracing(theirs.brute)
def brute(func: Function, ranges: Any, args: Any = (), **given: Any) -> Any:
    f = Watched(func, args_of(args))
    if given.get("finish", theirs.fmin) is None and holds_traced(ranges):
        raise UnsupportedError(
            "brute: with finish=None the result is a point of the grid, whose derivative in traced "
            "ranges is not known to linad; pass linad.stop_gradient of them, or leave finish"
        )
    found = theirs.brute(f, plain(ranges), **given)
    if not f.traced:
        return found
    if given.get("finish", theirs.fmin) is None:
        return found  # a point of the grid, which stays where it is
    several = isinstance(found, tuple)
    x = np.atleast_1d(found[0] if several else found)
    x = minimum_within("brute", f.values, x, NONE)
    if not several:
        return x
    on_grid = RefusedPart("brute", "Jout", "call the function at the points of the grid")
    return (x, value_at(f, x), found[2], on_grid)
