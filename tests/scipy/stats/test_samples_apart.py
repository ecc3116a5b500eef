"""Distances of samples with equal values."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as traced

NAMES = ("wasserstein_distance", "energy_distance")
U, V = np.array([1.0, 0.5, 1.0, 3.0]), np.array([-1.0, 0.2, 2.0, 2.0, 1.6, 0.7])
W = np.array([0.5, 1.0, 2.0, 1.5])


@pytest.mark.parametrize("name", NAMES)
def test_slopes_at_equal_values_of_a_sample(name):
    """The means of both sides, for |x - y| of equal values has a kink in an energy distance."""
    f, plain = getattr(traced, name), getattr(scipy.stats, name)
    steps = np.random.default_rng(0).standard_normal((2, 6))
    d, e, h = steps[0, :4], steps[1], 1e-6
    for weights in (None, W):
        values = [plain(U + t * d, V + t * e, weights) for t in (0.0, h, -h)]
        for g in (f, linad.jit(f)):
            y, slope = linad.jvp(lambda u, v, g=g, w=weights: g(u, v, w), (U, V), (d, e))
            np.testing.assert_allclose(y, values[0], rtol=1e-14)
            np.testing.assert_allclose(slope, (values[1] - values[2]) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_equal_samples_are_at_rest(name):
    f = getattr(traced, name)
    for u in (np.array([0.3, 1.0, 2.0]), U):
        gradients = linad.grad(f, argnums=(0, 1))(u, u.copy())
        np.testing.assert_allclose(gradients, 0.0, atol=1e-15)
