"""A kernel against differences, and against its own source run by linad in Python."""

import functools
import types

import numpy as np

import linad
from linad.core.primitive import Traced


def is_float(a):
    return isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind == "f")


def objective(function, arguments, complex_step=False):
    """A number made of all that a kernel returns and writes, as a function of its floats."""
    rng = np.random.default_rng(7)
    weights = {}

    def weight(k, shape):
        if k not in weights:
            weights[k] = rng.standard_normal(shape)
        return weights[k]

    def f(floats):
        floats = iter(floats)
        given = [
            next(floats) * 1.0 if is_float(a) else a.copy() if isinstance(a, np.ndarray) else a
            for a in arguments
        ]
        found = function(*given)
        found = found if isinstance(found, tuple) else () if found is None else (found,)
        total = 0.0
        for k, v in enumerate([*found, *[a for a in given if np.ndim(a)]]):
            total = total + np.sum(weight(k, np.shape(v)) * v * (1.0 + 0.1 * v))
        return total

    return f, [a for a in arguments if is_float(a)]


class NumPy:
    """NumPy, where new arrays can hold traced values."""

    def __init__(self, like):
        self.like = like

    def __getattr__(self, name):
        found = getattr(np, name)
        return functools.partial(found, like=self.like) if name in NEW else found


NEW = ("zeros", "empty", "ones", "full")


def in_python(function):
    """The source of a kernel run as Python, with every function that it calls."""

    def run(*arguments):
        like = next((a for a in arguments if isinstance(a, Traced)), None)

        def opened(f):
            scope = dict(f.__globals__)
            if like is not None:
                scope["np"] = NumPy(like)
            for name, value in f.__globals__.items():
                if name in f.__code__.co_names and hasattr(value, "py_func"):
                    scope[name] = opened(value.py_func)
            return types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__)

        return opened(function)(*arguments)

    return run


def inner(a, b):
    return sum([np.vdot(x, y) for x, y in zip(a, b, strict=True)])


def moved(x, v, h):
    return [a + h * b for a, b in zip(x, v, strict=True)]


def check(function, arguments, hessian=True, unrolled=True):
    """Compare a kernel with central differences, and with its source run by linad in Python."""
    kernel = linad.kernel(function)
    f, x = objective(kernel, arguments)
    plain, _ = objective(in_python(function), arguments)
    rng = np.random.default_rng(3)
    v = [rng.standard_normal(np.shape(a)) for a in x]
    value, g = linad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, plain(x), rtol=1e-12)
    _, pushed = linad.jvp(f, (x,), (v,))
    np.testing.assert_allclose(pushed, inner(g, v), rtol=1e-10, atol=1e-12)
    h = 1e-6
    differences = (plain(moved(x, v, h)) - plain(moved(x, v, -h))) / (2 * h)
    np.testing.assert_allclose(pushed, differences, rtol=2e-6, atol=1e-8)
    if unrolled:
        expected = linad.grad(plain)(x)
        for a, b in zip(g, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    if hessian:
        _, hv = linad.jvp(linad.grad(f), (x,), (v,))
        up, down = linad.grad(f)(moved(x, v, h)), linad.grad(f)(moved(x, v, -h))
        for a, b, c in zip(hv, up, down, strict=True):
            np.testing.assert_allclose(a, (b - c) / (2 * h), rtol=1e-5, atol=1e-6)
        again = linad.grad(lambda x: inner(linad.grad(f)(x), v))(x)
        for a, b in zip(hv, again, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def check_small(function):
    """Compare a kernel of four numbers, its gradient and its Hessian, with differences."""
    x = np.array([0.3, 0.8, 0.5, 0.9])
    kernel, plain = linad.kernel(function), in_python(function)

    def objective(f, x):
        result = f(x * 1.0)
        return np.sum(result * np.arange(1.0, 1 + result.shape[0])) if np.ndim(result) else result

    value, g = linad.value_and_grad(lambda x: objective(kernel, x))(x)
    np.testing.assert_allclose(value, objective(plain, x), rtol=1e-13)
    steps = 1e-6 * np.eye(4)
    differences = [objective(plain, x + d) - objective(plain, x - d) for d in steps]
    np.testing.assert_allclose(g, np.array(differences) / 2e-6, rtol=1e-6, atol=1e-8)
    v = np.array([0.5, -1.0, 0.3, 0.7])
    gradient = linad.grad(lambda x: objective(kernel, x))
    _, hv = linad.jvp(gradient, (x,), (v,))
    expected = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(hv, expected, rtol=1e-5, atol=1e-7)
