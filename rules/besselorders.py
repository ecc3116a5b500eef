"""The modified Bessel function of the second kind differentiated in its order: the numbers.

e^x K_v(x) = ∫_0^∞ e^(-x (cosh t - 1)) cosh(v t) dt,       x > 0

Differentiated under the integral, it gains the factor t^n, and sinh stands for cosh where n is odd.
The integrand is even in t and analytic for |Im t| < π/2, so the trapezoidal rule converges
exponentially. With R = √(x² + v²) it has its peak at asinh(v/x), is there about 1/√R wide, and
falls by e^-DROP within `_span` of it. On a line Im t = y the integrand is larger than on the real
one by e^(R (1 - cos y)) at most, so that the step h leaves out e^(R (1 - cos y) - 2πy/h).

Nothing cancels: all terms have one sign.

Source: DLMF 10.32.9, 3.5(i); L. Trefethen and J. Weideman, "The exponentially convergent
trapezoidal rule", SIAM Review 56 (2014) 385.
"""

import math
from typing import Any

import numpy as np

from linad.core.array_type import Array

DROP = 44.0
STRIP = 1.4
"""The largest Im t that is looked at: it is less than π/2."""

BLOCK = 64
"""Nodes of the sum that are looked at together."""


def _span(v: Array, x: Array) -> tuple[Array, Array]:
    """Where the integrand has risen from e^-DROP of its peak, and where it has fallen to it."""
    peak, fall = np.arcsinh(v / x), DROP / np.hypot(x, v)
    return np.maximum(peak - fall - np.sqrt(2 * fall), 0), peak + np.arccosh(1 + fall)


def _step(v: Array, x: Array) -> Array:
    size = np.hypot(x, v)
    y = np.minimum(STRIP, np.sqrt(2 * DROP / size))
    return 2 * math.pi * y / (DROP + size * (1 - np.cos(y)))


def _sum(n: int, v: Array, x: Array) -> Array:
    """For finite v >= 0 and x > 0."""
    start, end = _span(v, x)
    count = np.ceil((end - start) / _step(v, x))
    width = (end - start) / count
    total = np.zeros(x.shape)
    for first in range(0, int(np.max(count, initial=0)) + 1, BLOCK):
        k = np.arange(first, first + BLOCK)[:, None]
        t = start + k * width
        log = v * t - 2 * x * np.sinh(0.5 * t) ** 2
        other = np.exp(-2 * v * t)
        term = t**n * np.exp(log) * (-np.expm1(-2 * v * t) if n % 2 else 1 + other)
        term = np.where(k > count, 0.0, np.where((t == 0) | (k == count), 0.5, 1.0) * term)
        total += np.sum(term, axis=0)
    return 0.5 * width * total


def kve_in_order(v: Any, x: Any, *, nth: int) -> Array:
    """∂_v^n e^x K_v(x), for real x > 0, infinite towards 0."""
    given = [a.dtype for a in (v, x) if getattr(a, "dtype", None) is not None]
    dtype = np.result_type(np.float32 if given else np.float64, *given)
    v, x = np.broadcast_arrays(np.asarray(v, float), np.asarray(x, float))
    sign = np.sign(v) if nth % 2 else np.ones(v.shape)
    y = np.where(x == 0, np.where(sign == 0, 0.0, np.copysign(np.inf, sign)), np.nan)
    y[x == np.inf] = 0.0
    usual = np.isfinite(v) & (x > 0) & (x < np.inf)
    with np.errstate(over="ignore", under="ignore"):
        y[usual] = sign[usual] * _sum(nth, np.abs(v[usual]), x[usual])
        return y.astype(dtype)[()]
