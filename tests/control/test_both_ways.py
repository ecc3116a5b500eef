"""Functions that decide in Python, as choices that loops hold."""

import numpy as np
import pytest

import linad
from linad.control.both_ways import BothWays
from linad.control.loops import scan
from linad.errors import GuardError

TIMES = np.linspace(0.0, 1.0, 9)


def stepped(f, a, x=0.3):
    """x <- f(x, t, a) for all times."""
    return scan(lambda x, t: (f(x, t, a), x), x + 0.0 * a, TIMES)[0]


def by_hand(f, a, x=0.3):
    for t in TIMES:
        x = f(x, t, a)
    return x


def on_the_time(x, t, a):
    if t < 0.4:
        return x + a
    return x * a


def on_values_twice(x, t, a):
    if x > 1.0:
        if t > 0.6:
            return x - a * np.sqrt(x - 1.0)
        return 0.5 * x
    return x + 0.4 * a


def by_the_larger(x, t, a):
    return max(x * a, 0.8 * a, a - t)


def with_and(x, t, a):
    return x * a if 0.2 < t < 0.7 and x > 0.5 else x + 0.1


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", [on_the_time, on_values_twice, by_the_larger, with_and])
def test_each_way_is_recorded_once(f):
    ways = BothWays(f)
    program = linad.jit(lambda a: stepped(ways, a))
    slope = linad.jit(linad.grad(lambda a: stepped(ways, a)))
    for a in (1.3, 1.1, 0.7, 1.6):
        np.testing.assert_allclose(program(a), by_hand(f, a), rtol=1e-13)
        np.testing.assert_allclose(slope(a), linad.grad(lambda a: by_hand(f, a))(a), rtol=1e-12)
    assert ways.decisions
    for made in (program, slope):
        assert [len(paths) for paths in made.variants.values()] == [1]


def test_outside_of_loops_python_decides():
    ways = BothWays(on_the_time)
    assert ways(2.0, 0.3, 5.0) == 7.0
    assert linad.grad(lambda a: ways(2.0, 0.7, a))(5.0) == 2.0
    assert not ways.decisions


def test_loops_that_go_on_as_long_as_they_are_told_are_refused():
    def halved(x, t, a):
        while x > 0.1:
            x = x * 0.5
        return x + a

    with pytest.raises(GuardError, match="halved decides in more than 16 places"):
        linad.jit(lambda a: stepped(BothWays(halved), a))(1.0)


def by_what_is_outside_first(x, t, a, b=0.1):
    """The decision on ``a`` is not one on a value of the loop, the other one is."""
    gain = a if a > 1.0 else 0.5 * a
    rest = 0.2 if b < 0.5 else 0.1
    if x < 0.8:
        return x + rest * gain
    return x - rest * np.sqrt(x + gain)


@pytest.mark.usefixtures("kernels")
def test_decisions_on_what_is_outside_come_first():
    """In a branch these are values of the branch, whose answers are not those of other tests."""
    f = by_what_is_outside_first
    ways = lambda a: stepped(BothWays(f), a)  # noqa: E731
    for a in (1.3, 0.7):
        exact, J = linad.linearize(lambda a: by_hand(f, a), a)
        for way in (ways, linad.jit(ways)):
            y, found = linad.linearize(way, a)
            np.testing.assert_allclose(y, exact, rtol=1e-13)
            np.testing.assert_allclose(found.pushforward(1.0), J.pushforward(1.0), rtol=1e-12)
            np.testing.assert_allclose(found.pullback(1.0), J.pullback(1.0), rtol=1e-12)


@pytest.mark.parametrize(
    "time", [lambda a: 0.1, lambda a: linad.stop_gradient(a) - 1.0], ids=["plain", "traced"]
)
def test_equations_that_decide_on_what_is_outside_first(time):
    """Of a solution: what the equation reads is captured, and its time may be plain or traced."""

    def solved(ways):
        def f(a):
            g = ways(lambda x, t: by_what_is_outside_first(x, t, a, t))
            return linad.solve.root(lambda x: x - 0.3 - 0.1 * g(x, time(a)), 0.5)

        return f

    for a in (1.3, 0.7):
        exact, J = linad.linearize(solved(lambda g: g), a)
        for f in (solved(BothWays), linad.jit(solved(BothWays))):
            y, found = linad.linearize(f, a)
            np.testing.assert_allclose(y, exact, rtol=1e-10)
            np.testing.assert_allclose(found.pushforward(1.0), J.pushforward(1.0), rtol=1e-9)
