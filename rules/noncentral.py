"""Noncentral distributions of scipy.special and scipy.stats: chi-squared, F and Student's t.

In degrees of freedom they are sums and integrals over central ones, see `linad.rules.mixtures`;
these are primitives, closed under differentiation. In the noncentrality λ of a Poisson mixture
Σ_j w_j(λ/2) g(v/2 + j)

2 ∂/∂λ: the mixture of v + 2 less that of v         j w_j(λ/2) = λ/2 w_(j-1)(λ/2)

whence densities are differentiated in x. F is a function of z = m x / (n + m x).

Source: N. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions" 2, 1995,
chapters 29 to 31.
"""

from collections.abc import Callable
from typing import Any

import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.rules.elementwise import register, several
from linad.rules.mixtures import (
    chi_density_in_freedom,
    chi_in_freedom,
    ratio_density_in_freedoms,
    ratio_in_freedoms,
    t_integral,
)
from linad.rules.special import special, ufunc_of

# Chi-squared: the distribution function F and the density f differentiated in v.


def _half_step(function: Any, x: Array, v: Array, nc: Array, **orders: Any) -> Any:
    return 0.5 * (function(x, v + 2, nc, **orders) - function(x, v, nc, **orders))


def _chi_density_x(y: Array, x: Array, v: Array, nc: Array, *, nth: int) -> Any:
    further = chi_density_wrt_freedom(x, v + 2, nc, nth=nth)
    slope = ((0.5 * v - 1) / x - 0.5) * y + 0.5 * nc / x * further
    return slope + 0.5 * nth / x * chi_density_wrt_freedom(x, v, nc, nth=nth - 1) if nth else slope


chi_density_wrt_freedom: Primitive = several(
    "chi_density_wrt_freedom",
    chi_density_in_freedom,
    x=_chi_density_x,
    v=lambda y, x, v, nc, *, nth: chi_density_wrt_freedom(x, v, nc, nth=nth + 1),
    nc=lambda y, x, v, nc, *, nth: _half_step(chi_density_wrt_freedom, x, v, nc, nth=nth),
)
chi_wrt_freedom: Primitive = several(
    "chi_wrt_freedom",
    chi_in_freedom,
    x=lambda y, x, v, nc, *, nth: chi_density_wrt_freedom(x, v, nc, nth=nth),
    v=lambda y, x, v, nc, *, nth: chi_wrt_freedom(x, v, nc, nth=nth + 1),
    nc=lambda y, x, v, nc, *, nth: _half_step(chi_wrt_freedom, x, v, nc, nth=nth),
)


def _chi_v(x: Array, v: Array, nc: Array) -> Any:
    return chi_wrt_freedom(x, v, nc, nth=1)


def _density(x: Array, v: Array, nc: Array) -> Any:
    return chi_density_wrt_freedom(x, v, nc, nth=0)


_chndtr = special(
    "chndtr",
    x=lambda y, x, v, nc: _density(x, v, nc),
    v=lambda y, x, v, nc: _chi_v(x, v, nc),
    nc=lambda y, x, v, nc: 0.5 * (sp.chndtr(x, v + 2, nc) - y),
)
_chndtrix = special(
    "chndtrix",
    p=lambda x, p, v, nc: 1 / _density(x, v, nc),
    v=lambda x, p, v, nc: -_chi_v(x, v, nc) / _density(x, v, nc),
    nc=lambda x, p, v, nc: 0.5 * (p - sp.chndtr(x, v + 2, nc)) / _density(x, v, nc),
)

# SciPy's distribution of k degrees of freedom, its density f_k and tail S_k: 2 ∂f_k/∂nc =
# f_(k+2) - f_k and ∂S_k/∂nc = f_(k+2).

_ncx2_pdf = ufunc_of("_ncx2_pdf")


def _ncx2_x(y: Array, x: Array, k: Array, nc: Array) -> Any:
    return y * ((0.5 * k - 1) / x - 0.5) + 0.5 * nc / x * _ncx2_pdf(x, k + 2, nc)


special(
    "_ncx2_pdf",
    x=_ncx2_x,
    k=lambda y, x, k, nc: chi_density_wrt_freedom(x, k, nc, nth=1),
    nc=lambda y, x, k, nc: 0.5 * (_ncx2_pdf(x, k + 2, nc) - y),
)
special(
    "_ncx2_sf",
    x=lambda y, x, k, nc: -_ncx2_pdf(x, k, nc),
    k=lambda y, x, k, nc: -_chi_v(x, k, nc),
    nc=lambda y, x, k, nc: _ncx2_pdf(x, k + 2, nc),
)
special(
    "_ncx2_isf",
    q=lambda x, q, k, nc: -1 / _ncx2_pdf(x, k, nc),
    k=lambda x, q, k, nc: -_chi_v(x, k, nc) / _ncx2_pdf(x, k, nc),
    nc=lambda x, q, k, nc: _ncx2_pdf(x, k + 2, nc) / _ncx2_pdf(x, k, nc),
)

# F: the mixture as a function of z, and its slope in z.


def _step(function: Any, m: Array, n: Array, nc: Array, z: Array, orders: tuple[Any, ...]) -> Any:
    return 0.5 * (function(m + 2, n, nc, z, orders=orders) - function(m, n, nc, z, orders=orders))


def _ratio_density_z(
    y: Array, m: Array, n: Array, nc: Array, z: Array, *, orders: tuple[int, int]
) -> Any:
    i, k = orders
    further = ratio_density_wrt_freedoms(m + 2, n, nc, z, orders=orders)
    slope = ((0.5 * m - 1) / z - (0.5 * n - 1) / (1 - z)) * y + 0.5 * nc / z * further
    if i:
        slope = slope + 0.5 * i / z * ratio_density_wrt_freedoms(m, n, nc, z, orders=(i - 1, k))
    if k:
        other = ratio_density_wrt_freedoms(m, n, nc, z, orders=(i, k - 1))
        slope = slope - 0.5 * k / (1 - z) * other
    return slope


def _raised(function: Callable[[], Any], place: int) -> Any:
    """The slope in a degree of freedom: the derivative of the next order."""

    def slope(y: Array, m: Array, n: Array, nc: Array, z: Array, *, orders: tuple[int, int]) -> Any:
        i, k = orders
        return function()(m, n, nc, z, orders=(i + (place == 0), k + (place == 1)))

    return slope


ratio_density_wrt_freedoms: Primitive = several(
    "ratio_density_wrt_freedoms",
    ratio_density_in_freedoms,
    m=_raised(lambda: ratio_density_wrt_freedoms, 0),
    n=_raised(lambda: ratio_density_wrt_freedoms, 1),
    nc=lambda y, m, n, nc, z, *, orders: _step(ratio_density_wrt_freedoms, m, n, nc, z, orders),
    z=_ratio_density_z,
)
ratio_wrt_freedoms: Primitive = several(
    "ratio_wrt_freedoms",
    ratio_in_freedoms,
    m=_raised(lambda: ratio_wrt_freedoms, 0),
    n=_raised(lambda: ratio_wrt_freedoms, 1),
    nc=lambda y, m, n, nc, z, *, orders: _step(ratio_wrt_freedoms, m, n, nc, z, orders),
    z=lambda y, m, n, nc, z, *, orders: ratio_density_wrt_freedoms(m, n, nc, z, orders=orders),
)


class _Ratio:
    """z, its derivatives, and the density in it, at one point."""

    def __init__(self, m: Array, n: Array, nc: Array, x: Array) -> None:
        self.m, self.n, self.nc = m, n, nc
        self.whole = whole = n + m * x
        self.z = m * x / whole
        self.in_x = m * n / (whole * whole)
        self.in_m, self.in_n = n * x / (whole * whole), -m * x / (whole * whole)

    def density(self, i: int = 0, k: int = 0, more: int = 0) -> Any:
        return ratio_density_wrt_freedoms(self.m + more, self.n, self.nc, self.z, orders=(i, k))

    def density_slope(self) -> Any:
        point = self.m, self.n, self.nc, self.z
        return _ratio_density_z(self.density(), *point, orders=(0, 0))


def _ratio_x(m: Array, n: Array, nc: Array, x: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    return at.density() * at.in_x


def _ratio_m(m: Array, n: Array, nc: Array, x: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    return ratio_wrt_freedoms(m, n, nc, at.z, orders=(1, 0)) + at.density() * at.in_m


def _ratio_n(m: Array, n: Array, nc: Array, x: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    return ratio_wrt_freedoms(m, n, nc, at.z, orders=(0, 1)) + at.density() * at.in_n


def _ratio_nc(m: Array, n: Array, nc: Array, x: Array) -> Any:
    return 0.5 * (sp.ncfdtr(m + 2, n, nc, m * x / (m + 2)) - sp.ncfdtr(m, n, nc, x))


_ncf_sf = ufunc_of("_ncf_sf")


def _tail_nc(m: Array, n: Array, nc: Array, x: Array) -> Any:
    return 0.5 * (_ncf_sf(m * x / (m + 2), m + 2, n, nc) - _ncf_sf(x, m, n, nc))


special(
    "ncfdtr",
    dfn=lambda y, m, n, nc, x: _ratio_m(m, n, nc, x),
    dfd=lambda y, m, n, nc, x: _ratio_n(m, n, nc, x),
    nc=lambda y, m, n, nc, x: _ratio_nc(m, n, nc, x),
    f=lambda y, m, n, nc, x: _ratio_x(m, n, nc, x),
)
special(
    "_ncf_sf",
    x=lambda y, x, m, n, nc: -_ratio_x(m, n, nc, x),
    dfn=lambda y, x, m, n, nc: -_ratio_m(m, n, nc, x),
    dfd=lambda y, x, m, n, nc: -_ratio_n(m, n, nc, x),
    nc=lambda y, x, m, n, nc: _tail_nc(m, n, nc, x),
)
special(
    "ncfdtri",
    dfn=lambda x, m, n, nc, p: -_ratio_m(m, n, nc, x) / _ratio_x(m, n, nc, x),
    dfd=lambda x, m, n, nc, p: -_ratio_n(m, n, nc, x) / _ratio_x(m, n, nc, x),
    nc=lambda x, m, n, nc, p: -_ratio_nc(m, n, nc, x) / _ratio_x(m, n, nc, x),
    p=lambda x, m, n, nc, p: 1 / _ratio_x(m, n, nc, x),
)
special(
    "_ncf_isf",
    q=lambda x, q, m, n, nc: -1 / _ratio_x(m, n, nc, x),
    dfn=lambda x, q, m, n, nc: -_ratio_m(m, n, nc, x) / _ratio_x(m, n, nc, x),
    dfd=lambda x, q, m, n, nc: -_ratio_n(m, n, nc, x) / _ratio_x(m, n, nc, x),
    nc=lambda x, q, m, n, nc: _tail_nc(m, n, nc, x) / _ratio_x(m, n, nc, x),
)


def _ncf_pdf_x(y: Array, x: Array, m: Array, n: Array, nc: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    return at.density_slope() * at.in_x**2 - 2 * m / at.whole * y


def _ncf_pdf_m(y: Array, x: Array, m: Array, n: Array, nc: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    slope = at.density(1, 0) + at.density_slope() * at.in_m
    return slope * at.in_x + y * (1 / m - 2 * x / at.whole)


def _ncf_pdf_n(y: Array, x: Array, m: Array, n: Array, nc: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    slope = at.density(0, 1) + at.density_slope() * at.in_n
    return slope * at.in_x + y * (1 / n - 2 / at.whole)


def _ncf_pdf_nc(y: Array, x: Array, m: Array, n: Array, nc: Array) -> Any:
    at = _Ratio(m, n, nc, x)
    return 0.5 * (at.density(more=2) - at.density()) * at.in_x


special("_ncf_pdf", x=_ncf_pdf_x, dfn=_ncf_pdf_m, dfd=_ncf_pdf_n, nc=_ncf_pdf_nc)

# Student's t.

t_expectation: Primitive = several(
    "t_expectation",
    t_integral,
    n=lambda y, n, nc, x, *, power, slope, nth: t_expectation(
        n, nc, x, power=power, slope=slope, nth=nth + 1
    ),
    nc=lambda y, n, nc, x, *, power, slope, nth: (
        -t_expectation(n, nc, x, power=power, slope=slope + 1, nth=nth)
    ),
    x=lambda y, n, nc, x, *, power, slope, nth: t_expectation(
        n, nc, x, power=power + 1, slope=slope + 1, nth=nth
    ),
)


def _t_expectation(n: Array, nc: Array, x: Array, power: int, slope: int, nth: int) -> Any:
    return t_expectation(n, nc, x, power=power, slope=slope, nth=nth)


special(
    "nctdtr",
    df=lambda y, n, nc, x: _t_expectation(n, nc, x, 0, -1, 1),
    nc=lambda y, n, nc, x: -_t_expectation(n, nc, x, 0, 0, 0),
    t=lambda y, n, nc, x: _t_expectation(n, nc, x, 1, 0, 0),
)
special(
    "_nct_sf",
    x=lambda y, x, n, nc: -_t_expectation(n, nc, x, 1, 0, 0),
    df=lambda y, x, n, nc: -_t_expectation(n, nc, x, 0, -1, 1),
    nc=lambda y, x, n, nc: _t_expectation(n, nc, x, 0, 0, 0),
)
special(
    "_nct_pdf",
    x=lambda y, x, n, nc: _t_expectation(n, nc, x, 2, 1, 0),
    df=lambda y, x, n, nc: _t_expectation(n, nc, x, 1, 0, 1),
    nc=lambda y, x, n, nc: -_t_expectation(n, nc, x, 1, 1, 0),
)
_nctdtrit = special(
    "nctdtrit",
    df=lambda x, n, nc, p: -_t_expectation(n, nc, x, 0, -1, 1) / _t_expectation(n, nc, x, 1, 0, 0),
    nc=lambda x, n, nc, p: _t_expectation(n, nc, x, 0, 0, 0) / _t_expectation(n, nc, x, 1, 0, 0),
    p=lambda x, n, nc, p: 1 / _t_expectation(n, nc, x, 1, 0, 0),
)
special(
    "_nct_isf",
    q=lambda x, q, n, nc: -1 / _t_expectation(n, nc, x, 1, 0, 0),
    df=lambda x, q, n, nc: -_t_expectation(n, nc, x, 0, -1, 1) / _t_expectation(n, nc, x, 1, 0, 0),
    nc=lambda x, q, n, nc: _t_expectation(n, nc, x, 0, 0, 0) / _t_expectation(n, nc, x, 1, 0, 0),
)

# The same of SciPy 1.15, in its own order of arguments.

if hasattr(sp._ufuncs, "_ncx2_cdf"):
    register(ufunc_of("_ncx2_cdf"), _chndtr)
    register(ufunc_of("_ncx2_ppf"), _chndtrix)
if hasattr(sp._ufuncs, "_nct_ppf"):
    register(ufunc_of("_nct_ppf"), lambda q, df, nc: _nctdtrit(df, nc, q))
