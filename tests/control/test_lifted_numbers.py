"""Loops that differ in numbers alone are one loop, which takes the numbers as operands."""

import numpy as np
import pytest

import linad
from linad.control.control_primitive import ControlPrimitive
from linad.control.lifted_numbers import first_ones_lifted

pytestmark = pytest.mark.usefixtures("kernels")

X = np.array([1.3, 0.4])
DATA = np.array([1.5, 2.5, 4.0, 4.0, 0.5, 7.0])


def root(x, c):
    return linad.while_loop(
        lambda y: abs(y * y - x[0] * c) > 1e-12, lambda y: (y + x[0] * c / y) / 2, x[1] + 1.0
    )


def of_entries(x):
    return sum(root(x, c) * k for k, c in enumerate(DATA))


def of_numbers(x):
    return sum(root(x, c) + c for c in DATA.tolist())


def of_integers(x):
    return sum(root(x, c + 1) for c in range(2, 7))


def of_arrays(x):
    def path(c):
        return linad.scan(lambda y, _: (y + 0.1 * np.sin(c * y), y[0]), x * c, length=5)[1]

    return sum(np.sum(path(np.array([c, 1.0]))) for c in DATA)


def of_dictionaries(x):
    total = 0.0
    for setting in [{"slope": c, "shift": c / 2} for c in DATA]:

        def step(y, row, setting=setting):
            return y - 0.1 * y * setting["slope"] + setting["shift"] * row * x[1], None

        total = total + linad.scan(step, x[0], DATA)[0]
    return total


def of_nested(x):
    def inner(y, c):
        return linad.while_loop(lambda z: z * c < 9.0, lambda z: z * (1.0 + c) + x[1], y)

    def outer(c):
        return linad.scan(lambda y, _: (0.2 * inner(y, c), None), x[0], length=3)[0]

    return sum(outer(c) for c in DATA)


def of_branches(x):
    def step(y, row, c):
        return linad.cond(y * c > row, lambda y: y * c - 1.0, lambda y: y + c * x[1], y), None

    return sum(linad.scan(lambda y, row, c=c: step(y, row, c), x[0], DATA)[0] for c in DATA)


def of_places(x):
    y = np.concatenate([x, 2 * x, x + 1])
    return sum(
        linad.while_loop(lambda z, k=k: z * z < 9 * y[k], lambda z, k=k: z + y[k] / z, x[0])
        for k in range(6)
    )


def equal_by_chance(x):
    pairs = [(3.0, 3.0), (2.0, 2.0), (4.0, 5.0), (4.0, 2.0), (5.0, 3.0), (-0.5, 7.0)]
    total = 0.0
    for a, b in pairs:
        step = lambda y, _, a=a, b=b: (np.sin(a * y) + b * y * x[1] / 9.0, None)  # noqa: E731
        total = total + linad.scan(step, x[0], length=4)[0]
    return total


PROGRAMS = [
    of_entries,
    of_numbers,
    of_integers,
    of_arrays,
    of_dictionaries,
    of_nested,
    of_branches,
    of_places,
]


def loops_of(f):
    tape = linad.trace(f, X)[1]
    return [e for e in tape.equations if isinstance(e.primitive, ControlPrimitive)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_all_loops_but_the_first_are_one(f):
    loops = loops_of(f)
    assert len(loops) > 4
    assert len({e.primitive for e in loops[1:]}) == 1


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_where_repetitions_are_looked_for_the_first_is_one_with_them(f):
    tape = linad.trace(f, X)[1]
    lifted = first_ones_lifted(tape)
    loops = [e for e in lifted.equations if isinstance(e.primitive, ControlPrimitive)]
    assert len({e.primitive for e in loops}) == 1
    np.testing.assert_allclose(lifted(X), f(X), rtol=1e-12)
    assert first_ones_lifted(lifted).equations == lifted.equations


@pytest.mark.parametrize("f", [*PROGRAMS, equal_by_chance], ids=lambda f: f.__name__)
def test_it_computes_the_same(f):
    expected = f(X)
    slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    g = linad.jit(linad.value_and_grad(f))
    for _ in range(3):
        value, slope = g(X)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(slope, slopes, rtol=1e-6, atol=1e-8)
    y, J = linad.linearize(f, X)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(J @ X, slope @ X, rtol=1e-12)


def test_numbers_that_were_equal_by_chance_are_told_apart():
    loops = loops_of(equal_by_chance)
    assert [len(e.inputs) - len(loops[0].inputs) for e in loops] == [0, 1, 2, 2, 2, 2]
    assert loops[-1].inputs[-2:] == (-0.5, 7.0)


def test_zeros_of_both_signs_are_two_numbers():
    def f(x):
        def times(c):
            return linad.scan(lambda y, _: (y * c, None), x, length=1)[0]

        return np.stack([1 / times(0.0), 1 / times(-0.0)])

    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(linad.trace(f, 2.0)[0], [np.inf, -np.inf])


def test_a_number_that_decides_on_the_precision_stays_where_it_is():
    def f(x):
        step = lambda y, _, c: (y * c + x, None)  # noqa: E731
        return sum(
            linad.scan(lambda y, _, c=c: step(y, _, c), x, length=3)[0] for c in DATA.tolist()
        )

    x = np.float32(0.3)
    assert linad.jit(linad.grad(f))(x).dtype == np.float32
    np.testing.assert_allclose(linad.grad(f)(x), sum(1 + c + c**2 + c**3 for c in DATA), rtol=1e-5)


def test_a_loop_of_another_call_is_not_remembered():
    for c in DATA:

        def f(x, c=c):
            return linad.scan(lambda y, _: (np.sin(c * y), None), x, length=3)[0]

        (loop,) = loops_of(f)
        assert c in loop.primitive.body.tape.equations[0].inputs
