"""linad.scipy.special: what is no ufunc."""

import numpy as np
import pytest
import scipy.special

import linad
import linad.scipy.special as sp
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X = np.array([[0.3, -1.2, 2.0], [0.1, 0.7, -0.4]])
W = np.array([1.0, 0.5, 2.0])
P = np.array([1.6, 2.2, 4.5])

CASES = {
    "logsumexp": lambda m, x: m.logsumexp(x),
    "logsumexp-axis": lambda m, x: m.logsumexp(x, axis=1),
    "logsumexp-axes": lambda m, x: m.logsumexp(x, axis=(0, -1), keepdims=True),
    "logsumexp-b": lambda m, x: m.logsumexp(x, axis=0, b=W),
    "logsumexp-b-traced": lambda m, x: m.logsumexp(1.0, b=x**2 + 1),
    "logsumexp-b-zero": lambda m, x: m.logsumexp(x + np.array([0, 800, 0]), axis=1, b=[1, 0, 2]),
    "logsumexp-sign": lambda m, x: m.logsumexp(x, axis=1, b=[1, -3, 0.5], return_sign=True)[0],
    "logsumexp-large": lambda m, x: m.logsumexp(x + 1000, axis=1),
    "softmax": lambda m, x: m.softmax(x),
    "softmax-axis": lambda m, x: m.softmax(100 + x, axis=0),
    "log_softmax": lambda m, x: m.log_softmax(x, axis=1),
    "erf": lambda m, x: m.erf(x),
    "polygamma-0": lambda m, x: m.polygamma(0, x**2 + 1),
    "polygamma-1": lambda m, x: m.polygamma(1, x**2 + 1),
    "polygamma-n": lambda m, x: m.polygamma([0, 1, 2], x**2 + 1),
    "multigammaln": lambda m, x: m.multigammaln(x + 4, 3),
    "zeta": lambda m, x: m.zeta(2.5, x**2 + 1),
    "comb": lambda m, x: m.comb(5.5 + x, 2),
    "comb-repetition": lambda m, x: m.comb(5.5 + x, 2, repetition=True),
    "comb-of-too-few": lambda m, x: m.comb(x + 1.3, 1.5),
    "factorial": lambda m, x: m.factorial(x + 3),
    "factorial-of-negative": lambda m, x: m.factorial(x - 0.2),
}


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f = CASES[name]
    y = linad.linearize(lambda x: f(sp, x), X)[0]
    expected = f(scipy.special, X)
    np.testing.assert_array_equal(f(sp, X), expected)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    assert np.shape(y) == np.shape(expected)
    check_derivatives(lambda x: f(sp, x), X)


@pytest.mark.parametrize("exponents", [3.0, 3.0j])
@pytest.mark.parametrize("weights", [None, 1.0, 1.0j])
@pytest.mark.parametrize("return_sign", [False, True])
def test_complex_logsumexp(exponents, weights, return_sign):
    rng = np.random.default_rng(0)
    a, v = (rng.standard_normal((3, 4)) * (1 + exponents) for _ in range(2))
    b = None if weights is None else rng.uniform(0.2, 1.0, (3, 4)) * (1 + weights)
    given, h = {"axis": 1, "b": b, "return_sign": return_sign}, 1e-6
    value, J = linad.linearize(lambda a: sp.logsumexp(a, **given), a)
    found = [value, J.pushforward(v)]
    ahead, behind, expected = (scipy.special.logsumexp(a + t * v, **given) for t in (h, -h, 0))
    if not return_sign:
        found, (ahead, behind, expected) = [[y] for y in found], ([ahead], [behind], [expected])
    for y, dy, theirs, p, m in zip(*found, expected, ahead, behind, strict=True):
        assert y.dtype == theirs.dtype
        np.testing.assert_allclose(y, theirs, rtol=1e-13)
        np.testing.assert_allclose(dy, (p - m) / (2 * h), atol=1e-7)


def test_logsumexp_of_nothing_but_zeros():
    y, J = linad.linearize(lambda x: sp.logsumexp(x), np.array([-np.inf, 0.0, 1.0]))
    assert y == scipy.special.logsumexp([-np.inf, 0, 1])
    np.testing.assert_allclose(J.pullback(1.0), scipy.special.softmax([-np.inf, 0, 1]))
    assert linad.linearize(lambda x: sp.logsumexp(x), np.full(2, -np.inf))[0] == -np.inf


def test_sign():
    y, sign = linad.linearize(lambda x: sp.logsumexp(x, b=[1, -5, 1], return_sign=True), X[1])[0]
    assert (y, sign) == pytest.approx(scipy.special.logsumexp(X[1], b=[1, -5, 1], return_sign=True))


def test_single_precision_stays():
    x = X.astype(np.float32)
    for f in (sp.logsumexp, sp.softmax, sp.log_softmax):
        assert linad.linearize(f, x)[0].dtype == np.float32


def test_the_rest_is_scipys():
    assert sp.erf is scipy.special.erf
    assert sp.logsumexp([1, 2]) == scipy.special.logsumexp([1, 2])


@pytest.mark.parametrize("name", ["order", "exact", "dimension"])
def test_errors(name):
    f, error = {
        "order": (lambda x: sp.polygamma(x, 2.0), UnsupportedError),
        "exact": (lambda x: sp.comb(x, 2, exact=True), UnsupportedError),
        "dimension": (lambda x: sp.multigammaln(x, 9), ValueError),
    }[name]
    with pytest.raises(error):
        linad.linearize(f, X)
