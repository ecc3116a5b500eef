"""Loops that are split, so that the compiler makes vector instructions of them."""

import numpy as np
import pytest
from kernel_checks import check

import linad
from linad.kernels.compiling import python_function, source_of
from linad.kernels.split_loops import PARTS


def exchanged(u, r, steps):
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                k = 1.0 + u[i, j] * u[i, j]
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                new[i, j] = u[i, j] + r * k * (around - 4.0 * u[i, j])
        u, new = new, u
    return u


def downward(x, y):
    for i in range(len(x) - 2, 1, -1):
        y[i] = np.sin(x[i - 1]) * x[i + 1] + x[i] * x[i]


def at_places_that_are_read(x, order, y):
    for i in range(len(x)):
        y[i] = x[i] * x[(i + 1) % len(x)] + x[order[i]]


def with_a_number_handed_on(x, y):
    s = 0.1
    for i in range(1, len(x) - 1):
        s = 0.5 * s + x[i - 1] * x[i + 1]
        y[i] = s * x[i]


def read_in_the_loop(x):
    for i in range(1, len(x) - 1):
        x[i] = x[i - 1] * x[i + 1] + x[i]


def in_columns(x, y):
    for i in range(len(x)):
        y[i] = x[i, 0] * x[i, 1] * x[i, 2]


RNG = np.random.default_rng(0)
ORDER = np.array([3, 3, 0, 6, 1, 2, 2])
CASES = {
    exchanged: (RNG.random((5, 6)), 0.1, 3),
    downward: (RNG.random(7), RNG.random(7)),
    at_places_that_are_read: (RNG.random(7), ORDER, RNG.random(7)),
    with_a_number_handed_on: (RNG.random(7), RNG.random(7)),
    read_in_the_loop: (RNG.random(7),),
}


def adjoint_of(function, arguments):
    made = linad.kernel(function).specialized(arguments)
    return made.call.adjoint(made.floats())


@pytest.mark.parametrize("function", CASES)
def test_derivatives(function, as_python):
    check(function, CASES[function])


@pytest.mark.parametrize("function", [exchanged, downward, at_places_that_are_read])
def test_split(function):
    call = adjoint_of(function, CASES[function])
    assert PARTS in source_of(call.serial.program)
    assert PARTS not in source_of(call.program)  # what is differentiated, and shown


@pytest.mark.parametrize("function", [with_a_number_handed_on, read_in_the_loop])
def test_not_split(function):
    call = adjoint_of(function, CASES[function])
    assert call.serial.program is call.program


def test_a_loop_over_seeds_is_not_split():
    made = linad.kernel(in_columns).specialized((RNG.random((4, 3)), np.zeros(4)))
    call = made.call.adjoint_for_seeds(made.floats())
    assert call.serial.program is call.program


@pytest.mark.compiles
@pytest.mark.parametrize("n", [2, 3, 37])
def test_compiled_loops_are_those_in_python(n):
    u, w = np.random.default_rng(n).random((2, n, n))
    call = adjoint_of(exchanged, (u, 0.1, 3))
    given = [u, 0.1, 3, np.zeros((n, n)), np.zeros((n, n)), np.zeros(1), w]
    found = call(*given)
    in_python = python_function(call.program)
    expected = [np.array(a) if isinstance(a, np.ndarray) else a for a in given]
    rooms = [np.empty(s) for s in call.serial.shapes_of_rooms(*given)]
    in_python(*expected, *rooms, np.empty(9), np.zeros(1, int))
    for k, a in zip(call.overwrites, found, strict=True):
        np.testing.assert_allclose(a, expected[k], rtol=1e-11, atol=1e-13)
