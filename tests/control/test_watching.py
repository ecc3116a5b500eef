"""Where templates begin and end: loops in derivatives, and derivatives in loops."""

import numpy as np
import pytest
from recorded_loops import agrees

import linad
from linad.control.repeat import Repeat

pytestmark = pytest.mark.usefixtures("by_numpy")

X = np.array([0.7, 0.3, 0.5])
A, B = np.random.default_rng(0).standard_normal((2, 20, 3))
B = B[:, 0]
N = 150


def descent(x):
    y = x
    for _ in range(N):
        y = y - 0.01 * linad.grad(lambda z: np.sum((A @ z - B * x[0]) ** 2))(y)
    return np.sum(y * y)


def of_a_value_that_stays(x):
    y = x
    for _ in range(N):
        y = y * 0.9 + 0.01 * linad.grad(lambda z: np.sum(np.sin(z) * z))(x)
    return np.sum(y * y)


def entries(x):
    y = x
    for _ in range(N):
        y = y - 0.01 * linad.grad(lambda z: z[0] ** 2 * z[1] + np.sin(z[2]) * x[1] * z[0])(y)
    return np.sum(y * y)


def pushed(x):
    y = x
    for _ in range(N):
        v, d = linad.jvp(lambda z: np.sin(z) * x[0], (y,), (y * 0.5,))
        y = 0.5 * v + 0.1 * d + 0.1 * x
    return np.sum(y)


def loops_inside(x):
    def inner(z):
        for _ in range(8):
            z = np.sin(z) * 0.3 + z * 0.5 + x[2]
        return np.sum(z)

    y = x
    for _ in range(40):
        y = y * 0.9 + 0.1 * linad.grad(inner)(y)
    return np.sum(y)


def long_loops_inside(x):
    def inner(z):
        for _ in range(N):
            z = np.sin(z) * 0.3 + z * 0.5 + x[2]
        return np.sum(z)

    y = x
    for _ in range(6):
        y = y * 0.9 + 0.1 * linad.grad(inner)(y)
    return np.sum(y)


def another_function_late(x):
    def loss(z, k):
        return np.sum((np.cos if k < 120 else np.sin)(z) * x)

    y = x
    for k in range(N):
        y = y * 0.9 + 0.1 * linad.grad(loss)(y, k)
    return np.sum(y)


def scan_inside_late(x):
    def loss(z, k):
        if k == 120:
            z = linad.scan(lambda q, _: (np.sin(q), None), z, length=3)[0]
        return np.sum(np.cos(z) * x)

    y = x
    for k in range(N):
        y = y * 0.9 + 0.1 * linad.grad(loss)(y, k)
    return np.sum(y)


def loop_inside_late(x):
    def loss(z, k):
        if k == 120:
            for _ in linad.loop(8):
                z = 0.5 * np.sin(z)
        return np.sum(np.cos(z) * x)

    y = x
    for k in range(N):
        y = y * 0.9 + 0.1 * linad.grad(loss)(y, k)
    return np.sum(y)


def error_inside(x):
    def loss(z, k):
        v = np.cos(z) * x
        if k == 120:
            raise RuntimeError
        return np.sum(v)

    y = x
    for k in range(N):
        try:
            y = y * 0.9 + 0.1 * linad.grad(loss)(y, k)
        except RuntimeError:
            y = y * 0.5
    return np.sum(y)


def adam(x):
    y, m, v, total = x, x * 0, x * 0, 0.0 * x[0]
    for k in range(N):
        loss, g = linad.value_and_grad(lambda z: np.sum((A @ z - B) ** 2) * x[1])(y)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        y = y - 0.01 * (m / (1 - 0.9 ** (k + 1))) / (np.sqrt(v / (1 - 0.99 ** (k + 1))) + 1e-8)
        total = total + loss
    return np.sum(y * x) + total


def writes_inside(x):
    def loss(z):
        d = np.zeros_like(z)
        d[0] = z[1] * x[0]
        d[1:] = z[:2] ** 2
        return np.sum(d * z)

    y = x
    for _ in range(N):
        y = y * 0.9 + 0.01 * linad.grad(loss)(y)
    return np.sum(y)


def two_arguments(x):
    y, z = x, x * 0.5
    for _ in range(N):
        a, b = linad.grad(lambda p, q: np.sum(p * q * x) + np.sum(p**2), argnums=(0, 1))(y, z)
        y, z = y - 0.01 * a, z - 0.01 * b
    return np.sum(y)


def twice(x):
    def inner(z):
        return np.sum(linad.grad(lambda w: np.sum(w**3 * x))(z) * np.sin(z))

    y = x
    for _ in range(N):
        y = y * 0.9 - 0.01 * linad.grad(inner)(y)
    return np.sum(y)


def jacobians(x):
    y = x
    for _ in range(N):
        v, J = linad.linearize(lambda z: np.sin(z) * z[0] * x, y)
        y = y * 0.5 - 0.01 * (J.T @ v) + 0.01 * linad.jacobian(np.sin)(y) @ y
    return np.sum(y)


LOOPS = [
    descent,
    of_a_value_that_stays,
    entries,
    pushed,
    loops_inside,
    long_loops_inside,
    another_function_late,
    scan_inside_late,
    loop_inside_late,
    error_inside,
    adam,
    writes_inside,
    two_arguments,
    twice,
    jacobians,
]


@pytest.mark.sweep(part=0.4)
@pytest.mark.parametrize("f", LOOPS)
def test_same_values_and_gradients(f):
    agrees(f, X)


@pytest.mark.parametrize("f", [descent, adam])
def test_derivatives_in_a_loop_are_one_loop(f):
    made = linad.jit(f)
    made(X)
    ((variant,),) = made.variants.values()
    (loop,) = [e.primitive for e in variant.rolled.equations if isinstance(e.primitive, Repeat)]
    assert loop.n == N
    # Plain arrays are there once: a row of each is a number.
    body = loop.body
    assert {v.shape for v in body.tape.inputs[body.carries : body.carries + body.rows]} <= {()}


def test_no_template_begins_while_an_operation_reads_its_arguments():
    """The view that ``held[part] += ...`` reads is behind: an operation before that brings it up to
    date, and was taken for the first one of a loop."""
    n, windows = 64, 31
    line = np.stack([np.arange(1.0, n + 1) / n, np.ones(n)], axis=1)

    def without_trend(part):
        column = part.reshape(1, -1).T.copy()
        column[:] = column[:] - line @ np.linalg.lstsq(line, column[:], rcond=None)[0]
        return column

    def f(x):
        back, total = x[::-1], 0.0
        for start in range(0, windows * n // 2, n // 2):
            part = slice(start, start + n)
            total = total + np.sum(without_trend(x[part]) * without_trend(back[part]))
        return total

    x = np.random.default_rng(0).standard_normal((windows + 1) * n // 2 + n // 2)
    np.testing.assert_allclose(linad.jit(linad.grad(f))(x), linad.grad(f)(x), rtol=1e-12)
