"""Probabilities of counts, Poisson's and binomial, in their parameter.

p_k(μ)    = μ^k e^-μ / k!               dp_k/dμ = p_(k-1)(μ) - p_k(μ)
p_k(n, q) = C(n, k) q^k (1 - q)^(n-k)   dp_k/dq = n (p_(k-1)(n-1, q) - p_k(n-1, q))

Written so, the derivatives of all orders are finite where μ or q is 0, or q is 1.

Source: Abramowitz and Stegun, 26.1.20 and 26.1.22, differentiated.
"""

from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.rules.elementwise import NO_SLOPE, several


def log_poisson(k: Array, mu: Array) -> Any:
    """The logarithm of Poisson's probability of a count k >= 0."""
    return sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu


def log_binomial(k: Array, n: Array, q: Array) -> Any:
    """The logarithm of the binomial probability of 0 <= k <= n successes."""
    choices = sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1)
    return choices + sp.xlogy(k, q) + sp.xlog1py(n - k, -q)


def _poisson(k: Array, mu: Array) -> Any:
    possible = k >= 0
    return np.where(possible, np.exp(log_poisson(np.where(possible, k, 0), mu)), mu.dtype.type(0))


def _binomial(k: Array, n: Array, q: Array) -> Any:
    possible = (k >= 0) & (k <= n)
    p = np.exp(log_binomial(np.where(possible, k, 0), np.where(possible, n, 0), q))
    return np.where(possible, p, q.dtype.type(0))


poisson_pmf: Primitive = several(
    "poisson_pmf",
    _poisson,
    k=NO_SLOPE,
    mu=lambda y, k, mu: poisson_pmf(k - 1, mu) - y,
)
"""Poisson's probability of a count; 0 of a negative one."""

binomial_pmf: Primitive = several(
    "binomial_pmf",
    _binomial,
    k=NO_SLOPE,
    n=NO_SLOPE,
    q=lambda y, k, n, q: n * (binomial_pmf(k - 1, n - 1, q) - binomial_pmf(k, n - 1, q)),
)
"""The binomial probability of a count; 0 outside of 0 <= k <= n."""
