"""Elliptic integrals and functions: rules against differences, and where m is 0."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.rules.carlson import carlson_
from linad.testing.rule_checks import Case

M = np.array([-0.6, 0.2, 0.5])
P = np.array([0.8, 1.3, 1.9])
PHI = np.array([-0.8, 0.5, 1.3, 2.0])


CASES = [
    special_case("ellipk", np.append(M, 0.0)),
    special_case("ellipe", np.append(M, 0.0)),
    special_case("ellipkm1", P),
    special_case("ellipkinc", PHI, M[:, None]),
    special_case("ellipeinc", PHI, M[:, None]),
    special_case("ellipkinc", np.array([2.4, 4.1, -3.6]), np.float64(0.3)),
    special_case("ellipeinc", np.array([2.4, 4.1, -3.6]), np.float64(0.3)),
    special_case("ellipj", np.array([0.3, -1.1, 2.4]), M[1:, None]),
    special_case("elliprf", P, P[::-1] + 0.1, np.float64(1.05), complex_=True),
    special_case("elliprg", P, P[::-1] + 0.1, np.float64(1.05)),
    special_case("elliprc", P, P[::-1] + 0.1),
    special_case("elliprc", P, np.float64(-0.8)),
    special_case("elliprd", P, P[::-1] + 0.15, np.float64(1.05)),
    special_case("elliprj", P, P[::-1] + 0.15, np.float64(1.05), np.array([0.6])),
    special_case("agm", P, P[::-1] + 0.15),
    Case(carlson_, P, P[::-1] + 0.1, np.float64(1.05), a=1.5, b=(0.5, 0.5, 1.5)),
]


def test_slopes_where_m_is_zero():
    zero = np.float64(0)
    assert linad.grad(sp.ellipk)(zero) == pytest.approx(np.pi / 8)
    assert linad.grad(sp.ellipe)(zero) == pytest.approx(-np.pi / 8)
    # F = φ + m (2 φ - sin 2φ) / 8 + ...
    phi = 4.0
    expected = (2 * phi - np.sin(2 * phi)) / 8
    assert linad.grad(lambda m: sp.ellipkinc(phi, m))(zero) == pytest.approx(expected)
    assert linad.grad(lambda m: sp.ellipeinc(phi, m))(zero) == pytest.approx(-expected)


POSITIVE = [(0.3, 1.2, 2.0), (1e-6, 1.0, 1e5), (0.0, 0.5, 2.0), (1 + 1j, 2.0, 3)]


@pytest.mark.parametrize("z", POSITIVE)
def test_carlson_family(z):
    """Members that SciPy has, and homogeneity."""
    z = [np.asarray(v) for v in z]
    half = 0.5
    f = carlson_(*z, a=half, b=(half, half, half))
    np.testing.assert_allclose(f, sp.elliprf(*z), rtol=1e-14)
    d = carlson_(*z, a=1.5, b=(half, half, 1.5))
    np.testing.assert_allclose(d, sp.elliprd(*z), rtol=1e-14)
    c = carlson_(*z[1:], a=half, b=(half, 1.0))
    np.testing.assert_allclose(c, sp.elliprc(*z[1:]), rtol=1e-14)
    j = carlson_(*z, z[1] + 1, a=1.5, b=(half, half, half, 1.0))
    np.testing.assert_allclose(j, sp.elliprj(*z, z[1] + 1), rtol=1e-14)
    assert np.isinf(carlson_(0.0, 0.0, 1.0, a=half, b=(half, half, half)))


def test_agm_of_equal_numbers():
    found = linad.grad(sp.agm, argnums=(0, 1))(np.float64(3), np.float64(3))
    assert found == pytest.approx((0.5, 0.5))
