"""Factors that are powers of two: the same digits with fewer products."""

import numpy as np
import pytest

import linad
from linad.transforms.simplify import simplify

X = np.array([0.3, -1.7, np.pi, 5e-324, -1e-310, 1e308, -1e308, np.inf, -np.inf, np.nan, 0.0, -0.0])


def simple(f, x):
    _, tape = linad.trace(f, x)
    return simplify(tape)


def names(f, x):
    return [eqn.primitive.name for eqn in simple(f, x).equations]


JOINED = {
    "100 (2 x)": (lambda x: 100.0 * (2 * x), ["multiply"]),
    "(x 2) 100": (lambda x: x * 2.0 * 100.0, ["multiply"]),
    "-3 (-4 x)": (lambda x: -3.0 * (-4.0 * x), ["multiply"]),
    "3 (x / 2)": (lambda x: 3.0 * (0.5 * x), ["multiply"]),
    "2 (x / 2) = x": (lambda x: 2.0 * (0.5 * x), []),
    "x / 2 + x / 2 = x": (lambda x: (0.5 * x) + (0.5 * x), []),
    "3 x + 3 x": (lambda x: 3.0 * x + 3.0 * x, ["multiply"]),
    "2 (0.3 x)": (lambda x: 2.0 * (0.3 * x), ["multiply"]),
    "an array of one number": (lambda x: np.full(x.shape, 3.0) * (2 * x), ["multiply"]),
}

APART = {
    "3 (7 x)": lambda x: 3.0 * (7.0 * x),  # has another rounding
    "0.3 (2 x)": lambda x: 0.3 * (2.0 * x),  # may overflow before
    "0.5 (3 x)": lambda x: 0.5 * (3.0 * x),
    "3 (x / 4)": lambda x: 3.0 * (0.25 * x),  # may have lost two digits
    "64 (0.3 x)": lambda x: 64.0 * (0.3 * x),
    "2^1000 (2^100 x)": lambda x: 2.0**1000 * (2.0**100 * x),
    "inf (2 x)": lambda x: np.inf * (2.0 * x),
    "0 (2 x)": lambda x: 0.0 * (2.0 * x),
    "different numbers": lambda x: np.arange(1.0, 1.0 + x.size) * (2.0 * x),
}


@pytest.mark.parametrize("name", APART)
def test_apart(name):
    f = APART[name]
    with np.errstate(all="ignore"):
        assert names(f, X) == ["multiply", "multiply"]
        np.testing.assert_array_equal(simple(f, X).run([X])[0], f(X))


def test_complex_numbers_and_integers_stay():
    z = np.array([1 + 2j, -3j])
    assert names(lambda z: 3.0 * (2.0 * z), z) == ["multiply", "multiply"]
    k = np.arange(3)
    assert names(lambda x: x * (2 * (3 * k)), np.ones(3)) == ["multiply"]


def test_the_slope_of_half_a_square():
    """0.5 z z has the slope z, and 100 r^2 the slope 200 r: one product."""
    x = np.linspace(-1.0, 1.0, 5)
    assert names(linad.grad(lambda z: np.sum(0.5 * z * z)), x) == []
    assert names(linad.grad(lambda r: np.sum(100.0 * r**2)), x) == ["multiply"]
