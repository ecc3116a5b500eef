"""The distribution function of normal vectors: SciPy's values, which are integrals by chance to
1e-5, and derivatives against differences of a rule, and against closed forms."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as ls
from linad.errors import UnsupportedError
from linad.scipy.stats.boxes_of_normals import box_probability
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
FACTOR = 0.4 * np.tril(rng.standard_normal((3, 3))) + np.eye(3)
MEAN, HIGH = np.array([0.1, -0.2, 0.3]), rng.standard_normal((2, 3))
LOW = HIGH - 1 - rng.random((2, 3))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_values_and_derivatives(d):
    mean, high, low, factor = MEAN[:d], HIGH[:, :d], LOW[:, :d], FACTOR[:d, :d]
    cov = factor @ factor.T
    for lower in (None, low):
        for f in ("cdf", "logcdf"):
            theirs = getattr(scipy.stats.multivariate_normal, f)
            mine = getattr(ls.multivariate_normal, f)
            found = linad.linearize(lambda x: mine(x, mean, cov, lower_limit=lower), high)[0]  # noqa: B023
            expected = theirs(high, mean, cov, lower_limit=lower)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, atol=1e-3)

    def box(factor, low, high, mean):
        return box_probability(np.tril(factor), low - mean, high - mean)

    check_derivatives(box, factor, low, high, mean)
    ends = np.where(low < -1.5, -np.inf, low)
    check_derivatives(lambda L, x: box_probability(np.tril(L), ends, x), factor, high)
    slope = linad.jacobian(lambda x: ls.multivariate_normal.cdf(x, mean, cov))(high)
    wanted = linad.jacobian(lambda x: box(factor, -np.inf + 0 * low, x, mean))(high)
    np.testing.assert_allclose(slope, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.99, 0.9999])
def test_plackett(rho):
    """∂Φ/∂ρ is the density."""
    x = np.array([0.3, -0.2])

    def f(rho):
        cov = np.eye(2) + rho * (1 - np.eye(2))
        return ls.multivariate_normal.cdf(x, [0.0, 0.0], cov)

    cov = np.array([[1.0, rho], [rho, 1.0]])
    expected = scipy.stats.multivariate_normal.pdf(x, [0, 0], cov)
    np.testing.assert_allclose(linad.grad(f)(rho), expected, rtol=1e-9, atol=1e-11)


def test_the_gradient_of_a_mean_is_that_of_one_variable():
    slope = linad.grad(lambda m: ls.multivariate_normal(m, 2.0).cdf(0.3))(np.array([0.1]))
    np.testing.assert_allclose(slope, -scipy.stats.norm.pdf(0.3, 0.1, np.sqrt(2.0)))


def test_frozen_with_lower_limits():
    cov = FACTOR[:2, :2] @ FACTOR[:2, :2].T
    low, high = LOW[0, :2], HIGH[0, :2]

    def f(m, mean):
        return m.multivariate_normal(mean, cov).cdf(high, lower_limit=low)

    found = linad.linearize(lambda mean: f(ls, mean), MEAN[:2])[0]
    np.testing.assert_allclose(found, f(scipy.stats, MEAN[:2]), atol=1e-4)


def test_errors():
    with pytest.raises(UnsupportedError, match="up to 3 dimensions, got 4"):
        linad.linearize(lambda x: ls.multivariate_normal.cdf(x, np.zeros(4)), np.ones(4))
    with pytest.raises(UnsupportedError, match="singular cov"):
        linad.linearize(lambda x: ls.multivariate_normal.cdf(x, cov=np.ones((2, 2))), np.ones(2))
    covariance = scipy.stats.Covariance.from_diagonal([1.0, 2.0])
    with pytest.raises(UnsupportedError, match="pass the matrix"):
        linad.linearize(lambda x: ls.multivariate_normal.cdf(x, cov=covariance), np.ones(2))
