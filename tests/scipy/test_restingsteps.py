"""Derivatives of solutions that are at rest, where steps grow beyond what derivatives bear."""

import math

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.scipy import replays
from linad.scipy.restingsteps import longest

METHODS = ["RK45", *[pytest.param(m, marks=pytest.mark.rest) for m in ("DOP853", "RK23")]]
TIMES = np.array([0.1, 1.0, 10.0, 20.0])


def tank(t, y, p):
    """Full from the beginning: y = p1 / p0."""
    return [p[1] - p[0] * y[0]]


def known_tank(p):
    e = np.exp(-p[0] * TIMES)
    return np.stack([(1 - e) * p[1] / p[0] + 2.0 * e], 0)


def oscillator(t, y, p):
    return [y[1], -25.0 * y[0] + p[0], -0.1 * y[2]]


def known_oscillator(p):
    turned = p[1] * np.cos(5 * TIMES) + p[0] / 25 * (1 - np.cos(5 * TIMES))
    speed = (p[0] / 5 - 5 * p[1]) * np.sin(5 * TIMES)
    return np.stack([turned, speed, np.exp(-0.1 * TIMES)])


def stiff(t, y, p):
    return [-1e6 * (y[0] - p[0])]


def known_stiff(p):
    return np.stack([p[0] + (p[1] - p[0]) * np.exp(-1e6 * TIMES)])


CASES = {
    "tank": (tank, known_tank, lambda p: [2.0 + 0.0 * p[0]], [3.0, 6.0]),
    "oscillator": (
        *(oscillator, known_oscillator, lambda p: [p[1], 0.0 * p[1], 1.0 + 0.0 * p[1]]),
        [0.0, 0.0],
    ),
    "stiff": (stiff, known_stiff, lambda p: [p[1]], [1.0, 1.0]),
}
NAMES = ["tank", *[pytest.param(n, marks=pytest.mark.rest) for n in ("oscillator", "stiff")]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_at_rest(name, method, monkeypatch):
    """All but one entry of the states stands still, and derivatives do not."""
    if name != "stiff":
        monkeypatch.setattr(replays, "MANY", 10**6)
    field, known, first, p = CASES[name]
    p = np.array(p)

    def f(m, p):
        options = {"args": (p,), "rtol": 1e-5, "atol": 1e-8}
        return m.solve_ivp(field, (0, 20.0), first(p), method, TIMES, **options).y

    y, J = linad.linearize(lambda p: f(si, p), p)
    np.testing.assert_array_equal(y, f(scipy.integrate, p))
    expected = linad.jacobian(known)(p)
    size = np.max(np.abs(expected))
    # Of RK23 errors add up over six times as many steps of 1e-5 each: to 1e-3 in the oscillator,
    # where a moving state errs by 6e-4. At 1e-3, 1e-4, ..., 1e-7 a step it is 0.1, 1e-2, ..., 1e-5.
    share = 2e-3 if method == "RK23" else 5e-4
    np.testing.assert_allclose(J.flat.todense(), expected.reshape(-1, p.size), atol=share * size)


def test_second_derivatives_and_steps_at_rest():
    p = np.array([3.0, 6.0])
    f = lambda p: si.solve_ivp(tank, (0, 20.0), [2.0], args=(p,)).y[0, -1]  # noqa: E731
    np.testing.assert_allclose(linad.hessian(f)(p), linad.hessian(lambda p: p[1] / p[0])(p))


@pytest.mark.parametrize("method", [scipy.integrate.RK23, scipy.integrate.RK45])
def test_the_longest_step_is_scipys(method):
    """Of y' = λ y from 1, SciPy accepts a shorter step, and not a longer one."""
    for rtol in (1e-3, 1e-7):
        z = longest(method, rtol)
        for part, accepted in ((0.99, True), (1.3, False)):
            h = part * z
            solver = method(
                lambda t, y: y, 0.0, np.ones(1), h, first_step=h, rtol=rtol, atol=1e-300
            )
            solver.atol, solver.rtol = rtol, 0.0  # of the state where it begins, which is 1
            solver.step()
            assert (solver.t == h) == accepted


@pytest.mark.rest
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("name", ["tank", "oscillator"])
def test_compiled_derivatives_at_rest(name, method, monkeypatch):
    """A program takes the parts in its loop, and is good for states near rest as well; its values
    are SciPy's, between the ends of steps, too."""
    monkeypatch.setattr(replays, "MANY", 10**6)
    field, known, first, p = CASES[name]
    runs = []

    def f(m, p):
        def counted(t, y, p):
            runs.append(1)
            return field(t, y, p)

        options = {"args": (p,), "rtol": 1e-5, "atol": 1e-8}
        found = m.solve_ivp(counted, (0, 20.0), first(p), method, TIMES, **options)
        return found.y, found.nfev

    value = linad.jit(lambda p: f(si, p))
    slopes = linad.jit(linad.jacobian(lambda p: f(si, p)[0]))
    for shift in (0.0, 1e-3, 1e-5):
        q = np.array(p) + shift
        runs.clear()
        y, slope = value(q)[0], slopes(q)
        assert bool(runs) == (shift == 0.0)
        np.testing.assert_allclose(y, f(scipy.integrate, q)[0], rtol=1e-9, atol=1e-12)
        eager = linad.jacobian(lambda p: f(si, p)[0])(q)
        expected = linad.jacobian(known)(q)
        size = np.max(np.abs(expected))
        # Few tolerances move: by one in 80, as SciPy has it.
        bound = 1 / 75 if (method, shift) == ("RK45", 1e-5) else 5e-4
        np.testing.assert_allclose(slope, expected, atol=bound * size)
        # Outside of programs parts are those that the derivative itself asks for.
        error = np.max(np.abs(slope - expected)) + 1e-5 * size
        np.testing.assert_allclose(eager, expected, atol=error)


def test_steps_of_a_program_that_is_at_rest_count_as_scipys():
    def f(m, p):
        return m.solve_ivp(tank, (0, 20.0), [2.0], args=(p,)).t

    p = np.array([3.0, 6.0])
    np.testing.assert_allclose(linad.jit(lambda p: f(si, p))(p), f(scipy.integrate, p))


def with_negative_refused(t, y, p):
    depth = math.sqrt(float(linad.stop_gradient(y)[1]))
    return [-p * y[0], -3.0 * depth]


def with_others_refused(t, y, p):
    slope = {0.0: 0.0}[float(linad.stop_gradient(y)[1])]
    return [-p * y[0], slope]


def with_negative_asserted(t, y, p):
    assert np.all(y >= 0)
    return -p * y


REFUSING = [with_negative_refused, with_others_refused, with_negative_asserted]


@pytest.mark.parametrize("field", REFUSING)
def test_a_right_side_may_raise_beside_the_trajectory(field):
    """On one side of it, or on both: how fast it changes there is not known then."""

    def f(m, p, y0=0.0):
        return m.solve_ivp(field, (0, 1.0), [1.0, y0], args=(p,)).y[0, -1]

    value, slope = linad.value_and_grad(lambda p: f(si, p))(0.3)
    expected = f(scipy.integrate, 0.3)
    np.testing.assert_allclose([value, slope], [expected, -expected], rtol=1e-4)
    with pytest.raises((ValueError, KeyError, AssertionError)):
        linad.grad(lambda p: f(si, p, -1.0))(0.3)


@pytest.mark.usefixtures("kernels")
def test_a_program_of_a_right_side_that_asserts():
    def f(p, y0):
        found = si.solve_ivp(with_negative_asserted, (0, 1.0), y0, args=(p,), t_eval=[1.0])
        return found.y[0, 0]

    g = linad.jit(linad.value_and_grad(f))
    for p in (0.3, 0.5):
        expected = linad.value_and_grad(f)(p, np.array([1.0, 0.0]))
        np.testing.assert_allclose(g(p, np.array([1.0, 0.0])), expected, rtol=1e-4)
    with pytest.raises(AssertionError):
        g(0.3, np.array([1.0, -1.0]))
