"""scipy.optimize with traced values: roots, minima and fits have derivatives.

The functions that are given may close over traced values, or take them by ``args=``. SciPy
searches, on plain numbers; the derivative is that of the equation that the answer solves, see
`linad.scipy.implicit_solutions`. Starting points, brackets and tolerances have none.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.api.derivatives import jacobian
from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.options import args_of
from linad.errors import UnsupportedError
from linad.rules.creation import asarray
from linad.scipy.boundedsquares import lsq_linear as lsq_linear, nnls as nnls
from linad.scipy.boxes import NONE, Sides, place_of, sides_of_pair, sides_of_pairs
from linad.scipy.constrained import constrained_minimum, constraints_of
from linad.scipy.implicit_solutions import (
    Watched,
    for_search,
    plain,
    root_of_vector,
    while_tracing,
    with_derivative,
    with_slope,
)
from linad.scipy.linearprogram import linprog as linprog
from linad.scipy.minima import (
    basinhopping as basinhopping,
    brent as brent,
    brute as brute,
    differential_evolution as differential_evolution,
    direct as direct,
    dual_annealing as dual_annealing,
    fmin as fmin,
    fmin_bfgs as fmin_bfgs,
    fmin_cg as fmin_cg,
    fmin_l_bfgs_b as fmin_l_bfgs_b,
    fmin_ncg as fmin_ncg,
    fmin_powell as fmin_powell,
    fmin_slsqp as fmin_slsqp,
    fmin_tnc as fmin_tnc,
    fminbound as fminbound,
    golden as golden,
    minimum_of_number,
    minimum_within,
    move_rest,
    shgo as shgo,
    value_at,
)
from linad.scipy.mirror import check_real, holds_traced, traced_form
from linad.scipy.numberroots import (
    bisect as bisect,
    brenth as brenth,
    brentq as brentq,
    fixed_point as fixed_point,
    newton as newton,
    ridder as ridder,
    root_scalar as root_scalar,
    toms748 as toms748,
)
from linad.scipy.refusedparts import refuse_parts
from linad.scipy.twinforms import twins_among
from linad.solve.losses import LOSSES, Loss

Function = Callable[..., Any]


TWINS = ("rosen_hess", "rosen_hess_prod")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(theirs, twins_among(theirs, TWINS))


# Roots of a function of a vector.

FACTORS = dict.fromkeys(("fjac", "r", "qtf"), "use linad.jacobian of the function there")
"""Parts of MINPACK's results: factors of its last approximation to a Jacobian."""


def _flat(r: Watched) -> Function:
    """A function, whose values are the residuals in a row."""
    return lambda x: r.values(x).reshape(-1)


def _covariance(residuals: Function, x: Any) -> Any:
    """The inverse of J^T J."""
    J = jacobian(residuals)(x)
    return np.linalg.inv(J.T @ J)


def _vector_root(name: str, g: Watched, found: Array) -> Any:
    return root_of_vector(name, lambda x: g.values(x).reshape(-1), found.reshape(-1)).reshape(
        found.shape
    )


def _function_of(
    fun: Function, args: tuple[Any, ...], given: dict[str, Any]
) -> tuple[Watched, dict[str, Any]]:
    """A function to watch, and what else SciPy is given; ``jac=True``: it gives both."""
    if given.get("jac") is not True:
        return Watched(fun, args), for_search(given, args)
    f, slope = with_slope(fun, args)
    return f, {**for_search(given, args), "jac": slope}


@while_tracing(theirs.root)
def root(fun: Function, x0: Array, args: Any = (), **given: Any) -> Any:
    g, given = _function_of(fun, args_of(args), given)
    result = theirs.root(g, plain(x0), **given)
    if g.traced:
        result.x = _vector_root("root", g, result.x)
        result.fun = g.values(result.x)
        if result.get("cov_x") is not None:
            result.cov_x = with_derivative(result.cov_x, _covariance(_flat(g), result.x))
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


# Minima.


@while_tracing(theirs.minimize)
def minimize(fun: Function, x0: Any, args: Any = (), constraints: Any = (), **given: Any) -> Any:
    sides = sides_of_pairs(given.get("bounds"))
    f, given = _function_of(fun, args_of(args), given)
    under = constraints_of(constraints)
    result = theirs.minimize(f, plain(x0), constraints=[c.plain for c in under], **given)
    if not f.traced and not any(c.is_traced for c in under) and not holds_traced(sides):
        return result
    if under:
        place = place_of(f.values, result.x, sides)
        result.x = constrained_minimum("minimize", f.values, result.x, place, under)
    else:
        result.x = minimum_within("minimize", f.values, result.x, sides)
    result.fun = value_at(f, result.x)
    move_rest("minimize", f, result)
    return result


@while_tracing(theirs.minimize_scalar)
def minimize_scalar(fun: Function, args: Any = (), **given: Any) -> Any:
    sides = sides_of_pair(given.get("bounds"))
    f, given = Watched(fun, args_of(args)), plain(given)
    result = theirs.minimize_scalar(f, **given)
    if f.traced or holds_traced(sides):
        result.x = minimum_of_number("minimize_scalar", f, result.x, sides)
        result.fun = value_at(f, result.x)
    return result


# Fits.


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
    result = theirs.least_squares(r, plain(x0), **given)
    if not (r.traced or holds_traced((*sides, None if loss is None else loss.scale))):
        return result
    result.x = _fitted("least_squares", r.values, result.x, sides, loss)
    result.fun = r.values(result.x).reshape(-1)
    result.jac = jacobian(_flat(r))(result.x)
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
    found = theirs.leastsq(r, plain(x0), **for_search(given, r.args))
    if not r.traced:
        return found
    x = np.atleast_1d(found[0])
    x = _fitted("leastsq", r.values, x, NONE)
    if len(found) == 2:
        return x, found[1]
    _, covariance, told, *rest = found
    if covariance is not None:
        covariance = with_derivative(covariance, _covariance(_flat(r), x))
    return x, covariance, _residuals_told("leastsq", told, _flat(r)(x)), *rest


def _residuals_told(name: str, told: Any, residuals: Any) -> Any:
    """What MINPACK tells of a fit, with residuals that move."""
    told["fvec"] = with_derivative(told["fvec"], residuals)
    refuse_parts(told, name, FACTORS)
    return told


@while_tracing(theirs.curve_fit)
def curve_fit(f: Function, xdata: Any, ydata: Any, sigma: Any = None, **given: Any) -> Any:
    sides = sides_of_pair(given.get("bounds"))
    if given.get("loss", "linear") != "linear":
        raise UnsupportedError(
            "curve_fit: a loss is not traced by linad; call least_squares, whose losses are"
        )
    g, given = Watched(f), for_search(given, ())
    found = theirs.curve_fit(g, plain(xdata), plain(ydata), sigma=plain(sigma), **given)
    if not g.traced and not holds_traced((xdata, ydata, sigma, *sides)):
        return found
    y = asarray(ydata)

    def residuals(p: Array) -> Any:
        r = (asarray(f(xdata, *p)) - y).reshape(-1)
        if sigma is None:
            return r
        s = asarray(sigma)
        return np.linalg.solve(np.linalg.cholesky(s), r) if s.ndim == 2 else r / s

    p, count = found[0], int(np.size(plain(y)))
    p = _fitted("curve_fit", residuals, p, sides)
    covariance = _covariance(residuals, p)
    if not given.get("absolute_sigma"):
        r = residuals(p)
        covariance = covariance * (np.dot(r, r) / (count - p.size))
    if len(found) == 2:
        return p, covariance
    told = _residuals_told("curve_fit", found[2], residuals(p))
    return p, covariance, told, *found[3:]


# What needs no search, or has the result of one as a constant.


@traced_form(theirs.linear_sum_assignment)
def linear_sum_assignment(cost_matrix: Array, maximize: bool = False) -> Any:
    return theirs.linear_sum_assignment(plain(asarray(cost_matrix)), maximize)


@traced_form(theirs.isotonic_regression)
def isotonic_regression(y: Array, *, weights: Array | None = None, increasing: bool = True) -> Any:
    """The blocks are SciPy's; each has the weighted mean of its entries."""
    check_real("isotonic_regression", y=y, weights=weights)
    result = theirs.isotonic_regression(plain(y), weights=plain(weights), increasing=increasing)
    y = asarray(y)
    w = np.ones(y.shape[0]) if weights is None else asarray(weights)
    if increasing:
        starts = result.blocks[:-1]
    else:
        starts = np.sort(y.shape[0] - result.blocks[1:])
    sizes = np.diff(np.append(starts, y.shape[0]))
    result.weights = np.add.reduceat(w, starts)
    means = np.add.reduceat(w * y, starts) / result.weights
    result.x = means[np.repeat(np.arange(len(sizes)), sizes)]
    return result


@traced_form(theirs.approx_fprime)
def approx_fprime(xk: Array, f: Function, epsilon: Any = 2.0**-26, *args: Any) -> Any:
    check_real("approx_fprime", xk=xk)
    xk = asarray(xk)
    here, steps = asarray(f(xk, *args)), np.broadcast_to(epsilon, xk.shape)
    slopes = [
        (asarray(f(xk + step * unit, *args)) - here) / step
        for step, unit in zip(steps, np.eye(xk.shape[0]), strict=True)
    ]
    return np.stack(slopes, axis=-1)


@traced_form(theirs.rosen)
def rosen(x: Array) -> Any:
    x = asarray(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


@traced_form(theirs.rosen_der)
def rosen_der(x: Array) -> Any:
    x = asarray(x)
    gap, zero = x[1:] - x[:-1] ** 2, 0.0 * x[:1]
    below = np.concatenate([-400 * gap * x[:-1] - 2 * (1 - x[:-1]), zero])
    return below + np.concatenate([zero, 200 * gap])
