"""The incomplete gamma and beta functions differentiated in their shapes: the numbers.

P(a, x) = ∫_0^x p(t) dt            p(t) = t^(a-1) e^-t / Γ(a)
I_x(a, b) = ∫_0^x p(t) dt          p(t) = t^(a-1) (1 - t)^(b-1) / B(a, b)

Differentiated under the integral, p gains a polynomial factor in log t and log(1 - t). Where a
power series of few terms is at hand, it is differentiated term by term. Elsewhere the integral runs
over the side of the mean that x is on, so that nothing cancels, in the variable log t or
log(t / (1 - t)), in which the integrand falls smoothly from its value at x; Gauss's formula takes
it to the point where it has fallen by e^-40.

Errors are some 1e-13 of the value where it has one sign, and of its parts where they cancel.

Source: DLMF 8.7.1, 8.17.8, 3.5(v); A. DiDonato and A. Morris, ACM TOMS 12 (1986) 377 and 18 (1992)
360, for where the series are taken.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array

DROP = 40.0
SERIES = 1.5  # the largest x of the series of P
FEW = 0.7  # the largest x, and b x, of the series of I
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
NODES, WEIGHTS = 0.5 * (1 + NODES), 0.5 * WEIGHTS

# The factor that a derivative brings to exp(E): polynomials in the derivatives of E.


def digammas(order: int, a: Array) -> list[Any]:
    """The first derivatives of log Γ: ψ, ψ', ..."""
    if not order:
        return []
    others = [(-1) ** (k + 1) * math.factorial(k) * sp.zeta(k + 1, a) for k in range(1, order)]
    return [sp.psi(a), *others]


def _factors(i: int, j: int, slope: Callable[[int, int], Any]) -> dict[tuple[int, int], Any]:
    """∂_a^n ∂_b^m exp(E) / exp(E) for all n up to i, m up to j; ``slope(n, m)`` is that of E."""
    found: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for m in range(1, j + 1):
        found[0, m] = sum(
            math.comb(m - 1, k) * found[0, m - 1 - k] * slope(0, k + 1) for k in range(m)
        )
    for n in range(1, i + 1):
        for m in range(j + 1):
            found[n, m] = sum(
                math.comb(n - 1, k) * math.comb(m, q) * found[n - 1 - k, m - q] * slope(k + 1, q)
                for k in range(n)
                for q in range(m + 1)
            )
    return found


def factors_of(n: int, slopes: list[Any]) -> Any:
    """∂^n exp(E) / exp(E), by the derivatives of E of order 1, 2, ..., n."""
    return _factors(n, 0, lambda k, _: slopes[k - 1])[n, 0]


def _gamma_factors(order: int, a: Array, log: Array) -> list[Any]:
    """Of x^a / Γ(1 + a), whose logarithm has no pole at a = 0."""
    known = digammas(order, 1 + a)
    factors = _factors(order, 0, lambda n, m: log - known[0] if n == 1 else -known[n - 1])
    return [factors[n, 0] for n in range(order + 1)]


def gamma_factor(order: int, a: Array, log: Array) -> Any:
    """∂_a^n (x^a / Γ(a)), over x^a / Γ(1 + a), at log x."""
    factors = _gamma_factors(order, a, log)
    return a * factors[order] + (order * factors[order - 1] if order else 0)


def _beta_factors(i: int, j: int, a: Array, b: Array, log: Array, log1m: Array) -> Any:
    """Of x^a (1 - x)^b Γ(a + b) / (Γ(1 + a) Γ(1 + b))."""
    both = digammas(i + j, a + b)
    of_a, of_b = digammas(i, 1 + a), digammas(j, 1 + b)

    def slope(n: int, m: int) -> Any:
        y = both[n + m - 1]
        if m == 0:
            y = y - of_a[n - 1] + (log if n == 1 else 0)
        if n == 0:
            y = y - of_b[m - 1] + (log1m if m == 1 else 0)
        return y

    return _factors(i, j, slope)


def beta_factor(i: int, j: int, a: Array, b: Array, log: Array, log1m: Array) -> Any:
    """∂_a^i ∂_b^j (x^a (1 - x)^b / B(a, b)), over x^a (1 - x)^b Γ(a + b) / (Γ(1 + a) Γ(1 + b))."""
    factors = _beta_factors(i, j, a, b, log, log1m)
    y = a * b * factors[i, j]
    if i:
        y = y + i * b * factors[i - 1, j]
    if j:
        y = y + j * a * factors[i, j - 1]
    if i and j:
        y = y + i * j * factors[i - 1, j - 1]
    return y


# Integrals of exp(-drop(s)) from 0 on, for a convex drop with drop(0) = 0.


def _reach(drop: Callable[[Array], Array], slope: Callable[[Array], Array], start: Array) -> Array:
    """Where the integrand has fallen by some e^-40: Newton's method from beyond."""
    s = start
    while np.any(far := drop(s) > 1.5 * DROP):
        s = np.where(far, s - (drop(s) - DROP) / slope(s), s)
    return s


def _integral(reach: Array, integrand: Callable[[Array], Array]) -> Array:
    s = reach[:, None] * NODES
    return reach * np.sum(integrand(s) * WEIGHTS, axis=1)


# P(a, x).


def gammainc_in_shape(a: Array, x: Array, *, nth: int) -> Array:
    """∂_a^n P(a, x), for a >= 0 and n >= 1."""
    dtype = np.result_type(a, x, np.float32)
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    a = a + 0.0  # to psi 0 and -0 are the two sides of its pole
    y = np.where((a >= 0) & (x >= 0), 0.0, np.nan)
    some = (a >= 0) & (a < np.inf) & (x > 0) & (x < np.inf)
    few = some & (x <= SERIES)
    y[few] = _gamma_series(nth, a[few], x[few])
    rest = some & ~few
    above = np.zeros_like(rest)
    above[rest] = np.log(x[rest]) >= sp.psi(a[rest])
    y[above] = -_gamma_above(nth, a[above], x[above])
    below = rest & ~above
    y[below] = _gamma_below(nth, a[below], x[below])
    return y.astype(dtype)[()]


def _gamma_series(order: int, a: Array, x: Array) -> Array:
    """P = x^a / Γ(1 + a) (1 + a S),  S = sum (-x)^k / (k! (a + k))."""
    factors = _gamma_factors(order, a, np.log(x))
    k = np.arange(1, 31.0)
    terms, below = np.cumprod(-x[:, None] / k, axis=1), a[:, None] + k
    S = [
        (-1) ** n * math.factorial(n) * np.sum(terms / below ** (n + 1), axis=1)
        for n in range(order + 1)
    ]
    others = [a * S[n] + (n * S[n - 1] if n else 1) for n in range(order + 1)]
    total = sum(math.comb(order, n) * factors[order - n] * others[n] for n in range(order + 1))
    return np.exp(a * np.log(x) - sp.gammaln(1 + a)) * total


def _gamma_scale(a: Array, x: Array) -> Array:
    """x^a e^-x / Γ(1 + a)."""
    small, large = np.minimum(a, 1.0), np.maximum(a, 1.0)
    near_zero = np.exp(small * np.log(x) - x - sp.gammaln(1 + small))
    return np.where(a < 1, near_zero, sp._ufuncs._igam_fac(large, x) / large)


def _gamma_below(order: int, a: Array, x: Array) -> Array:
    """From 0 to x < a, t = x e^-s."""
    start = np.where(x >= 3 * DROP, np.sqrt(3 * DROP / x), 1 + DROP / x)
    start = np.minimum(start, DROP / np.maximum(a - x, 1e-300))
    reach = _reach(lambda s: a * s + x * np.expm1(-s), lambda s: a - x * np.exp(-s), start)
    a_, x_ = a[:, None], x[:, None]

    def integrand(s: Array) -> Array:
        return np.exp(-a_ * s - x_ * np.expm1(-s)) * gamma_factor(order, a_, np.log(x_) - s)

    return _gamma_scale(a, x) * _integral(reach, integrand)


def _gamma_above(order: int, a: Array, x: Array) -> Array:
    """From x, at least about a, to infinity, t = x e^s."""
    start = np.sqrt(2 * DROP / x)
    reach = _reach(lambda s: x * np.expm1(s) - a * s, lambda s: x * np.exp(s) - a, start)
    a_, x_ = a[:, None], x[:, None]

    def integrand(s: Array) -> Array:
        return np.exp(a_ * s - x_ * np.expm1(s)) * gamma_factor(order, a_, np.log(x_) + s)

    return _gamma_scale(a, x) * _integral(reach, integrand)


# I_x(a, b).


def betainc_in_shapes(a: Array, b: Array, x: Array, *, orders: tuple[int, int]) -> Array:
    """∂_a^i ∂_b^j I_x(a, b), for a, b > 0 and i + j >= 1."""
    dtype = np.result_type(a, b, x, np.float32)
    a, b, x = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, x)])
    y = np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), 0.0, np.nan)
    some = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a + b)
    mirrored = (b, a, 1 - x), orders[::-1]
    few = some & (b * x <= FEW) & (x <= FEW)
    few_mirrored = some & ~few & (a * (1 - x) <= FEW) & (1 - x <= FEW)
    rest = some & ~few & ~few_mirrored
    below = rest & (x * (a + b) <= a)
    for where, method, way in (
        (few, _beta_series, False),
        (few_mirrored, _beta_series, True),
        (below, _beta_below, False),
        (rest & ~below, _beta_below, True),
    ):
        if np.any(where):
            # I_x(a, b) = 1 - I_(1-x)(b, a)
            values, (i, j) = mirrored if way else ((a, b, x), orders)
            found = method(i, j, *[v[where] for v in values])
            y[where] = -found if way else found
    return y.astype(dtype)[()]


def _beta_series(i: int, j: int, a: Array, b: Array, x: Array) -> Array:
    """I = x^a Γ(a + b) / (Γ(1 + a) Γ(b)) (1 + a S),  S = sum (1 - b)_k x^k / (k! (a + k))."""
    log = np.log(x)
    factors = _beta_factors(i, j, a, b, log, 0.0)
    # The terms without a + k, and their derivatives in b.
    terms = np.zeros((j + 1, *x.shape))
    terms[0] = 1
    S = np.zeros((i + 1, j + 1, *x.shape))
    k = 0
    while k < 400 and np.any(np.abs(terms) > 1e-18):
        k += 1
        following = (k - b) * terms
        for m in range(1, j + 1):
            following[m] -= m * terms[m - 1]
        terms = following / k * x
        for n in range(i + 1):
            S[n] += (-1) ** n * math.factorial(n) / (a + k) ** (n + 1) * terms

    def one_and(n: int, m: int) -> Any:
        """∂_a^n ∂_b^m (1 + a S)."""
        return (n == m == 0) + a * S[n, m] + (n * S[n - 1, m] if n else 0)

    total = sum(
        math.comb(i, n)
        * math.comb(j, m)
        * factors[i - n, j - m]
        * (b * one_and(n, m) + (m * one_and(n, m - 1) if m else 0))
        for n in range(i + 1)
        for m in range(j + 1)
    )
    return np.exp(a * log + sp.gammaln(a + b) - sp.gammaln(1 + a) - sp.gammaln(1 + b)) * total


def _beta_scale(a: Array, b: Array, x: Array) -> Array:
    """x^a (1 - x)^b Γ(a + b) / (Γ(1 + a) Γ(1 + b))."""
    large = np.minimum(a, b) > 1
    density = sp._ufuncs._beta_pdf(x, *[np.where(large, v, 2.0) for v in (a, b)])
    small = a * np.log(x) + b * np.log1p(-x) + sp.gammaln(a + b) - sp.gammaln(1 + a)
    return np.where(large, density * x * (1 - x) / (a * b), np.exp(small - sp.gammaln(1 + b)))


def _beta_below(i: int, j: int, a: Array, b: Array, x: Array) -> Array:
    """From 0 to x <= a / (a + b), log (t / (1 - t)) = log (x / (1 - x)) - s."""

    def drop(s: Array) -> Array:
        return a * s + (a + b) * np.log1p(x * np.expm1(-s))

    def slope(s: Array) -> Array:
        return a - (a + b) * x * np.exp(-s) / (1 + x * np.expm1(-s))

    reach = _reach(drop, slope, (DROP - (a + b) * np.log1p(-x)) / a)
    a_, b_, x_ = a[:, None], b[:, None], x[:, None]

    def integrand(s: Array) -> Array:
        change = np.log1p(x_ * np.expm1(-s))  # of log(1 - t), and with s of log t
        log, log1m = np.log(x_) - s - change, np.log1p(-x_) - change
        return np.exp(-a_ * s - (a_ + b_) * change) * beta_factor(i, j, a_, b_, log, log1m)

    return _beta_scale(a, b, x) * _integral(reach, integrand)
