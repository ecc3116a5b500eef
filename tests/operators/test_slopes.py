"""The rule that traces read a slope from, and what it gives where it is called."""

import numpy as np
import pytest

import linad
from linad.operators.algebra import Chain
from linad.operators.reordering import Broadcast
from linad.operators.slopes import SlopeRule
from linad.operators.structured import Diagonal, Identity
from linad.rules.arithmetic import add, divide, multiply, subtract

Y, A, B = np.array([2.0, 6.0]), np.array([1.0, 2.0]), np.array(2.0)


def test_of_the_shape_of_the_result():
    J = SlopeRule("product_wrt_a", 0, lambda y, a, b: b)(Y, A, B)
    assert type(J) is Diagonal
    np.testing.assert_array_equal(J.todense(), np.diag([2.0, 2.0]))


def test_of_an_argument_that_is_repeated():
    J = SlopeRule("product_wrt_b", 1, lambda y, a, b: a)(Y, A, B)
    assert type(J) is Chain
    np.testing.assert_array_equal(J.todense(), A[:, None])


def test_slope_one():
    rule = SlopeRule("sum_wrt_a", 0, None)
    assert type(rule(Y, A, B)) is Identity
    assert type(SlopeRule("sum_wrt_b", 1, None)(Y, A, B)) is Broadcast
    assert repr(rule) == "<rule sum_wrt_a>"


def test_another_rule_takes_its_place():
    """Rules are looked up in each operation."""
    wrong = SlopeRule("multiply_wrt_a", 0, lambda y, a, b: 10 * b)
    given = multiply.rules[0]
    multiply.rules[0] = wrong
    try:
        found = linad.grad(lambda x: np.sum(x * A))(A)
    finally:
        multiply.rules[0] = given
    np.testing.assert_array_equal(found, 10 * A)


SPECIAL = [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, 5e-324, 1e308]


@pytest.mark.parametrize("primitive", [add, subtract, multiply, divide])
def test_numbers_as_arrays(primitive):
    """The operator of numbers gives what the function of arrays gives, bit by bit."""
    with np.errstate(all="ignore"):
        for a in map(np.float64, SPECIAL):
            for b in [*map(np.float64, SPECIAL), *SPECIAL, 3, 0, 2**70]:
                found, expected = primitive.on_numbers(a, b), primitive.impl(a, b)
                assert type(found) is type(expected) is np.float64
                assert found.tobytes() == expected.tobytes() or (found != found) == (
                    expected != expected
                )
                other = primitive.on_numbers(b, a)
                assert type(other) is np.float64
                np.testing.assert_array_equal(other, primitive.impl(b, a))


def test_numbers_too_large_for_floats():
    for f in (lambda x: x * 10**400, lambda x: 10**400 - x):
        with pytest.raises(OverflowError):
            f(np.float64(2.0))
        with pytest.raises(OverflowError):
            linad.grad(f)(2.0)


def test_division_of_a_number_by_zero():
    """It warns, and raises under ``np.errstate``, as that of NumPy's numbers."""
    f = lambda x: x / (x - x)  # noqa: E731
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        linad.grad(f)(2.0)
    with np.errstate(divide="ignore"):
        assert linad.linearize(f, 2.0)[0] == np.inf


def levelling(name, slope):
    rule = SlopeRule(name, 0, slope)
    rule.level_off()
    return rule


def test_what_is_finite_at_an_infinite_argument_does_not_move_there():
    x = np.array([2, np.inf])
    J = levelling("reciprocal_wrt_x", lambda y, x: -y * y)(1 / x, x)
    np.testing.assert_array_equal(J @ np.array([1.0, np.inf]), [-0.25, 0])
    np.testing.assert_array_equal(J.T @ np.ones(2), [-0.25, 0])
    J = levelling("exp_wrt_x", lambda y, x: y)(np.exp(x), x)
    np.testing.assert_array_equal(J @ np.ones(2), np.exp(x))


FALLING = {"exp": np.exp, "divide": lambda x: 1 / (2.0 - x), "power": lambda x: (2.0 - x) ** -1.5}


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, np.atleast_1d])
@pytest.mark.parametrize("f", FALLING.values(), ids=FALLING)
def test_infinite_numbers_are_seen_as_in_arrays(f, kind):
    """Where f levels off it does not move, though its argument moves without bound."""

    def at(k):
        return np.sum(f(-k * np.inf))

    k = kind(0.7)
    assert at(k) == 0
    assert linad.jvp(at, (k,), (np.ones_like(k),))[1] == 0
    with np.errstate(invalid="ignore"):  # the product is met first with a cotangent of 0
        assert np.all(linad.grad(at)(k) == 0)
        assert np.all(linad.jit(linad.grad(at))(k) == 0)
