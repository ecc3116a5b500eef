"""Errors of arithmetic in a rule go by; those of the operation are raised and caught as ever."""

import warnings

import numpy as np
import pytest

import linad


def raising(x):
    with np.errstate(all="raise"):
        try:
            return np.sqrt(x) + 1.0
        except FloatingPointError:
            return x * 3


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sqrt(x) + 1.0
        except RuntimeWarning:
            return x * 3


def empty(x):
    with np.errstate(all="raise"):
        try:
            return np.ones((0, 3), np.float32) / (x.sum() - x.sum())
        except FloatingPointError:
            return x * 3


@pytest.mark.parametrize("f", [raising, warned, empty])
@pytest.mark.parametrize("x", [np.zeros(2), np.array([-1.0, 4.0]), np.array([0.0, -1.0])])
def test_a_function_goes_the_way_it_goes_without_derivatives(f, x):
    expected = f(x)
    for y in (linad.jvp(f, (x,), (x,))[0], linad.vjp(f, x)[0], linad.jit(f)(x)):
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected)


def test_within_another_derivative():
    inner = linad.jacobian(raising)
    np.testing.assert_array_equal(linad.jvp(raising, (0.0,), (1.0,)), (1.0, np.inf))
    assert inner(np.zeros(1)) == np.inf
    assert linad.jvp(inner, (np.ones(1),), (np.ones(1),))[1] == -0.25


def test_an_error_that_a_rule_raises_by_itself():
    @linad.primitive
    def f(x):
        return x * 2.0

    @f.jacobian(wrt=0)
    def f_wrt_x(y, x):
        raise FloatingPointError("of its own")

    with pytest.raises(FloatingPointError, match="of its own"):
        linad.grad(f)(1.0)


def test_a_function_of_ones_own_is_run_once():
    runs = []

    @linad.primitive
    def f(x):
        runs.append(1)
        return np.sqrt(x)

    f.jacobian(wrt=0)(lambda y, x: 0.5 / y)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        linad.grad(f)(0.0)
    assert len(runs) == 1
