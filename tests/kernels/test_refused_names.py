"""What kernels refuse because a name would stand for memory that the adjoint cannot follow."""

import numpy as np
import pytest
from numba import njit

import linad
from linad.errors import KernelError


@njit
def relax(u, v):
    for _ in range(1):
        for i in range(4):
            v[i] = 0.5 * u[i] + u[i - 1] ** 2
        u, v = v, u
    return u[0]


def other_name_read_after(x):
    u = x
    w = np.zeros(4)
    for _ in range(3):
        for i in range(4):
            w[i] = u[i] * u[(i + 1) % 4]
        u, w = w, u
    return u + x


def other_name_read_in_loop(x):
    u = x
    w = np.zeros(4)
    for _ in range(2):
        for i in range(4):
            w[i] = u[i] * x[(i + 1) % 4]
        u, w = w, u
    return u


def swap_in_callee(x):
    v = np.ones(4)
    s = relax(x, v)
    return x * s + v[1]


def part_then_swap(x):
    u = x * 1.0
    v = np.ones(4)
    row = u[1:]
    u, v = v, u
    row[0] = 5.0 * x[0]
    return row * v[0] + u[0]


def buffer_param_written(x):
    for _ in range(3):
        new = np.zeros(4)
        x[0] = 0.1
        for i in range(4):
            new[i] = x[i] * x[i - 1] + 0.3
        x = new
    return x


def swap_made_in_loop(x):
    u = x
    for _ in range(3):
        new = np.zeros(4)
        for i in range(4):
            new[i] = u[i] * u[i - 1] + 0.3
        u, new = new, u
    return u * 1.0


def write_into_a_computed_array(x):
    (x * 2.0)[0] = 1.0
    return x


def number_after_an_array(x):
    if x[0] < 0.5:
        return x
    return x[0]


def tuple_of_another_length(x):
    t = (x[0], x[1])
    for i in range(2):
        t = (x[i], t[0], t[1])
    return t[0]


def rows_of_two_lengths(x):
    return np.array([[x[0], 1.0], [x[1]]])


def length_with_a_bound_that_moves(x):
    low = 0
    s = 0.0
    for i in range(3):
        high = min(i, 2)
        y = np.zeros(high - low)
        s += x[0] * len(y)
        low -= 1
    return s


def sum_in_another_dtype(x):
    return np.sum(x, 0, np.float32)


REFUSED = {
    sum_in_another_dtype: "only an array and an axis are supported here",
    other_name_read_after: "x is one of two arrays",
    other_name_read_in_loop: "read as x too",
    swap_in_callee: "x is one of two arrays",
    part_then_swap: "row is one of two arrays",
    buffer_param_written: "x becomes another array",
    swap_made_in_loop: "made within a loop",
    length_with_a_bound_that_moves: "assigned again",
    write_into_a_computed_array: "not a name of an array",
    number_after_an_array: "a number here and an array elsewhere",
    tuple_of_another_length: "becomes a tuple of a different form",
    rows_of_two_lengths: "the rows have different lengths",
}


@pytest.mark.parametrize("function", REFUSED)
def test_is_refused(function):
    with pytest.raises(KernelError, match=REFUSED[function]):
        linad.grad(lambda x: np.sum(linad.kernel(function)(x)))(np.array([0.3, 0.8, 0.5, 0.9]))
