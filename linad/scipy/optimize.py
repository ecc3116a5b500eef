"""scipy.optimize with traced values: roots, minima and fits have derivatives.

The functions that are given may close over traced values, or take them by ``args=``. SciPy
searches, on plain numbers; the derivative is that of the equation that the answer solves, see
`linad.scipy.implicit_solutions`. Starting points, brackets and tolerances have none.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.options import args_of
from linad.rules.creation import asarray
from linad.scipy.boundedsquares import lsq_linear as lsq_linear, nnls as nnls
from linad.scipy.boxes import place_of, sides_of_pair, sides_of_pairs
from linad.scipy.constrained import constrained_minimum, constraints_of
from linad.scipy.fitsearches import (
    curve_fit as curve_fit,
    least_squares as least_squares,
    leastsq as leastsq,
)
from linad.scipy.implicit_solutions import Watched, function_of, plain, while_tracing
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
from linad.scipy.mirror import check_real, doubled, holds_traced, traced_form
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
from linad.scipy.searchesanew import searched
from linad.scipy.twinforms import twins_among
from linad.scipy.vectorroots import (
    anderson as anderson,
    broyden1 as broyden1,
    broyden2 as broyden2,
    diagbroyden as diagbroyden,
    fsolve as fsolve,
    linearmixing as linearmixing,
    newton_krylov as newton_krylov,
    root as root,
)

Function = Callable[..., Any]


TWINS = ("rosen_hess", "rosen_hess_prod")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(theirs, twins_among(theirs, TWINS))


# Minima.


@while_tracing(theirs.minimize)
def minimize(fun: Function, x0: Any, args: Any = (), constraints: Any = (), **given: Any) -> Any:
    sides = sides_of_pairs(given.get("bounds"))
    f, given = function_of(fun, args_of(args), given)
    under = constraints_of(constraints)
    if under:
        result = theirs.minimize(f, plain(x0), constraints=[c.plain for c in under], **given)
    else:
        result = searched(theirs.minimize, f, x0, **given)
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
    result = searched(theirs.minimize_scalar, f, **given)
    if f.traced or holds_traced(sides):
        result.x = minimum_of_number("minimize_scalar", f, result.x, sides)
        result.fun = value_at(f, result.x)
    return result


# What needs no search, or has the result of one as a constant.


@traced_form(theirs.linear_sum_assignment)
def linear_sum_assignment(cost_matrix: Array, maximize: bool = False) -> Any:
    return theirs.linear_sum_assignment(plain(asarray(cost_matrix)), maximize)


@traced_form(theirs.isotonic_regression)
def isotonic_regression(y: Array, *, weights: Array | None = None, increasing: bool = True) -> Any:
    """The blocks are SciPy's; each has the weighted mean of its entries."""
    check_real("isotonic_regression", y=y, weights=weights)
    result = theirs.isotonic_regression(plain(y), weights=plain(weights), increasing=increasing)
    y = doubled(asarray(y))
    w = np.ones(y.shape[0]) if weights is None else doubled(asarray(weights))
    starts, sizes = result.blocks[:-1], np.diff(result.blocks)
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
