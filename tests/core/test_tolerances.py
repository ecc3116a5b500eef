"""Routines say their tolerances where somebody asks, and nowhere else."""

import numpy as np
import pytest

import linad
from linad.core.tolerances import Tolerance, tell_tolerance, watched_tolerances
from linad.scipy import integrate, optimize


def test_each_once_and_only_inside():
    tell_tolerance("quad", "epsrel", 1.0)
    with watched_tolerances() as found:
        tell_tolerance("quad", "epsrel", 1.5e-8)
        tell_tolerance("quad", "epsrel", 1.5e-8)
        tell_tolerance("odeint", "rtol", np.array([1e-3, 1e-6]))
        tell_tolerance("root", "tol", None)
    tell_tolerance("quad", "epsrel", 2.0)
    expected = [("quad", "epsrel", 1.5e-8), ("odeint", "rtol", 1e-3), ("root", "tol", None)]
    assert found == [Tolerance(*told) for told in expected]


def field(t, y, k):
    return -k * y


@pytest.mark.parametrize(
    "f, told",
    [
        (
            lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]).y,
            ("solve_ivp", "rtol", 1e-3),
        ),
        (
            lambda k: integrate.solve_ivp(field, (0, 1), [1.0], args=(k,), rtol=1e-6).y,
            ("solve_ivp", "rtol", 1e-6),
        ),
        (lambda k: integrate.odeint(field, [1.0], [0, 1], (k,), tfirst=True), ("odeint", "rtol")),
        (
            lambda k: integrate.ode(lambda t, y: -k * y).set_initial_value([1.0]).integrate(1.0),
            ("ode", "rtol", 1e-6),
        ),
        (lambda k: integrate.quad(lambda t: k * t, 0, 1)[0], ("quad", "epsrel")),
        (lambda k: optimize.brentq(lambda t: t - k, 0, 3), ("brentq", "xtol", 2e-12)),
        (lambda k: optimize.fsolve(lambda t: t - k, [0.0], xtol=1e-6), ("fsolve", "xtol", 1e-6)),
        (lambda k: optimize.root(lambda t: t - k, [0.0]).x, ("root", "tol", None)),
    ],
)
def test_routines_with_traced_values(f, told):
    with watched_tolerances() as found:
        f(2.0)
        assert not found
        linad.jacobian(f)(2.0)
    assert found[0][: len(told)] == told
    assert isinstance(found[0], Tolerance)


def test_those_around_see_it_as_well():
    with watched_tolerances() as outer:
        with watched_tolerances() as inner:
            tell_tolerance("odeint", "rtol", 1e-3)
        tell_tolerance("odeint", "rtol", 1e-3)
    assert inner == outer == [Tolerance("odeint", "rtol", 1e-3)]
