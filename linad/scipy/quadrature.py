"""Integrals whose integrand, or whose ends, hold traced values.

QUADPACK chooses the intervals on plain values; they are halved on until Gauss's rule of 21 nodes
resolves the integrand on each. The integral is then the sum of that rule over halves of them, of
the traced integrand: a fixed rule, that any trace sees through. An end that is traced moves the
nodes with it, and so does a break point (``points=``), as far as the next one: where an integrand
has a kink or jumps, pass the place, and the derivative is right to rounding. The value stays
QUADPACK's.

In a program that `linad.jit` records the value is that of the same rule, a loop over the nodes. The
program is good for all values for which that rule and the one on whole intervals differ by no more
than the tolerances; for others QUADPACK divides the range anew.

Over an infinite range t = a ± (1 - u) / u maps it to 0 < u <= 1, as QUADPACK does.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as theirs

from linad.api.derivatives import stop_gradient
from linad.arrays.buffers import concrete
from linad.control import loops
from linad.control.both_ways import in_any_way
from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.marks import Attempt
from linad.core.options import args_of
from linad.core.primitive import Traced
from linad.core.reasons import because
from linad.errors import ConvergenceError, GuardError, TracerError, UnsupportedError
from linad.rules.creation import asarray
from linad.scipy.gaussintervals import HALVES, broken, nodes, resolved
from linad.scipy.implicit_solutions import (
    Watched,
    in_program,
    plain,
    while_tracing,
    with_derivative,
)
from linad.scipy.integrandvalues import Shares
from linad.scipy.mirror import holds_traced
from linad.scipy.weightedintegrands import unweighted


@while_tracing(theirs.quad)
def quad(
    func: Any, a: Array, b: Array, args: Any = (), full_output: Any = 0, **options: Any
) -> Any:
    f = Watched(func, args_of(args))
    if options.pop("complex_func", False):
        return _complex(f, a, b, full_output, options)
    given, points = plain(options), options.get("points")
    if given.get("weight") is not None:
        return _weighted(f, a, b, full_output, options)
    if not full_output and in_program():
        integral = _as_program(f, a, b, given, points)
        if integral is not None:
            return integral
    found = theirs.quad(f, plain(a), plain(b), (), 1, **given)
    traced = f.traced or holds_traced((a, b, points))
    if full_output and not traced:
        return found
    if not full_output and len(found) > 3:
        warn_user(found[3], theirs.IntegrationWarning)
    answer = found if full_output else found[:2]
    if not traced:
        return answer
    value = _integral(_pieces(f, f, a, b, points, found[2]))
    reached = concrete(value)  # to look at: a recorded program does not hold for this one alone
    if np.iscomplexobj(reached):
        raise UnsupportedError("quad: the integrand is complex; pass complex_func=True")
    _check(reached, found)
    return (found[0] + (value - stop_gradient(value)), *answer[1:])


def _check(reached: Any, found: Any) -> None:
    """Raise where the sum of shares is not the integral that QUADPACK finds."""
    difference = abs(float(reached) - found[0])
    if not difference <= 1e-6 + 1e-6 * abs(found[0]) + 10 * abs(found[1]):
        raise ConvergenceError(
            f"quad: the rule that carries the derivative misses the integral {found[0]:.6g} by "
            f"{difference:.2g}: the integrand is singular; substitute until it is smooth",
            found,
        )


def _complex(f: Watched, a: Any, b: Any, full_output: Any, options: dict[str, Any]) -> Any:
    """The integrals of the real and the imaginary part, in SciPy's words."""
    parts = [
        quad(lambda t, part=part: part(f.function(t, *f.args)), a, b, (), full_output, **options)
        for part in (np.real, np.imag)
    ]
    (real, *of_real), (imaginary, *of_imaginary) = parts
    found = real + 1j * imaginary, of_real[0] + 1j * of_imaginary[0]
    if not full_output:
        return found
    return (*found, {"real": tuple(of_real[1:]), "imag": tuple(of_imaginary[1:])})


def _weighted(f: Watched, a: Any, b: Any, full_output: Any, options: dict[str, Any]) -> Any:
    """SciPy's value, with the derivative of an integral that has no weight."""
    given = plain(options)
    found = theirs.quad(f, plain(a), plain(b), (), full_output, **given)
    weight, wvar = options.pop("weight"), options.pop("wvar")
    if not (f.traced or holds_traced((a, b, wvar))):
        return found
    same = unweighted(lambda t: f.function(t, *f.args), a, b, weight, wvar)
    tolerances = {key: options[key] for key in ("epsabs", "epsrel") if key in options}
    integral = quad(same.function, same.low, same.high, (), 0, **tolerances, **same.options)[0]
    value = integral + same.more
    _check(concrete(asarray(value)), found)
    return (with_derivative(found[0], value), *found[1:])


class Piece(NamedTuple):
    """A part of the range, mapped to 0 to 1.

    Attributes
    ----------
    share : callable
        Of a node of 0 to 1 with a weight, traced.
    factor : traced or float
        What the sum of shares is times.
    starts, ends : ndarray
        The intervals of 0 to 1 that the rule is good on.
    """

    share: Callable[[Any, Any], Any]
    factor: Any
    starts: Array
    ends: Array


def _integral(pieces: list[Piece]) -> Any:
    return sum(
        [factor * Shares(share).sum(*nodes(starts, ends)) for share, factor, starts, ends in pieces]
    )


def _pieces(
    f: Watched, plainly: Callable[..., Any], a: Array, b: Array, points: Any, info: dict[str, Any]
) -> list[Piece]:
    """The parts of the range between break points, with what QUADPACK found there.

    ``plainly`` is the integrand as plain numbers.
    """
    last = info["last"]
    starts, ends = np.array(info["alist"][:last]), np.array(info["blist"][:last])
    found = []
    for left, right in broken(a, b, points):
        low, high = [concrete(asarray(end))[()] for end in (left, right)]
        plain_share = _over_unit(lambda t: asarray(plainly(t)), low, high)[0]
        intervals = resolved(Shares(plain_share).plain, starts, ends, low, high)
        found.append(Piece(*_over_unit(f.values, left, right), *intervals))
    return found


def _as_program(f: Watched, a: Array, b: Array, options: dict[str, Any], points: Any) -> Any:
    """The integral and its error as a part of the program that is recorded: of intervals that
    QUADPACK finds now, and good for values for which these do. None where they do not."""
    low, high = concrete(asarray(a)), concrete(asarray(b))
    if low == high or (holds_traced((a, b)) and not (np.isfinite(low) and np.isfinite(high))):
        return None
    seen = False

    def looked_at(*args: Any) -> Any:
        nonlocal seen
        value = asarray(f.function(*args, *f.args))
        seen = seen or holds_traced(value)
        return np.float64(concrete(value)[()])

    pieces: list[Piece] = []
    with Attempt(TracerError, GuardError, TypeError):
        found = theirs.quad(looked_at, low, high, (), 1, **options)
        if len(found) == 3 and (seen or holds_traced((a, b))):
            pieces = _pieces(f, looked_at, a, b, points, found[2])
    if not pieces:
        return None
    sums = [_in_a_loop(piece) for piece in pieces]
    if any([found is None for found in sums]):
        return None
    value, others = [sum(parts) for parts in zip(*sums, strict=True)]
    error = np.abs(stop_gradient(value - others))
    absolute, relative = (options.get(name, 1.49e-8) for name in ("epsabs", "epsrel"))
    allowed = np.maximum(absolute, relative * np.abs(stop_gradient(value)))
    if not concrete(error) <= concrete(allowed):
        return None
    with because("quad divides the range anew where its intervals do not do for other values"):
        bool(error <= allowed)
    return value, error


def _in_a_loop(piece: Piece) -> Any:
    """The integral over a piece by the rule on halves of intervals and on whole ones, of a loop
    over all nodes; None where the integrand cannot be one."""
    fine, coarse = [np.transpose(nodes(piece.starts, piece.ends, parts)) for parts in (HALVES, 1)]
    rows = np.concatenate([fine, coarse])
    shares = in_any_way(
        lambda g: loops.map(lambda row: g(row[0], row[1]), rows),
        *(piece.share, TracerError, GuardError),
    )
    if shares is None or np.iscomplexobj(concrete(shares)):
        return None
    return [piece.factor * np.sum(part) for part in np.split(shares, [len(fine)])]


def _over_unit(f: Callable[..., Any], a: Any, b: Array) -> tuple[Any, Any]:
    """The share of a node u of 0 to 1 with the weight w, or of arrays of both, and what the sum of
    shares is times."""
    low, high = concrete(asarray(a)), concrete(asarray(b))
    if np.isfinite(low) and np.isfinite(high):
        return lambda u, w: w * f(a + (b - a) * u).reshape(np.shape(u)), b - a
    sign = 1.0
    if low > high:
        a, b, low, high, sign = b, a, high, low, -1.0
    if np.isfinite(low):
        return lambda u, w: w / u**2 * f(a + (1 - u) / u).reshape(np.shape(u)), sign
    if np.isfinite(high):
        return lambda u, w: w / u**2 * f(b - (1 - u) / u).reshape(np.shape(u)), sign

    def both(u: Any, w: Any) -> Any:
        t = (1 - u) / u
        return w / u**2 * (f(t) + f(-t)).reshape(np.shape(u))

    return both, sign


@while_tracing(theirs.dblquad)
def dblquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), **tolerances: Any
) -> Any:
    errors = [0.0]

    def inner(x: Any) -> Any:
        low, high = [g(x) if callable(g) else g for g in (gfun, hfun)]
        value, error = quad(lambda y: func(y, x, *args_of(args)), low, high, **tolerances)
        errors.append(error)
        return value

    value, error = quad(inner, a, b, **tolerances)
    return value, _largest([*errors, error])


@while_tracing(theirs.tplquad)
def tplquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    **tolerances: Any,
) -> Any:
    def of_two(f: Any) -> Any:
        return (lambda y, x: f(x, y)) if callable(f) else f

    ranges = [
        lambda y, x: [f(y, x) if callable(f) else f for f in map(of_two, (qfun, rfun))],
        lambda x: [f(x) if callable(f) else f for f in (gfun, hfun)],
        (a, b),
    ]
    f = functools.partial(_with_last, func, args_of(args))
    return nquad(f, ranges, opts=[tolerances] * 3)


def _with_last(func: Any, args: Any, *variables: Any) -> Any:
    return func(*variables, *args)


@while_tracing(theirs.nquad)
def nquad(
    func: Any, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> Any:
    if full_output:
        raise UnsupportedError("nquad: full_output=True is not traced by linad; leave it out")
    given = () if args is None else args_of(args)
    options = opts if isinstance(opts, (list, tuple)) else [opts] * len(ranges)
    errors = [0.0]

    def integral(depth: int, *outer: Any) -> Any:
        """Over the variables up to ``depth``, for those after it."""
        limits, options_here = ranges[depth], options[depth] or {}
        low, high = limits(*outer, *given) if callable(limits) else limits
        if callable(options_here):
            options_here = options_here(*outer, *given)

        def inner(x: Any) -> Any:
            return integral(depth - 1, x, *outer) if depth else func(x, *outer, *given)

        value, error = quad(inner, low, high, **options_here)[:2]
        errors.append(error)
        return value

    value = integral(len(ranges) - 1)
    return value, _largest(errors)


def _largest(errors: list[Any]) -> Any:
    """The largest error of integrals within each other; in a program, that of the outermost."""
    traced = [error for error in errors if isinstance(error, Traced)]
    return max(errors) if not traced else traced[-1]
