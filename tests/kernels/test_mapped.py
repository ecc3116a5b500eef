"""Kernels of `numba.vectorize` and `numba.guvectorize`, and kernels that call kernels."""

import numpy as np
import pytest
from numba import guvectorize, njit, vectorize

import linad
from linad.errors import KernelError


@linad.kernel
@vectorize
def bent(a, b):
    if a > b:
        return a * a * b
    return np.sin(a) * b


def bent_in_numpy(a, b):
    return np.where(a > b, a * a * b, np.sin(a) * b)


@linad.kernel
@guvectorize("(n),()->(n),()")
def scaled(x, a, out, total):
    total[0] = 0.0
    for i in range(len(x)):
        out[i] = a * x[i] ** 2
        total[0] += out[i]


def scaled_in_numpy(x, a):
    out = np.reshape(a, (*np.shape(a), 1)) * x**2
    return out, np.sum(out, axis=-1)


X, Y = np.linspace(0.1, 0.9, 12).reshape(3, 4), np.array([0.2, 0.7, 0.4, 0.3])


pytestmark = pytest.mark.usefixtures("as_python")


@pytest.mark.parametrize("shape", [(), (4,), (3, 1), (2, 3, 4), (0,)])
def test_entries_that_broadcast(shape):
    a = np.linspace(0.15, 0.85, int(np.prod(shape))).reshape(shape)
    b = X[:, :1] if shape == (0,) else X

    def f(g):
        return lambda p: np.sum(g(p[0], p[1]) ** 2)

    for x in ([a, b], [b, a]):
        found, expected = linad.grad(f(bent))(x), linad.grad(f(bent_in_numpy))(x)
        for u, v in zip(found, expected, strict=True):
            np.testing.assert_allclose(u, v, rtol=1e-13)
    h = linad.hessian(lambda y: np.sum(bent(y, 0.35) ** 2))(Y)
    expected = linad.hessian(lambda y: np.sum(bent_in_numpy(y, 0.35) ** 2))(Y)
    np.testing.assert_allclose(h, expected, rtol=1e-12)


@pytest.mark.parametrize("a", [0.3, np.array([0.1, 0.2, 0.3])])
def test_rows(a):
    def f(g):
        def objective(p):
            out, total = g(p[0], p[1])
            return np.sum(out**2) + np.sum(total**3)

        return objective

    found, expected = linad.grad(f(scaled))([X, a]), linad.grad(f(scaled_in_numpy))([X, a])
    for u, v in zip(found, expected, strict=True):
        np.testing.assert_allclose(u, v, rtol=1e-13)


def test_results_that_are_given():
    def f(x):
        out, total = np.zeros_like(x), np.zeros(3, like=x)
        scaled(x, 0.3, out, total)
        return np.sum(out**2) + np.sum(total**3)

    def g(x):
        out, total = scaled_in_numpy(x, 0.3)
        return np.sum(out**2) + np.sum(total**3)

    np.testing.assert_allclose(linad.grad(f)(X), linad.grad(g)(X), rtol=1e-13)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: scaled(x, 0.3, np.zeros((3, 4)), np.zeros(3)), "plain array given as result 0"),
        (lambda x: scaled(x, 0.3, np.zeros(4, like=x), x[0]), r"result 0 is \(4,\); it must be"),
        (lambda x: scaled(x[0, 0], 0.3), r"needs the axes \(n\)"),
        (lambda x: bent(x), "expected 2 arguments"),
    ],
)
def test_refused(call, match):
    with pytest.raises(KernelError, match=match):
        linad.jvp(call, (X,), (X,))


@linad.kernel
def squared(t):
    return t * t


@njit
def cubed(t):
    return t * t * t


@vectorize
def weighted(a, b):
    return a * b


def sum_of_squares(x):
    s = 0.0
    for v in x:
        s += squared(v) * weighted(v, 0.1)
    return s


def applied(g, x):
    s = 0.0
    for v in x:
        s += g(v)
    return s


def test_kernels_that_call_kernels():
    np.testing.assert_allclose(linad.grad(linad.kernel(sum_of_squares))(Y), 0.3 * Y**2)


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.parametrize("function, slope", [(squared, 2 * Y), (cubed, 3 * Y**2)])
def test_functions_that_are_given(function, slope):
    kernel = linad.kernel(applied)
    np.testing.assert_allclose(kernel(function, Y), np.sum(function(Y)))
    np.testing.assert_allclose(linad.grad(lambda y: kernel(function, y))(Y), slope)


@pytest.mark.full
@pytest.mark.compiles
def test_compiled_entries(monkeypatch):
    monkeypatch.undo()
    kernel = linad.kernel(bent.function)  # `bent` has met its types uncompiled, in other tests
    f = linad.jit(linad.grad(lambda x: np.sum(kernel(x, Y) ** 2)))
    expected = linad.grad(lambda x: np.sum(bent_in_numpy(x, Y) ** 2))(X)
    for _ in range(3):
        np.testing.assert_allclose(f(X), expected, rtol=1e-13)
    assert "none in NumPy" in str(linad.explain(f)(X))
