"""Lists that a loop fills, and that are stacked in the end, are the rows of its results."""

import numpy as np
import pytest

import linad
from linad.control import rolling

pytestmark = pytest.mark.usefixtures("kernels")

P = np.array([1.0, 1.2, 1.1, 0.9])
STEPS = 80


def step(u, p):
    a = u[0] + 0.01 * (p[2] * u[0] - u[0] * u[1])
    b = u[1] + 0.01 * (u[0] * u[1] - p[3] * u[1])
    return a, b


def numbers(p):
    u, found = (p[0], p[1]), []
    for _ in range(STEPS):
        u = step(u, p)
        found.append(u[0])
    return np.stack(found)


def vectors(p):
    u, found = p[:2], []
    for _ in range(STEPS):
        u = np.stack(step(u, p))
        found.append(u)
    return np.stack(found)


def with_the_beginning(p):
    u = p[:2]
    found = [u]
    for _ in range(STEPS):
        u = np.stack(step(u, p))
        found.append(u)
    return np.stack(found)


def every_other(p):
    u, found = p[:2], []
    for k in range(STEPS):
        u = np.stack(step(u, p))
        if k % 2:
            found.append(u)
    return np.stack(found)


def in_another_order(p):
    u, found = p[:2], []
    for _ in range(STEPS):
        u = np.stack(step(u, p))
        found.append(u)
    return np.stack(found[::-1])


def two_lists(p):
    u, first, second = p[:2], [], []
    for _ in range(STEPS):
        u = np.stack(step(u, p))
        first.append(u[0])
        second.append(np.sin(u[1]))
    return np.stack(first) * np.stack(second)


PROGRAMS = {
    f.__name__: f
    for f in (numbers, vectors, with_the_beginning, every_other, in_another_order, two_lists)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_numbers(name):
    f = PROGRAMS[name]

    def loss(p):
        return np.sum(f(p) ** 2)

    for g in (f, loss, linad.grad(loss)):
        jitted = linad.jit(g)
        for k in range(3):
            p = P + 0.01 * k
            np.testing.assert_allclose(jitted(p), g(p), rtol=1e-11)


@pytest.mark.parametrize("name", ["numbers", "vectors", "with_the_beginning", "two_lists"])
def test_few_instructions(name):
    f = PROGRAMS[name]
    report = linad.explain(linad.grad(lambda p: np.sum(f(p) ** 2)))(P)
    assert len(report.steps) < 30


def numbers_of_an_array_without_axes(p):
    return np.stack([*numbers(p), (p[0] - p[2])[()]])


def test_an_array_without_axes_has_no_rows():
    jitted = linad.jit(numbers_of_an_array_without_axes)
    for _ in range(3):
        np.testing.assert_allclose(jitted(P), numbers_of_an_array_without_axes(P), rtol=1e-14)


def test_a_failure_of_rolling_is_a_warning(monkeypatch):
    def broken(tape):
        raise ValueError("a fault")

    monkeypatch.setattr(rolling, "joined", broken)
    jitted = linad.jit(numbers)
    jitted(P)
    with pytest.warns(RuntimeWarning, match="could not be compiled"):
        found = [jitted(P) for _ in range(3)]
    np.testing.assert_allclose(found[-1], numbers(P), rtol=1e-14)
