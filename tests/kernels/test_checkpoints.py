"""Loops in segments: the derivatives of loops of which all is kept, with less memory."""

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError, KernelError


def exchanged(u, r, steps):
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                k = 1.0 + u[i, j] ** 2
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                new[i, j] = u[i, j] + r * k * (around - 4.0 * u[i, j])
        u, new = new, u
    return u[1, 1]


def in_place(u, r, steps):
    s = 0.0
    turned = False
    for t in range(1, steps):
        for i in range(1, u.shape[0] - 1):
            if turned:
                last = s
            else:
                last = u[i, 2]
            u[i, 1:-1] *= 1.0 + r * np.sin(u[i - 1, 2:]) + 0.1 * last
        turned = not turned
        s += u[1, 1] * t
    return s


def objective(kernel, steps):
    def f(p):
        u = p[0] * 1.0
        value = kernel(u, p[1], steps)
        return np.sum(u**2 * np.arange(5.0)) + value

    return f


@pytest.mark.parametrize("function", [exchanged, in_place])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_derivatives_are_those_without_segments(function, count, as_python):
    some, all_kept = linad.kernel(checkpoints=count)(function), linad.kernel(function)
    x = [np.random.default_rng(0).random((4, 5)), 0.1]
    v = [np.ones((4, 5)), 0.3]
    for steps in (0, 1, 2, 3, 7, 8):
        f, g = objective(some, steps), objective(all_kept, steps)
        for a, b in zip(linad.grad(f)(x), linad.grad(g)(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    _, hv = linad.jvp(linad.grad(f), (x,), (v,))
    _, expected = linad.jvp(linad.grad(g), (x,), (v,))
    for a, b in zip(hv, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_fields_that_are_kept(as_python):
    kernel = linad.kernel(checkpoints=10)(exchanged)
    u = np.random.default_rng(0).random((12, 12))
    linad.grad(lambda u: kernel(u * 1.0, 0.01, 100))(u)
    (adjoint,) = kernel.last.call._derivatives.values()
    states = [k for n, k in adjoint.program.kinds.items() if "_kept" in n]
    assert [k.ndim for k in states] == [3, 3]  # the copy and the sum keep nothing
    assert sum(adjoint.serial.sizes) / u.size + 2 * 10 <= 3 * np.sqrt(100)


@pytest.mark.full
@pytest.mark.compiles
def test_compiled():
    x = [np.random.default_rng(0).random((4, 5)), 0.1]
    f = objective(linad.kernel(checkpoints=3)(exchanged), 8)
    expected = linad.grad(objective(linad.kernel(exchanged), 8))(x)
    for a, b in zip(linad.grad(f)(x), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_cannot_be_cut_is_refused():
    @linad.kernel(checkpoints=4)
    def search(x):
        i = 0
        while x[i] < 0.5:
            i += 1
        return x[i] ** 2

    with pytest.raises(KernelError, match="no loop over `range"):
        linad.grad(search)(np.linspace(0.0, 1.0, 5))
    for wrong in (-1, 2.5):
        with pytest.raises(ArgumentError, match="checkpoints="):
            linad.kernel(checkpoints=wrong)
