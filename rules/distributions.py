"""scipy.special: distribution functions, their complements and their inverses.

y = F(x)       dy = f(x) dx            f the density
x = F^-1(p)    dx = dp / f(x)

The derivatives in degrees of freedom and in counts have no closed form, but for scales
they have, and in the noncentrality of chi-squared.

Source: DLMF 7, 8.17, 8.23; Abramowitz and Stegun chapter 26.
"""

from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.primitive import Traced
from linad.rules.elementwise import NO_SLOPE
from linad.rules.gamma import beta_density, gamma_density
from linad.rules.special import SQRT_2PI, boxcox_power, special

# Normal.

special("ndtr", x=lambda y, x: np.exp(-0.5 * x * x) / SQRT_2PI)
special("log_ndtr", x=lambda y, x: np.exp(-0.5 * x * x - y) / SQRT_2PI)
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


def _tukey_density(y: Any, power: Any) -> Any:
    return 1 / (y ** (power - 1) + (1 - y) ** (power - 1))


def _tukey_shape_slope(y: Any, power: Any) -> Any:
    moved = boxcox_power(np.log(y), power) - boxcox_power(np.log1p(-y), power)
    return -moved * _tukey_density(y, power)


special(
    "tklmbda",
    x=lambda y, x, lmbda: _tukey_density(y, lmbda),
    lmbda=lambda y, x, lmbda: _tukey_shape_slope(y, lmbda),
)

# Chi-squared.


def _chi_density(v: Any, x: Any) -> Any:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


special("chdtr", v=NO_SLOPE, x=lambda y, v, x: _chi_density(v, x))
special("chdtrc", v=NO_SLOPE, x=lambda y, v, x: -_chi_density(v, x))
special("chdtri", v=NO_SLOPE, p=lambda x, v, p: -1 / _chi_density(v, x))


def _noncentral_density(x: Any, v: Any, nc: Any) -> Any:
    # Without a shift it is the density of chi-squared.
    central = np.equal(nc, 0)
    if isinstance(central, Traced) or np.any(central):
        shifted = np.where(central, 1.0, nc)
        return np.where(central, _chi_density(v, x), _shifted_density(x, v, shifted))
    return _shifted_density(x, v, nc)


def _shifted_density(x: Any, v: Any, nc: Any) -> Any:
    root = np.sqrt(x) - np.sqrt(nc)
    ratio = (x / nc) ** (0.25 * v - 0.5)
    return 0.5 * np.exp(-0.5 * root * root) * ratio * sp.ive(0.5 * v - 1, np.sqrt(nc * x))


special(
    "chndtr",
    x=lambda y, x, v, nc: _noncentral_density(x, v, nc),
    v=NO_SLOPE,
    nc=lambda y, x, v, nc: 0.5 * (sp.chndtr(x, v + 2, nc) - y),
)
special("chndtrix", p=lambda x, p, v, nc: 1 / _noncentral_density(x, v, nc))

# Gamma: F(x) = P(b, a x).


def _gdtr_slope(a: Any, b: Any, x: Any) -> Any:
    """∂/∂x; where a is 0 nothing depends on x."""
    none = np.equal(a, 0)
    return a * gamma_density(b, np.where(none, 1.0, a * x))


special(
    "gdtr",
    a=lambda y, a, b, x: _gdtr_slope(x, b, a),
    b=NO_SLOPE,
    x=lambda y, a, b, x: _gdtr_slope(a, b, x),
)
special(
    "gdtrc",
    a=lambda y, a, b, x: -_gdtr_slope(x, b, a),
    b=NO_SLOPE,
    x=lambda y, a, b, x: -_gdtr_slope(a, b, x),
)
special(
    "gdtrix",
    a=lambda x, a, b, p: -x / a,
    b=NO_SLOPE,
    p=lambda x, a, b, p: 1 / (a * gamma_density(b, a * x)),
)
special(
    "gdtria",
    p=lambda a, p, b, x: 1 / (x * gamma_density(b, a * x)),
    b=NO_SLOPE,
    x=lambda a, p, b, x: -a / x,
)

# Student's t, F.


def _t_density(v: Any, t: Any) -> Any:
    power = -0.5 * (v + 1) * np.log1p(t * t / v)
    return np.exp(power - sp.betaln(0.5, 0.5 * v)) / np.sqrt(v)


def _f_density(m: Any, n: Any, x: Any) -> Any:
    """F(x) = I_z(m/2, n/2), z = m x / (n + m x)."""
    whole = n + m * x
    return beta_density(0.5 * m, 0.5 * n, m * x / whole) * m * n / (whole * whole)


special("stdtr", v=NO_SLOPE, t=lambda y, v, t: _t_density(v, t))
special("stdtrit", v=NO_SLOPE, p=lambda t, v, p: 1 / _t_density(v, t))
special("fdtr", m=NO_SLOPE, n=NO_SLOPE, x=lambda y, m, n, x: _f_density(m, n, x))
special("fdtrc", m=NO_SLOPE, n=NO_SLOPE, x=lambda y, m, n, x: -_f_density(m, n, x))
special("fdtri", m=NO_SLOPE, n=NO_SLOPE, p=lambda x, m, n, p: 1 / _f_density(m, n, x))

# Counts: Poisson, binomial, negative binomial, in their mean or probability.


def _poisson_slope(k: Any, m: Any) -> Any:
    return -gamma_density(np.floor(k) + 1, m)


def _binomial_slope(k: Any, n: Any, p: Any) -> Any:
    # SciPy takes the whole part of a count that is none.
    k, n = np.floor(k), np.trunc(n)
    return -beta_density(k + 1, n - k, p)


def _waiting_slope(k: Any, n: Any, p: Any) -> Any:
    return beta_density(np.trunc(n), np.trunc(k) + 1, p)


special("pdtr", k=NO_SLOPE, m=lambda y, k, m: _poisson_slope(k, m))
special("pdtrc", k=NO_SLOPE, m=lambda y, k, m: -_poisson_slope(k, m))
special("pdtri", k=NO_SLOPE, y=lambda m, k, y: 1 / _poisson_slope(k, m))
special("bdtr", k=NO_SLOPE, n=NO_SLOPE, p=lambda y, k, n, p: _binomial_slope(k, n, p))
special("bdtrc", k=NO_SLOPE, n=NO_SLOPE, p=lambda y, k, n, p: -_binomial_slope(k, n, p))
special("bdtri", k=NO_SLOPE, n=NO_SLOPE, y=lambda p, k, n, y: 1 / _binomial_slope(k, n, p))
special("nbdtr", k=NO_SLOPE, n=NO_SLOPE, p=lambda y, k, n, p: _waiting_slope(k, n, p))
special("nbdtrc", k=NO_SLOPE, n=NO_SLOPE, p=lambda y, k, n, p: -_waiting_slope(k, n, p))
special("nbdtri", k=NO_SLOPE, n=NO_SLOPE, y=lambda p, k, n, y: 1 / _waiting_slope(k, n, p))
