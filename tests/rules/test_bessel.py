"""Bessel functions and their relatives: rules against differences."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.errors import MissingRuleError
from linad.rules.bessel import ive_wrt_order, kve_wrt_order
from linad.testing.rule_checks import Case

P = np.array([1.1, 1.8, 2.7])
X = np.array([-1.4, 0.5, 2.2])
V = np.array([-0.6, 0.3, 4.2])
Z = np.array([0.7 + 0.2j, 1.6 - 0.4j])


ORDERED = ("jv", "yv", "hankel1", "hankel2", "iv", "kv", "hankel1e", "hankel2e", "kve")
CASES = [
    *[special_case(name, 0.7, P, complex_=True) for name in ORDERED],
    *[special_case(name, 0.7, P) for name in ("jve", "yve", "ive", "struve", "modstruve")],
    *[special_case(name, V, P) for name in ("iv", "ive", "kv", "kve")],
    Case(ive_wrt_order, V, P, nth=1),
    Case(ive_wrt_order, V[:, None], P, nth=2),
    Case(ive_wrt_order, -1 - V[1:], P[1:], nth=1),
    Case(kve_wrt_order, V, P, nth=1),
    Case(kve_wrt_order, V[:, None], P, nth=2),
    *[special_case(name, n, P) for name in ("jv", "yn", "kn", "ive") for n in (0, 2)],
    *[special_case(name, x) for name in ("j0", "j1", "i0", "i1", "i0e", "i1e") for x in (X, X[0])],
    special_case("j1", np.zeros(2)),
    special_case("i1", np.zeros(2)),
    *[special_case(name, P) for name in ("y0", "y1", "k0", "k1", "k0e", "k1e")],
    *[special_case(f"spherical_{letter}n", n, P) for letter in "jyik" for n in (0, 2)],
    special_case("spherical_jn", 2, X, complex_=True),
    special_case("sinc", np.array([-1.2, 0.0, 1e-6, 0.3, 2.0]), complex_=True),
    Case(np.sinc, X),
    special_case("airy", X, complex_=True),
    special_case("airye", P),
    *[
        special_case(name, P)
        for name in ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")
    ],
    special_case("kelvin", P),
    *[special_case(name, P) for name in ("itj0y0", "iti0k0", "it2j0y0", "it2i0k0")],
    *[special_case(name, P) for name in ("itstruve0", "it2struve0", "itmodstruve0")],
    Case(np.i0, X),
    # SciPy's values of these integrals are good to six digits.
    special_case("itairy", P, rtol=1e-4),
]


def test_orders_broadcast():
    v = np.array([[0.0], [1.0], [2.5]])
    y, J = linad.linearize(lambda x: sp.jv(v, x), P)
    assert y == pytest.approx(sp.jv(v, P))
    assert J.pushforward(np.ones(3)) == pytest.approx(sp.jvp(v, P))


def test_what_is_not_holomorphic_is_refused():
    for f in (sp.jve, sp.yve, sp.ive):
        with pytest.raises(MissingRuleError, match=f"{f.__name__}: no derivative of closed form"):
            linad.vjp(lambda z, f=f: f(1, z), Z)
    with pytest.raises(MissingRuleError, match="airye"):
        linad.vjp(sp.airye, Z)


def test_order_of_k():
    """At v = 1/2 it is √(π/2x) e^2x E_1(2x), DLMF 10.38.7; near 0 it is odd in v."""
    x = np.array([1e-8, 1e-3, 0.2, 1.0, 7.0, 40.0, 300.0])
    expected = np.sqrt(np.pi / (2 * x)) * np.exp(2 * x) * sp.exp1(2 * x)
    assert kve_wrt_order(0.5, x, nth=1) == pytest.approx(expected, rel=1e-13)
    assert kve_wrt_order(-0.5, x, nth=1) == pytest.approx(-expected, rel=1e-13)
    v = np.array([[0.0], [0.7], [3.5], [40.0]])
    x = np.array([1e-3, 0.1, 2.0, 50.0, 1e4])
    assert kve_wrt_order(v, x, nth=0) == pytest.approx(sp.kve(v, x), rel=1e-11)
    second = kve_wrt_order(v[:1], x, nth=2)
    assert kve_wrt_order(1e-9, x, nth=1) == pytest.approx(1e-9 * second[0], rel=1e-13)
    assert np.all(kve_wrt_order(v[:1], x, nth=1) == 0)


def test_order_of_i():
    """At v = ±1/2 by exponential integrals, DLMF 10.38.6; and I_v' of the series itself."""
    x = np.array([1e-3, 0.2, 1.0, 7.0, 40.0, 300.0])
    first, second = sp.exp1(2 * x), sp.expi(2 * x) * np.exp(-2 * x)
    for v, expected in ((0.5, -first - second), (-0.5, second - first)):
        expected = expected / np.sqrt(2 * np.pi * x)
        assert ive_wrt_order(v, x, nth=1) == pytest.approx(expected, rel=1e-11)
    v = np.array([[-0.6], [0.0], [0.7], [3.5], [40.0]])
    x = np.array([1e-3, 0.1, 2.0, 50.0, 9.9e3, 1.1e4, 1e6])
    assert ive_wrt_order(v, x, nth=0) == pytest.approx(sp.ive(v, x), rel=1e-11)
    # Where the series ends and the integral takes over.
    edge = ive_wrt_order(v, np.array([1e4, np.nextafter(1e4, 2e4)]), nth=1)
    assert edge[:, 0] == pytest.approx(edge[:, 1], rel=1e-9, abs=1e-15)


def test_order_of_i_at_ends():
    x = np.array([0.0, np.inf, -1.0])
    np.testing.assert_array_equal(ive_wrt_order(1.5, x, nth=1), [0, 0, np.nan])
    np.testing.assert_array_equal(ive_wrt_order(0.0, x, nth=1), [-np.inf, 0, np.nan])
    np.testing.assert_array_equal(ive_wrt_order(-1.5, x, nth=1), [np.nan, 0, np.nan])


def test_orders_of_i_below():
    """I_(w-1) = I_(w+1) + 2w/x I_w, and its derivatives, with w - 1 below -1 and the others above
    or below; the function itself is SciPy's."""
    x = np.array([0.1, 1.3, 8.0, 60.0])
    w = np.array([[-0.4], [0.0], [-1.0], [-1.7], [-6.0], [-7.3]])
    zero, first, second = [lambda v, n=n: ive_wrt_order(v, x, nth=n) for n in range(3)]
    np.testing.assert_allclose(zero(w), sp.ive(w, x), rtol=1e-12, atol=1e-300)
    expected = first(w + 1) + 2 / x * (zero(w) + w * first(w))
    np.testing.assert_allclose(first(w - 1), expected, rtol=1e-11)
    expected = second(w + 1) + 2 / x * (2 * first(w) + w * second(w))
    np.testing.assert_allclose(second(w - 1), expected, rtol=1e-10, atol=1e-13)


def test_likelihood_of_a_square_root_diffusion():
    """Cox, Ingersoll and Ross: the parameters are in the order of the Bessel function."""

    def log_density(p):
        speed, mean, noise = p
        c = 2 * speed / (noise**2 * (1 - np.exp(-speed / 12)))
        u, v, q = c * 0.05 * np.exp(-speed / 12), c * 0.06, 2 * speed * mean / noise**2 - 1
        z = 2 * np.sqrt(u * v)
        return (
            np.log(c)
            - (np.sqrt(u) - np.sqrt(v)) ** 2
            + q / 2 * np.log(v / u)
            + np.log(sp.ive(q, z))
        )

    p = np.array([0.9, 0.07, 0.2])
    slopes = [(log_density(p + h) - log_density(p - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    assert linad.grad(log_density)(p) == pytest.approx(slopes, rel=1e-6)


def test_order_of_k_at_ends():
    x = np.array([0.0, np.inf, -1.0])
    np.testing.assert_array_equal(kve_wrt_order(1.5, x, nth=1), [np.inf, 0, np.nan])
    np.testing.assert_array_equal(kve_wrt_order(-1.5, x, nth=1), [-np.inf, 0, np.nan])
    np.testing.assert_array_equal(kve_wrt_order(0.0, x, nth=1), [0, 0, np.nan])
    assert kve_wrt_order(np.ones((0, 3)), np.ones(3), nth=1).shape == (0, 3)
    with pytest.raises(MissingRuleError, match="complex"):
        linad.linearize(lambda v: sp.kv(v, 1.0 + 1j), 0.5)


def test_smoothness_of_a_matern_kernel():
    """The derivative of a Gaussian process's covariance in its smoothness ν."""

    def matern(nu):
        r = np.sqrt(2 * nu) * P
        return 2 ** (1 - nu) / sp.gamma(nu) * r**nu * sp.kv(nu, r)

    slope = linad.jvp(matern, (0.8,), (1.0,))[1]
    assert slope == pytest.approx((matern(0.8 + 1e-5) - matern(0.8 - 1e-5)) / 2e-5, rel=1e-8)


def test_orders_have_no_slope():
    with pytest.raises(MissingRuleError, match=r"jv: the derivative in argument 0, \w"):
        linad.grad(lambda v: sp.jv(v, 1.0))(np.float64(1))
