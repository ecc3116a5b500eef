"""Integrals by SciPy's adaptive rules over arrays."""

import numpy as np
import pytest
import scipy.integrate
from scipy.special import erf

import linad
import linad.scipy.integrate as li


def bell(x, p):
    return np.exp(-p * x * x)


def volume(x, p):
    return np.exp(-p * np.sum(x * x, axis=-1))


CASES = {
    "closed over": lambda m, p: m.tanhsinh(lambda x: bell(x, p), 0.0, 2.0).integral,
    "an argument": lambda m, p: m.tanhsinh(bell, 0.0, 2.0, args=(p,)).integral,
    "to infinity": lambda m, p: m.tanhsinh(lambda x: bell(x, p), 0.0, np.inf).integral,
    "an upper limit": lambda m, p: m.tanhsinh(lambda x: bell(x, 1.3), 0.0, p).integral,
    "both limits": lambda m, p: m.tanhsinh(lambda x: bell(x, p), 0.1 * p, p).integral,
    "the other way": lambda m, p: m.tanhsinh(lambda x: bell(x, p), p, 0.0).integral,
    "several": lambda m, p: m.tanhsinh(bell, 0.0, np.array([1.0, 2.0]), args=(p,)).integral.sum(),
    "logarithms": lambda m, p: m.tanhsinh(lambda x: -p * x * x, 0.0, 2.0, log=True).integral,
    "a square": lambda m, p: m.cubature(lambda x: volume(x, p), np.zeros(2), np.ones(2)).estimate,
    "an edge": lambda m, p: m.cubature(lambda x: volume(x, p), [0.0], p * np.ones(1)).estimate,
    "a quarter of the plane": lambda m, p: (
        m.cubature(lambda x: volume(x, p), np.zeros(2), np.full(2, np.inf)).estimate
    ),
}


# The rules ask for values at infinity, and leave out what they cannot use of them.
beyond = pytest.mark.filterwarnings("ignore:.*in a derivative.*:RuntimeWarning")


@beyond
@pytest.mark.whole
@pytest.mark.parametrize("integral", CASES.values(), ids=CASES)
def test_derivatives(integral):
    p, h = 1.7, 1e-5
    plain = integral(scipy.integrate, p)
    y, dy = linad.value_and_grad(lambda p: integral(li, p))(p)
    np.testing.assert_allclose(y, plain, rtol=1e-14)
    slope = (integral(scipy.integrate, p + h) - integral(scipy.integrate, p - h)) / (2 * h)
    np.testing.assert_allclose(dy, slope, rtol=1e-7)


@pytest.mark.rest
@pytest.mark.parametrize("name", ["closed over", "both limits", "a square"])
def test_when_compiled_and_differentiated_twice(name):
    def f(p):
        return CASES[name](li, p)

    np.testing.assert_allclose(linad.jit(linad.grad(f))(1.7), linad.grad(f)(1.7), rtol=1e-10)
    slope = linad.grad(f)
    second = (slope(1.7 + 1e-5) - slope(1.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(linad.grad(slope)(1.7), second, rtol=1e-6)


@beyond
def test_a_known_integral():
    """Of exp(-p x²) from 0 on it is the square root of π / p, halved."""
    found = linad.grad(lambda p: li.tanhsinh(lambda x: bell(x, p), 0.0, np.inf).integral)(1.7)
    np.testing.assert_allclose(found, -0.25 * np.sqrt(np.pi) * 1.7**-1.5, rtol=1e-10)
    up_to = linad.grad(lambda b: li.tanhsinh(lambda x: bell(x, 1.0), 0.0, b).integral)(0.8)
    np.testing.assert_allclose(up_to, np.exp(-0.64), rtol=1e-10)
    np.testing.assert_allclose(
        li.tanhsinh(lambda x: bell(x, 1.0), 0.0, 0.8).integral, 0.5 * np.sqrt(np.pi) * erf(0.8)
    )
