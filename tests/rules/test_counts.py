"""Probabilities of counts."""

import numpy as np
import scipy.stats

import linad
from linad.rules.counts import binomial_pmf, poisson_pmf
from linad.testing.rule_checks import Case

K = np.arange(5.0)
MU, Q = np.array([0.7, 2.0, 3.5, 1.0, 0.2]), np.array([0.3, 0.5, 0.9, 0.1, 0.6])

CASES = [
    Case(poisson_pmf, K, MU, check={"wrt": [1]}),
    Case(poisson_pmf, K[:, None], MU[:2], check={"wrt": [1]}),
    Case(binomial_pmf, K, np.full(5, 4.0), Q, check={"wrt": [2]}),
]


def test_against_scipy():
    np.testing.assert_allclose(poisson_pmf(K, MU), scipy.stats.poisson.pmf(K, MU), rtol=1e-13)
    n = np.full(5, 6.0)
    np.testing.assert_allclose(binomial_pmf(K, n, Q), scipy.stats.binom.pmf(K, 6, Q), rtol=1e-12)


def test_derivatives_at_the_ends_are_those_of_the_polynomials():
    """At μ = 0: e^-μ (1, μ, μ²/2); at q = 0 and 1: (1-q)², 2q(1-q), q²."""
    k = np.arange(3.0)

    def all_orders(f, x):
        g = linad.derivative(f)
        return np.stack([g(x), linad.derivative(g)(x)])

    f = lambda mu: poisson_pmf(k, mu)  # noqa: E731
    np.testing.assert_allclose(all_orders(f, np.array(0.0)), [[-1, 1, 0], [1, -2, 1]])
    f = lambda q: binomial_pmf(k, np.array(2.0), q)  # noqa: E731
    np.testing.assert_allclose(all_orders(f, np.array(0.0)), [[-2, 2, 0], [2, -4, 2]])
    np.testing.assert_allclose(all_orders(f, np.array(1.0)), [[0, -2, 2], [2, -4, 2]])
