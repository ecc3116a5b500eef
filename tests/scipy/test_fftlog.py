"""Hankel transforms on logarithmic grids, in their samples and in their parameters."""

import numpy as np
import pytest
import scipy.fft

import linad
import linad.scipy.fft as sf
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
A = {n: rng.standard_normal((2, n)) for n in (8, 9)}
SPACING = 0.3


@pytest.mark.parametrize("name", ["fht", "ifht"])
@pytest.mark.parametrize("n", [8, 9])
def test_values_and_derivatives(name, n):
    f, theirs = getattr(sf, name), getattr(scipy.fft, name)
    for mu, offset, bias in ((0.5, 0.2, 0.3), (1.0, 0.0, 0.0), (0.0, 0.0, -2.0)):
        expected = theirs(A[n], SPACING, mu, offset, bias)
        y, _ = linad.linearize(lambda a, p=(mu, offset, bias): f(a, SPACING, *p), A[n])
        np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-13)
    check_derivatives(lambda a: f(a, SPACING, 0.5, bias=0.3), A[n])
    parameters = map(np.array, (SPACING, 0.7, 0.2, 0.4))
    check_derivatives(f, A[n], *parameters, order=1)
    with scipy.fft.set_backend(sf.backend):
        y, _ = linad.linearize(lambda a: theirs(a, SPACING, 0.5), A[n])
    np.testing.assert_allclose(y, theirs(A[n], SPACING, 0.5), rtol=1e-11, atol=1e-13)


def test_singular_transforms_warn_as_scipys():
    for name, bias in (("fht", -1.0), ("ifht", 1.0)):
        with pytest.warns(Warning, match="singular"):
            expected = getattr(scipy.fft, name)(A[8], SPACING, 0.0, bias=bias)
        with pytest.warns(Warning, match="singular"):
            y, J = linad.linearize(
                lambda a, name=name, bias=bias: getattr(sf, name)(a, SPACING, 0.0, bias=bias), A[8]
            )
        np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(J @ A[8].ravel(), expected.ravel(), rtol=1e-11, atol=1e-13)
