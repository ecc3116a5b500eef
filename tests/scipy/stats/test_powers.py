"""Exponents that make data most like normal ones: their derivatives by differences."""

import functools
import inspect

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as stats
from linad.errors import UnsupportedError

X = np.array([0.4, 0.9, 1.3, 2.2, 3.1, 5.0, 7.7])


@pytest.mark.parametrize("name", ["boxcox_normmax", "yeojohnson_normmax"])
def test_exponents(name):
    given = {"method": "mle"} if name == "boxcox_normmax" else {}
    own, form = getattr(scipy.stats, name), getattr(stats, name)
    value, J = linad.linearize(lambda x: form(x, **given), X)
    np.testing.assert_allclose(value, own(X, **given), rtol=1e-5)
    d, h = np.cos(np.arange(7.0)), 1e-3
    difference = (own(X + h * d, **given) - own(X - h * d, **given)) / (2 * h)
    np.testing.assert_allclose(J.pushforward(d), difference, rtol=1e-3)


def test_other_methods():
    with pytest.raises(UnsupportedError, match='use method="mle"'):
        linad.grad(lambda x: stats.boxcox_normmax(x, method="pearsonr"))(X)


@pytest.mark.parametrize("exponent", [0.4, 1.7, 0.0, 2.0])
def test_data_of_zero_have_derivatives(exponent):
    x = np.array([0.0, -0.7, 0.4, 0.0, 2.2, -1.3])
    step = 1e-6 * np.eye(6)
    functions = [
        lambda m, x: m.yeojohnson(x, exponent),
        lambda m, x: m.yeojohnson_llf(exponent, x),
        lambda m, x: m.yeojohnson_llf(exponent, x.reshape(2, 3), axis=1, keepdims=True),
    ]
    if "axis" not in inspect.signature(scipy.stats.yeojohnson_llf).parameters:  # before 1.16
        functions.pop()
    for f in functions:
        found = np.moveaxis(linad.jacobian(lambda x, f=f: f(stats, x))(x), -1, 0)
        wanted = [(f(scipy.stats, x + s) - f(scipy.stats, x - s)) / 2e-6 for s in step]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exponent", [1e-8, -1e-6, 1e-4])
def test_likelihoods_of_exponents_near_zero_keep_their_digits(exponent):
    """x^λ is near 1 then; the derivative is that at 0 to first order in λ."""
    cases = ("boxcox_llf", 0.0, X), ("yeojohnson_llf", 0.0, X), ("yeojohnson_llf", 2.0, -X)
    for name, at, x in cases:
        f = functools.partial(lambda f, x, e: f(e, x), getattr(stats, name), x)
        value, slope = linad.value_and_grad(f)(at + exponent)
        np.testing.assert_allclose(value, getattr(scipy.stats, name)(at + exponent, x), rtol=1e-6)
        at_zero, curvature = linad.jvp(linad.grad(f), (at,), (1.0,))
        np.testing.assert_allclose(slope, at_zero + exponent * curvature, rtol=1e-8)
