"""Roots from a first guess, and fixed points, as loops of a program that `linad.jit` records.

The steps are those of SciPy's functions, so that of several roots it is the same that is found:

    Newton          x - d,  d = f / f'
    Halley          x - d / (1 - f'' d / 2 f'),  where this is not a step back
    secant          the zero of the line through the last two points
    fixed point     g(x), or by Aitken's Δ²:  x - (g(x) - x)² / (g(g(x)) - 2 g(x) + x)

Sources: J. Stoer and R. Bulirsch, "Introduction to Numerical Analysis", chapter 5; R. L. Burden and
J. D. Faires, "Numerical Analysis", chapter 2.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.rules.creation import asarray
from linad.scipy.loopedsearches import found_in_loop
from linad.scipy.mirror import holds_traced

Function = Callable[[Any], Any]


class Approach(NamedTuple):
    """Where it stands."""

    x: Any
    before: Any  # the secant's: the point before, and the values at both
    value: Any
    value_before: Any
    done: Any  # 1.0 at the end, -1.0 where there is no further step
    count: Any


def _near(x: Array, y: Array, tol: float, rtol: float) -> Any:
    """As `numpy.isclose`."""
    return np.abs(x - y) <= tol + rtol * np.abs(y)


def _ended(good: Any, bad: Any) -> Any:
    return np.where(good, 1.0, np.where(bad, -1.0, 0.0))


def _over(x: Array, y: Array) -> Any:
    return x / np.where(y == 0, 1.0, y)


def _tangent(f: Function, s: Approach, tol: float, rtol: float) -> Approach:
    value, slope, *bend = f(s.x)
    step = _over(value, slope)
    if bend:
        turn = _over(step * bend[0], slope) / 2
        step = np.where(np.abs(turn) < 1, _over(step, 1 - turn), step)
    x = np.where(value == 0, s.x, s.x - step)
    flat = (value != 0) & (slope == 0)
    done = _ended(((value == 0) | _near(x, s.x, tol, rtol)) & ~flat, flat)
    return s._replace(x=x, done=done, count=s.count + np.where(value == 0, 0.0, 1.0))


def _secant(f: Function, s: Approach, tol: float, rtol: float) -> Approach:
    q0, q1 = s.value_before, s.value
    ahead = np.abs(q1) > np.abs(q0)
    ratio = np.where(ahead, _over(q0, q1), _over(q1, q0))
    nearer, farther = np.where(ahead, s.before, s.x), np.where(ahead, s.x, s.before)
    x = _over(-ratio * farther + nearer, 1 - ratio)
    level = q1 == q0
    done = _ended(_near(x, s.x, tol, rtol) & ~level, level)
    return Approach(x, s.x, f(x)[0], q1, done, s.count + 1.0)


def _aitken(f: Function, s: Approach, tol: float, rtol: float) -> Approach:
    first = f(s.x)[0]
    second = f(first)[0]
    bend = second - 2 * first + s.x
    return _settled(s, np.where(bend != 0, s.x - _over((first - s.x) ** 2, bend), second), tol)


def _iterated(f: Function, s: Approach, tol: float, rtol: float) -> Approach:
    return _settled(s, f(s.x)[0], tol)


def _settled(s: Approach, x: Array, tol: float) -> Approach:
    change = np.where(s.x != 0, _over(x - s.x, s.x), x)
    return s._replace(x=x, done=_ended(np.abs(change) < tol, False), count=s.count + 1.0)


STEPS = {"tangent": _tangent, "secant": _secant, "del2": _aitken, "iteration": _iterated}


def approached(
    name: str,
    functions: tuple[Function, ...],
    start: tuple[Array, ...],
    tolerances: tuple[float, float],
    maxiter: int,
) -> Any:
    """A real root or fixed point, without a derivative, and the number of steps to it.

    None where the program cannot hold the search.

    Parameters
    ----------
    name : str
        Among `STEPS`.
    functions : tuple of callables
        Of a number; they may refer to traced values. Its derivatives follow the function.
    start : tuple of numbers
        The first point, or two for the secant.
    tolerances : (float, float)
        tol and rtol, as of `scipy.optimize.newton`.
    maxiter : int
    """
    first = [stop_gradient(asarray(f(start[0])).reshape(())) for f in functions]
    if not holds_traced((*start, *first)) or any(map(np.iscomplexobj, (*start, *first))):
        return None
    zero = sum(0.0 * np.sign(value) for value in first)
    points = [stop_gradient(asarray(x)).reshape(()) + zero for x in start]

    def search(every: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, Any]:
        return _found(
            STEPS[name],
            lambda x: tuple([stop_gradient(asarray(value).reshape(())) for value in every(x)]),
            *(points, tolerances, maxiter),
        )

    return found_in_loop(search, lambda x: tuple([f(x) for f in functions]), "the search must end")


def _found(
    step: Callable[..., Approach],
    f: Callable[[Any], tuple[Any, ...]],
    points: list[Any],
    tolerances: tuple[float, float],
    maxiter: int,
) -> tuple[Any, Any]:
    """What is found and the number of steps, and whether it is one."""
    nothing = 0.0 * points[0]
    start = Approach(points[0], *(nothing,) * 5)
    if len(points) == 2:
        (a, b), (fa, fb) = points, [f(x)[0] for x in points]
        turned = np.abs(fb) < np.abs(fa)  # the better one comes first, as in SciPy
        x, before = np.where(turned, a, b), np.where(turned, b, a)
        start = Approach(
            x, before, np.where(turned, fa, fb), np.where(turned, fb, fa), nothing, nothing
        )
    s = while_loop(
        lambda s: (s.done == 0) & (s.count < maxiter), lambda s: step(f, s, *tolerances), start
    )
    return (s.x, s.count), s.done > 0
