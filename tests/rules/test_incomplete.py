"""Incomplete gamma and beta functions and their inverses, in all arguments.

Their derivatives in the shapes are compared with values of mpmath at 60 digits, and over a wide
range of arguments with what the recurrences of the functions say of them.
"""

import math

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.rules.incomplete import betainc_wrt_shapes, gammainc_wrt_shape
from linad.testing.rule_checks import Case

A, B = np.array([0.7, 2.3, 6.1]), np.array([1.4, 0.6, 3.2])
X, U = np.array([0.4, 1.8, 7.7]), np.array([0.3, 0.5, 0.7])

CASES = [
    *[special_case(name, A, X) for name in ("gammainc", "gammaincc")],
    *[special_case(name, 2, X) for name in ("gammainc", "gammaincc")],
    *[special_case(name, A, U) for name in ("gammaincinv", "gammainccinv")],
    *[special_case(name, A, B[0], U) for name in ("betainc", "betaincc")],
    *[special_case(name, A, B, U) for name in ("betaincinv", "betainccinv")],
    Case(gammainc_wrt_shape, A[:, None], X, nth=1),
    Case(betainc_wrt_shapes, A, B, U, orders=(1, 0)),
]

GAMMA = [
    (1, 0.001, 0.3, -0.9059989515572813),
    (1, 0.7, 1.2, -0.3562105507650244),
    (1, 2.5, 0.01, -1.7056647497778207e-05),
    (1, 3.0, 2.0, -0.2318486720439896),
    (1, 3.0, 9.0, -0.008695466419742526),
    (1, 80.0, 60.0, -0.0025210327451364732),
    (1, 80.0, 82.0, -0.043029365411899376),
    (1, 5000.0, 5100.0, -0.002082263752376242),
    (2, 0.7, 1.2, -0.16193413539150844),
    (2, 3.0, 2.0, 0.09884154888754006),
    (2, 80.0, 60.0, 0.0007260443017318604),
    (2, 80.0, 100.0, -0.0010384451865264738),
]
"""Order, a, x, and the derivative of P(a, x) in a."""

BETA = [
    ((1, 0), 0.01, 0.02, 0.3, -22.588449240546257),
    ((1, 0), 2.5, 1.5, 0.4, -0.1366455169579353),
    ((0, 1), 2.5, 1.5, 0.4, 0.15359963395476586),
    ((1, 0), 2.5, 1.5, 0.999, -5.925306514301709e-05),
    ((0, 1), 300.0, 40.0, 0.9, 0.03678073432167108),
    ((1, 0), 300.0, 40.0, 0.7, -1.109134306699012e-16),
    ((2, 0), 2.5, 1.5, 0.8, 0.004826905414258145),
    ((0, 2), 30.0, 4.0, 0.8, 0.03270106147112752),
    ((0, 2), 0.5, 0.5, 0.6, -1.1329315506286806),
]
"""Orders, a, b, x, and the derivative of I_x(a, b)."""


@pytest.mark.parametrize("order, a, x, expected", GAMMA)
def test_gamma_against_mpmath(order, a, x, expected):
    assert gammainc_wrt_shape(a, x, nth=order) == pytest.approx(expected, rel=5e-13)


@pytest.mark.parametrize("orders, a, b, x, expected", BETA)
def test_beta_against_mpmath(orders, a, b, x, expected):
    found = betainc_wrt_shapes(a, b, x, orders=orders)
    assert found == pytest.approx(expected, rel=5e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_recurrence_of_the_gamma_function(order):
    """P(a, x) - P(a + 1, x) = x^a e^-x / Γ(a + 1), over all cases of the method."""
    a = np.geomspace(1e-6, 300, 40)[:, None]
    x = np.concatenate([np.geomspace(1e-8, 500, 60), [1.4999, 1.5, 1.5001]])
    gap = gammainc_wrt_shape(a, x, nth=order) - gammainc_wrt_shape(a + 1, x, nth=order)
    log = np.log(x) - sp.psi(a + 1)
    ones, twos = sp.polygamma(1, a + 1), sp.polygamma(2, a + 1)
    factor = {1: log, 2: log**2 - ones, 3: log**3 - 3 * log * ones - twos}[order]
    expected = np.exp(a * np.log(x) - x - sp.gammaln(a + 1)) * factor
    scale = np.max(np.abs(gammainc_wrt_shape(a, x, nth=order)), axis=1, keepdims=True)
    assert np.all(np.abs(gap - expected) <= 1e-11 * scale)


@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
def test_recurrence_of_the_beta_function(orders):
    """I_x(a, b) = x I_x(a - 1, b) + (1 - x) I_x(a, b - 1), over all cases of the method."""
    a = 1 + np.geomspace(1e-3, 200, 15)[:, None, None]
    b = 1 + np.geomspace(1e-3, 200, 15)[:, None]
    x = np.concatenate([np.geomspace(1e-9, 0.5, 12), 1 - np.geomspace(0.4, 1e-9, 12)])
    f = [betainc_wrt_shapes(a - i, b - j, x, orders=orders) for i, j in ((0, 0), (1, 0), (0, 1))]
    parts = np.abs(f[0]) + np.abs(x * f[1]) + np.abs((1 - x) * f[2])
    assert np.all(np.abs(f[0] - x * f[1] - (1 - x) * f[2]) <= 1e-9 * parts + 1e-14)


def test_ends():
    """At the ends of x the functions do not depend on the shapes; for a = 0 it is -E_1."""
    for x in (0.0, np.inf):
        assert gammainc_wrt_shape(2.5, x, nth=1) == 0
    x = np.array([0.7, 1.3, 2.0])
    of_zero = gammainc_wrt_shape(np.zeros(3), x, nth=1)
    np.testing.assert_array_equal(gammainc_wrt_shape(np.full(3, -0.0), x, nth=1), of_zero)
    for x in (0.0, 1.0):
        assert betainc_wrt_shapes(2.5, 1.5, x, orders=(0, 1)) == 0
    x = np.array([0.01, 1.0, 1.6, 20.0])
    np.testing.assert_allclose(gammainc_wrt_shape(0.0, x, nth=1), -sp.exp1(x), rtol=1e-12)
    assert np.isnan(gammainc_wrt_shape(-1.0, 1.0, nth=1))
    assert np.isnan(betainc_wrt_shapes(1.0, -1.0, 0.5, orders=(1, 0)))
    assert gammainc_wrt_shape(np.ones((0, 3)), np.ones(3), nth=1).shape == (0, 3)


def test_shape_of_zero():
    """∂P/∂x = a x^(a-1) e^-x / Γ(1 + a): at a = 0 it is 0, and grows as e^-x / x."""
    for a, x in ((0.0, 0.4), (-0.0, 7.7)):
        found = linad.hessian(lambda v: sp.gammainc(v[0], v[1]))(np.array([a, x]))
        np.testing.assert_allclose(found[1], [np.exp(-x) / x, 0], rtol=1e-13)
        np.testing.assert_allclose(found[0, 1], found[1, 0], rtol=1e-10)


def test_density_at_zero():
    assert linad.grad(lambda x: sp.gammainc(1.0, x))(np.float64(0)) == 1
    assert linad.grad(lambda x: sp.gammainc(2.5, x))(np.float64(0)) == 0
    assert linad.grad(lambda x: sp.betainc(1.0, 2.0, x))(np.float64(0)) == pytest.approx(2)
    both = linad.hessian(lambda v: sp.gammainc(v[0], v[1]))(np.array([2.5, 0.0]))
    np.testing.assert_array_equal(both, np.zeros((2, 2)))
    both = linad.hessian(lambda x: sp.gammainc(1.0, x))(np.array(0.0))
    assert both == -1
    both = linad.hessian(lambda v: sp.betainc(v[0], 2.0, v[1]))(np.array([2.0, 0.0]))
    np.testing.assert_array_equal(both, [[0.0, 0.0], [0.0, 6.0]])


def test_integer_shapes():
    """Sums of terms: P(2, x) = 1 - e^-x (1 + x); its median moves by nearly 1 with a."""
    medians = sp.gammaincinv([3.0, 1e4], 0.5)
    slope = linad.grad(lambda a: np.sum(sp.gammaincinv(a, 0.5)))(np.array([3.0, 1e4]))
    # A. Berg and H. Pedersen: the median is a - 1/3 + 8 / (405 a) + ...
    np.testing.assert_allclose(slope[1], 1 - 8 / (405 * 1e8), rtol=1e-10)
    assert medians[0] == pytest.approx(sp.gammaincinv(3.0, 0.5))
    assert math.isclose(slope[0], 1 - 8 / (405 * 9), rel_tol=2e-3)
