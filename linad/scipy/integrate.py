"""scipy.integrate, traced: integrals of samples, and initial value problems.

trapezoid     Σ h_i (y_i + y_i+1) / 2
simpson       parabolas through three neighbours: over x_0, x_1, x_2 with h = x_1 - x_0 and
              k = x_2 - x_1 the integral is
              (h + k)/6 [(2 - k/h) y_0 + (h + k)^2/(h k) y_1 + (2 - h/k) y_2];
              with an even number of samples the parabola of the last three gives the last interval:
              k (2k + 3h)/(6(h + k)) y_2 + k (k + 3h)/(6h) y_1 - k^3/(6h(h + k)) y_0

fixed_quad    (b - a)/2 Σ w_i f(x_i), Gauss and Legendre's nodes x_i between a and b

Initial value problems are in `linad.scipy.initialvalue`.

Source: K. Cartwright, "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced
Data", Journal of Mathematical Sciences and Mathematics Education 12, 2017.
"""

import functools
from typing import Any

import numpy as np
import scipy.integrate

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.options import args_of
from linad.core.shapes import normalize_axis
from linad.core.tolerances import tell_tolerance
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import as_array, form
from linad.scipy.adaptiverules import cubature as cubature, tanhsinh as tanhsinh
from linad.scipy.boundaryvalue import solve_bvp as solve_bvp
from linad.scipy.initialvalue import needs_tracing, replayed, telling
from linad.scipy.mirror import bound_form, holds_traced, inexact, traced_form
from linad.scipy.neverbegun import begins, never_begun
from linad.scipy.odeintsolutions import solution_at
from linad.scipy.option_kinds import check_options
from linad.scipy.quadrature import (
    dblquad as dblquad,
    nquad as nquad,
    quad as quad,
    tplquad as tplquad,
)
from linad.scipy.steploops import with_usual
from linad.scipy.steppedode import ode as ode
from linad.scipy.twinforms import twins_among
from linad.scipy.twins import function_twin
from linad.scipy.vectorquadrature import quad_vec as quad_vec

TWINS = ("cumulative_simpson", "cumulative_trapezoid")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.integrate, twins_among(scipy.integrate, TWINS))


@traced_form(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    return np.trapezoid(y, None if x is None else as_array(x), dx, axis)


@traced_form(scipy.integrate.simpson)
def simpson(y: Array, x: Array | None = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    y = inexact(y)
    axis = normalize_axis(axis, y.ndim, "simpson")
    y = np.moveaxis(y, axis, -1)
    steps = _steps(y, None if x is None else inexact(x), dx, axis)
    n = y.shape[-1]
    if n < 3:
        return np.sum(0.5 * steps * (y[..., 1:] + y[..., :-1]), axis=-1)
    h, k = steps[..., : (n - 1) // 2 * 2 : 2], steps[..., 1 : (n - 1) // 2 * 2 : 2]
    width = h + k
    pairs = (n - 1) // 2
    first, middle, third = (y[..., i : i + 2 * pairs : 2] for i in range(3))
    bend = width * _over(width, h * k)
    parabolas = width / 6 * ((2 - _over(k, h)) * first + bend * middle + (2 - _over(h, k)) * third)
    total = np.sum(parabolas, axis=-1)
    if n % 2:
        return total
    h, k = steps[..., -2], steps[..., -1]
    return (
        total
        + _over(k * (2 * k + 3 * h), 6 * (h + k)) * y[..., -1]
        + _over(k * (k + 3 * h), 6 * h) * y[..., -2]
        - _over(k**3, 6 * h * (h + k)) * y[..., -3]
    )


def _steps(y: Array, x: Array | None, dx: Any, axis: int) -> Any:
    """The lengths of the intervals; y has the samples along its last axis."""
    n = y.shape[-1]
    if x is None:
        return dx * np.ones(n - 1, np.dtype(y.dtype.char.lower()))
    if x.ndim > 1:
        x = np.moveaxis(x, axis, -1)
    if x.shape[-1] != n or (x.ndim > 1 and x.shape != y.shape):
        raise ShapeError(f"simpson: y has {n} samples along the axis, x has shape {x.shape}")
    return x[..., 1:] - x[..., :-1]


def _over(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is: between samples at one place, as SciPy has it."""
    nothing = b == 0
    return np.where(nothing, 0.0, a / np.where(nothing, 1.0, b))


@bound_form(scipy.integrate.romb)
def romb(y: Array, dx: Any, axis: int) -> Any:
    return function_twin(scipy.integrate.romb)(y, dx, axis)  # it prints no traced values


@functools.wraps(scipy.integrate.solve_ivp)
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Array | None = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    given = () if args is None else args
    if not needs_tracing(fun, t_span, y0, (given, t_eval), events):
        if not begins(fun, t_span, y0, given, vectorized):
            return never_begun(t_span[0], y0, t_eval, events)
        told = telling(method, t_span[1])
        return scipy.integrate.solve_ivp(
            fun, t_span, y0, told, t_eval, dense_output, events, vectorized, args, **options
        )
    one_program = not (events or dense_output)
    tell_tolerance("solve_ivp", "rtol", with_usual(options)["rtol"], one_program)
    return replayed(
        *(fun, t_span, y0, method, t_eval, vectorized, given, options),
        *(dense_output, events),
    )


@functools.wraps(scipy.integrate.odeint)
def odeint(
    func: Any, y0: Array, t: Any, args: Any = (), *others: Any, tfirst: bool = False, **options: Any
) -> Any:
    def fun(time: float, y: Array, *more: Any) -> Any:
        return func(time, y, *more) if tfirst else func(y, time, *more)

    if not needs_tracing(fun, (np.ravel(form(t))[0],), y0, (args, t)):
        return scipy.integrate.odeint(func, y0, t, args, *others, tfirst=tfirst, **options)
    check_options("scipy.integrate.odeint", "odeint", {"args": args, **options})
    given = {key: options.pop(key, None) for key in ("rtol", "atol")}
    tolerances = {key: 1.49012e-8 if v is None else v for key, v in given.items()}
    if options or others:
        raise UnsupportedError(
            f"odeint: {', '.join(options) or 'further arguments'}: not traced by linad, beside "
            f"args, rtol, atol and tfirst; leave it out"
        )
    tell_tolerance("odeint", "rtol", tolerances["rtol"])
    return solution_at(fun, y0, t, args_of(args), **tolerances)


@functools.wraps(scipy.integrate.fixed_quad)
def fixed_quad(func: Any, a: Array, b: Array, args: Any = (), n: int = 5) -> Any:
    if running_trace() is not None:
        # In double precision, or in that of a and b: as this version of SciPy does it.
        plain = scipy.integrate.fixed_quad(lambda x: x, form(a), form(b), (), n)[0]
        precision = np.real(plain).dtype
        nodes, weights = (v.astype(precision) for v in np.polynomial.legendre.leggauss(n))
        half = 0.5 * (b - a)
        values = func(half * (nodes + 1) + a, *args)
        if holds_traced((half, values)):
            return half * np.sum(weights * values, axis=-1), None
    return scipy.integrate.fixed_quad(func, a, b, args, n)
