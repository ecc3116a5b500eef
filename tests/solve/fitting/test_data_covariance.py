"""Matrices given as sigma: those that are covariances, and those that are something else."""

import numpy as np
import pytest
import scipy.optimize

from linad.errors import OptionError
from linad.solve import curve_fit

T = np.linspace(0.0, 3.0, 12)
Y = 2.0 * np.exp(-1.1 * T) + 0.05 * np.cos(9 * T)
FACTOR = 0.1 * np.tril(np.random.default_rng(0).uniform(0.1, 1.0, (12, 12)))
SIGMA = FACTOR @ FACTOR.T


def decay(t, a, rate):
    return a * np.exp(-rate * t)


def test_as_scipy_has_it():
    found = curve_fit(decay, T, Y, sigma=SIGMA, absolute_sigma=True)
    theirs = scipy.optimize.curve_fit(
        *(decay, T, Y, [1.8, 1.6], SIGMA, True),
        jac=lambda t, a, k: np.stack([np.exp(-k * t), -a * t * np.exp(-k * t)], axis=1),
        **dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15),
    )
    np.testing.assert_allclose(found.x, theirs[0], rtol=1e-6)
    np.testing.assert_allclose(found.covariance, theirs[1], rtol=1e-5)
    rounded = SIGMA * (1 + 1e-9 * np.triu(np.ones((12, 12)), 1))
    np.testing.assert_allclose(curve_fit(decay, T, Y, sigma=rounded).x, found.x, rtol=1e-6)


ONE = SIGMA.copy()
ONE[2, 7] *= 1.5
INDEFINITE = np.full((12, 12), 0.01) + np.diag(np.full(12, -1e-3) + 2e-3 * (T > 1))


@pytest.mark.parametrize(
    "sigma, words",
    [
        (FACTOR, r"symmetric; it is 0 at \[0, 1\].*of a Cholesky factor L the covariance is L @"),
        (np.triu(SIGMA), r"symmetric; .*it is T \+ T.T - np.diag"),
        (
            ONE,
            r"symmetric; it is [\d.e-]+ at \[2, 7\] and .* at \[7, 2\]; \(sigma \+ sigma.T\) / 2",
        ),
        (-SIGMA, r"positive definite; the variance at \[\d+, \d+\] is -"),
        (np.zeros((12, 12)), "positive definite; the variance at .* is 0"),
        (INDEFINITE, r"positive definite; its least eigenvalue is -0.001; .*sigma \+ 0.002 \* np"),
        (np.eye(11), r"must have shape \(12,\) or \(12, 12\), got \(11, 11\)"),
    ],
)
def test_what_is_none(sigma, words):
    with pytest.raises(OptionError, match=words):
        curve_fit(decay, T, Y, sigma=sigma)


def test_what_belongs_to_masked_points_does_not_count():
    masked = np.ma.masked_where(np.arange(12) == 2, Y)
    found = curve_fit(decay, T, masked, sigma=ONE)
    keep = np.arange(12) != 2
    alone = curve_fit(decay, T[keep], Y[keep], sigma=SIGMA[np.ix_(keep, keep)])
    np.testing.assert_allclose(found.x, alone.x, rtol=1e-8)
