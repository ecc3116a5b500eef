"""A fit that comes no further says why: what the model does, and what to do about it."""

import numpy as np
import pytest

import linad
from linad.core.tolerances import tell_tolerance
from linad.scipy.integrate import solve_ivp
from linad.solve import levenberg_marquardt
from linad.solve.no_progress import why_stuck
from linad.solve.problems import Residual

T = np.linspace(0.1, 4.0, 30)


def decay(p):
    return p[0] * np.exp(-p[1] * T) + 0.1 * np.cos(5 * T)


def why(f, x, p):
    problem = Residual(f, np.array(x), (), "levenberg_marquardt")
    r, J = problem.linearize(problem.x.start)
    return why_stuck(problem, problem.x.start, r, J, np.array(p))


@pytest.mark.parametrize("compiled", [lambda f: f, pytest.param(linad.jit, marks=pytest.mark.rest)])
def test_a_loose_integrator(compiled):
    @compiled
    def swing(p):
        return solve_ivp(lambda _, y: [y[1], -(p[0] ** 2) * y[0]], (0, 1), [p[1], 0]).y[0, -1:]

    assert why(swing, [3.0, 1.0], [0.1, 0.1]) == (
        "swing is only as accurate as its solve_ivp (rtol=0.001): give it rtol=1e-8"
    )


def test_a_jump_within_a_tight_integrator():
    def stopped(p):
        tell_tolerance("solve_ivp", "rtol", 1e-8)
        return np.cos(p) + linad.stop_gradient(p)  # what moves with the time of a jump

    told = why(stopped, [0.5], [0.1])
    assert told.startswith("stopped is only as accurate as its solve_ivp (rtol=1e-08): give it ")
    assert "rtol=1e-12; or what it works on jumps where a value passes another, as np.sign" in told


def test_a_tight_integrator_is_not_blamed():
    def f(p):
        return solve_ivp(lambda _, y: -p * y, (0, 1), [1.0], rtol=1e-10).y[0, -1:]

    assert "accurate" not in why(f, [1.0], [0.1])


def test_random_numbers():
    rng = np.random.default_rng(0)
    found = levenberg_marquardt(
        lambda p: decay(p) + 0.01 * rng.standard_normal(30), np.array([2.0, 2.0])
    )
    assert found.status == 2
    assert "other residuals each time at the same parameters: draw random numbers once" in (
        found.message
    )


def test_derivatives_that_hold():
    assert why(decay, [1.0, 1.0], [0.1, 0.1]) == (
        "start elsewhere, where the residuals respond more"
    )
    assert why(decay, [1.0, 1.0], [np.inf, 0.1]).startswith("start elsewhere")


def test_a_kink_and_a_jump():
    found = levenberg_marquardt(lambda x: np.abs(x) + 0.1, np.array([1.0, -2.0]))
    assert found.status == 2
    assert "does not change as its derivatives say: it jumps there" in found.message
    assert "jumps" in why(lambda p: decay(p) + (p[0] > 1.0), [1.0, 1.0], [0.1, 0.1])


def test_a_wrong_rule():
    @linad.primitive
    def decline(x):
        return np.exp(-x)

    @decline.jacobian(wrt=0)
    def decline_wrt_x(y, x):
        return np.diag(y)  # of the wrong sign

    def f(p):
        return p[0] * decline(p[1] * T) - 2.0 * np.exp(-1.3 * T)

    assert linad.testing.check_derivatives
    assert "a rule of yours is wrong, which linad.testing.check_derivatives" in why(
        f, [1.0, 1.0], [0.1, 0.3]
    )


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(scale):
    def f(p):
        return decay(p * np.array([scale, 1.0]))

    assert why(f, [1.0 / scale, 1.0], [0.1 / scale, 0.1]).startswith("start elsewhere")


def test_one_residual_at_its_own_minimum():
    """It bends before rounding lets its slope be seen, and neither jumps nor has a kink."""

    def total(p):
        return np.sum((decay(p) - 2.0 * np.exp(-1.3 * T)) ** 2, keepdims=True)

    found = levenberg_marquardt(total, np.array([1.0, 1.0]))
    assert not found.success
    assert "start elsewhere, where the residuals respond more" in found.message


def by_bisection(x, k):
    """The root m of m + k m² = x, by comparisons alone; and so the derivative is not that of m."""
    low, high = np.zeros(x.shape), x.copy()
    for _ in range(50):
        m = 0.5 * (low + high)
        above = m + k * m * m > x
        low, high = np.where(above, low, m), np.where(above, m, high)
    return k * m


def test_a_search_by_comparisons_is_told_of_early():
    x = np.linspace(0.5, 60.0, 12)
    found = linad.solve.levenberg_marquardt(
        lambda p: p[0] * by_bisection(x, p[1]) - 2.0 * by_bisection(x, 0.3), np.array([1.0, 1.0])
    )
    assert not found.success
    assert found.nit < 50
    assert "searches by comparisons, as a bisection by hand" in found.message
    assert "linad.scipy.optimize.brentq and linad.solve.root have its derivative" in found.message


@pytest.mark.parametrize("step", [[0.0, 1e14, 0.0], [0.0, 1e12, 1e12]])
def test_a_saturated_model_is_not_blamed_for_a_jump(step):
    """Of a rate that is far too large only the first value depends, by exp(-16): the next step is
    so long that nothing follows its derivatives."""

    def saturated(p):
        return p[0] + p[2] * np.exp(-p[1] * T / T[0]) - np.linspace(20.0, 25.0, 30)

    told = why(saturated, [22.5, 16.0, 1.0], step)
    assert told == "start elsewhere, where the residuals respond more"


@pytest.mark.filterwarnings("ignore:.*do not determine all parameters")
@pytest.mark.parametrize("seed", [0, 2, 13])
@pytest.mark.parametrize("rise", [np.tanh, lambda z: 1.0 - np.exp(-z)], ids=["tanh", "exp"])
def test_a_rate_that_the_data_leave_open_above_is_no_jump(rise, seed):
    """Each step takes the rate further, and less of the model with it: after some steps most parts
    of the next one are hidden by rounding, and the model bends over those that are not."""
    t = np.linspace(1.0, 4.0, 12)
    y = rise(4.0 * t) + 0.05 * np.random.default_rng(seed).normal(size=12)
    found = linad.solve.curve_fit(lambda t, a, k: a * rise(k * t), t, y, p0=[1.0, 3.0])
    assert found.success, found.message
