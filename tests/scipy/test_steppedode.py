"""linad.scipy.steppedode: the object that is asked for the solution at one time after another."""

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.errors import UnsupportedError


def stepped(name, x, **options):
    """A damped oscillator, asked at one time after another, by the old class."""

    def field(t, y, a):
        return [y[1], -a * y[0] - x[1] * y[1]]

    solver = si.ode(field).set_integrator(name, **options)
    solver.set_initial_value([x[2], 0.1], 0.0).set_f_params(x[0])
    found = []
    while solver.successful() and solver.t < 1.0:
        solver.integrate(solver.t + 0.5)
        found.append(solver.y)
    return np.concatenate(found)


ODES = {
    "dopri5": {},
    "dop853": {"rtol": 1e-8},
    "vode": {"method": "bdf", "rtol": 1e-9},
}


@pytest.mark.parametrize("name", ["dopri5", "dop853", pytest.param("vode", marks=pytest.mark.rest)])
def test_the_old_class_of_initial_value_problems(name):
    x = np.array([1.3, 0.4, 0.7])

    def f(x):
        return stepped(name, x, **ODES[name])

    found, J = linad.linearize(f, x)
    np.testing.assert_array_equal(found, f(x))
    exact = linad.linearize(lambda x: stepped("dop853", x, rtol=1e-11), x)[1]
    np.testing.assert_allclose(J @ np.eye(3), exact @ np.eye(3), atol=1e-6)
    ybar, dx = np.arange(4.0), np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(ybar @ (J @ dx), (J.T @ ybar) @ dx)
    step = 1e-3 * dx
    difference = (f(x + step) - f(x - step)) / 2e-3
    np.testing.assert_allclose(J @ dx, difference, atol=1e-5)


def test_the_old_class_refuses_by_name():
    def of(act):
        def f(x):
            solver = si.ode(lambda t, y: -x * y).set_integrator("dopri5")
            act(solver.set_initial_value(x, 0.0))
            return solver.y

        return f

    for act, words in (
        (lambda solver: solver.integrate(1.0, step=True), "step and relax"),
        (lambda solver: solver.set_solout(print), "set_solout"),
        (lambda solver: solver.set_integrator("zvode"), "complex"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            linad.linearize(of(act), np.ones(1))
    assert type(si.ode(np.cos)) is scipy.integrate.ode
    assert isinstance(scipy.integrate.ode(np.cos), si.ode)
