"""Roots between two ends as a loop of a program that `linad.jit` records.

The steps are those of SciPy's functions, so that of several roots between the ends it is the same
that is found. Two points lie on both sides of the root, and Brent's method keeps a third:

    bisect          the middle
    ridder          the middle x, then x + h sign(fa - fb) f(x) / √(f(x)² - fa fb), h half the width
    brentq          inverse quadratic interpolation, or the secant, where it shortens the last step
    brenth          hyperbolic interpolation in its place
    toms748         `linad.scipy.enclosureloops`

Sources: R. P. Brent, "Algorithms for Minimization without Derivatives", 1973, chapter 4; J. C. P.
Bus and T. J. Dekker, "Two efficient algorithms with guaranteed convergence for finding a zero of a
function", ACM TOMS 1, 1975; C. Ridders, "A new algorithm for computing a single root of a real
continuous function", IEEE Transactions on Circuits and Systems 26, 1979.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.rules.creation import asarray
from linad.scipy.enclosureloops import divided, enclosed
from linad.scipy.loopedsearches import found_in_loop
from linad.scipy.mirror import holds_traced

Function = Callable[[Any], Any]


class Bracket(NamedTuple):
    """Where a search stands."""

    a: Any  # the point before the last; with b on both sides of the root, for Brent's if it crossed
    fa: Any
    b: Any  # the last point
    fb: Any
    c: Any  # Brent's: the point on the other side
    fc: Any
    before: Any  # Brent's: the step before the last; Ridders': the tolerance
    step: Any
    best: Any
    done: Any  # 1.0 at the end, -1.0 where a value is NaN
    count: Any


def _differ(f: Array, g: Array) -> Any:
    return np.signbit(f) != np.signbit(g)


def _ended(found: Any, *values: Any) -> Any:
    """What ``done`` is after a step that has come by these values of the function."""
    number = np.where(found, 1.0, 0.0)
    for value in values:
        number = np.where(np.isnan(value), -1.0, number)
    return number


def _bisect(f: Function, s: Bracket, xtol: float, rtol: float) -> Bracket:
    half = 0.5 * s.step
    x = s.a + half
    fx = f(x)
    same = ~_differ(fx, s.fa)
    done = (fx == 0) | (np.abs(half) < xtol + rtol * np.abs(x))
    return s._replace(
        a=np.where(same, x, s.a), step=half, best=x, done=_ended(done, fx), count=s.count + 1.0
    )


def _ridder(f: Function, s: Bracket, xtol: float, rtol: float) -> Bracket:
    half = 0.5 * (s.b - s.a)
    middle = s.a + half
    fm = f(middle)
    way = np.where(s.fb - s.fa > 0, 1.0, -1.0) * half * fm
    way = way / np.sqrt(fm * fm - s.fa * s.fb)
    length = np.minimum(np.abs(way), np.abs(half) - 0.5 * s.before)
    x = middle - np.where(way > 0, 1.0, -1.0) * length
    fx = f(x)
    inner, right = _differ(fx, fm), _differ(fx, s.fa)
    a, fa = np.where(inner | ~right, x, s.a), np.where(inner | ~right, fx, s.fa)
    b, fb = np.where(right, x, s.b), np.where(right, fx, s.fb)
    b, fb = np.where(inner, middle, b), np.where(inner, fm, fb)
    tolerance = xtol + rtol * x
    done = _ended((fx == 0) | (np.abs(b - a) < tolerance), fm, fx)
    return s._replace(
        a=a, fa=fa, b=b, fb=fb, before=tolerance, best=x, done=done, count=s.count + 1.0
    )


def _quadratic(fa: Array, da: Array, fb: Array, fc: Array, dc: Array) -> Any:
    return divided(-fb * (fc * dc - fa * da), dc * da * (fc - fa))


def _hyperbolic(fa: Array, da: Array, fb: Array, fc: Array, dc: Array) -> Any:
    return divided(-fb * (fc - fa), fc * da - fa * dc)


def _brent(extrapolated: Callable[..., Any]) -> Callable[..., Bracket]:
    def step(f: Function, s: Bracket, xtol: float, rtol: float) -> Bracket:
        crossed = (s.fa != 0) & (s.fb != 0) & _differ(s.fa, s.fb)
        c, fc = np.where(crossed, s.a, s.c), np.where(crossed, s.fa, s.fc)
        before = np.where(crossed, s.b - s.a, s.before)
        last = np.where(crossed, s.b - s.a, s.step)
        turned = np.abs(fc) < np.abs(s.fb)  # b is to be the best
        a, fa = np.where(turned, s.b, s.a), np.where(turned, s.fb, s.fa)
        b, fb = np.where(turned, c, s.b), np.where(turned, fc, s.fb)
        c, fc = np.where(turned, s.b, c), np.where(turned, s.fb, fc)
        least, half = (xtol + rtol * np.abs(b)) / 2, (c - b) / 2
        done = (fb == 0) | (np.abs(half) < least)
        secant = divided(-fb * (b - a), fb - fa)
        curved = extrapolated(fa, divided(fa - fb, a - b), fb, fc, divided(fc - fb, c - b))
        tried = np.where(a == c, secant, curved)
        good = (np.abs(before) > least) & (np.abs(fb) < np.abs(fa))
        good = good & (2 * np.abs(tried) < np.minimum(np.abs(before), 3 * np.abs(half) - least))
        before, last = np.where(good, last, half), np.where(good, tried, half)
        x = b + np.where(np.abs(last) > least, last, np.where(half > 0, least, -least))
        fx = f(x)
        done = np.where(done, 1.0, _ended(done, fx))  # at the end SciPy goes no further
        return Bracket(b, fb, x, fx, c, fc, before, last, b, done, s.count + 1.0)

    return step


STEPS: dict[str, Callable[..., Bracket]] = {
    "bisect": _bisect,
    "ridder": _ridder,
    "brentq": _brent(_quadratic),
    "brenth": _brent(_hyperbolic),
}
"""One step of SciPy's function of a name."""


def _found(
    step: Callable[..., Bracket],
    f: Function,
    a: Array,
    b: Array,
    xtol: float,
    rtol: float,
    maxiter: int,
) -> tuple[Any, Any]:
    """The root and the number of steps, and whether it is one."""
    fa, fb = f(a), f(b)
    nothing = 0.0 * a
    tolerance = xtol + rtol * np.minimum(np.abs(a), np.abs(b))
    at_end = _ended((fa == 0) | (fb == 0), fa, fb) + nothing
    best = np.where(fa == 0, a, b) + nothing
    start = Bracket(
        *(a, fa, b, fb, nothing, nothing, tolerance, b - a, best, at_end, nothing),
    )
    s = while_loop(
        lambda s: (s.done == 0) & (s.count < maxiter), lambda s: step(f, s, xtol, rtol), start
    )
    return (s.best, s.count), ((fa == 0) | (fb == 0) | _differ(fa, fb)) & (s.done > 0)


SEARCHES: dict[str, Callable[..., tuple[Any, Any]]] = {
    **{name: functools.partial(_found, step) for name, step in STEPS.items()},
    "toms748": enclosed,
}
"""SciPy's function of a name: the root and the number of steps, and whether it is one."""


def bracketed_root(name: str, f: Function, a: Array, b: Array, **limits: Any) -> Any:
    """A root between a and b, without a derivative, and the number of steps to it.

    None where the program cannot hold the search.

    Parameters
    ----------
    name : str
        Of SciPy's function, among `SEARCHES`.
    f : callable
        Of a number; may refer to traced values.
    a, b : number
        f has different signs there.
    **limits
        xtol, rtol, maxiter and k, as SciPy's function takes them.
    """
    first = stop_gradient(asarray(f(a)).reshape(()))
    if not holds_traced((a, b, first)) or any(map(np.iscomplexobj, (a, b, first))):
        return None
    zero = 0.0 * np.sign(first)
    a, b = [stop_gradient(asarray(end)).astype(float) + zero for end in (a, b)]

    def search(g: Function) -> tuple[Any, Any]:
        return SEARCHES[name](
            lambda x: stop_gradient(asarray(g(x)).reshape(())), a, b, **limits
        )

    why = "the ends of a bracket must have different signs, and the search must end"
    return found_in_loop(search, f, why)
