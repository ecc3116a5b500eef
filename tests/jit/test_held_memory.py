"""Bytes that a jitted function holds between its calls."""

import gc
import tracemalloc
import weakref

import numpy as np

import linad

N = 300_000  # larger than what is copied for good, `linad.config(snapshot_bytes=...)`


def held(f, x):
    """Arrays of the size of x that are held after three calls, and the most during the last."""
    g = linad.jit(linad.grad(f))
    for _ in range(3):
        g(x[:7])  # the compiler's own memory is not counted
    gc.collect()
    tracemalloc.start()
    try:
        g(x)
        g(x)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        g(x)
        return kept / x.nbytes, tracemalloc.get_traced_memory()[1] / x.nbytes
    finally:
        tracemalloc.stop()


def test_of_a_chain():
    """A copy of its argument; and not the ones that the derivative of a sum begins with."""
    kept, most = held(lambda x: np.sum(np.tanh(x) * np.sin(x) + x * x), np.linspace(0, 1, N))
    assert kept < 1.1
    assert most < 2.2  # with the result


def test_uniform_constants_count_as_what_they_are():
    x = np.linspace(-1.0, 1.0, N)
    for c in (np.full(N, -2.5), np.zeros(N), np.full(N, -0.0)):
        f = linad.jit(lambda x, c=c: c / np.exp(x))
        for _ in range(3):
            np.testing.assert_allclose(f(x), c / np.exp(x), rtol=1e-14)
            np.testing.assert_array_equal(np.signbit(f(x)), np.signbit(c / np.exp(x)))


def test_products_of_a_compiled_derivative_leave_no_cycle():
    f = linad.jit(lambda x: np.sin(x) * x)
    x = np.linspace(0, 1, 5)
    for _ in range(3):
        f(x)
    gc.collect()
    gc.disable()
    try:
        J = linad.linearize(f, x)[1]
        for _ in range(3):
            J @ x, J.T @ x, J @ np.ones((5, 2))
        gone = weakref.ref(J)
        del J
        assert gone() is None
    finally:
        gc.enable()
