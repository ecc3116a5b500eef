"""Roots of numbers where one linearization runs: the search gives plain numbers, the slope is read
of the operators that are kept."""

import math

import numpy as np
import pytest
import scipy.optimize as theirs

import linad
from linad.scipy import optimize

TH = np.array([2.0, 0.7])


def g(x, th):
    return th[0] * x - np.exp(-x * th[1])


def plain(th):
    return optimize.brentq(lambda x: g(x, th), 0, 10)


def loose(th):
    return optimize.ridder(lambda x: g(x, th), 0, 10, xtol=1e-3)


def with_report(th):
    return optimize.toms748(g, 0, 10, args=(th,), full_output=True)[0]


def by_writes(th):
    def f(x):
        sides = np.zeros(2, like=th * x)
        sides[0], sides[1] = th[0] * x, np.exp(-x * th[1])
        return sides[0] - sides[1]

    return optimize.brentq(f, 0, 10)


def by_parts(th):
    def f(x):
        a, b = np.split(np.stack([th[0] * x, np.exp(-x * th[1])]), 2)
        return (a - b)[0]

    return optimize.bisect(f, 0, 10)


def within_another(th):
    def inner(x):
        return optimize.brentq(lambda y: g(y, th) - x, -5, 10)

    return optimize.brentq(lambda x: inner(x) - 1.5 * x - 0.2, -1, 2)


ROOTS = [plain, loose, with_report, by_writes, by_parts, within_another]


@pytest.mark.parametrize("f", ROOTS)
def test_has_the_slope_that_forward_mode_has(f):
    slope = linad.grad(f)(TH)
    h = 1e-5
    for k, e in enumerate(np.eye(2)):
        np.testing.assert_allclose(slope[k], linad.jvp(f, (TH,), (e,))[1], rtol=1e-12)
        near = (f(TH + h * e) - f(TH - h * e)) / (2 * h)
        np.testing.assert_allclose(slope[k], near, rtol=1e-2 if f is loose else 1e-6)


def test_a_search_keeps_nothing_of_its_steps():
    def searched(x0):
        return lambda th: optimize.brentq(lambda x: g(x, th), *x0)

    short, long = [len(linad.explain(searched(x))(TH).steps) for x in ((0, 1), (-1, 1e6))]
    assert short == pytest.approx(long, abs=12)  # at most one step of Newton's method more


def test_what_nothing_moves_is_a_plain_number():
    def f(th):
        x = optimize.brentq(lambda x: x * x - 2, 0, 10)
        assert type(x) is float
        return math.floor(x) * th[0]

    np.testing.assert_array_equal(linad.grad(f)(TH), [1, 0])


def test_no_root_is_told():
    with pytest.raises(linad.errors.ConvergenceError, match="brentq: a step"):
        linad.grad(lambda th: optimize.brentq(lambda x: np.sign(x - th[1]) * th[0], 0, 10))(TH)
    with pytest.raises(ValueError, match="different signs"):
        linad.grad(lambda th: optimize.brentq(lambda x: g(x, th), 5, 10))(TH)
    np.testing.assert_allclose(linad.grad(plain)(TH), linad.jacobian(plain)(TH))  # all as before


def test_a_trace_is_awake_after_a_search_that_failed():
    def f(th):
        try:
            optimize.brentq(lambda x: g(x, th), 5, 10)
        except ValueError:
            return th[0] * 3.0
        return th[1]

    np.testing.assert_array_equal(linad.grad(f)(TH), [3, 0])


class State:
    """What people write: a method that keeps what it has computed."""

    def __init__(self, th):
        self.th = th

    def left(self, x):
        self.side = self.th[0] * x
        return self.side - np.exp(-x * self.th[1])

    def after(self, x):
        return np.sum(self.side) + np.sum(x)


def _solved(solve):
    def f(th):
        state = State(th)
        return state.after(solve(state.left))

    return f


SOLVED = {
    "brentq": lambda f: optimize.brentq(f, 0, 10),
    "root_scalar": lambda f: optimize.root_scalar(f, bracket=(0, 10)).root,
    "newton": lambda f: optimize.newton(f, 0.3),
    "fixed_point": lambda f: optimize.fixed_point(lambda x: x - 0.3 * f(x), 0.3),
    "fsolve": lambda f: optimize.fsolve(f, [0.3]),
    "root": lambda f: optimize.root(f, [0.3]).x,
}


@pytest.mark.parametrize("name", SOLVED)
def test_what_the_function_has_kept_is_that_of_the_root(name):
    """With the root's own derivative: x = root, side = th[0] x."""
    f = _solved(SOLVED[name])
    x = theirs.brentq(lambda x: g(x, TH), 0, 10)
    slope = -np.array([x, x * np.exp(-x * TH[1])]) / (TH[0] + TH[1] * np.exp(-x * TH[1]))
    expected = (TH[0] + 1) * slope + [x, 0]
    np.testing.assert_allclose(linad.grad(f)(TH), expected, rtol=1e-8)
    for e, want in zip(np.eye(2), expected, strict=True):
        np.testing.assert_allclose(linad.jvp(f, (TH,), (e,))[1], want, rtol=1e-8)
    compiled = linad.jit(linad.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(TH), expected, rtol=1e-8)
