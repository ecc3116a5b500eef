"""The checks find wrong derivatives, and no others."""

import numpy as np
import pytest

import linad
from linad.errors import DerivativeError
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.3, -0.7, 1.9])


def wrong_by(relative):
    """A function that behaves otherwise when it is traced."""

    def f(x):
        return np.sin(x) if type(x) is np.ndarray else np.sin(x) * (1 + relative)

    return f


@pytest.mark.parametrize("relative", [1.0, 1e-3, 1e-6])
def test_a_wrong_derivative_is_found(relative):
    with pytest.raises(DerivativeError, match="pushforward against differences"):
        check_derivatives(wrong_by(relative), X)
    check_derivatives(wrong_by(0.0), X)


@pytest.mark.parametrize("relative", [1.0, 1e-6])
def test_a_wrong_derivative_is_found_beside_large_entries(relative):
    f = wrong_by(relative)
    with pytest.raises(DerivativeError):
        check_derivatives(lambda x, y: f(x) + y, X, np.array([1e3, 2e3, -1e3]))


def test_a_wrong_second_derivative_is_found():
    def f(x):
        s = linad.stop_gradient(x)
        return np.sin(s) + np.cos(s) * (x - s)

    check_derivatives(f, X, order=1)
    with pytest.raises(DerivativeError, match="derivative of the pullback"):
        check_derivatives(f, X)


def test_entries_of_very_different_size_are_no_error():
    check_derivatives(lambda x: np.sin(x / [1e3, 0.1, 1.0]), np.array([500.0, 0.04, 1.0]))


def test_no_derivative_to_check():
    for f, x in ((lambda x: np.abs(x).sum(), [0.0, 1.0]), (lambda x: np.sqrt(x).sum(), [0.0])):
        with np.errstate(all="ignore"), pytest.raises(DerivativeError, match="at another point$"):
            check_derivatives(f, np.array(x))


def test_terms_that_cancel_round_by_their_own_size():
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((7, 7)))[0]

    def f(x):
        return np.sin(x) + rotation.T @ (1e4 * (rotation @ x)) - 1e4 * x

    check_derivatives(f, np.linspace(0.2, 1.5, 7), order=2)


@pytest.mark.parametrize("error", [1e-9, 1e-3])
def test_two_directions_that_are_not_adjoint(error):
    @linad.primitive
    def doubled(x):
        return 2 * x

    @doubled.jacobian(wrt=0)
    def rule(y, x):
        return (lambda v: 2 * v), (lambda w: (2 + error) * w)

    with pytest.raises((DerivativeError, linad.errors.WrongRuleError)):
        check_derivatives(lambda x: doubled(x), np.linspace(0.2, 1.5, 7))
