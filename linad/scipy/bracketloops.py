"""Roots between two ends as a loop of a program that `linad.jit` records.

Inverse quadratic interpolation through the last three points where it can be trusted, which is

    φ² < ξ and (1 - φ)² < 1 - ξ,    ξ = (x1 - x2)/(x3 - x2),    φ = (f1 - f2)/(f3 - f2)

and else bisection; x1 and x2 lie on both sides of the root.

Source: T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a
nonlinear function without using derivatives", Advances in Engineering Software 28, 1997.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.arrays.buffers import concrete
from linad.control.both_ways import in_any_way
from linad.control.deciding import while_loop
from linad.core.reasons import because
from linad.errors import GuardError, TracerError
from linad.rules.creation import asarray
from linad.scipy.mirror import holds_traced


class Bracket(NamedTuple):
    """Three points, of which the first two lie on both sides, and where to look next."""

    x1: Any
    f1: Any
    x2: Any
    f2: Any
    x3: Any
    f3: Any
    t: Any  # the place between x1 and x2
    best: Any
    done: Any  # 1.0 at the end
    count: Any


def bracketed_root(
    f: Callable[[Any], Any], a: Any, b: Any, tolerances: tuple[float, float], maxiter: int
) -> Any:
    """A root between a and b, without a derivative; None where the program cannot hold it.

    Parameters
    ----------
    f : callable
        Of a number; may refer to traced values.
    a, b : number
        f has different signs there.
    tolerances : (float, float)
        xtol and rtol, as of `scipy.optimize.brentq`.
    maxiter : int
    """
    first = stop_gradient(asarray(f(a)).reshape(()))
    if not holds_traced((a, b, first)):
        return None
    zero = 0.0 * np.sign(first)
    a, b = stop_gradient(asarray(a)) + zero, stop_gradient(asarray(b)) + zero

    def search(g: Callable[[Any], Any]) -> tuple[Any, Any]:
        return _found(lambda x: stop_gradient(asarray(g(x)).reshape(())), a, b, tolerances, maxiter)

    found = in_any_way(search, f, TracerError, GuardError)
    if found is None:
        return None
    best, good = found
    if not concrete(good):
        return None
    with because("the ends of a bracket must have different signs, and the search must end"):
        bool(good)
    return best


def _found(
    f: Callable[[Any], Any], a: Any, b: Any, tolerances: tuple[float, float], maxiter: int
) -> tuple[Any, Any]:
    """The root, and whether it is one."""
    xtol, rtol = tolerances

    def divided(x: Any, y: Any) -> Any:
        return x / np.where(y == 0, 1.0, y)

    def closer(s: Bracket) -> Bracket:
        x = s.x1 + s.t * (s.x2 - s.x1)
        fx = f(x)
        same = np.sign(fx) == np.sign(s.f1)
        x3, f3 = np.where(same, s.x1, s.x2), np.where(same, s.f1, s.f2)
        x2, f2 = np.where(same, s.x2, s.x1), np.where(same, s.f2, s.f1)
        best, least = np.where(np.abs(fx) < np.abs(f2), x, x2), np.minimum(np.abs(fx), np.abs(f2))
        width = np.abs(x2 - x)
        edge = divided(0.5 * (xtol + rtol * np.abs(best)), width)
        done = np.where((edge > 0.5) | (least == 0) | (width == 0), 1.0, 0.0)
        xi, phi = divided(x - x2, x3 - x2), divided(fx - f2, f3 - f2)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & (f3 != fx)
        t = divided(fx, f2 - fx) * divided(f3, f2 - f3)
        t = t + divided(x3 - x, x2 - x) * divided(fx, f3 - fx) * divided(f2, f3 - f2)
        t = np.clip(np.where(trusted, t, 0.5), np.minimum(edge, 0.5), np.maximum(1 - edge, 0.5))
        return Bracket(x, fx, x2, f2, x3, f3, t, best, done, s.count + 1.0)

    fa, fb = f(a), f(b)
    nothing = 0.0 * a
    at_end = np.where((fa == 0) | (fb == 0), 1.0, 0.0) + nothing
    start = Bracket(
        *(a, fa, b, fb, b, fb, nothing + 0.5, np.where(fa == 0, a, b) + nothing, at_end, nothing)
    )
    s = while_loop(lambda s: (s.done == 0) & (s.count < maxiter), closer, start)
    return s.best, (np.sign(fa) * np.sign(fb) <= 0) & (s.done > 0)
