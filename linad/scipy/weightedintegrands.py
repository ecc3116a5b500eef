"""Integrals with a weight of `scipy.integrate.quad`, as integrals of what has no singularity.

cos, sin      ∫ f(t) cos(ωt) dt as it stands, over a finite range
cauchy        ∫ f(t) / (t - c) dt = ∫ (f(t) - f(c)) / (t - c) dt + f(c) log |(b - c) / (a - c)|
alg           ∫ f(t) (t - a)^α (b - t)^β dt over two halves of length h; in the first t = a + h v^p,
              (t - a)^α dt = p h^(1+α) v^(p(1+α)-1) dv, and in the second the same from b
alg-log..     the same with log(t - a), log(b - t) or both

p is such that v has a power of 3 or more, beside a logarithm of 7.

Source: R. Piessens, E. de Doncker-Kapenga, C. Überhuber, D. Kahaner, "QUADPACK", 1983, for the
weights; P. Davis, P. Rabinowitz, "Methods of Numerical Integration", 1984, section 2.9.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.arrays.buffers import concrete
from linad.errors import UnsupportedError
from linad.rules.creation import asarray

SMOOTH = 3
"""The least power of v."""


class Unweighted(NamedTuple):
    """An integral without weight, and what is added to it.

    Attributes
    ----------
    function : callable
        Of a number.
    low, high : float
        The ends; may be traced.
    options : dict
        For `quad`.
    more : float
        May be traced.
    """

    function: Callable[[Any], Any]
    low: Any
    high: Any
    options: dict[str, Any]
    more: Any


def unweighted(f: Callable[[Any], Any], a: Any, b: Any, weight: str, wvar: Any) -> Unweighted:
    """The integral of f times a weight as one of no weight; arguments may be traced."""
    if weight in ("cos", "sin"):
        return _wave(f, a, b, getattr(np, weight), wvar)
    if weight == "cauchy":
        return _principal(f, a, b, wvar)
    return _algebraic(f, a, b, weight, wvar)


def _wave(f: Any, a: Any, b: Any, wave: Any, omega: Any) -> Unweighted:
    length = abs(concrete(asarray(b)) - concrete(asarray(a)))
    if not np.isfinite(length):
        raise UnsupportedError(
            "quad: weight='cos' or 'sin' over an infinite range is not traced by linad; integrate "
            "to a finite end beyond which the integrand is small"
        )
    turns = length * abs(concrete(asarray(omega))) / math.pi
    options = {"limit": 50 + int(turns)}
    return Unweighted(lambda t: f(t) * wave(omega * t), a, b, options, 0.0)


def _principal(f: Any, a: Any, b: Any, c: Any) -> Unweighted:
    low, high, pole = [concrete(asarray(end)) for end in (a, b, c)]
    inside = min(low, high) < pole < max(low, high)
    at_pole = f(c)
    more = at_pole * (np.log(np.abs(b - c)) - np.log(np.abs(a - c)))
    options = {"points": [c]} if inside else {}
    return Unweighted(lambda t: (f(t) - at_pole) / (t - c), a, b, options, more)


def _algebraic(f: Any, a: Any, b: Any, weight: str, powers: Any) -> Unweighted:
    h = 0.5 * (b - a)
    logs = {"alg": (0, 0), "alg-loga": (1, 0), "alg-logb": (0, 1), "alg-log": (1, 1)}[weight]

    def half(v: Any, start: Any, sign: int, near: int) -> Any:
        power, other = powers[near], powers[1 - near]
        plain = float(concrete(asarray(power)))
        least = SMOOTH + 4 * logs[near]
        p = (1 + max(least, math.ceil(SMOOTH * (1 + plain)))) / (1 + plain)
        from_end = h * v**p
        from_other = 2 * h - from_end
        y = f(start + sign * from_end) * p * h ** (1 + power) * v ** (p * (1 + power) - 1)
        y = y * from_other**other
        if logs[near]:
            y = y * (np.log(h) + p * np.log(v))
        return y * np.log(from_other) if logs[1 - near] else y

    return Unweighted(lambda v: half(v, a, 1, 0) + half(v, b, -1, 1), 0.0, 1.0, {}, 0.0)
