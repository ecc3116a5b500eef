"""Fits of `scipy.optimize`: residuals whose squares, or a loss of them, are least."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.api.derivatives import jacobian
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.errors import UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import as_array
from linad.scipy.boxes import NONE, Sides, sides_of_pair
from linad.scipy.implicit_solutions import (
    Watched,
    for_search,
    while_tracing,
    with_derivative,
)
from linad.scipy.minima import minimum_within
from linad.scipy.minpack import covariance_of, flat, residuals_told
from linad.scipy.mirror import holds_traced
from linad.scipy.searchesanew import searched
from linad.solve.losses import LOSSES, Loss

Function = Callable[..., Any]


def _fitted(
    name: str, residuals: Function, found: Array, sides: Sides, loss: Loss | None = None
) -> Any:
    """The point where half the sum of squares, or of a loss of them, is least."""
    cost = _half_squares if loss is None else loss.cost
    return minimum_within(name, lambda x: cost(residuals(x).reshape(-1)), found, sides)


def _half_squares(r: Any) -> Any:
    return 0.5 * np.dot(r, r)


def _loss_of(loss: Any = "linear", f_scale: Any = 1.0, **given: Any) -> Loss | None:
    """The loss of a fit, where it is another than squares; SciPy refuses names it does not know."""
    return Loss(loss, f_scale) if callable(loss) or loss in LOSSES else None


@while_tracing(theirs.least_squares)
def least_squares(fun: Function, x0: Array, jac: Any = "2-point", **given: Any) -> Any:
    args, named = tuple(given.pop("args", ())), given.pop("kwargs", None) or {}
    fun, jac = (functools.partial(f, **named) if named and callable(f) else f for f in (fun, jac))
    sides, loss = sides_of_pair(given.get("bounds")), _loss_of(**given)
    r, given = Watched(fun, args), for_search({**given, "jac": jac}, args)
    result = searched(theirs.least_squares, r, x0, **given)
    if not (r.traced or holds_traced((*sides, None if loss is None else loss.scale))):
        return result
    result.x = _fitted("least_squares", r.values, result.x, sides, loss)
    result.fun = r.values(result.x).reshape(-1)
    result.jac = jacobian(flat(r))(result.x)
    if loss is None:
        result.cost, slopes = _half_squares(result.fun), result.fun
    else:
        result.cost, slopes = loss.cost(result.fun), loss.influence(result.fun)
    result.grad = with_derivative(result.grad, result.jac.T @ slopes)
    if loss is not None:  # SciPy's J is one whose J^T J is near the Hessian
        weights = np.maximum(loss.curvature(result.fun), np.finfo(float).eps)
        result.jac = np.sqrt(weights)[:, None] * result.jac
    return result


@while_tracing(theirs.leastsq)
def leastsq(func: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    r = Watched(func, args_of(args))
    found = searched(theirs.leastsq, r, x0, **for_search(given, r.args))
    if not r.traced:
        return found
    x = np.atleast_1d(as_array(found[0]))
    x = _fitted("leastsq", r.values, x, NONE)
    if len(found) == 2:
        return x, found[1]
    _, covariance, told, *rest = found
    if covariance is not None:
        covariance = with_derivative(covariance, covariance_of("leastsq", flat(r), x))
    return x, covariance, residuals_told("leastsq", told, flat(r)(x)), *rest


@while_tracing(theirs.curve_fit)
def curve_fit(
    f: Function, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, **given: Any
) -> Any:
    sides = sides_of_pair(given.get("bounds"))
    if given.get("loss", "linear") != "linear":
        raise UnsupportedError(
            "curve_fit: a loss is not traced by linad; call least_squares, whose losses are"
        )
    g, given = Watched(f), for_search(given, ())
    found = searched(theirs.curve_fit, g, xdata, ydata, p0, sigma, **given)
    if not g.traced and not holds_traced((xdata, ydata, sigma, *sides)):
        return found
    y = asarray(ydata)

    def residuals(p: Array) -> Any:
        r = (asarray(f(xdata, *p)) - y).reshape(-1)
        if sigma is None:
            return r
        s = asarray(sigma)
        return np.linalg.solve(np.linalg.cholesky(s), r) if s.ndim == 2 else r / s

    p, count = found[0], y.size
    p = _fitted("curve_fit", residuals, p, sides)
    covariance = covariance_of("curve_fit", residuals, p)
    if not given.get("absolute_sigma"):
        r = residuals(p)
        covariance = covariance * (np.dot(r, r) / (count - p.size))
    if len(found) == 2:
        return p, covariance
    told = residuals_told("curve_fit", found[2], residuals(p))
    return p, covariance, told, *found[3:]
