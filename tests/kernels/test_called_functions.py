"""Kernels call plain Python functions, of which Numba alone knows nothing."""

import colorsys
import sys

import numpy as np
import pytest
from numba import njit

import linad
from linad.kernels.called_functions import calls_plain_functions, is_plain

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

X = np.array([0.5, -1.25, 2.0])


@linad.kernel
def total(x, h):
    s = 0.0
    for v in x:
        s += sloped(v, h) + this.squared(v)
    return s


def sloped(v, h, scale=2.0):  # after the kernel
    return scale * h * squared(v)


def squared(v):
    return v * v


this = sys.modules[__name__]


@pytest.mark.compiles
def test_functions_of_the_module_and_what_they_call_in_turn():
    np.testing.assert_allclose(total(X, 3.0), 7 * np.sum(X**2))
    np.testing.assert_allclose(linad.grad(total)(X, 3.0), 14 * X)
    np.testing.assert_allclose(linad.grad(total, argnums=1)(X, 3.0), 2 * np.sum(X**2))
    assert this.squared is squared  # the user's module is as it was


@pytest.mark.compiles
def test_functions_of_a_closure_a_kernel_and_a_compiled_caller():
    def made(k):
        def times(v):
            return k * squared(v)

        @linad.kernel
        def f(x):
            return times(x[0]) + total(x, 1.0)

        return f

    f, other = made(3.0), made(5.0)
    expected = 3 * np.sum(X**2)
    assert f(X) == 3 * X[0] ** 2 + expected
    assert other(X) == 5 * X[0] ** 2 + expected
    np.testing.assert_allclose(linad.grad(f)(X), 6 * X + [6 * X[0], 0, 0])

    @njit
    def caller(x):
        return total(x, 1.0)

    assert caller(X) == expected


@pytest.mark.compiles
def test_a_plain_function_as_an_argument():
    @linad.kernel
    def applied(g, x):
        return g(x[0])

    assert applied(squared, X) == X[0] ** 2
    np.testing.assert_allclose(linad.grad(lambda x: applied(squared, x))(X), [2 * X[0], 0, 0])


@pytest.mark.compiles
def test_a_variable_of_the_closure_that_has_no_value_yet():
    def made():
        def times(v):
            return factor * squared(v)

        def kernel(x):
            return later(x) + squared(x) if x < 0.0 else squared(x)

        assert calls_plain_functions(kernel)
        assert calls_plain_functions(times)
        found = linad.kernel(times)
        factor = 2.0
        later = times
        return found, linad.kernel(kernel)

    times, kernel = made()
    assert times(3.0) == 18.0
    assert kernel(-3.0) == 27.0


def test_what_numba_knows_by_itself_is_no_plain_function():
    from numba.extending import overload

    def known(v):
        return v

    assert is_plain(known)

    @overload(known)
    def _known(v):
        return lambda v: v + 1.0

    def caller(x):
        return known(x) + np.sum(x)

    assert not is_plain(known)
    assert not is_plain(np.sum)
    assert not is_plain(njit(squared))
    assert not calls_plain_functions(caller)
    assert is_plain(colorsys.rgb_to_hls)
    assert calls_plain_functions(sloped)
