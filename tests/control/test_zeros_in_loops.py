"""Loops ask for NaN where they may lose zeros of what nobody reads, and only there."""

import numpy as np
import pytest

import linad

A = np.array([0.5, 2.0, 1.5])


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def asks(f, *args):
    tape = linad.jit(linad.grad(f)).variant(*args).tape
    return "guard" in [e.primitive.name for e in tape.equations]


def products(x):
    y, a = x[0], x[1]
    for _ in range(40):
        y = y * a
    return y


def filtered(x):
    def step(state, row):
        mean, variance = state
        gain = variance / (variance + x[1])
        mean, variance = mean + gain * (row - mean), variance * (1 - gain) + x[2]
        return (mean, variance), mean**2 + np.log(variance)

    (mean, variance), terms = linad.scan(step, (x[0], x[1]), np.linspace(0.0, 1.0, 9))
    return mean + variance + np.sum(terms)


def nested(x):
    def inner(y, row):
        return np.sin(y * row), None

    def outer(y, _):
        return linad.scan(inner, y, np.sqrt(x))[0] + y, None

    return np.sum(linad.scan(outer, x, length=4)[0])


def velocity_is_not_read(x):
    def step(state, _):
        return (state[0] + state[1], np.sqrt(state[1])), None

    return np.sum(linad.scan(step, (x, x), length=3)[0][0])


def slice_is_not_read(x):
    return np.sum(linad.scan(lambda y, _: (np.sqrt(y) + A, None), x, length=3)[0][1:])


def last_row_is_read(x):
    return np.sum(linad.scan(lambda y, _: (y * A, np.sqrt(y)), x, length=3)[1][-1])


def shifted(x):
    def step(y, _):
        return np.concatenate([np.sqrt(y)[1:], A[:1]]), None

    return np.sum(linad.scan(step, x, length=2)[0])


def in_the_inner_loop(x):
    def outer(y, _):
        return linad.scan(lambda z, _: (z + A, np.sqrt(z[0])), y, length=2)[0], None

    y, roots = linad.scan(outer, x, length=2)
    return np.sum(y)


def inner_reads_a_part(x):
    def outer(y, _):
        roots = np.sqrt(y)
        return linad.scan(lambda z, row: (z + row, None), roots[0], A)[0] * y[1:].sum() * A, None

    return np.sum(linad.scan(outer, x, length=2)[0])


def behind(x):
    y = np.sqrt(x)
    return linad.scan(lambda s, row: (s + row * y[1], None), 0.0, A)[0]


WHOLE = [products, filtered, nested, lambda x: np.sum(nested(x) * x)]
IN_PARTS = [
    velocity_is_not_read,
    slice_is_not_read,
    last_row_is_read,
    shifted,
    inner_reads_a_part,
    behind,
]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", WHOLE)
def test_a_loop_that_reads_all_asks_nothing(f):
    assert not asks(f, A)
    for _ in range(3):
        np.testing.assert_allclose(linad.jit(linad.grad(f))(A), linad.grad(f)(A), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", IN_PARTS)
def test_a_loop_that_reads_parts_keeps_their_zeros(f):
    gradient = linad.jit(linad.grad(f))
    for x in (A, np.array([0.0, 2.0, 1.0]), np.array([1.0, 0.0, 0.0]), A):
        expected = linad.grad(f)(x)
        for _ in range(2):
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_what_a_loop_without_slopes_leaves_out_is_left_out_behind_it():
    """A loop that has nothing to keep itself says what it reads of its arguments."""

    def f(x):
        y = np.sqrt(x)
        _, rows = linad.scan(lambda k, _: (k + 1, y * k), 1.0, length=2)
        return np.nansum(rows)

    x = np.array([4.0, -1.0, 1.0])
    for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
        for _ in range(2):
            np.testing.assert_allclose(gradient(x), [0.75, 0.0, 1.5])


FORMS = {
    "root": lambda c, v, a: (np.sqrt(c), v),
    "root of the other": lambda c, v, a: (c, np.sqrt(v)),
    "chosen": lambda c, v, a: (np.where(c > 0, np.sqrt(c), v), v),
    "quotient": lambda c, v, a: (np.where(v != 0, c / v, 1.0), v),
    "moved": lambda c, v, a: (np.concatenate([c[1:], v[:1]]), v),
    "part of a root": lambda c, v, a: (np.concatenate([np.sqrt(c)[1:], a[:1]]), v),
    "exchanged": lambda c, v, a: (v, c),
    "product": lambda c, v, a: (c * v, v),
    "entries": lambda c, v, a: (c, v * a[[1, 0, 2, 2]]),
    "set": lambda c, v, a: (c, a * 1.0),
    "of a row": lambda c, v, a: (c + np.sum(np.sqrt(a)[1:]), v),
    "larger": lambda c, v, a: (np.maximum(c, v), v),
    "inner": lambda c, v, a: (linad.scan(lambda s, r: (s * r, None), c, np.sqrt(a))[0], v),
    "inner part": lambda c, v, a: (linad.scan(lambda s, r: (s + r, None), c[0], v)[0] * a, v),
}
RESULTS = {
    "both": lambda c, v, rows: np.sum(c) + np.sum(v),
    "one": lambda c, v, rows: np.sum(c),
    "part": lambda c, v, rows: np.sum(c[1:] ** 2),
    "not NaN": lambda c, v, rows: np.nansum(v * c),
    "rows": lambda c, v, rows: np.sum(rows),
    "last row": lambda c, v, rows: np.nansum(rows[-1]),
}


@pytest.mark.full
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("second", ["root", "moved"])
@pytest.mark.parametrize("first", FORMS)
def test_compiled_loops_keep_the_zeros_that_eager_ones_keep(first, second, result):
    rng = np.random.default_rng(0)
    for before in (lambda x: 1.0 * x, np.sqrt):

        def f(x, before=before):
            x = before(x)
            a = x[8:12]

            def step(carry, row):
                c, v = FORMS[second](*FORMS[first](*carry, a), row)
                return (c, v), c

            carry, rows = linad.scan(step, (x[:4], x[4:8]), x[12:].reshape(2, 4))
            return RESULTS[result](*carry, rows)

        gradient = linad.jit(linad.grad(f))
        for _ in range(4):
            x = rng.uniform(0.5, 2.0, 20)
            np.testing.assert_allclose(gradient(x), linad.grad(f)(x), rtol=1e-9)
            x[rng.integers(20, size=4)] = rng.choice([0.0, -1.0, np.nan], 4)
            np.testing.assert_allclose(gradient(x), linad.grad(f)(x), rtol=1e-9)
