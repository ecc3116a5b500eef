"""Algorithm 748, `scipy.optimize.toms748`, as a loop of a program that `linad.jit` records.

An interval (a, b) encloses the root, and d and e are the last two ends that were cut off. A step
cuts it k + 1 times, and in the middle as well where that has not halved it:

    k times     inverse cubic interpolation through a, b, d, e where it leads inside, or Newton's
                method on the parabola through a, b, d
    once        u - 2 f(u) / f[a, b] from the better end u: across the root, and near it

The steps are those of SciPy's function, so that of several roots it is the same that is found.

Source: G. E. Alefeld, F. A. Potra and Y. Shi, "Algorithm 748: enclosing zeros of continuous
functions", ACM TOMS 21, 1995.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import while_loop
from linad.core.array_type import Array

Function = Callable[[Any], Any]

_EPS = float(np.finfo(float).eps)
_APART = 32 * _EPS
"""How far apart values are between which is interpolated."""


class Enclosure(NamedTuple):
    """Where a search stands; fd or fe is 0 where there is no such point yet."""

    a: Any
    fa: Any
    b: Any
    fb: Any
    d: Any
    fd: Any
    e: Any
    fe: Any
    best: Any
    done: Any  # 1.0 at the end, -1.0 where a value is not finite
    count: Any


def divided(x: Array, y: Array) -> Any:
    """x / y, or NaN, which lies in no interval, and by which no step is taken."""
    return np.where(y == 0, np.nan, x / np.where(y == 0, 1.0, y))


def _inside(s: Enclosure, x: Array) -> Any:
    return (s.a < x) & (x < s.b)


def _within(s: Enclosure, x: Array) -> Any:
    """A point inside, or the middle."""
    return np.where(_inside(s, x), x, (s.a + s.b) / 2)


def _cut(f: Function, s: Enclosure, c: Array, where: Any = True) -> Enclosure:
    """The interval cut at a point inside, unless the root is already found."""
    fc = f(c)
    where = where & (s.done == 0)
    hit = where & (fc == 0)
    left = np.sign(s.fa) * np.sign(fc) > 0
    cut = Enclosure(
        *(np.where(left, c, s.a), np.where(left, fc, s.fa)),
        *(np.where(left, s.b, c), np.where(left, s.fb, fc)),
        *(np.where(left, s.a, s.b), np.where(left, s.fa, s.fb), s.d, s.fd),
        *(s.best, s.done, s.count),
    )
    cut = Enclosure(*[np.where(where & ~hit, x, y) for x, y in zip(cut, s, strict=True)])
    done = np.where(where & ~np.isfinite(fc), -1.0, np.where(hit, 1.0, s.done))
    return cut._replace(best=np.where(hit, c, s.best), done=done)


def _are_apart(values: list[Any]) -> Any:
    """Whether all are finite, none is zero, and no two are close."""
    apart: Any = True
    for k, x in enumerate(values):
        apart = apart & (x != 0) & np.isfinite(x)
        for y in values[k + 1 :]:
            apart = apart & ~(np.abs(x - y) <= _APART)
    return apart


def _interpolated(at: list[Any], values: list[Any]) -> Any:
    """Where the cubic in the values that runs through the points is at 0, by Neville's scheme."""
    rows = list(at)
    for step in range(1, len(at)):
        rows = [
            rows[k] - divided((rows[k + 1] - rows[k]) * values[k], values[k + step] - values[k])
            for k in range(len(at) - step)
        ]
    return rows[0]


def _slope(s: Enclosure) -> Any:
    return (s.fb - s.fa) / (s.b - s.a)


def _on_parabola(s: Enclosure, steps: int) -> Any:
    """Steps of Newton's method on the parabola through a, b and d."""
    slope = _slope(s)
    bend = ((s.fd - s.fb) / (s.d - s.b) - slope) / (s.d - s.a)
    r = np.where(np.sign(bend) * np.sign(s.fa) > 0, s.a, s.b)
    ended: Any = False
    for _ in range(steps):
        value = (bend * (r - s.b) + slope) * (r - s.a) + s.fa
        following = r - divided(value, slope + bend * (2 * r - s.a - s.b))
        inside = _inside(s, following)
        r = np.where(ended, r, np.where(inside, following, _within(s, r)))
        ended = ended | ~inside
    return np.where(bend == 0, s.a - divided(s.fa, slope), r)


def _double_step(s: Enclosure, xtol: float, rtol: float) -> Any:
    """Twice the secant's step from the better end, which is to lead across the root."""
    better = np.abs(s.fa) < np.abs(s.fb)  # the first
    u, fu = np.where(better, s.a, s.b), np.where(better, s.fa, s.fb)
    v, fv = np.where(better, s.b, s.a), np.where(better, s.fb, s.fa)
    c = u - 2 * fu / _slope(s)
    far = np.abs(c - u) > 0.5 * (s.b - s.a)
    stays = np.abs(c - u) <= _EPS * np.abs(u)
    unlike = _exponent(fu) < _exponent(fv) - 50
    aside = u + np.where(better, 1.0, -1.0) * (np.abs(c) * rtol + xtol)
    moved = _within(s, np.where(unlike, (31 * u + v) / 32, aside))
    return np.where(far, (s.a + s.b) / 2, np.where(stays, moved, c))


def _exponent(x: Array) -> Any:
    return np.floor(np.log2(np.where(x == 0, 1.0, np.abs(x))))


def _step(f: Function, s: Enclosure, k: int, xtol: float, rtol: float) -> Enclosure:
    width = s.b - s.a
    c: Any = np.nan
    for steps in range(2, k + 2):
        ends, values = [s.a, s.b, s.d, s.e], [s.fa, s.fb, s.fd, s.fe]
        cubic = _interpolated(ends, values)
        kept = _on_parabola(s, steps) if steps == 2 else c  # what SciPy has, later on
        c = np.where(_are_apart(values) & _inside(s, cubic), cubic, kept)
        s = _cut(f, s, c)
    s = _cut(f, s, _double_step(s, xtol, rtol))
    s = _cut(f, s, (s.a + s.b) / 2, s.b - s.a > 0.5 * width)
    close = np.abs(s.a - s.b) <= xtol + rtol * np.abs(s.b)
    ends_here = close & (s.done == 0)
    return s._replace(
        best=np.where(ends_here, (s.a + s.b) / 2, s.best),
        done=np.where(ends_here, 1.0, s.done),
        count=s.count + 1.0,
    )


def enclosed(
    f: Function, a: Array, b: Array, k: int, xtol: float, rtol: float, maxiter: int
) -> tuple[Any, Any]:
    """The root between a and b and the number of steps, and whether it is one.

    Parameters
    ----------
    f : callable
    a, b : number
        ``a < b``, and f has different signs there.
    k : int
        Interpolations per step.
    xtol, rtol : float
    maxiter : int
    """
    fa, fb = f(a), f(b)
    nothing = 0.0 * a
    at_end = np.where((fa == 0) | (fb == 0), 1.0, 0.0) + nothing
    best = np.where(fa == 0, a, b) + nothing
    start = Enclosure(a, fa, b, fb, *(nothing,) * 4, best, at_end, nothing)
    better = np.abs(fb) > np.abs(fa)
    ratio = np.where(better, divided(-fa, fb), divided(-fb, fa))
    secant = np.where(better, ratio * b + a, ratio * a + b) / (1 + ratio)
    start = _cut(f, start, _within(start, secant))
    start = start._replace(count=1.0 - start.done)
    s = while_loop(
        lambda s: (s.done == 0) & (s.count < max(maxiter, 2)),
        lambda s: _step(f, s, k, xtol, rtol),
        start,
    )
    crosses = np.isfinite(fa) & np.isfinite(fb) & (np.sign(fa) * np.sign(fb) <= 0)
    good = (fa == 0) | crosses
    ends = np.isfinite(a) & np.isfinite(b) & (a < b)
    return (s.best, s.count), good & ends & (s.done > 0)
