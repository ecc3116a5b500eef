"""Continuous distributions by cases, on the standard variable z.

SciPy's own formulas write case by case into an array; here they select.

Source: the reference of scipy.stats, whose parametrisations these are; N. Johnson, S. Kotz and
N. Balakrishnan, "Continuous Univariate Distributions", 1994.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.stats.continuous import HALF_LOG_2PI, LOG_2
from linad.scipy.stats.with_density import Continuous


def _divided(a: Any, b: Any) -> Any:
    """a / b; 0 where b is 0."""
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))


def _trapezoid_logpdf(z: Any, c: Any, d: Any) -> Any:
    """Rises up to c, is level up to d, falls to 0 at 1."""
    height = np.where(z < c, _divided(z, c), np.where(z > d, _divided(1 - z, 1 - d), 1.0))
    return np.log(np.where(height > 0, height, 1.0)) + np.where(
        height > 0, LOG_2 - np.log(1 + d - c), -np.inf
    )


def _trapezoid_cdf(z: Any, c: Any, d: Any) -> Any:
    below = np.where(z < c, _divided(z * z, c), np.where(z > d, d, z) * 2 - c)
    above = np.where(z > d, (1 - d) - _divided((1 - z) ** 2, 1 - d), 0.0)
    return (below + above) / (1 + d - c)


class Trapezoid(Continuous):
    shape_names = ("c", "d")
    span = (0.0, 1.0)
    inside = 0.5

    def _valid(self, c: Any, d: Any) -> Any:
        return (c >= 0) & (c <= 1) & (d >= 0) & (d <= 1) & (d >= c)

    def _logpdf(self, z: Any, c: Any, d: Any) -> Any:
        return _trapezoid_logpdf(z, c, d)

    def _cdf(self, z: Any, c: Any, d: Any) -> Any:
        return _trapezoid_cdf(z, c, d)

    def _sf(self, z: Any, c: Any, d: Any) -> Any:
        return _trapezoid_cdf(1 - z, 1 - d, 1 - c)

    def _mean_and_variance(self, c: Any, d: Any) -> tuple[Any, Any]:
        # Of the differences of moments of triangles: (d^n - c^n) / (d - c) written out.
        mean = (1 + d + d * d - c * c) / (3 * (1 + d - c))
        second = (1 + d + d * d + d**3 - c**3) / (6 * (1 + d - c))
        return mean, second - mean * mean


class Triangle(Continuous):
    shape_names = ("c",)
    span = (0.0, 1.0)
    inside = 0.5

    def _valid(self, c: Any) -> Any:
        return (c >= 0) & (c <= 1)

    def _logpdf(self, z: Any, c: Any) -> Any:
        return _trapezoid_logpdf(z, c, c)

    def _cdf(self, z: Any, c: Any) -> Any:
        return _trapezoid_cdf(z, c, c)

    def _sf(self, z: Any, c: Any) -> Any:
        return _trapezoid_cdf(1 - z, 1 - c, 1 - c)

    def _mean_and_variance(self, c: Any) -> tuple[Any, Any]:
        return (1 + c) / 3, (1 - c + c * c) / 18

    def _entropy(self, c: Any) -> Any:
        return 0.5 - LOG_2 + 0 * c


def _log_mass(a: Array, b: Array) -> Any:
    """log(Φ(b) - Φ(a)) for a <= b, from the tail that both are nearer to."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    tail = high <= 0
    # One tail: a difference of logarithms; about the middle: 1 less both tails.
    far, near = sp.log_ndtr(np.where(tail, low, -2.0)), sp.log_ndtr(np.where(tail, high, -1.0))
    apart = far < near
    one = near + np.log(-np.expm1(np.where(apart, far - near, -1.0)))
    both = np.log1p(-sp.ndtr(np.where(tail, -1.0, low)) - sp.ndtr(np.where(tail, -1.0, -high)))
    return np.where(tail, np.where(apart, one, -np.inf), both)


class TruncatedNormal(Continuous):
    """The normal distribution between a and b."""

    shape_names = ("a", "b")

    def _valid(self, a: Array, b: Array) -> Any:
        return a < b

    def _ends(self, a: Array, b: Array) -> tuple[Any, Any]:
        return a, b

    def _standard_point(self, a: Array, b: Array) -> Any:
        low, high = np.where(np.isinf(a), np.minimum(b, 0.0) - 2, a), b
        return 0.5 * (low + np.where(np.isinf(high), np.maximum(low, 0.0) + 2, high))

    def _logpdf(self, z: Array, a: Array, b: Array) -> Any:
        return -0.5 * z * z - HALF_LOG_2PI - _log_mass(a, b)

    def _logcdf(self, z: Array, a: Array, b: Array) -> Any:
        return _log_mass(a, z) - _log_mass(a, b)

    def _logsf(self, z: Array, a: Array, b: Array) -> Any:
        return _log_mass(z, b) - _log_mass(a, b)

    def _cdf(self, z: Array, a: Array, b: Array) -> Any:
        return np.exp(self._logcdf(z, a, b))

    def _sf(self, z: Array, a: Array, b: Array) -> Any:
        return np.exp(self._logsf(z, a, b))

    def _mean_and_variance(self, a: Any, b: Any) -> tuple[Any, Any]:
        mass = _log_mass(a, b)
        ends = []
        for end in (a, b):
            finite = np.isfinite(still(end))
            z = np.where(finite, end, 0.0)
            p = np.exp(-0.5 * z * z - HALF_LOG_2PI - mass)
            ends.append((np.where(finite, p, 0.0), np.where(finite, z * p, 0.0)))
        (p, ap), (q, bq) = ends
        mean = p - q
        return mean, 1 + ap - bq - mean * mean


def _burr_logpdf(z: Any, c: Any, d: Any) -> Any:
    """c d z^(c d - 1) / (1 + z^c)^(d + 1); beyond 1 in powers of 1 / z, which do not overflow."""
    near = still(z) <= 1
    small, large = np.where(near, z, 1.0), np.where(near, 1.0, z)
    power = np.where(near, np.log1p(small**c), c * np.log(large) + np.log1p(large**-c))
    return np.log(c * d) + sp.xlogy(c * d - 1, z) - (d + 1) * power


def _burr_moments(c: Any, d: Any) -> tuple[Any, Any]:
    """Mean and variance; NaN where they do not exist."""

    def moment(n: int) -> Any:
        exists = c > n
        safe = np.where(exists, c, 10.0)
        return np.where(exists, d * sp.beta(1 - n / safe, d + n / safe), np.nan)

    mean = moment(1)
    return mean, moment(2) - mean * mean


class Burr(Continuous):
    shape_names = ("c", "d")
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Any, c: Any, d: Any) -> Any:
        return (z == 0) & (c * d <= 1)

    def _logpdf(self, z: Any, c: Any, d: Any) -> Any:
        return _burr_logpdf(z, c, d)

    def _logcdf(self, z: Any, c: Any, d: Any) -> Any:
        return -d * np.logaddexp(0.0, -c * np.log(z))

    def _cdf(self, z: Any, c: Any, d: Any) -> Any:
        return np.exp(self._logcdf(z, c, d))

    def _sf(self, z: Any, c: Any, d: Any) -> Any:
        return -np.expm1(self._logcdf(z, c, d))

    def _mean_and_variance(self, c: Any, d: Any) -> tuple[Any, Any]:
        return _burr_moments(c, d)


class Fisk(Continuous):
    """Burr's distribution with d = 1: the logistic distribution of log z."""

    shape_names = ("c",)
    span = (0.0, np.inf)
    inside = 1.0

    def _counts_at_end(self, z: Any, c: Any) -> Any:
        return (z == 0) & (c <= 1)

    def _logpdf(self, z: Any, c: Any) -> Any:
        return _burr_logpdf(z, c, 1.0)

    def _logcdf(self, z: Any, c: Any) -> Any:
        return sp.log_expit(c * np.log(z))

    def _cdf(self, z: Any, c: Any) -> Any:
        return sp.expit(c * np.log(z))

    def _sf(self, z: Any, c: Any) -> Any:
        return sp.expit(-c * np.log(z))

    def _mean_and_variance(self, c: Any) -> tuple[Any, Any]:
        return _burr_moments(c, 1.0)


_FAR_NODES, _FAR_WEIGHTS = np.polynomial.legendre.leggauss(48)
_FAR_NODES, _FAR_WEIGHTS = 20 * (_FAR_NODES + 1), 20 * _FAR_WEIGHTS  # from 0 to 40


class SkewNormal(Continuous):
    """Φ(z) - 2 T(z, a), with Owen's T; far on its short side both terms are the same.

    There, with h = -z and T(h, ∞) = Φ(-h) / 2,

        F = 2 T(h, ∞) - 2 T(h, a) = 1/π ∫_a^∞ exp(-h² (1 + t²) / 2) / (1 + t²) dt,

    by the Gauss-Legendre rule over u = h² a (t - a), of which the integrand has exp(-u).
    """

    shape_names = ("a",)

    def _valid(self, a: Any) -> Any:
        return np.isfinite(still(a))

    def _logpdf(self, z: Any, a: Any) -> Any:
        return LOG_2 - 0.5 * z * z - HALF_LOG_2PI + sp.log_ndtr(a * z)

    def _with_tail(self, z: Any, a: Any, near: Any, log: bool) -> Any:
        """F or its logarithm: ``near``, and the integral where 1 - Φ(a h) is below 0.0014."""
        far = (still(a) > 0) & (still(-z * a) > 3)
        if not np.any(far):
            return near
        h, a = np.where(far, -z, 3.0)[..., None], np.where(far, a, 1.0)[..., None]
        width = h * h * a
        terms = np.exp(-_FAR_NODES - _FAR_NODES**2 / (2 * width * a))
        integral = np.sum(_FAR_WEIGHTS * terms / (1 + (a + _FAR_NODES / width) ** 2), axis=-1)
        front = -0.5 * h * h * (1 + a * a) - np.log(math.pi * width)
        tail = front[..., 0] + np.log(integral)
        return np.where(far, tail if log else np.exp(tail), near)

    def _cdf(self, z: Any, a: Any) -> Any:
        return self._with_tail(z, a, sp.ndtr(z) - 2 * sp.owens_t(z, a), log=False)

    def _sf(self, z: Any, a: Any) -> Any:
        return self._cdf(-z, -a)

    def _logcdf(self, z: Any, a: Any) -> Any:
        return self._with_tail(z, a, super()._logcdf(z, a), log=True)

    def _logsf(self, z: Any, a: Any) -> Any:
        return self._logcdf(-z, -a)

    def _mean_and_variance(self, a: Any) -> tuple[Any, Any]:
        mean = math.sqrt(2 / math.pi) * a / np.sqrt(1 + a * a)
        return mean, 1 - mean * mean


class GeneralGamma(Continuous):
    """z^c has a gamma distribution."""

    shape_names = ("a", "c")
    span = (0.0, np.inf)
    inside = 1.0

    def _valid(self, a: Any, c: Any) -> Any:
        return (a > 0) & (c != 0)

    def _counts_at_end(self, z: Any, a: Any, c: Any) -> Any:
        return (z == 0) & (c > 0) & (c * a <= 1)

    def _logpdf(self, z: Any, a: Any, c: Any) -> Any:
        return np.log(np.abs(c)) + sp.xlogy(c * a - 1, z) - z**c - sp.gammaln(a)

    def _cdf(self, z: Any, a: Any, c: Any) -> Any:
        return np.where(c > 0, sp.gammainc(a, z**c), sp.gammaincc(a, z**c))

    def _sf(self, z: Any, a: Any, c: Any) -> Any:
        return np.where(c > 0, sp.gammaincc(a, z**c), sp.gammainc(a, z**c))

    def _mean_and_variance(self, a: Any, c: Any) -> tuple[Any, Any]:
        mean = sp.poch(a, 1 / c)
        return mean, sp.poch(a, 2 / c) - mean * mean


class PearsonThree(Continuous):
    """t = α + β z has a gamma distribution of shape α = β², with β = 2 / skew.

    Next to no skew SciPy takes the normal distribution; its slope there is that of the Edgeworth
    series, F = Φ - skew (z² - 1) φ / 6.
    """

    shape_names = ("skew",)

    def _valid(self, skew: Any) -> Any:
        return np.isfinite(still(skew))

    @staticmethod
    def _is_small(skew: Any) -> Any:
        return np.abs(still(skew)) < 0.000016

    def _ends(self, skew: Any) -> tuple[Any, Any]:
        small = self._is_small(skew)
        end = -2 / np.where(small, 1.0, skew)
        low = np.where(small | (skew < 0), -np.inf, end)
        return low, np.where(small | (skew > 0), np.inf, end)

    def _counts_at_end(self, z: Any, skew: Any) -> Any:
        return np.False_

    def _gamma(self, z: Any, skew: Any) -> tuple[Any, Any, Any, Any]:
        """Whether the skew is small, and β, α and t where it is not."""
        small = self._is_small(skew)
        beta = 2 / np.where(small, 1.0, skew)
        return small, beta, beta * beta, np.where(small, 1.0, beta * beta + beta * z)

    def _logpdf(self, z: Any, skew: Any) -> Any:
        small, beta, alpha, t = self._gamma(z, skew)
        log = np.log(np.abs(beta)) + (alpha - 1) * np.log(t) - t - sp.gammaln(alpha)
        normal = -z * z / 2 - HALF_LOG_2PI + (skew - still(skew)) * (z**3 - 3 * z) / 6
        return np.where(small, normal, log)

    def _tail(self, z: Any, skew: Any, sign: float) -> Any:
        small, beta, alpha, t = self._gamma(z, skew)
        below = sp.gammainc(alpha, t), sp.gammaincc(alpha, t)
        lower = np.where(sign * beta > 0, *below)
        slope = sign * (1 - z * z) * np.exp(-z * z / 2 - HALF_LOG_2PI) / 6
        return np.where(small, sp.ndtr(sign * z) + (skew - still(skew)) * slope, lower)

    def _cdf(self, z: Any, skew: Any) -> Any:
        return self._tail(z, skew, 1.0)

    def _sf(self, z: Any, skew: Any) -> Any:
        return self._tail(z, skew, -1.0)

    def _mean_and_variance(self, skew: Any) -> tuple[Any, Any]:
        return 0 * skew, 0 * skew + 1.0


class RaisedCosine(Continuous):
    span = (-math.pi, math.pi)

    def _counts_at_end(self, z: Any) -> Any:
        return np.False_

    def _logpdf(self, z: Any) -> Any:
        return np.log1p(np.cos(z)) - math.log(2 * math.pi)

    def _cdf(self, z: Any) -> Any:
        u = math.pi + z
        start = still(u) < 0.5  # where u - sin u, of which this is a part, cancels
        s = np.where(start, u, 0.0) ** 2
        rest = 1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156))))
        near = np.where(start, u, 0.0) * s / 6 * rest
        return np.where(start, near, u + np.sin(z)) / (2 * math.pi)

    def _sf(self, z: Any) -> Any:
        return self._cdf(-z)


burr = Burr("burr")
cosine = RaisedCosine("cosine")
fisk = Fisk("fisk")
gengamma = GeneralGamma("gengamma")
pearson3 = PearsonThree("pearson3")
skewnorm = SkewNormal("skewnorm")
trapezoid = Trapezoid("trapezoid")
triang = Triangle("triang")
truncnorm = TruncatedNormal("truncnorm")
