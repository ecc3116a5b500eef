"""Series: their derivatives against SciPy's, and against differences; values are SciPy's."""

import numpy as np
import pytest
import scipy.special

import linad
import linad.scipy.special as special
from linad.errors import DTypeError, UnsupportedError

Z = np.array([1e-3, 0.4, 1.7, 9.0])
N = np.array([0, 1, 2, 5])[:, None]


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_in", "spherical_yn", "spherical_kn"])
def test_spherical_bessel_functions(name):
    own, form = getattr(scipy.special, name), getattr(special, name)
    value, J = linad.linearize(lambda z: form(N, z), Z)
    np.testing.assert_array_equal(value, own(N, Z))
    slope = J.pushforward(np.ones_like(Z))
    np.testing.assert_allclose(slope, own(N, Z, derivative=True), rtol=1e-10)
    _, J = linad.linearize(lambda z: form(N, z, derivative=True), Z)
    second = (N * (N + 1) / Z**2 + (-1 if name[-2] in "jy" else 1)) * own(N, Z)
    second = second - 2 / Z * own(N, Z, derivative=True)  # the differential equation, DLMF 10.47
    np.testing.assert_allclose(J.pushforward(np.ones_like(Z)), second, rtol=1e-7)


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_in"])
def test_at_zero_and_below(name):
    own, form = getattr(scipy.special, name), getattr(special, name)
    z = np.array([0.0, -0.3, -4.0])
    slope = linad.linearize(lambda z: form(N, z), z)[1].pushforward(np.ones(3))
    np.testing.assert_allclose(slope, own(N, z, derivative=True), rtol=1e-10, atol=1e-12)


def test_zeta():
    s, q = np.array([-3.5, 0.5, 1.5, 7.0]), np.array([0.3, 1.0, 2.5, 12.0])
    h = 1e-5
    found = linad.linearize(lambda q: special.zeta(s + 5, q), q)[1].pushforward(np.ones(4))
    expected = -(s + 5) * scipy.special.zeta(s + 6, q)  # DLMF 25.11.17
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = linad.linearize(special.zeta, s)[1].pushforward(np.ones(4))
    expected = (scipy.special.zeta(s + h) - scipy.special.zeta(s - h)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_refusals():
    with pytest.raises(UnsupportedError, match="derivative is traced from x = -4 on"):
        linad.derivative(special.zeta)(-5.5)
    with pytest.raises(UnsupportedError, match="order n does not exist"):
        linad.derivative(lambda n: special.spherical_jn(n, 1.0))(2.0)
    with pytest.raises(DTypeError, match="complex z"):
        linad.linearize(lambda z: special.spherical_jn(1, z), 1.0 + 1j)
