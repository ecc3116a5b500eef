"""An integrand is called with arrays where that is the same, and with numbers where it is not."""

import numpy as np
import pytest
import scipy.integrate

import linad
from linad.arrays.conversions import MATH
from linad.scipy.integrandvalues import Shares
from linad.scipy.integrate import quad

U = np.linspace(0.1, 0.9, 21)


def counted(f):
    def g(u, w):
        g.calls += 1
        return w * f(u)

    g.calls = 0
    return g


@pytest.mark.parametrize(
    "f",
    [
        lambda t: t if t < 0.5 else t * t,
        lambda t: float(t) ** 2,
        lambda t: np.exp(t - np.max(t)) * t,
        lambda t: t - np.mean(t) + t**2,
        lambda t: {0.5: 1.0}.get(t, 2.0),
    ],
    ids=["choice", "float", "max", "mean", "key"],
)
def test_what_takes_no_arrays_is_asked_node_by_node(f):
    shares = Shares(counted(f))
    expected = [f(u) for u in U]
    np.testing.assert_allclose(shares.plain(U), expected, rtol=1e-15)
    np.testing.assert_allclose(shares.sum(U, 2 * U), np.sum(2 * U * expected), rtol=1e-14)
    assert not shares.takes_arrays


def test_other_integrands_have_one_call_for_all_nodes():
    f = counted(np.tanh)
    shares = Shares(f)
    np.testing.assert_allclose(shares.sum(U, U), np.sum(U * np.tanh(U)), rtol=1e-14)
    assert f.calls == 6  # with the numbers that are compared
    nans = Shares(counted(lambda t: np.where(t > 0.6, np.nan, t)))
    np.testing.assert_array_equal(nans.plain(U), np.where(U > 0.6, np.nan, U))
    assert nans.takes_arrays


def test_an_integrand_that_writes_into_its_node_does_not_change_the_rule():
    def f(t):
        t *= 2
        return t

    before = U.copy()
    shares = Shares(lambda u, w: w * f(u))
    np.testing.assert_allclose(shares.sum(U, np.ones_like(U)), 2 * U.sum(), rtol=1e-14)
    np.testing.assert_array_equal(U, before)


@pytest.mark.parametrize(
    "f, low, slope",
    [
        (lambda t, p: np.abs(t - p), -1, -0.4),
        (lambda t, p: t * p if t < 0.5 else t**2 * p, 0, 0.125 + (8 - 0.125) / 3),
        (lambda t, p: np.sum(p * np.stack([t, t**2])), 0, 2 + 8 / 3),
    ],
    ids=["kink", "choice", "sum"],
)
def test_derivatives_are_right_in_either_way(f, low, slope):
    found = linad.grad(lambda p: quad(lambda t: f(t, p), low, 2, points=[0.5])[0])(0.3)
    np.testing.assert_allclose(found, slope, rtol=2e-7)


def test_few_calls_of_a_smooth_integrand():
    calls = 0

    def f(t, p):
        nonlocal calls
        calls += 1
        return np.exp(-p * t)

    linad.grad(lambda p: quad(lambda t: f(t, p), 0.0, 1.0)[0])(1.0)
    assert calls == 35  # 21 of them QUADPACK's, 2 recorded


def test_functions_of_math_in_adopted_code_have_one_call_for_all_nodes():
    calls = 0

    def f(t, p):
        nonlocal calls
        calls += 1
        return MATH["exp"](-p * t) * MATH["pow"](t, 2) + MATH["log"](p + t, 2)

    def exact(p):
        return quad(lambda t: np.exp(-p * t) * t**2 + np.log2(p + t), 0.0, 1.0)[0]

    found = linad.grad(lambda p: quad(lambda t: f(t, p), 0.0, 1.0)[0])(1.0)
    np.testing.assert_allclose(found, linad.grad(exact)(1.0), rtol=1e-13)
    assert calls == 35


def test_what_functions_of_math_raise_they_raise_of_numbers():
    f = counted(lambda t: MATH["sqrt"](t - 0.5))
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        Shares(f).sum(U, U)
    with pytest.raises(TypeError, match=r"only .* can be converted to Python scalars"):
        MATH["sqrt"](U)  # elsewhere an array is none of its arguments


C = np.cos(np.arange(42.0))  # as many as the nodes of one interval


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: k * np.linalg.norm(x) * np.sin(x),
        lambda x, k: k * np.max(x) + np.sin(x),
        lambda x, k: np.sum(k * C * np.exp(x)) + x,
        lambda x, k: k * x + k**2 * x * (np.size(x) - 1),
    ],
    ids=["norm", "max", "as long", "size"],
)
def test_values_that_are_the_same_at_a_zero_do_not_hide_other_derivatives(f):
    def F(k):
        return quad(lambda x: f(x, k), 0.0, 1.0)[0]

    slope = scipy.integrate.quad(lambda x: f(x, 0.5) - f(x, -0.5), 0.0, 1.0)[0]
    np.testing.assert_allclose(linad.grad(F)(0.0), slope, rtol=1e-10)
    np.testing.assert_allclose(linad.jvp(F, (0.0,), (1.0,))[1], slope, rtol=1e-10)
    assert abs(linad.grad(linad.grad(F))(0.0)) < 1e-10
