"""Roots of a function of a vector, with the derivative of what is found."""

import inspect
from collections.abc import Callable
from typing import Any

import scipy.optimize as theirs

from linad.core.array_type import Array
from linad.core.options import args_of
from linad.rules.shaping import as_array, astype
from linad.scipy.implicit_solutions import (
    Watched,
    for_search,
    function_of,
    root_of_vector,
    while_tracing,
    with_derivative,
)
from linad.scipy.minpack import FACTORS, covariance_of, flat
from linad.scipy.refusedparts import refuse_parts
from linad.scipy.searchesanew import searched

Function = Callable[..., Any]


def _vector_root(name: str, g: Watched, found: Array) -> Any:
    return root_of_vector(name, lambda x: g.values(x).reshape(-1), found.reshape(-1)).reshape(
        found.shape
    )


@while_tracing(theirs.root)
def root(fun: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    g, given = function_of(fun, args_of(args), given)
    result = searched(theirs.root, g, x0, **given)
    if g.traced:
        result.x = _vector_root("root", g, result.x)
        result.fun = g.values(result.x)
        if result.get("cov_x") is not None:
            result.cov_x = with_derivative(result.cov_x, covariance_of("root", flat(g), result.x))
        refuse_parts(result, "root", FACTORS)
    return result


@while_tracing(theirs.fsolve)
def fsolve(func: Function, x0: Any, args: Any = (), **given: Any) -> Any:
    g = Watched(func, args_of(args))
    found = searched(theirs.fsolve, g, x0, **for_search(given, g.args))
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
        g, start = Watched(given.pop(first)), given.pop(second)
        found = searched(original, g, start, **given)
        return _vector_root(name, g, astype(as_array(found), float)) if g.traced else found

    return form


anderson = _unknown("anderson")
broyden1 = _unknown("broyden1")
broyden2 = _unknown("broyden2")
diagbroyden = _unknown("diagbroyden")
linearmixing = _unknown("linearmixing")
newton_krylov = _unknown("newton_krylov")
