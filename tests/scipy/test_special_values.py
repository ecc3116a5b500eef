"""Parameters at values for which SciPy has a formula that leaves them out: derivatives in them."""

import numpy as np
import pytest
import scipy.special

import linad
import linad.scipy.signal
import linad.scipy.spatial
import linad.scipy.special
import linad.scipy.stats
from linad.errors import UnsupportedError

T = np.array([0.4, 0.9, 1.3, 2.2])
X = np.array([0.4, 0.9, 1.3, 2.2, 3.1])
U = X - 1.5
Y = np.array([1.0, 2.0, 0.5, 3.0, 2.5])
STEPS = 1e-2 * np.array([-3, -2, -1, 1, 2, 3])
CENTRAL = np.array([-1, 9, -45, 45, -9, 1]) / (60 * 1e-2)

signal, spatial, stats = linad.scipy.signal, linad.scipy.spatial, linad.scipy.stats

CASES = {
    "logarithmic chirp, f1": (lambda p: signal.chirp(T, 1.2, 2.0, p, "log"), 1.2),
    "logarithmic chirp, f0": (lambda p: signal.chirp(T, p, 2.0, 1.2, "log"), 1.2),
    "hyperbolic chirp, f1": (lambda p: signal.chirp(T, 1.2, 3.0, p, "hyp"), 1.2),
    "hyperbolic chirp, f0": (lambda p: signal.chirp(T, p, 3.0, 1.2, "hyp"), 1.2),
    "boxcox_llf": (lambda p: stats.boxcox_llf(p, X), 0.0),
    "boxcox_llf, columns": (lambda p: stats.boxcox_llf(p, np.stack([X, Y], 1)), 0.0),
    "yeojohnson, 0": (lambda p: stats.yeojohnson(U, p), 0.0),
    "yeojohnson, 2": (lambda p: stats.yeojohnson(U, p), 2.0),
    "yeojohnson_llf, 0": (lambda p: stats.yeojohnson_llf(p, U), 0.0),
    "yeojohnson_llf, 2": (lambda p: stats.yeojohnson_llf(p, U), 2.0),
    "minkowski_distance": (lambda p: spatial.minkowski_distance(X, Y, p), 1.0),
    "minkowski_distance_p": (lambda p: spatial.minkowski_distance_p(X, Y, p), 1.0),
    "distance_matrix": (lambda p: spatial.distance_matrix(X[:, None], Y[:, None], p), 1.0),
    "logsumexp, weight": (
        lambda p: linad.scipy.special.logsumexp(
            X, b=np.array([1.0, 0, 1, 1, 1]) + p * np.eye(5)[1]
        ),
        0.0,
    ),
    "diric": (lambda p: linad.scipy.special.diric(p + np.array([0.0, 0.3]), 5), 0.0),
    "diric, turned": (lambda p: linad.scipy.special.diric(p, 4), 2 * np.pi),
    "roots_jacobi": (lambda p: np.stack(linad.scipy.special.roots_jacobi(4, p, p)), 0.0),
    "roots_jacobi, one": (lambda p: np.stack(linad.scipy.special.roots_jacobi(3, p, -0.4)), 0.4),
    "roots_gegenbauer": (lambda p: np.stack(linad.scipy.special.roots_gegenbauer(4, p)), 0.0),
    "roots_gegenbauer, 1": (lambda p: np.stack(linad.scipy.special.roots_gegenbauer(1, p)), 1.0),
    "lp2hp": (lambda p: np.concatenate(signal.lp2hp([1.0, 2.0], [1.0, 0.5, 0.2], p)), 1.0),
    "lp2hp, one": (lambda p: np.concatenate(signal.lp2hp([1.0, 2.0], [1.0], p)), 1.0),
    "iqr": (lambda p: stats.iqr(X, scale=p), 1.0),
    "kaiser": (lambda p: signal.windows.kaiser(7, p), 0.0),
    "general_gaussian": (lambda p: signal.windows.general_gaussian(7, p, 2.0), 1.0),
}


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of:DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_derivatives_through_a_special_value(name):
    f, at = CASES[name]
    y, J = linad.linearize(f, np.array(at))
    np.testing.assert_allclose(y, f(at), rtol=1e-12, atol=1e-14)
    around = np.array([f(at + h) for h in STEPS])  # plain numbers: SciPy's own
    slope = J.pushforward(np.ones(()))
    np.testing.assert_allclose(slope, np.tensordot(CENTRAL, around, 1), rtol=1e-5, atol=1e-7)
    first = linad.derivative(f)
    around = np.array([first(at + h) for h in STEPS])
    second = linad.derivative(first)(at)
    np.testing.assert_allclose(second, np.tensordot(CENTRAL, around, 1), rtol=1e-4, atol=1e-6)


def test_logsumexp_of_what_has_no_weight():
    a = np.array([0.3, 1e4, np.inf, np.nan, -np.inf, 0.9])
    b = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def f(a, b):
        return linad.scipy.special.logsumexp(a, b=b)

    y, J = linad.linearize(f, a, b)
    assert y == scipy.special.logsumexp(a, b=b)
    by_a, by_b = J.pullback(np.ones(()))
    np.testing.assert_allclose(by_a, [1, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(by_b[[0, 4, 5]], [1, 0, np.exp(0.6)])
    assert np.all(np.isfinite(by_b) & (by_b >= 0))
    assert by_b[1] > 1e300


def test_what_is_refused_there():
    o, e = np.array([3.0, 4.0, 8.0]), np.array([5.0, 5.0, 5.0])
    table = np.stack([o, e])
    for exponent in (-1.0, 0.0, 1.0):
        with pytest.raises(UnsupportedError, match="lambda_"):
            linad.derivative(lambda p: stats.power_divergence(o, e, lambda_=p)[0])(exponent)
        with pytest.raises(UnsupportedError, match="lambda_"):
            linad.derivative(lambda p: stats.chi2_contingency(table, lambda_=p)[0])(exponent)
        f = linad.grad(lambda o, p=exponent: stats.power_divergence(o, e, lambda_=p)[0])
        assert np.all(np.isfinite(f(o)))
    with pytest.raises(UnsupportedError, match="pmean: for p=0"):
        linad.derivative(lambda p: stats.pmean(X, p))(0.0)
    assert np.all(linad.grad(lambda x: stats.pmean(x, 0))(X) > 0)
    with pytest.raises(UnsupportedError, match="one point"):
        linad.grad(lambda v: spatial.geometric_slerp(v, np.array([1.0, 0.0]), 0.3)[0])(
            np.array([1.0, 0.0])
        )


@pytest.mark.parametrize(
    "a",
    [
        [0.0, -40.0],
        [-1e-30, -50.0],
        [-np.inf, 0.0, -35.0],
        [1.0, 1.0, -60.0],
        [-np.inf, -np.inf],
        [np.inf, 1.0],
        [-745.0, -800.0],
    ],
)
def test_a_logarithm_of_a_sum_near_one_keeps_its_digits(a):
    """As SciPy's, by log1p of what the lesser entries add to the largest."""
    a = np.array(a)
    f = linad.scipy.special.logsumexp
    expected = scipy.special.logsumexp(a)
    for g in (f, linad.jit(f)):
        value = linad.linearize(g, a)[0]
        np.testing.assert_allclose(value, expected, rtol=1e-14)
