"""Searches of Python's loops, which are loops of a program however many steps they take."""

import math

import numpy as np
import pytest

import linad
from linad.core.tape import guards_in

LEVELS = np.array([0.3, 0.8, 1.4, 2.2, 2.9])
STARTS = [np.array([e, w]) for e in (0.02, 0.2, 0.5, 0.8) for w in (0.7, 1.1)]


def kepler(p):
    total = 0.0
    for i in range(len(LEVELS)):
        E = LEVELS[i]
        for _ in range(50):
            d = (E - p[0] * np.sin(E) - LEVELS[i] * p[1]) / (1 - p[0] * np.cos(E))
            E = E - d
            if abs(d) < 1e-12:
                break
        total = total + np.cos(E)
    return total


def kepler_at_once(p):
    E = M = LEVELS * p[1]
    d = np.ones(len(M))
    while np.max(abs(d)) > 1e-12:
        d = (E - p[0] * np.sin(E) - M) / (1 - p[0] * np.cos(E))
        E = E - d
    return np.sum(np.cos(E))


def newton(f, df, x, most=40):
    for _ in range(most):
        step = f(x) / df(x)
        x = x - step
        if not abs(step) > 1e-12:
            return x
    raise ArithmeticError("no root")


def root(p):
    return newton(lambda x: x**3 + p[0] * x - p[1], lambda x: 3 * x**2 + p[0], 1.0 + p[0])


def fixed_point(p):
    x = p[0]
    while True:
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-10:
            break
        x = y
    return x * y + x


def from_numbers(p):
    x, before = 1.0, 2.0
    for _ in range(60):
        x, before = 0.5 * (x + p[1] / x), x
        if abs(x - before) < 1e-13:
            break
    return x + p[0] * before


def systems(p):
    x = np.stack([1 + p[0], 1 + p[1]])
    for _ in range(30):
        r = np.stack([x[0] ** 2 + x[1] - 2 - p[0], x[1] ** 2 + x[0] - 2 - p[1]])
        J = np.stack([np.stack([2 * x[0], 1 + 0 * x[0]]), np.stack([1 + 0 * x[0], 2 * x[1]])])
        x = x - np.linalg.solve(J, r)
        if np.linalg.norm(r) < 1e-10:
            break
    return np.sum(x)


SEARCHES = [kepler, kepler_at_once, root, fixed_point, from_numbers, systems]


def paths_of(jitted):
    return [path for paths in jitted.variants.values() for path in paths]


def agrees(f, starts=STARTS):
    jitted = linad.jit(f)
    for p in starts:
        np.testing.assert_allclose(jitted(p), f(p), rtol=1e-13, atol=1e-15, err_msg=str(p))
    return paths_of(jitted)


@pytest.mark.parametrize("f", SEARCHES, ids=lambda f: f.__name__)
def test_any_number_of_steps_is_one_program(f):
    assert len(agrees(f, STARTS[2:])) == 1


@pytest.mark.parametrize("f", SEARCHES, ids=lambda f: f.__name__)
def test_gradients_of_a_search_are_one_program(f):
    gradient = linad.jit(linad.value_and_grad(f))
    for p in STARTS[2:]:
        value, slope = gradient(p)
        np.testing.assert_allclose(value, f(p), rtol=1e-13)
        np.testing.assert_allclose(slope, linad.grad(f)(p), rtol=1e-9, atol=1e-12)
    assert len(paths_of(gradient)) == 1


def of_plain_numbers(p):
    """As it asks Python's own functions, it has to be adopted."""
    E = p[1]
    for _ in range(50):
        d = (E - p[0] * math.sin(E) - p[1]) / (1 - p[0] * math.cos(E))
        E = E - d
        if abs(d) < 1e-12:
            break
    return math.sqrt(E)


def test_adopted_code_counts_as_it_was_written():
    expected = [of_plain_numbers(p) for p in STARTS]
    with linad.adopt(of_plain_numbers):
        jitted = linad.jit(of_plain_numbers)
        np.testing.assert_allclose([jitted(p) for p in STARTS], expected, rtol=1e-13)
    assert len(paths_of(jitted)) == 1


def test_a_search_that_does_not_end_is_another_way():
    def f(p):
        x = p[0]
        for _ in range(6):
            y = np.cos(p[1] * x)
            if abs(y - x) < 1e-3:
                break
            x = y
        else:
            return -x
        return y

    found = [float(linad.jit(f)(p)) for p in STARTS]
    assert min(found) < 0 < max(found)
    agrees(f)
    agrees(f, STARTS[::-1])


# What Python does otherwise in some steps stays Python's.

calls = []


def noted(x):
    calls.append(1)
    return x


def counted(p):
    x, n = p[0], 0
    for _ in range(80):
        y = np.cos(p[1] * x)
        n += 1
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * n


def read_afterwards(p):
    x = p[0]
    for k in range(80):  # noqa: B007
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * k


def read_by_the_loop_around(p):
    total = 0.0
    for k in range(3):
        x = p[0] + k
        for k in range(80):  # noqa: B007
            y = np.cos(p[1] * x)
            if abs(y - x) < 1e-6:
                break
            x = y
        total = total + x * k
    return total


def read_within(p):
    x = p[0]
    for k in range(80):
        y = np.cos(p[1] * x) + (0.001 if k > 6 else 0.0)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x


def listed(p):
    x, path = p[0], []
    for _ in range(80):
        y = np.cos(p[1] * x)
        path.append(y)
        if abs(y - x) < 1e-6:
            break
        x = y
    return sum(path)


def remembered(p):
    """A list among the variables of the loop."""
    x, path = p[0], []
    for _ in range(80):
        y = np.cos(p[1] * x)
        path = path + [y]  # noqa: RUF005
        if abs(y - x) < 1e-6:
            break
        x = y
    return sum(path)


def damped_later(p):
    x, h = p[0], 1.0
    while True:
        y = np.cos(p[1] * x)
        d = (y - x) * min(h, 1.0)
        h = h * 1.3 if h < 3 else 0.5
        if abs(d) < 1e-6:
            break
        x = x + d
    return x


def slowed(p):
    x, h = p[0], 8.0
    while True:
        y = np.cos(p[1] * x)
        h = np.minimum(h * 0.999, 1.0)
        d = (y - x) * h
        if abs(d) < 1e-6:
            break
        x = x + d
    return x


def with_a_side(p):
    before = len(calls)
    x = p[0]
    for _ in range(80):
        y = noted(np.cos(p[1] * x))
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * (len(calls) - before)


def into_an_array(p):
    x, steps = p[0], np.zeros(1)
    for _ in range(80):
        y = np.cos(p[1] * x)
        steps += 1
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * steps[0]


def in_place(p):
    x = p * 1.0
    other = x
    for _ in range(80):
        d = np.cos(p[1] * x) - x
        x += d
        if np.max(abs(d)) < 1e-6:
            break
    return np.sum(x * other)


def shifted(p):
    x = a = b = c = p[0]
    for _ in range(80):
        a, b, c = b, c, x
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x + a * b + c


def caught(p):
    x, times = p[0], 0
    while times < 3:
        try:
            while True:
                y = np.cos(p[1] * x)
                if abs(y - x) < 1e-6:
                    return y * times
                x = math.sqrt(-1) if times < 1 else y
        except (ValueError, TypeError):
            times += 1
    return x


def named(p):
    x = p[0]
    for _ in range(80):
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * len([k for k in locals() if k == "_"]) * locals()["_"]


class Counter:
    n = 0

    def __rmul__(self, x):
        self.n += 1
        return x


def by_an_operator(p):
    counter, x = Counter(), p[0]
    for _ in range(80):
        y = np.cos(p[1] * x) * 1.0
        y = y if False else counter.__rmul__(y)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * counter.n


def by_an_own_operator(p):
    counter, x = Counter(), p[0]
    for _ in range(80):
        y = np.cos(p[1] * float(1)) + 0.5 * x
        z = [1] * 1
        w = 2 * counter
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * counter.n * w * z[0]


def out_of(p):
    x, kept = p[0], np.zeros(2)
    for _ in range(80):
        one = np.add(kept, 1.0, kept)
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-6:
            break
        x = y
    return x * one[0]


def asked_now_and_then(p):
    """Most of the tests are of plain numbers, and end the loop unseen."""
    x, rounds = p[0], 0
    for _ in range(40):
        k = 0
        while (x, 3.0, 0.0)[k] > 0.01:
            k = k + 1
            x = x * 0.7
        rounds += 1
    return x + rounds * k * p[1]


def told_at_the_end(p):
    """What ends the loop does more than leave it."""
    x, found, all_of = p[0], None, []
    for _ in range(80):
        y = np.cos(p[1] * x)
        if abs(y - x) < 1e-6:
            found = y * 2
            all_of.append(found)
            break
        x = y
    return x if found is None else found + len(all_of)


def on_two_ways(p):
    x, y = p[0], p[1]
    for _ in range(80):
        x, y = np.cos(p[1] * y), x
        if abs(x - y) < 1e-6:
            break
        if x > 0.74:
            x = x - 0.001
    return x


PYTHONS = [
    *(counted, read_afterwards, read_by_the_loop_around, read_within, listed, remembered),
    *(damped_later, slowed, with_a_side, into_an_array, in_place, shifted, caught, named),
    *(by_an_operator, by_an_own_operator, out_of, on_two_ways, asked_now_and_then),
    told_at_the_end,
]


@pytest.mark.parametrize("f", PYTHONS, ids=lambda f: f.__name__)
def test_what_python_counts_and_keeps_stays_true(f):
    with linad.config(variants=100):
        agrees(f)
        agrees(f, STARTS[::-1])


def test_numbers_that_differ_are_operands_of_one_loop():
    (path,) = agrees(kepler, STARTS[2:])
    loops = {e.primitive for e in path.tape.equations if e.primitive.name == "while(search)"}
    assert len(loops) <= 2
    assert len(list(guards_in(path.tape.equations))) == len(LEVELS)
