"""Whether numbers are floats, integers or booleans: arrays of the one cut off what the other is."""

import types

import numpy as np
import pytest
from kernel_checks import check_small

import linad


def ones_that_make_floats(x):
    a = 1.0 * np.arange(4)
    b = np.arange(4) * 1.0
    a[0] = b[1] = x[0]
    return a * x + b


def zeros_that_make_floats(x):
    a = np.arange(4) + 0.0
    b = 0.0 + np.arange(4)
    c = np.arange(4) - 0.0
    d = 0.0 - np.arange(4)
    a[0] = b[1] = c[2] = d[3] = x[0]
    return a * x + b + c * d


def constants_that_make_integers(x):
    a = (x > 0.4) * 1
    b = (x > 0.4) + 0
    a[0] = b[0] = 5
    return a * x + b * x[0]


def power_of_a_float(x):
    n = len(x) * 1.0
    m = len(x)
    m += 0.0
    return x * n**-1 + m**-2


def functions_of_integers(x):
    whole = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
    y = np.linalg.solve(whole, x[:3]) * np.linalg.det(whole)
    return y + np.cross(np.arange(3), x[1:]) + np.outer(np.arange(3), x)[2, 1:]


def running_count(x):
    return np.cumsum(x > 0.4) * x


def lengths_of_minimum(x):
    a = np.zeros(np.minimum(len(x), 3))
    for k in range(len(a)):
        a[k] = np.maximum(x[k], 0.45) * np.fmin(x[k + 1], x[0])
    return a


KERNELS = [
    f for f in globals().values() if isinstance(f, types.FunctionType) and f.__module__ == __name__
]


@pytest.mark.parametrize("function", KERNELS)
def test_kinds(function, as_python):
    check_small(function)


def greatest(x):
    return np.max(x) + 0.0 * x


def least(x):
    return np.min(x) + 0.0 * x


@pytest.mark.parametrize("function", [greatest, least])
@pytest.mark.parametrize("place", range(3))
def test_not_a_number(function, place, as_python):
    x = np.array([0.5, 1.5, -0.5])
    x[place] = np.nan
    np.testing.assert_array_equal(linad.linearize(linad.kernel(function), x)[0], function(x))


def one_of_two_numbers(x):
    a = x[0] or 3.0
    b = x[1] and x[2]
    c = 0.0 * x[3] or x[3] * x[0]
    d = (x[0] > 9.0) or x[1]
    return a * x + b * c + d


def test_and_and_or_of_numbers_are_one_of_them():
    check_small(one_of_two_numbers)
