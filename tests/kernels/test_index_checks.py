"""Indices beyond the ends of arrays raise, before a loop or where they stand; others are let be."""

import itertools

import numpy as np
import pytest

import linad
from linad.kernels.index_checks import with_checks

X = np.arange(1.0, 6.0)


def reads(x, y):
    for i in range(len(x)):
        y[i] = x[i + 1] ** 2


def writes(x, y):
    for i in range(len(x)):
        y[i + 1] = x[i - 1] ** 2


def decides(x, y):
    for i in range(len(x)):
        if x[i] > 2.0:
            y[i + 3] = x[i - 1] ** 2


def gathers(x, y):
    for i in range(len(x)):
        k = int(x[i])
        y[i] = x[k] ** 2


def triangle(x, y):
    for i in range(len(x)):
        for j in range(i):
            y[i] += x[i - j + 3] ** 2


def alone(x, y):
    y[0] = x[len(x)] ** 2


def beyond_a_part(x, y):
    part = x[1:3]
    for i in range(3):
        y[i] = part[i] ** 2


def before_a_part(x, y):
    part = y[1:3]
    part[-3] = x[0] ** 2


def before_all(x, y):
    y[0] = x[-6] ** 2


def filled(kernel):
    def f(x):
        y = np.zeros(len(x), like=x)
        kernel(x, y)
        return np.sum(y)

    return f


WAYS = {
    "grad": linad.grad,
    "jit": linad.jit,
    "jit(grad)": lambda f: linad.jit(linad.grad(f)),
    "grad(jit)": lambda f: linad.grad(linad.jit(f)),
    "hvp": lambda f: lambda x: linad.hvp(f, (x,), (x,)),
}


@pytest.mark.compiles
@pytest.mark.parametrize(
    "function",
    [
        *(reads, writes, decides, gathers, triangle, alone),
        *(beyond_a_part, before_a_part, before_all),
    ],
)
def test_an_index_beyond_the_end(function):
    """The error names the array, the file, the line and its text."""
    for way in WAYS.values():
        run = way(filled(linad.kernel(function)))
        for _ in range(2):
            with pytest.raises(IndexError) as caught:
                run(X)
        text = str(caught.value)
        assert f"kernel {function.__name__}" in text
        assert ": an index is out of bounds for " in text
        assert f"{__file__}:" in text
        assert "** 2" in text
        assert "_b1" not in text


def edges(x, y):
    n = len(x)
    for i in range(-n, 0):
        y[i] = x[i] ** 2
    for i in range(n):
        j = i + 1
        if j < n:
            y[i] += x[j] * x[-1]
        for k in range(i - 1, -1, -2):
            y[k] += x[i - k] * x[n - 1 - k]
    for i in range(n, 0):
        y[i + 100] = x[i - 100]
    part = x[n // 2 :]
    for i in range(len(part)):
        y[i] += part[i] * part[-1] + part[-1 - i]


@pytest.mark.compiles
def test_indices_that_arrays_have():
    """From the end, after a test, in loops without a turn."""
    for n in (1, 2, 5):
        x = X[:n]
        expected, kernel = np.zeros(n), linad.kernel(edges)
        edges(x, expected)

        def values(x, kernel=kernel):
            y = np.zeros(len(x), like=x)
            kernel(x, y)
            return y

        np.testing.assert_allclose(linad.linearize(values, x)[0], expected)
        linad.check_derivatives(values, x)


def up(x, y, low, high, a, b):
    for i in range(low, high):
        y[i] = x[a * i + b]


def by_three(x, y, low, high, a, b):
    for i in range(low, high, 3):
        y[i] = x[i * a - b]


def down(x, y, low, high, a, b):
    for i in range(high, low, -1):
        y[i] = x[b + i * a]


def down_by_two(x, y, low, high, a, b):
    for i in range(high, low, -2):
        k = a * i
        y[i] = x[k - b]


@pytest.mark.compiles
@pytest.mark.parametrize("function", [up, by_three, down, down_by_two])
def test_ranges_of_all_kinds(function):
    """What Python does with the same numbers: the same values, or an IndexError as well."""
    kernel, outcomes = linad.kernel(function), []
    ends, slopes, places = (-6, -2, 0, 3, 5, 6), (-2, -1, 0, 1, 3), (-4, 0, 1, 5)
    for numbers in itertools.product(ends, ends, slopes, places):
        expected = np.zeros(5)
        try:
            function(X, expected, *numbers)
        except IndexError:
            expected = None
        try:
            found = linad.linearize(lambda x, n=numbers: written(kernel, x, *n), X)[0]
        except IndexError:
            found = None
        outcomes.append(found is None)
        assert (found is None) == (expected is None), numbers
        if found is not None:
            np.testing.assert_array_equal(found, expected)
    assert 100 < sum(outcomes) < len(outcomes) - 100


def written(kernel, x, *numbers):
    y = np.zeros(5, like=x)
    kernel(x, y, *numbers)
    return y


def test_what_is_looked_at_before_a_loop():
    source = """\
def kernel(p, start, stop):
    for i in range(1, n - 1):
        y[i, 0] = x[i - 1] + x[i + 1] + s[k]
    for i in range(n):
        if x[i] > 0:
            y[i, 1] = x[2 * i * i] + stack[m]
    return 0
"""
    expected = """\
def kernel(p, start, stop):
    check_indices()
    if (1) < (n - 1):
        # y
        check_range(y, 0, 1, n - 1 - 1, 0, 0)
        # y
        check_range(y, 1, 0, 0, 0, 0)
        # x
        check_range(x, 0, 1, n - 1 - 1, -1, 1)
        # s
        check_range(s, 0, k, k, 0, 0)
    for i in range(1, n - 1):
        y[known(i), known(0)] = x[known(i - 1)] + x[known(i + 1)] + s[known(k)]
    if (0) < (n):
        # x
        check_range(x, 0, 0, n - 1, 0, 0)
    for i in range(n):
        if x[known(i)] > 0:
            y[i, 1] = x[2 * i * i] + stack[known(m)]
    return 0
"""
    assert with_checks(source, ["stack"]) == expected
