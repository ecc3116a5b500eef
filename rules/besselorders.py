"""The modified Bessel functions differentiated in their order: the numbers.

e^x K_v(x) = ∫_0^∞ e^(-x (cosh t - 1)) cosh(v t) dt,       x > 0

Differentiated under the integral, it gains the factor t^n, and sinh stands for cosh where n is odd.
The integrand is even in t and analytic for |Im t| < π/2, so the trapezoidal rule converges
exponentially. With R = √(x² + v²) it has its peak at asinh(v/x), is there about 1/√R wide, and
falls by e^-DROP within `_span` of it. On a line Im t = y the integrand is larger than on the real
one by e^(R (1 - cos y)) at most, so that the step h leaves out e^(R (1 - cos y) - 2πy/h). Nothing
cancels: all terms have one sign.

e^-x I_v(x) = Σ_j e^-x (x/2)^(2j+v) / (j! Γ(j+v+1)),      x > 0, v > -1

Its terms are positive, and largest where j (j + v) = (x/2)²; those are summed that are within some
widths of it. Differentiated, each gains a polynomial in log(x/2) and the derivatives of log Γ.
They cancel to v/√x of their size. For large x with v² of its order, where the logarithms lose too
many digits,

e^-x I_v(x) = 1/π ∫_0^π e^(-2x sin²(θ/2)) cos(v θ) dθ      and something like e^-2x,

which a Gaussian rule takes to where the first factor has fallen by e^-50. For orders of -1 and less

I_-v(x) = I_v(x) + 2/π sin(πv) K_v(x),

Source: DLMF 10.25.2, 10.27.2, 10.32.4, 10.32.9, 3.5; L. Trefethen and J. Weideman, "The
exponentially convergent trapezoidal rule", SIAM Review 56 (2014) 385.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.incompleteintegrals import digammas, factors_of

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


def _kind(v: Array, x: Array) -> Any:
    """The dtype of a result; Python's numbers alone are doubles."""
    given = [a.dtype for a in (v, x) if getattr(a, "dtype", None) is not None]
    return np.result_type(np.float32 if given else np.float64, *given)


def kve_in_order(v: Array, x: Array, *, nth: int) -> Array:
    """∂_v^n e^x K_v(x), for real x > 0, infinite towards 0."""
    dtype = _kind(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, float), np.asarray(x, float))
    sign = np.sign(v) if nth % 2 else np.ones(v.shape)
    y = np.where(x == 0, np.where(sign == 0, 0.0, np.copysign(np.inf, sign)), np.nan)
    y[x == np.inf] = 0.0
    usual = np.isfinite(v) & (x > 0) & (x < np.inf)
    with np.errstate(over="ignore", under="ignore"):
        y[usual] = sign[usual] * _sum(nth, np.abs(v[usual]), x[usual])
        return y.astype(dtype)[()]


# I_v.

LARGE = 1e4
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
NODES, WEIGHTS = 0.5 * (1 + NODES), 0.5 * WEIGHTS


def _series(n: int, v: Array, x: Array) -> Array:
    """For finite v > -1 and x > 0."""
    size, log = np.hypot(v, x), np.log(0.5 * x)
    reach = 30 + 5 * x / np.sqrt(size)  # ten times the width
    first = np.floor(np.maximum(0.5 * (size - v) - reach, 0))
    total = np.zeros(x.shape)
    for k in range(0, int(np.max(2 * reach, initial=-1)) + 1, BLOCK):
        j = first + np.arange(k, k + BLOCK)[:, None]
        psi = digammas(n, j + v + 1)
        factor = factors_of(n, [log - psi[0], *[-p for p in psi[1:]]] if n else [])
        exponent = (2 * j + v) * log - sp.gammaln(j + 1) - sp.gammaln(j + v + 1) - x
        total += np.sum(np.exp(exponent) * factor, axis=0)
    return total


def _large(n: int, v: Array, x: Array) -> Array:
    """For x > LARGE and v² < 6 x."""
    end = 2 * np.arcsin(np.sqrt(25 / x))
    t = end[:, None] * NODES
    wave = t**n * np.cos(v[:, None] * t + 0.5 * n * math.pi)
    parts = np.exp(-2 * x[:, None] * np.sin(0.5 * t) ** 2) * wave
    return end / math.pi * np.sum(WEIGHTS * parts, axis=1)


def _regular(n: int, v: Array, x: Array) -> Array:
    """For finite v > -1 and x > 0."""
    y, far = np.empty(x.shape), (x > LARGE) & (v * v < 6 * x)
    y[far] = _large(n, v[far], x[far])
    y[~far] = _series(n, v[~far], x[~far])
    return y


def _reflected(n: int, v: Array, x: Array) -> Array:
    """For finite v <= -1 and x > 0: from the order -v, by the product rule."""
    total = _regular(n, -v, x)
    for k in range(n + 1):
        quarters = np.mod(k - 2 * v, 4)
        sine = np.where(quarters % 2 == 0, 0.0, np.sin(0.5 * math.pi * quarters))
        other = np.where(sine == 0, 0.0, kve_in_order(-v, x, nth=n - k))
        total = total + 2 * math.comb(n, k) * math.pi ** (k - 1) * sine * np.exp(-2 * x) * other
    return (-1) ** n * total


def ive_in_order(v: Array, x: Array, *, nth: int) -> Array:
    """∂_v^n e^-x I_v(x), for real x > 0; NaN for others."""
    dtype = _kind(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, float), np.asarray(x, float))
    at_zero = np.where(v > 0, 0.0, (-1) ** nth * np.inf) if nth else np.where(v > 0, 0.0, np.inf)
    at_zero = np.where(v > -1, at_zero, np.nan)
    y = np.where(x == 0, at_zero, np.where(x == np.inf, 0.0, np.nan))
    usual = np.isfinite(v) & (x > 0) & (x < np.inf)
    with np.errstate(over="ignore", under="ignore"):
        for part, values in ((usual & (v > -1), _regular), (usual & (v <= -1), _reflected)):
            y[part] = values(nth, v[part], x[part])
        return y.astype(dtype)[()]
