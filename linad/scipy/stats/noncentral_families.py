"""Noncentral distributions: chi-squared, F and Student's t.

Source: N. Johnson, S. Kotz and N. Balakrishnan, "Continuous Univariate Distributions" 2, 1995,
chapters 29 to 31.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.stats.distribution import log_of
from linad.scipy.stats.hooks import Hooked


def _where(exists: Any, moment: Callable[..., Any], *shapes: Any) -> Any:
    """A moment, NaN where it does not exist."""
    return np.where(exists, moment(*[np.where(exists, s, 10.0) for s in shapes]), np.nan)


class NoncentralChiSquared(Hooked):
    """SciPy takes the central distribution for nc = 0; here the derivatives in nc hold there."""

    def _logpdf(self, z: Array, df: Array, nc: Array) -> Any:
        central = still(nc) == 0
        order, shift = 0.5 * df - 1, np.where(central, 1.0, nc)
        far = 0.5 * (np.sqrt(z) - np.sqrt(shift)) ** 2
        wave = log_of(sp.ive(order, np.sqrt(z * shift)))
        shifted = 0.5 * sp.xlogy(order, z / shift) - far + wave - math.log(2)
        return np.where(central, self._log_near_central(z, df, np.where(central, nc, 0.0)), shifted)

    @staticmethod
    def _log_near_central(z: Any, df: Any, nc: Any) -> Any:
        """By the density of chi-squared times e^(-nc/2) 0F1(df/2, nc z / 4)."""
        half, y, series = 0.5 * df, 0.25 * nc * z, 0.0
        for j in range(6, 0, -1):
            series = y / (j * (half + (j - 1))) * (1 + series)
        log = sp.xlogy(half - 1, 0.5 * z) - sp.gammaln(half) - math.log(2)
        return log - 0.5 * (z + nc) + np.log1p(series)

    def _cdf(self, z: Array, df: Array, nc: Array) -> Any:
        return sp.chndtr(z, df, nc)

    def _sf(self, z: Array, df: Array, nc: Array) -> Any:
        return sp._ufuncs._ncx2_sf(z, df, nc)


class NoncentralStudent(Hooked):
    def _mean_and_variance(self, df: Array, nc: Array) -> tuple[Any, Any]:
        def mean(n: Array, d: Array) -> Any:
            return d * np.sqrt(0.5 * n) * np.exp(sp.gammaln(0.5 * (n - 1)) - sp.gammaln(0.5 * n))

        def variance(n: Array, d: Array) -> Any:
            return n * (1 + d * d) / (n - 2) - mean(n, d) ** 2

        return _where(still(df) > 1, mean, df, nc), _where(still(df) > 2, variance, df, nc)


class NoncentralRatio(Hooked):
    def _sf(self, z: Array, dfn: Array, dfd: Array, nc: Array) -> Any:
        # For nc = 0 SciPy has -F.
        central = still(nc) == 0
        above = sp._ufuncs._ncf_sf(z, dfn, dfd, np.where(central, 1.0, nc))
        return np.where(central, 1 - sp.ncfdtr(dfn, dfd, np.where(central, nc, 0.0), z), above)

    def _mean_and_variance(self, dfn: Array, dfd: Array, nc: Array) -> tuple[Any, Any]:
        def mean(m: Array, n: Array, nc: Array) -> Any:
            return n * (m + nc) / (m * (n - 2))

        def variance(m: Array, n: Array, nc: Array) -> Any:
            whole = (m + nc) ** 2 + (m + 2 * nc) * (n - 2)
            return 2 * (n / m) ** 2 * whole / ((n - 2) ** 2 * (n - 4))

        shapes = dfn, dfd, nc
        return _where(still(dfd) > 2, mean, *shapes), _where(still(dfd) > 4, variance, *shapes)


ncx2 = NoncentralChiSquared("ncx2")
nct = NoncentralStudent("nct")
ncf = NoncentralRatio("ncf")
