"""Patterns of loops: never less than the dense Jacobian shows, and exact where a loop is simple."""

import numpy as np
import pytest

import linad
from linad.control.control_primitive import uncompiled


@pytest.fixture(autouse=True)
def _by_numpy():
    """Patterns are those of the recorded loops; nothing has to be compiled for them."""
    with uncompiled():
        yield


def pattern_of(f, *args):
    J = linad.linearize(f, *args)[1]
    return J, J.tosparse().toarray()


def check(f, *args, exact=False):
    """The pattern holds every entry of the dense Jacobian, and the values are the same."""
    J, found = pattern_of(f, *args)
    dense = J.todense()
    np.testing.assert_allclose(found, dense, rtol=1e-10, atol=1e-12)
    stored = J.tosparse()
    stored.data[:] = 1
    pattern = stored.toarray() != 0
    assert not np.any((dense != 0) & ~pattern)
    if exact:
        np.testing.assert_array_equal(pattern, dense != 0)
    return pattern


x = np.linspace(0.3, 1.9, 24)
A = np.diag(np.ones(24)) + np.diag(np.full(23, 0.1), 1)


@pytest.mark.parametrize("reverse", [False, True])
def test_shifts(reverse):
    def f(u):
        def step(u, _):
            u = u + 0.1 * np.sin(np.roll(u, 1))
            return u, u[3:5]

        u, made = linad.scan(step, u, length=4, reverse=reverse)
        return np.concatenate([u, np.ravel(made)])

    check(f, x, exact=True)


def test_rows_are_told_apart():
    check(lambda u: linad.map(lambda v: v[0] * v[1:], u.reshape(6, 4)), x, exact=True)
    check(lambda u: linad.scan(lambda c, v: (c + v, c * v), 1.0, u)[1], x)


def test_moving_places():
    def smooth(u):
        def body(i, u):
            u[i] = 0.5 * u[i] * u[i - 1]
            return u

        return linad.fori_loop(1, 20, body, u)

    pattern = check(smooth, x)
    assert pattern[1].sum() == 2
    assert pattern[23].sum() == 1

    def by_neighbours(u):
        return linad.map(lambda i: np.sin(u[i]) * u[i + 2], np.arange(22))

    check(by_neighbours, x, exact=True)


def test_places_that_depend_on_the_carry():
    def f(u):
        def body(c):
            k, u = c
            u[k] = np.sin(u[k])
            return (3 * k + 1) % 24, u

        return linad.while_loop(lambda c: c[0] != 13, body, (1, u))[1]

    check(f, x)


def test_while():
    def f(u):
        return linad.while_loop(
            lambda u: np.sum(u[:2]) < 1.5,
            lambda u: u + 0.1 * np.sin(u * np.concatenate([u[:1], u[:-1]])),
            u,
        )

    assert check(f, x).sum() < 24 * 24

    def alone(u):
        return linad.while_loop(lambda u: np.max(u) < 3.0, lambda u: u + 0.1 * u**2, u)

    check(alone, x, exact=True)


def test_the_pattern_of_one_point_holds_at_another():
    """Values decide what is selected: here by comparing, sorting and by zeros of a factor."""

    def f(u, w):
        def step(c, _):
            c = np.where(c > 1.0, np.sort(c), np.maximum(c, np.roll(c, 1))) + w @ c
            return c * np.abs(c), None

        return linad.scan(step, u, length=2)[0]

    for u, w in ((x, A), (x[::-1].copy(), A.T), (0 * x, 0 * A), (np.sin(9 * x), A)):
        check(lambda u, w=w: f(u, w), u)
        check(lambda w, u=u: np.sum(f(u, w), keepdims=True), w)


OPERATIONS = [
    lambda c, v, k: np.sin(c) + v,
    lambda c, v, k: np.roll(c, k) * v,
    lambda c, v, k: c + np.concatenate([c[k:], c[:k]]) * v[0],
    lambda c, v, k: np.where(v > 0, c, c[::-1]),
    lambda c, v, k: c + np.pad(np.diff(c), (1, 0)) * v,
    lambda c, v, k: c.reshape(2, 3).T.reshape(6) * v,
    lambda c, v, k: c * (1.0 + 0.1 * np.sum(v)),
    lambda c, v, k: np.maximum(c, v[k]),
    lambda c, v, k: c + 0.1 * np.cumsum(v),
    lambda c, v, k: np.stack([c[k], *v[1:]]),
]


@pytest.mark.parametrize("seed", range(6))
def test_random_bodies(seed):
    rng = np.random.default_rng(seed)
    chosen = [(OPERATIONS[rng.integers(len(OPERATIONS))], int(rng.integers(1, 5))) for _ in "1234"]
    length, reverse = int(rng.integers(1, 6)), bool(rng.integers(2))

    def f(u):
        rows, start, held = u[: 6 * length].reshape(length, 6), u[-12:-6], u[-6:]

        def step(c, v):
            for operation, k in chosen[:3]:
                c = operation(c, v, k)
            operation, k = chosen[3]
            return c, operation(held, v, k)

        c, ys = linad.scan(step, start, rows, reverse=reverse)
        return np.concatenate([c, np.ravel(ys)])

    point = rng.normal(size=6 * length + 12)
    check(f, point)
    check(lambda u: np.sum(f(u) ** 2, keepdims=True), point)
