"""Noncentral distributions: sums and integrals over central ones, differentiated: the numbers.

A chi-squared variable of v degrees of freedom and noncentrality λ has v + 2 J of them, J a Poisson
variable of mean λ / 2. So with w_j = e^(-λ/2) (λ/2)^j / j!

chi-squared   F = Σ_j w_j P(v/2 + j, x/2)
F             F = Σ_j w_j I_z(m/2 + j, n/2)              z = m x / (n + m x)

whose terms are differentiated in their shapes as in `linad.rules.incompleteintegrals`. Those are
summed that are within ten widths of where they are largest: between √(λ x) / 2, or z λ / 2, far out
in the lower tail, and λ / 2.

Student's t of noncentrality δ is (Z + δ) / S, S = √(χ²_n / n), of density h_n:

t             F = ∫_0^∞ Φ(x s - δ) h_n(s) ds

is differentiated under the integral; in log s the integrand is analytic and falls exponentially to
the left, faster to the right, so that the trapezoidal rule converges exponentially. For
derivatives in n alone the smaller of Φ and 1 - Φ stands there: ∫ ∂h_n/∂n = 0.

Source: N. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions" 2, 1995,
chapters 29 to 31; L. Trefethen and J. Weideman, SIAM Review 56 (2014) 385.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.incompleteintegrals import (
    beta_factor,
    betainc_in_shapes,
    digammas,
    factors_of,
    gamma_factor,
    gammainc_in_shape,
)

BLOCK = 64
"""Terms that are looked at together."""


def _arrays(*given: Any) -> tuple[Any, tuple[Array, ...]]:
    """The dtype of a result, and the arguments as doubles of one shape."""
    dtype = np.result_type(*given, np.float32)
    return dtype, np.broadcast_arrays(*[np.asarray(a, float) for a in given])


def _mixture(half: Array, low: Array, term: Callable[[Array], Array]) -> Array:
    """Σ_j w_j term(j), w_j of mean ``half``, where terms from ``low`` on may be the largest."""
    first = np.floor(np.maximum(low - 10 * np.sqrt(low) - 20, 0))
    last = np.ceil(half + 10 * np.sqrt(half) + 40)
    total = np.zeros(half.shape)
    for k in range(0, int(np.max(last - first, initial=-1)) + 1, BLOCK):
        j = first + np.arange(k, k + BLOCK)[:, None]
        weight = np.exp(sp.xlogy(j, half) - half - sp.gammaln(j + 1))
        total += np.sum(np.where(weight > 0, weight * term(j), 0.0), axis=0)
    return total


def chi_in_freedom(x: Array, v: Array, nc: Array, *, nth: int) -> Array:
    """∂_v^n of the distribution function of noncentral chi-squared, n >= 1."""
    return _of_chi(x, v, nc, lambda a, x: 0.5**nth * gammainc_in_shape(a, x, nth=nth))


def chi_density_in_freedom(x: Array, v: Array, nc: Array, *, nth: int) -> Array:
    """∂_v^n of the density."""

    def term(a: Array, x: Array) -> Array:
        scale = np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(1 + a))
        return 0.5 ** (nth + 1) * scale * gamma_factor(nth, a, np.log(x))

    return _of_chi(x, v, nc, term)


def _of_chi(x: Array, v: Array, nc: Array, term: Callable[[Array, Array], Array]) -> Array:
    dtype, (x, v, nc) = _arrays(x, v, nc)
    y = np.where((x >= 0) & (v > 0) & (nc >= 0), 0.0, np.nan)
    some = (x > 0) & (x < np.inf) & (v > 0) & (nc >= 0) & np.isfinite(v + nc)
    x, v, nc = 0.5 * x[some], 0.5 * v[some], 0.5 * nc[some]
    low = np.minimum(nc, np.sqrt(nc * x))
    y[some] = _mixture(nc, low, lambda j: term(*np.broadcast_arrays(v + j, x)))
    return y.astype(dtype)[()]


def ratio_in_freedoms(m: Array, n: Array, nc: Array, z: Array, *, orders: tuple[int, int]) -> Array:
    """∂_m^i ∂_n^k of Σ_j w_j I_z(m/2 + j, n/2), i + k >= 1."""
    scale = 0.5 ** sum(orders)
    return _of_ratio(
        *(m, n, nc, z), lambda a, b, z: scale * betainc_in_shapes(a, b, z, orders=orders)
    )


def ratio_density_in_freedoms(
    m: Array, n: Array, nc: Array, z: Array, *, orders: tuple[int, int]
) -> Array:
    """∂_m^i ∂_n^k of its slope in z."""

    def term(a: Array, b: Array, z: Array) -> Array:
        log = (a - 1) * np.log(z) + (b - 1) * np.log1p(-z)
        scale = np.exp(log + sp.gammaln(a + b) - sp.gammaln(1 + a) - sp.gammaln(1 + b))
        return 0.5 ** sum(orders) * scale * beta_factor(*orders, a, b, np.log(z), np.log1p(-z))

    return _of_ratio(m, n, nc, z, term)


def _of_ratio(
    m: Array, n: Array, nc: Array, z: Array, term: Callable[[Array, Array, Array], Array]
) -> Array:
    dtype, (m, n, nc, z) = _arrays(m, n, nc, z)
    valid = (m > 0) & (n > 0) & (nc >= 0) & (z >= 0) & (z <= 1)
    some = valid & (z > 0) & (z < 1) & np.isfinite(m + n + nc)
    y = np.where(valid, 0.0, np.nan)
    m, n, nc, z = 0.5 * m[some], 0.5 * n[some], 0.5 * nc[some], z[some]
    y[some] = _mixture(nc, nc * z, lambda j: term(*np.broadcast_arrays(m + j, n, z)))
    return y.astype(dtype)[()]


# Student's t.

DROP = 44.0
LARGE = 25.0  # from where on Stirling's series are taken


def _log_factor(z: Array) -> Array:
    """z log z - z - log Γ(z)."""
    far = np.maximum(z, LARGE)
    series = 0.5 * np.log(far / (2 * math.pi)) - 1 / (12 * far)
    series += 1 / (360 * far**3) - 1 / (1260 * far**5)
    near = np.minimum(z, LARGE)
    return np.where(z > LARGE, series, sp.xlogy(near, near) - near - sp.gammaln(near))


def _log_less_psi(z: Array) -> Array:
    """log z - ψ(z)."""
    far = np.maximum(z, LARGE)
    series = 1 / (2 * far) + 1 / (12 * far**2) - 1 / (120 * far**4) + 1 / (252 * far**6)
    near = np.minimum(z, LARGE)
    return np.where(z > LARGE, series, np.log(near) - sp.psi(near))


def _freedom_factor(order: int, n: Array, r: Array) -> Any:
    """∂_n^l h / h, at s = e^r; log h = n log(n/2) / 2 - log Γ(n/2) + n (r - s²/2) + ..."""
    if not order:
        return 1.0
    of_gamma = digammas(order, 0.5 * n)
    slopes = [0.5 * _log_less_psi(0.5 * n) + r - 0.5 * np.expm1(2 * r)]
    for k in range(2, order + 1):
        power = 0.5 * (-1) ** k * math.factorial(k - 2) / n ** (k - 1)
        slopes.append(power - 0.5**k * of_gamma[k - 1])
    return factors_of(order, slopes)


def t_integral(n: Array, nc: Array, x: Array, *, power: int, slope: int, nth: int) -> Array:
    """∫_0^∞ s^power φ^(slope)(x s - δ) ∂_n^l h_n(s) ds; slope -1 stands for Φ, where l >= 1."""
    dtype, (n, nc, x) = _arrays(n, nc, x)
    some = (n > 0) & np.isfinite(n + nc + x)
    y = np.where((n > 0) & np.isinf(x) & np.isfinite(n + nc), 0.0, np.nan)
    n, nc, x = n[some], nc[some], x[some]
    # h and the integrand each fall by e^-DROP within this of their peaks, 0 and that of h φ.
    fall = DROP / n
    left, right = fall + np.sqrt(2 * fall), np.log1p(fall + np.sqrt(2 * fall))
    whole, across = n + x * x, 0.5 * nc * x
    root = np.hypot(across, np.sqrt(n * whole))
    peak = np.log(np.where(across < 0, n / (root - across), (root + across) / whole))
    start, end = np.minimum(peak, 0) - left, np.maximum(peak, 0) + right
    width = 2 * math.pi * np.minimum(0.7, np.sqrt(DROP / (n + (np.abs(nc) + 9) ** 2))) / (2 * DROP)
    count = np.ceil((end - start) / width)
    width = (end - start) / count
    log_scale, total = math.log(2) + _log_factor(0.5 * n), np.zeros(n.shape)
    for first in range(0, int(np.max(count, initial=-1)) + 1, BLOCK):
        k = np.arange(first, first + BLOCK)[:, None]
        r = start + np.minimum(k, count) * width
        u = x * np.exp(r) - nc
        if slope < 0:
            of_u = np.where(x < nc, sp.ndtr(u), -sp.ndtr(-u))
        else:
            wave = (-1) ** slope * sp.eval_hermitenorm(slope, u)
            of_u = wave * np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
        density = np.exp(log_scale + power * r - n * (0.5 * np.expm1(2 * r) - r))
        term = of_u * density * _freedom_factor(nth, n, r)
        total += np.sum(np.where(k <= count, term, 0.0), axis=0)
    y[some] = width * total
    return y.astype(dtype)[()]
