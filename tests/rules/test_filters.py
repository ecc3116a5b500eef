"""Convolution, correlation, recursive filters, running means."""

import numpy as np
import pytest
import scipy.signal

import linad
from linad.rules.filters import allpole_, convolve_, running_mean_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(7)
IMAGE = rng.standard_normal((4, 5))
KERNEL = rng.standard_normal((2, 3))
STACK = rng.standard_normal((2, 3, 4))
POLES = np.array([1.3, -0.5, 0.2])
LONG = rng.standard_normal(6)
SHORT = rng.standard_normal(3)
MATRIX = rng.standard_normal((2, 3))
SCALAR = np.array(0.7)
COMPLEX = {"complex_": True}

CASES = [
    Case(convolve_, LONG, SHORT, mode="full", check=COMPLEX),
    Case(convolve_, LONG, SHORT, mode="valid", check=COMPLEX),
    Case(convolve_, MATRIX, SHORT, mode="full"),
    Case(convolve_, MATRIX, SHORT[:2], mode="valid"),
    Case(convolve_, SHORT, MATRIX[:, :2], mode="valid"),
    Case(np.convolve, SHORT, LONG),
    Case(np.convolve, SHORT, LONG, mode="valid"),
    Case(np.convolve, LONG, SHORT, mode="same"),
    Case(np.convolve, SCALAR, LONG),
    Case(np.correlate, SHORT, LONG, check=COMPLEX),
    Case(np.correlate, LONG, SHORT, mode="same", check=COMPLEX),
    Case(np.correlate, SHORT, LONG, mode="full", check=COMPLEX),
    Case(convolve_, IMAGE, KERNEL, mode="full", axes=2, check=COMPLEX),
    Case(convolve_, KERNEL, IMAGE, mode="full", axes=2),
    Case(convolve_, IMAGE, KERNEL, mode="valid", axes=2, check=COMPLEX),
    Case(convolve_, STACK, KERNEL, mode="full", axes=2),
    Case(convolve_, STACK, KERNEL, mode="valid", axes=2),
    Case(convolve_, KERNEL, STACK[:, :2, :3], mode="valid", axes=2),
    Case(allpole_, POLES, LONG, check=COMPLEX),
    Case(allpole_, POLES, STACK),
    Case(allpole_, POLES, LONG[:2]),
    Case(allpole_, POLES[:1], LONG),
    Case(allpole_, POLES, np.zeros((2, 0))),
    Case(allpole_, POLES, np.zeros(0)),
    Case(running_mean_, LONG, size=3, check=COMPLEX),
    Case(running_mean_, STACK, size=4),
    Case(running_mean_, LONG, size=1),
]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("m", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_values_of_every_length(mode, m, n):
    a = rng.standard_normal(m) + 1j * rng.standard_normal(m)
    v = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    for function in (np.convolve, np.correlate):
        y = linad.linearize(lambda a, v: function(a, v, mode), a, v)[0]  # noqa: B023
        np.testing.assert_allclose(y, function(a, v, mode), rtol=1e-13)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: np.convolve(x, x[:0]), "empty"),
        (lambda x: np.convolve(x, x, "middle"), "mode"),
        (lambda x: np.convolve(x[None], x), "deep"),
    ],
)
def test_errors(call, match):
    with pytest.raises(ValueError, match=match):
        linad.linearize(call, LONG)


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_grids_are_scipys(mode):
    found = convolve_(IMAGE, KERNEL, mode=mode, axes=2)
    np.testing.assert_allclose(found, scipy.signal.convolve(IMAGE, KERNEL, mode), rtol=1e-12)


def test_allpole_solves_the_difference_equation():
    y = allpole_(POLES, LONG)
    np.testing.assert_allclose(np.convolve(POLES, y)[:6], LONG, rtol=1e-12)


def test_running_means():
    expected = np.convolve(LONG, np.ones(4) / 4, "valid")
    np.testing.assert_allclose(running_mean_(LONG, size=4), expected, rtol=1e-12)
