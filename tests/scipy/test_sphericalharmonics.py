"""Legendre functions and spherical harmonics: values are SciPy's, derivatives differences'."""

import numpy as np
import pytest
import scipy.special

import linad
import linad.scipy.special as special
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

THETA, PHI = np.array([0.3, 1.2, 2.9]), np.array([-0.4, 0.9, 2.0])
Z = np.array([-0.7, 0.1, 0.9])
N, M = np.array([[0], [2], [4], [4]]), np.array([[0], [-1], [3], [-4]])

CASES = {
    "legendre_p": (lambda m, z: m.legendre_p(N, z), Z),
    "legendre_p_all": (lambda m, z: m.legendre_p_all(3, 2 * z), Z),
    "assoc_legendre_p": (lambda m, z: m.assoc_legendre_p(N, M, z), Z),
    "assoc_legendre_p-norm": (lambda m, z: m.assoc_legendre_p(N, M, z, norm=True), Z),
    "assoc_legendre_p_all": (lambda m, z: m.assoc_legendre_p_all(3, 2, z, norm=True), Z),
    "sph_legendre_p": (lambda m, t: m.sph_legendre_p(N, M, t), THETA),
    "sph_legendre_p_all": (lambda m, t: m.sph_legendre_p_all(2, 3, t), THETA),
    "sph_harm_y": (lambda m, t, p: m.sph_harm_y(N, M, t, p), THETA, PHI),
    "sph_harm_y-number": (lambda m, t, p: m.sph_harm_y(3, 1, t[0], p[1]), THETA, PHI),
    "sph_harm_y_all": (lambda m, t, p: m.sph_harm_y_all(2, 1, t, p), THETA, PHI),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]

    def parts(*values):
        made = call(special, *values)
        return np.stack([np.real(made), np.imag(made)])

    expected = call(scipy.special, *args)
    y, _ = linad.linearize(lambda *a: call(special, *a), *args)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    check_derivatives(parts, *args)


def test_at_the_poles_and_beyond():
    theta = np.array([0.0, np.pi, -0.4, 3.9, 7.0])
    J = linad.linearize(lambda t: special.sph_legendre_p(N, M, t), theta)[1]
    expected = scipy.special.sph_legendre_p(N, M, theta, diff_n=1)[1]
    np.testing.assert_allclose(J.pushforward(np.ones(5))[0], expected, atol=1e-12)


def test_refusals():
    with pytest.raises(UnsupportedError, match="diff_n"):
        linad.linearize(lambda t: special.sph_harm_y(1, 0, t, t, diff_n=1), THETA)
    with pytest.raises(UnsupportedError, match=r"\|z\| > 1"):
        linad.linearize(lambda z: special.assoc_legendre_p(1, 1, 3 * z), Z)
