"""Distributions of extremes: powers that become exponentials as their shape goes to 0.

L(z, c) = -log(1 - c z) / c, and z for c = 0, where SciPy has a formula of its own, which does not
depend on c; here it is one function, whose derivatives in c hold at 0 as well.

genextreme   F = exp(-t), t = exp(-L(z, c))
genpareto    1 - F = exp(-L), L = L(z, -c)
kappa4       F = exp(-L(t, h)), t = exp(-L(z, k))

Source: the reference of scipy.stats; J. Hosking, "The four-parameter kappa distribution", IBM
Journal of Research and Development 38 (1994) 251.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.stats.hooks import Hooked
from linad.scipy.stats.with_density import Continuous
from linad.scipy.twins import stands_for


def _by_cases(z: Array, c: Array) -> tuple[Any, Any, Any, Any]:
    """Whether u = c z is small, L(z, c) by its series there, z Σ u^k / (k + 1), and u and c
    elsewhere."""
    u = c * z
    small = np.abs(still(u)) < 0.05
    near = np.where(small, u, 0.0)
    series: Any = 0.0
    for k in range(14, 0, -1):
        series = 1 / k + near * series
    return small, z * series, np.where(small, 0.5, u), np.where(small, 1.0, c)


def _log_power(z: Array, c: Array) -> Any:
    """L(z, c)."""
    small, near, u, c = _by_cases(z, c)
    return np.where(small, near, -np.log1p(-u) / c)


def _log_slope(z: Array, c: Array) -> Any:
    """(c - 1) L(z, c), the logarithm of (1 - c z)^(1/c - 1); for c = 1 it is 0 where L is not."""
    small, near, u, away = _by_cases(z, c)
    return np.where(small, (c - 1) * near, -sp.xlog1py(1 - 1 / away, -u))


def _power(z: Array, c: Array) -> Any:
    """exp(-L(z, c)) = (1 - c z)^(1/c), which at the end of the support, where L is infinite, has
    slopes as well."""
    small, near, u, c = _by_cases(z, c)
    return np.where(small, np.exp(-near), (1 - u) ** (1 / c))


# log Γ(1 + c) = -γ c + c² Σ_{k≥2} ζ(k) (-1)^k c^(k-2) / k, |c| < 1

NEAR = 0.1
_K = np.arange(2, 26)
_OF_LOG_GAMMA = (-1.0) ** _K * sp.zeta(_K) / _K


def _gamma_moments(c: Array) -> tuple[Any, Any]:
    """(1 - Γ(1 + c)) / c and (Γ(1 + 2c) - Γ(1 + c)²) / c², by series about 0."""
    near = np.abs(still(c)) < NEAR
    small, away = np.where(near, c, 0.0), np.where(near, 1.0, c)
    powers = small[..., None] ** np.arange(len(_K))
    log = small * np.sum(_OF_LOG_GAMMA * powers, axis=-1) - np.euler_gamma  # log Γ(1 + c) / c
    gap = np.sum(_OF_LOG_GAMMA * (2.0**_K - 2) * powers, axis=-1)
    first, second = sp.gamma(1 + away), sp.gamma(1 + 2 * away)
    mean = np.where(near, -log * sp.exprel(small * log), (1 - first) / away)
    scale = np.exp(2 * small * log)
    variance = np.where(
        near, scale * gap * sp.exprel(small * small * gap), (second - first * first) / (away * away)
    )
    return mean, variance


def _gamma_series(length: int) -> list[float]:
    """The coefficients of Γ(1 + u), the exponential of the series above."""
    log = [0.0, -np.euler_gamma, *_OF_LOG_GAMMA]
    series = [1.0]
    for m in range(1, length):
        series.append(sum(j * log[j] * series[m - j] for j in range(1, m + 1)) / m)
    return series


_OF_GAMMA = _gamma_series(26)


def _raw_moment(_: Any, n: Any, c: Array) -> Any:
    """Σ_k (-1)^k binom(n, k) Γ(1 + k c) / c^n, by its series about 0; c n > -1."""
    n = int(n)
    signs = [(-1) ** k * math.comb(n, k) for k in range(n + 1)]
    series = [
        coefficient * sum(sign * k**m for k, sign in enumerate(signs))
        for m, coefficient in enumerate(_OF_GAMMA)
    ]
    exists, near = still(c) * n > -1, np.abs(still(c)) * max(n, 1) < 2 * NEAR
    small, away = np.where(near, c, 0.0), np.where(near | ~exists, 1.0, c)
    about = np.sum(series[n:] * small[..., None] ** np.arange(len(series) - n), axis=-1)
    direct: Any = sum(sign * sp.gamma(1 + k * away) for k, sign in enumerate(signs))
    return np.where(exists, np.where(near, about, direct / away**n), np.inf)


def _extreme_stats(_: Any, c: Array) -> Any:
    """Mean, variance, skewness and excess of kurtosis; NaN where there is none."""
    exists = [still(c) >= least for least in (-1, -1 / 2, -1 / 3, -1 / 4)]
    safe = [np.where(e, c, 0.0) for e in exists]
    results = (
        _gamma_moments(safe[0])[0],
        _gamma_moments(safe[1])[1],
        _skewness_and_excess(safe[2])[0],
        _skewness_and_excess(safe[3])[1],
    )
    return tuple(np.where(e, y, np.nan) for e, y in zip(exists, results, strict=True))


def _skewness_and_excess(c: Array) -> tuple[Any, Any]:
    m, m3, m4 = [_raw_moment(None, n, c) for n in (1, 3, 4)]
    variance = _gamma_moments(c)[1]
    m2 = variance + m * m
    third = m3 - m * (3 * m2 - 2 * m * m)
    fourth = m4 - m * (4 * m3 - m * (6 * m2 - 3 * m * m))
    return third / variance**1.5, fourth / (variance * variance) - 3


class GeneralExtreme(Continuous):
    """exp(-t) with t = (1 - c z)^(1/c); Gumbel's distribution for c = 0."""

    shape_names = ("c",)

    def _valid(self, c: Array) -> Any:
        return np.isfinite(still(c))

    def _ends(self, c: Array) -> tuple[Any, Any]:
        end = 1 / np.where(c == 0, 1.0, c)
        return np.where(c < 0, end, -np.inf), np.where(c > 0, end, np.inf)

    def _counts_at_end(self, z: Array, c: Array) -> Any:
        return (z == 1) & (c == 1)

    def _logpdf(self, z: Array, c: Array) -> Any:
        return _log_slope(z, c) - _power(z, c)

    def _logcdf(self, z: Any, c: Any) -> Any:
        return -_power(z, c)

    def _cdf(self, z: Any, c: Any) -> Any:
        return np.exp(self._logcdf(z, c))

    def _sf(self, z: Any, c: Any) -> Any:
        return -np.expm1(self._logcdf(z, c))

    def _mean_and_variance(self, c: Array) -> tuple[Any, Any]:
        # Where there is none, that of another c, so that its NaN has the derivative 0.
        has_mean, has_variance = still(c) > -1, still(c) > -0.5
        mean = _gamma_moments(np.where(has_mean, c, 0.0))[0]
        variance = _gamma_moments(np.where(has_variance, c, 0.0))[1]
        none = np.where(still(c) < -1, np.nan, np.inf)
        return np.where(has_mean, mean, none), np.where(has_variance, variance, np.nan)


class GeneralPareto(Hooked):
    """(1 + c z)^(-1/c) beyond z; the exponential distribution for c = 0."""

    def _logpdf(self, z: Array, c: Array) -> Any:
        return _log_slope(z, -c)

    def _logsf(self, z: Array, c: Array) -> Any:
        return -_log_power(z, -c)

    def _sf(self, z: Array, c: Array) -> Any:
        return np.exp(self._logsf(z, c))

    def _cdf(self, z: Array, c: Array) -> Any:
        return -np.expm1(self._logsf(z, c))


class KappaFour(Hooked):
    """(1 - h t)^(1/h) with t = (1 - k z)^(1/k)."""

    def _logcdf(self, z: Array, h: Array, k: Array) -> Any:
        return -_log_power(_power(z, k), h)

    def _logpdf(self, z: Array, h: Array, k: Array) -> Any:
        return _log_slope(z, k) + _log_slope(_power(z, k), h)

    def _cdf(self, z: Any, h: Any, k: Any) -> Any:
        return np.exp(self._logcdf(z, h, k))

    def _sf(self, z: Any, h: Any, k: Any) -> Any:
        return -np.expm1(self._logcdf(z, h, k))


stands_for(type(scipy.stats.genextreme)._munp, _raw_moment)
stands_for(type(scipy.stats.genextreme)._stats, _extreme_stats)

genextreme = GeneralExtreme("genextreme")
genpareto = GeneralPareto("genpareto")
kappa4 = KappaFour("kappa4")
