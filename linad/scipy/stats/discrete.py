"""Distributions of counts, in their parameters.

Source: the reference of scipy.stats; N. Johnson, A. Kemp and S. Kotz, "Univariate Discrete
Distributions", 2005.
"""

from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.rules.counts import binomial_pmf, log_binomial, log_poisson, poisson_pmf
from linad.rules.shaping import still
from linad.scipy.stats.of_counts import Discrete


class Poisson(Discrete):
    shape_names = ("mu",)

    def _valid(self, mu: Array) -> Any:
        return mu >= 0

    def _logpmf(self, k: Any, mu: Any) -> Any:
        return log_poisson(k, mu)

    def _pmf(self, k: Any, mu: Any) -> Any:
        return poisson_pmf(k, mu)

    def _cdf(self, k: Array, mu: Array) -> Any:
        return sp.pdtr(k, mu)

    def _sf(self, k: Array, mu: Array) -> Any:
        return sp.pdtrc(k, mu)


class Binomial(Discrete):
    shape_names = ("n", "p")

    def _valid(self, n: Array, p: Array) -> Any:
        return (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1)

    def _last(self, n: Array, p: Array) -> Any:
        return n

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        if isinstance(parameters["n"], Traced):
            self.refuse(function, "n", "does not exist: n is a count")
        return super().traced(function, x, parameters)

    def _logpmf(self, k: Any, n: Any, p: Any) -> Any:
        return log_binomial(k, n, p)

    def _pmf(self, k: Array, n: Array, p: Array) -> Any:
        return binomial_pmf(k, n, p)

    def _cdf(self, k: Any, n: Any, p: Any) -> Any:
        return sp.bdtr(k, n.astype(int), p)

    def _sf(self, k: Any, n: Any, p: Any) -> Any:
        return sp.bdtrc(k, n.astype(int), p)


class Bernoulli(Discrete):
    """One trial."""

    shape_names = ("p",)

    def _valid(self, p: Any) -> Any:
        return (p >= 0) & (p <= 1)

    def _last(self, p: Any) -> Any:
        return 1.0

    def _logpmf(self, k: Any, p: Any) -> Any:
        return log_binomial(k, 1.0, p)

    def _pmf(self, k: Any, p: Any) -> Any:
        return binomial_pmf(k, np.ones(()), p)

    def _cdf(self, k: Any, p: Any) -> Any:
        return 1.0 - p

    def _sf(self, k: Any, p: Any) -> Any:
        return p


class Geometric(Discrete):
    """Trials up to the first success."""

    shape_names = ("p",)
    first = 1

    def _valid(self, p: Array) -> Any:
        return (p > 0) & (p <= 1)

    def _logpmf(self, k: Any, p: Any) -> Any:
        return sp.xlog1py(k - 1, -p) + np.log(p)

    def _pmf(self, k: Any, p: Any) -> Any:
        return (1.0 - p) ** (k - 1) * p

    def _cdf(self, k: Array, p: Array) -> Any:
        return 1.0 - (1.0 - p) ** k

    def _sf(self, k: Array, p: Array) -> Any:
        return (1.0 - p) ** k


class NegativeBinomial(Discrete):
    """Failures before the n-th success, by Γ for any n > 0."""

    shape_names = ("n", "p")

    def _valid(self, n: Array, p: Array) -> Any:
        return (n > 0) & (p > 0) & (p <= 1)

    @staticmethod
    def _log_ways(k: Array, n: Array) -> Any:
        return sp.gammaln(k + n) - sp.gammaln(k + 1) - sp.gammaln(n)

    def _logpmf(self, k: Array, n: Array, p: Array) -> Any:
        return self._log_ways(k, n) + n * np.log(p) + sp.xlog1py(k, -p)

    def _pmf(self, k: Array, n: Array, p: Array) -> Any:
        # For p = 1 the logarithm of (1 - p)^k has no derivative, itself it has.
        certain, ways = still(p) == 1, self._log_ways(k, n)
        ways = np.where(certain & (still(ways) < 700), ways, 0.0)
        at_one = np.exp(ways + n * np.log(p)) * np.where(certain, 1 - p, 0.0) ** k
        return np.where(certain, at_one, np.exp(self._logpmf(k, n, np.where(certain, 0.5, p))))

    def _cdf(self, k: Array, n: Array, p: Array) -> Any:
        return sp.betainc(n, k + 1, p)

    def _sf(self, k: Array, n: Array, p: Array) -> Any:
        return sp.betaincc(n, k + 1, p)


poisson = Poisson("poisson")
nbinom = NegativeBinomial("nbinom")
binom = Binomial("binom")
bernoulli = Bernoulli("bernoulli")
geom = Geometric("geom")
