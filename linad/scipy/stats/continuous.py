"""Continuous distributions on the standard variable z.

Source: the reference of scipy.stats, whose parametrisations these are; N. Johnson, S. Kotz and
N. Balakrishnan, "Continuous Univariate Distributions", 1994.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.stats.with_density import Continuous

LOG_2, LOG_PI = math.log(2), math.log(math.pi)
HALF_LOG_2PI = 0.5 * (LOG_2 + LOG_PI)


class Normal(Continuous):
    def _logpdf(self, z: Array) -> Any:
        return -0.5 * z * z - HALF_LOG_2PI

    def _cdf(self, z: Array) -> Any:
        return sp.ndtr(z)

    def _sf(self, z: Array) -> Any:
        return sp.ndtr(-z)

    def _logcdf(self, z: Array) -> Any:
        return sp.log_ndtr(z)

    def _logsf(self, z: Array) -> Any:
        return sp.log_ndtr(-z)


class LogNormal(Continuous):
    """log z is normal with standard deviation s."""

    shape_names = ("s",)
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Any, s: Any) -> Any:
        return np.False_

    def _logpdf(self, z: Any, s: Any) -> Any:
        log = np.log(z)
        return -0.5 * (log / s) ** 2 - np.log(s) - log - HALF_LOG_2PI

    def _cdf(self, z: Array, s: Array) -> Any:
        return sp.ndtr(np.log(z) / s)

    def _sf(self, z: Any, s: Any) -> Any:
        return sp.ndtr(-np.log(z) / s)

    def _logcdf(self, z: Any, s: Any) -> Any:
        return sp.log_ndtr(np.log(z) / s)

    def _logsf(self, z: Any, s: Any) -> Any:
        return sp.log_ndtr(-np.log(z) / s)


class Exponential(Continuous):
    span = (0.0, np.inf)
    inside = 1.0

    def _logpdf(self, z: Array) -> Any:
        return -z

    def _cdf(self, z: Array) -> Any:
        return -np.expm1(-z)

    def _sf(self, z: Array) -> Any:
        return np.exp(-z)

    def _logsf(self, z: Array) -> Any:
        return -z


class Uniform(Continuous):
    span = (0.0, 1.0)
    inside = 0.5

    def _logpdf(self, z: Array) -> Any:
        return 0.0 * z

    def _cdf(self, z: Any) -> Any:
        return z

    def _sf(self, z: Any) -> Any:
        return 1.0 - z


class Cauchy(Continuous):
    def _logpdf(self, z: Array) -> Any:
        # log(1 + z^2) where z^2 would overflow.
        return -2 * np.log(np.hypot(1.0, z)) - LOG_PI

    def _cdf(self, z: Any) -> Any:
        return np.arctan2(1.0, -z) / math.pi

    def _sf(self, z: Array) -> Any:
        return np.arctan2(1.0, z) / math.pi


def _halves(z: Any) -> tuple[Any, Any, Any]:
    """Whether z is positive, and z where it is and where it is not; elsewhere 0."""
    positive = z > 0
    return positive, np.where(positive, z, 0.0), np.where(positive, 0.0, z)


class Laplace(Continuous):
    symmetric = True

    def _logpdf(self, z: Any) -> Any:
        return -LOG_2 - np.abs(z)

    def _cdf(self, z: Any) -> Any:
        positive, right, left = _halves(z)
        return np.where(positive, 1.0 - 0.5 * np.exp(-right), 0.5 * np.exp(left))

    def _sf(self, z: Any) -> Any:
        return self._cdf(-z)

    def _logcdf(self, z: Any) -> Any:
        positive, right, left = _halves(z)
        return np.where(positive, np.log1p(-0.5 * np.exp(-right)), left - LOG_2)

    def _logsf(self, z: Any) -> Any:
        return self._logcdf(-z)


class Logistic(Continuous):
    def _logpdf(self, z: Any) -> Any:
        return sp.log_expit(z) + sp.log_expit(-z)

    def _cdf(self, z: Array) -> Any:
        return sp.expit(z)

    def _sf(self, z: Any) -> Any:
        return sp.expit(-z)

    def _logcdf(self, z: Any) -> Any:
        return sp.log_expit(z)

    def _logsf(self, z: Any) -> Any:
        return sp.log_expit(-z)


class Gumbel(Continuous):
    def _logpdf(self, z: Array) -> Any:
        return -z - np.exp(-z)

    def _cdf(self, z: Array) -> Any:
        return np.exp(-np.exp(-z))

    def _sf(self, z: Array) -> Any:
        return -np.expm1(-np.exp(-z))

    def _logcdf(self, z: Array) -> Any:
        return -np.exp(-z)


class Weibull(Continuous):
    shape_names = ("c",)
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Any, c: Any) -> Any:
        return (z == 0) & (c <= 1)

    def _logpdf(self, z: Any, c: Any) -> Any:
        return np.log(c) + sp.xlogy(c - 1, z) - z**c

    def _cdf(self, z: Array, c: Array) -> Any:
        return -np.expm1(-(z**c))

    def _sf(self, z: Array, c: Array) -> Any:
        return np.exp(-(z**c))

    def _logsf(self, z: Any, c: Any) -> Any:
        return -(z**c)


class Gamma(Continuous):
    shape_names = ("a",)
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Array, a: Array) -> Any:
        return (z == 0) & (a <= 1)

    def _logpdf(self, z: Array, a: Array) -> Any:
        return sp.xlogy(a - 1, z) - z - sp.gammaln(a)

    def _cdf(self, z: Array, a: Array) -> Any:
        return sp.gammainc(a, z)

    def _sf(self, z: Array, a: Array) -> Any:
        return sp.gammaincc(a, z)

    def _entropy(self, a: Any) -> Any:
        return a + sp.gammaln(a) + (1 - a) * sp.psi(a)


class ChiSquared(Continuous):
    shape_names = ("df",)
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Array, df: Array) -> Any:
        return (z == 0) & (df <= 2)

    def _logpdf(self, z: Array, df: Array) -> Any:
        half = 0.5 * df
        return sp.xlogy(half - 1, z) - 0.5 * z - sp.gammaln(half) - LOG_2 * half

    def _cdf(self, z: Array, df: Array) -> Any:
        return sp.chdtr(df, z)

    def _sf(self, z: Array, df: Array) -> Any:
        return sp.chdtrc(df, z)

    def _entropy(self, df: Any) -> Any:
        half = 0.5 * df
        return half + LOG_2 + sp.gammaln(half) + (1 - half) * sp.psi(half)


class Beta(Continuous):
    shape_names = ("a", "b")
    span = (0.0, 1.0)
    inside = 0.5

    def _counts_at_end(self, z: Any, a: Array, b: Array) -> Any:
        return ((z == 0) & (a <= 1)) | ((z == 1) & (b <= 1))

    def _logpdf(self, z: Array, a: Array, b: Array) -> Any:
        return sp.xlogy(a - 1, z) + sp.xlog1py(b - 1, -z) - sp.betaln(a, b)

    def _cdf(self, z: Array, a: Array, b: Array) -> Any:
        return sp.betainc(a, b, z)

    def _sf(self, z: Array, a: Array, b: Array) -> Any:
        return sp.betaincc(a, b, z)

    def _entropy(self, a: Any, b: Any) -> Any:
        both = sp.psi(a + b) * (a + b - 2)
        return sp.betaln(a, b) - (a - 1) * sp.psi(a) - (b - 1) * sp.psi(b) + both


class Student(Continuous):
    """Student's t; the normal distribution for infinite df."""

    shape_names = ("df",)

    def _logpdf(self, z: Array, df: Array) -> Any:
        normal = np.isinf(df)
        v = np.where(normal, 1.0, df)
        large = v > 1e3  # where the gamma functions cancel: by Stirling's series
        w = np.where(large, v, 1e3)
        series = -1 / (4 * w) + 1 / (24 * w**3) - HALF_LOG_2PI
        v_small = np.where(large, 1.0, v)
        gammas = np.log(sp.poch(0.5 * v_small, 0.5)) - 0.5 * (np.log(v_small) + LOG_PI)
        constant = np.where(large, series, gammas)
        ratio = z / np.sqrt(v)
        close = np.abs(still(ratio)) < 1.0  # a square beyond may overflow
        square = np.where(close, ratio, 0.0) ** 2
        far = np.log(np.hypot(1.0, np.where(close, 1.0, ratio)))
        tails = -(v + 1) * np.where(close, 0.5 * np.log1p(square), far)
        center = np.where(normal, z, 0.0)  # z^2 may overflow
        return np.where(normal, -0.5 * center * center - HALF_LOG_2PI, constant + tails)

    def _cdf(self, z: Array, df: Array) -> Any:
        normal = np.isinf(df)
        return np.where(normal, sp.ndtr(z), sp.stdtr(np.where(normal, 1.0, df), z))

    def _sf(self, z: Array, df: Array) -> Any:
        return self._cdf(-z, df)

    def _mean_and_variance(self, df: Any) -> tuple[Any, Any]:
        some = (df > 2) & np.isfinite(still(df))
        v = np.where(some, df, 3.0)
        wide = np.where(df > 2, 1.0, np.where(df > 1, np.inf, np.nan))
        return np.where(df > 1, 0.0, np.inf), np.where(some, v / (v - 2), wide)

    def _entropy(self, df: Any) -> Any:
        normal = np.isinf(still(df))
        v = np.where(normal, 1.0, df)
        half = 0.5 * (v + 1)
        y = half * (sp.psi(half) - sp.psi(0.5 * v)) + 0.5 * np.log(v) + sp.betaln(0.5 * v, 0.5)
        return np.where(normal, HALF_LOG_2PI + 0.5, y)


norm = Normal("norm")
lognorm = LogNormal("lognorm")
expon = Exponential("expon")
uniform = Uniform("uniform")
cauchy = Cauchy("cauchy")
laplace = Laplace("laplace")
logistic = Logistic("logistic")
gumbel_r = Gumbel("gumbel_r")
weibull_min = Weibull("weibull_min")
gamma = Gamma("gamma")
chi2 = ChiSquared("chi2")
beta = Beta("beta")
t = Student("t")
