"""Signs that a number or a sum takes up: the same bits, zeros and infinities included."""

import itertools

import numpy as np
import pytest

import linad
from linad.transforms.simplify import simplify

ODD = [0.3, -1.7, np.pi, 5e-324, -1e-310, 1e308, -1e308, np.inf, -np.inf, np.nan, 0.0, -0.0]
A, B = np.array(list(itertools.product(ODD, ODD))).T

TAKEN_UP = {
    "-(-a)": (lambda a, b: np.negative(-a), []),
    "-(3 a)": (lambda a, b: -(3.0 * a), ["multiply"]),
    "3 (-a)": (lambda a, b: 3.0 * -a, ["multiply"]),
    "-(2 (-a))": (lambda a, b: -(2 * -a), ["multiply"]),
    "(-a) b + a": (lambda a, b: -a * b + a, ["multiply", "subtract"]),
    "a - b (-a)": (lambda a, b: a - b * -a, ["multiply", "add"]),
    "(-a) (-b)": (lambda a, b: -a * -b, ["multiply"]),
    "(-a) / b + b": (lambda a, b: -a / b + b, ["divide", "subtract"]),
    "a / (-b)": (lambda a, b: a / -b, ["divide", "negative"]),
    "a + (-b)": (lambda a, b: a + -b, ["subtract"]),
    "(-a) + b": (lambda a, b: -a + b, ["subtract"]),
    "(-a) + (-b)": (lambda a, b: -a + -b, ["negative", "subtract"]),
    "(-a) - b stays": (lambda a, b: -a - b, ["negative", "subtract"]),
    "a row's sign stays": (lambda a, b: -a[0] * b, ["getitem", "negative", "multiply"]),
}


@pytest.mark.parametrize("name", TAKEN_UP)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_same_bits(name):
    f, wanted = TAKEN_UP[name]
    _, tape = linad.trace(f, A, B)
    made = simplify(tape)
    assert [eqn.primitive.name for eqn in made.equations] == wanted
    found, expected = made.run([A, B])[0], f(A, B)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def test_complex_quotients_stay():
    _, tape = linad.trace(lambda z: -z / (1 + z), np.array([1 + 2j, -3j]))
    assert [e.primitive.name for e in simplify(tape).equations] == ["negative", "add", "divide"]


def test_no_signs_in_the_gradient_of_a_chain():
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    _, tape = linad.trace(linad.grad(rosenbrock), np.linspace(-1.0, 1.0, 9))
    assert "negative" not in [eqn.primitive.name for eqn in simplify(tape).equations]
