"""scipy.special: distribution functions, their complements and their inverses.

y = F(a, x)       dy = F_a da + f dx       f the density; see `linad.rules.families`

In counts they are steps, whose derivatives are not taken. The noncentral ones are in
`linad.rules.noncentral`.

Source: DLMF 7, 8.17, 8.23; Abramowitz and Stegun chapter 26.
"""

from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.elementwise import NO_SLOPE, levels_off
from linad.rules.families import family
from linad.rules.incomplete import I_a, I_b, P_a, beta_density, gamma_density
from linad.rules.special import SQRT_2PI, boxcox_power, special

# Normal.

levels_off(special("ndtr", x=lambda y, x: np.exp(-0.5 * x * x) / SQRT_2PI), 0)
levels_off(special("log_ndtr", x=lambda y, x: np.exp(-0.5 * x * x - y) / SQRT_2PI), 0)
special("ndtri", p=lambda x, p: SQRT_2PI * np.exp(0.5 * x * x))
special("ndtri_exp", p=lambda x, p: SQRT_2PI * np.exp(p + 0.5 * x * x))
special(
    "nrdtrimn",
    p=lambda mean, p, std, x: -std * SQRT_2PI * np.exp(0.5 * sp.ndtri(p) ** 2),
    std=lambda mean, p, std, x: -sp.ndtri(p),
    x=lambda mean, p, std, x: mean.dtype.type(1),
)
special(
    "nrdtrisd",
    mean=lambda std, mean, p, x: -1 / sp.ndtri(p),
    p=lambda std, mean, p, x: -std / sp.ndtri(p) * SQRT_2PI * np.exp(0.5 * sp.ndtri(p) ** 2),
    x=lambda std, mean, p, x: 1 / sp.ndtri(p),
)

# Tukey's lambda: x = (y^λ - (1 - y)^λ) / λ gives dx/dy = y^(λ-1) + (1 - y)^(λ-1), and
# dy/dλ = -(dx/dλ) (dy/dx).


def _tukey_density(y: Array, power: Array) -> Any:
    return 1 / (y ** (power - 1) + (1 - y) ** (power - 1))


def _tukey_shape_slope(y: Array, power: Array) -> Any:
    moved = boxcox_power(np.log(y), power) - boxcox_power(np.log1p(-y), power)
    return -moved * _tukey_density(y, power)


special(
    "tklmbda",
    x=lambda y, x, lmbda: _tukey_density(y, lmbda),
    lmbda=lambda y, x, lmbda: _tukey_shape_slope(y, lmbda),
)

# Kolmogorov's limit: P(y) = 2 Σ_{k≥1} (-1)^(k-1) e^(-2 k² y²), and by Jacobi's transformation
# 1 - P(y) = √(2π) / y Σ_{k≥1} e^(-m_k / y²), m_k = (2k - 1)² π² / 8. Each density converges where
# the other does not, to the last digit within five terms on its side of 1.
# Source: W. Feller, "On the Kolmogorov-Smirnov limit theorems for empirical distributions", Annals
# of Mathematical Statistics 19, 1948; DLMF 20.7.32.


def _kolmogorov_sides(y: Array) -> Any:
    """Where y is below 1, and where each of the series is summed: 1 in the place of the others."""
    lies_low = y < 1
    return lies_low, np.where(lies_low & (y > 0.04), y, 1.0), np.where(lies_low, 1.0, y)


def _kolmogorov_density(y: Array) -> Any:
    """d(1 - P) / dy; it underflows where y < 0.04."""
    lies_low, low, high = _kolmogorov_sides(y)
    square = low * low
    left, right = 0.0, 0.0
    for k in range(1, 6):
        m = (2 * k - 1) ** 2 * np.pi**2 / 8
        left = left + (2 * m / square - 1) / square * np.exp(-m / square)
        right = right + (-1) ** (k - 1) * k * k * np.exp(-2 * k * k * high * high)
    return np.where(lies_low, np.where(y > 0.04, SQRT_2PI * left, 0.0), 8 * high * right)


def _kolmogorov_density_slope(y: Array) -> Any:
    lies_low, low, high = _kolmogorov_sides(y)
    square = low * low
    left, right = 0.0, 0.0
    for k in range(1, 6):
        m = (2 * k - 1) ** 2 * np.pi**2 / 8
        factor = 4 * m * m / (square * square) - 10 * m / square + 2
        left = left + factor / (low * square) * np.exp(-m / square)
        wave = 1 - 4 * k * k * high * high
        right = right + (-1) ** (k - 1) * k * k * wave * np.exp(-2 * k * k * high * high)
    return np.where(lies_low, np.where(y > 0.04, SQRT_2PI * left, 0.0), 8 * right)


special("kolmogorov", y=lambda p, y: -_kolmogorov_density(y))
special("kolmogi", p=lambda y, p: -1 / _kolmogorov_density(y))
special("_kolmogc", y=lambda p, y: _kolmogorov_density(y))
special("_kolmogci", p=lambda y, p: 1 / _kolmogorov_density(y))
special("_kolmogp", y=lambda p, y: -_kolmogorov_density_slope(y))

# Chi-squared.


def _chi_density(v: Array, x: Array) -> Any:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


def _chi_v(v: Array, x: Array) -> Any:
    return 0.5 * P_a(0.5 * v, 0.5 * x)


family("chdtr", "chdtrc", complement_inverse="chdtri p", v=_chi_v, x=_chi_density)


# Gamma: F(x) = P(b, a x).


def _gdtr_slope(a: Array, b: Array, x: Array) -> Any:
    """∂/∂x; where a is 0 nothing depends on x."""
    none = np.equal(a, 0)
    return a * gamma_density(b, np.where(none, 1.0, a * x))


family(
    *("gdtr", "gdtrc"),
    a=lambda a, b, x: _gdtr_slope(x, b, a),
    b=lambda a, b, x: P_a(b, a * x),
    x=_gdtr_slope,
)
special(
    "gdtrix",
    a=lambda x, a, b, p: -x / a,
    b=lambda x, a, b, p: -P_a(b, a * x) / (a * gamma_density(b, a * x)),
    p=lambda x, a, b, p: 1 / (a * gamma_density(b, a * x)),
)
special(
    "gdtria",
    p=lambda a, p, b, x: 1 / (x * gamma_density(b, a * x)),
    b=lambda a, p, b, x: -P_a(b, a * x) / (x * gamma_density(b, a * x)),
    x=lambda a, p, b, x: -a / x,
)

# Student's t, F.

NEAR, NEAR_WEIGHTS = np.polynomial.legendre.leggauss(20)
NEAR, NEAR_WEIGHTS = 0.5 * (1 + NEAR), 0.5 * NEAR_WEIGHTS


def _t_density(v: Array, t: Array) -> Any:
    power = -0.5 * (v + 1) * np.log1p(t * t / v)
    return np.exp(power - sp.betaln(0.5, 0.5 * v)) / np.sqrt(v)


def _t_density_v(v: Array, t: Array) -> Any:
    """∂f/∂v."""
    ratio = t * t / v
    gap = sp.psi(0.5 * (v + 1)) - sp.psi(0.5 * v) - 1 / v - np.log1p(ratio)
    return 0.5 * _t_density(v, t) * (gap + (v + 1) / v * ratio / (1 + ratio))


def _t_v(v: Array, t: Array) -> Any:
    """∂F/∂v: near the middle ∫_0^t ∂f/∂v, by Gauss's formula.

    Elsewhere F(t) = I_z(v/2, 1/2) / 2 for t < 0, and 1 - that for t > 0, with z = v / (v + t²).
    """
    near = (t * t < v) & (np.abs(t) < 2)
    inner = np.where(near, t, 0.0)
    points = inner[..., None] * NEAR
    middle = inner * np.sum(_t_density_v(v[..., None], points) * NEAR_WEIGHTS, axis=-1)
    z = np.where(near, 0.5, v / (v + t * t))
    tail = -0.25 * np.sign(t) * I_a(0.5 * v, 0.5, z) - 0.5 * t * _t_density(v, t) / v
    return np.where(near, middle, tail)


def _f_density(m: Array, n: Array, x: Array) -> Any:
    """F(x) = I_z(m/2, n/2), z = m x / (n + m x)."""
    whole = n + m * x
    return beta_density(0.5 * m, 0.5 * n, m * x / whole) * m * n / (whole * whole)


def _f_m(m: Array, n: Array, x: Array) -> Any:
    # z depends on m x / n.
    return 0.5 * I_a(0.5 * m, 0.5 * n, m * x / (n + m * x)) + x / m * _f_density(m, n, x)


def _f_n(m: Array, n: Array, x: Array) -> Any:
    return 0.5 * I_b(0.5 * m, 0.5 * n, m * x / (n + m * x)) - x / n * _f_density(m, n, x)


family("stdtr", inverse="stdtrit p", v=_t_v, t=_t_density)
family("fdtr", "fdtrc", inverse="fdtri p", m=_f_m, n=_f_n, x=_f_density)

# Counts: Poisson, binomial, negative binomial, in their mean or probability.


def _poisson_slope(k: Any, m: Array) -> Any:
    return -gamma_density(np.floor(k) + 1, m)


def _binomial_slope(k: Any, n: Any, p: Array) -> Any:
    # SciPy takes the whole part of a count that is none.
    k, n = np.floor(k), np.trunc(n)
    return -beta_density(k + 1, n - k, p)


def _waiting_slope(k: Any, n: Any, p: Array) -> Any:
    return beta_density(np.trunc(n), np.trunc(k) + 1, p)


family("pdtr", "pdtrc", inverse="pdtri y", k=NO_SLOPE, m=_poisson_slope)
family("bdtr", "bdtrc", inverse="bdtri y", k=NO_SLOPE, n=NO_SLOPE, p=_binomial_slope)
family("nbdtr", "nbdtrc", inverse="nbdtri y", k=NO_SLOPE, n=NO_SLOPE, p=_waiting_slope)
