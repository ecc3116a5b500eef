"""Derivatives of solutions that are simpler than they: steps resolve both."""

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.scipy.heldsides import HeldSides

ALL = ["RK45", "DOP853", "RK23", "Radau", "BDF", "LSODA"]
METHODS = ["RK45", "Radau"]
METHODS += [pytest.param(m, marks=pytest.mark.rest) for m in ALL if m not in METHODS]
TIMES = np.array([1.0, 3.0, 7.5, 20.0])


def amplitude(t, y, p):
    """A forcing of amplitude 0, from rest."""
    return [p * np.cos(t)]


def beside(t, y, p):
    """The same, beside a component that moves slowly."""
    return [p * np.cos(5 * t), -0.1 * y[1]]


def growth(t, y, p):
    """An equilibrium whose growth rate oscillates, disturbed."""
    return [np.cos(3 * t) * y[0]]


def oscillator(t, y, p):
    return [y[1], p - 25.0 * y[0]]


def pulse(t, y, p):
    """Something short that is switched off."""
    return [p / np.cosh(t - 7.0) ** 2]


CASES = {
    "amplitude": (amplitude, lambda p: [0.0], 0.0, np.sin(TIMES)),
    "tiny": (amplitude, lambda p: [0.0], 1e-12, np.sin(TIMES)),
    "beside": (beside, lambda p: [0.0, 1.0], 0.0, np.sin(5 * TIMES) / 5),
    "growth": (growth, lambda p: [p], 0.0, np.exp(np.sin(3 * TIMES) / 3)),
    "oscillator": (oscillator, lambda p: [0.0, 0.0], 0.0, (1 - np.cos(5 * TIMES)) / 25),
    "seeded": (
        *(oscillator, lambda p: [p, 0.0], 0.0),
        np.cos(5 * TIMES) + (1 - np.cos(5 * TIMES)) / 25,
    ),
    "pulse": (pulse, lambda p: [0.0], 0.0, np.tanh(TIMES - 7) + np.tanh(7.0)),
}
NAMES = ["amplitude", *[pytest.param(n, marks=pytest.mark.rest) for n in list(CASES)[1:]]]


def solution(m, name, method, p, **options):
    field, first, _, _ = CASES[name]
    span = (0.0, 20.0)
    return m.solve_ivp(field, span, first(p), method, TIMES, args=(p,), **options).y


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_simpler_solutions(name, method):
    """As exact as SciPy has the solution where it moves."""
    *_, p, expected = CASES[name]
    value, slope = linad.jvp(lambda p: solution(si, name, method, p, rtol=1e-5), (p,), (1.0,))
    np.testing.assert_array_equal(value, solution(scipy.integrate, name, method, p, rtol=1e-5))
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(slope[0], expected, atol=2e-2 * size)


@pytest.mark.rest
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("method", ["RK45", pytest.param("DOP853", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["amplitude", "growth"])
def test_programs_take_such_steps_in_parts(name, method):
    *_, p, expected = CASES[name]
    f = lambda p: solution(si, name, method, p, rtol=1e-5)  # noqa: E731
    value = linad.jit(f)
    slope = linad.jit(lambda p: linad.jvp(f, (p,), (1.0,))[1])
    size = np.max(np.abs(expected))
    for q in (p, p + 0.5):
        truth = solution(scipy.integrate, name, method, q, rtol=1e-5)
        # The steps of DOP853 for this growth pass rounding on, enlarged: by 1e-6 in SciPy's own.
        aside = solution(scipy.integrate, name, method, q * (1 + 1e-15), rtol=1e-5)
        rounding = 10 * np.max(np.abs(aside - truth))
        np.testing.assert_allclose(value(q), truth, rtol=1e-7, atol=1e-12 + rounding)
        np.testing.assert_allclose(slope(q)[0], expected, atol=2e-2 * size)


@pytest.mark.usefixtures("kernels")
def test_programs_of_implicit_methods_say_what_to_do():
    """Their steps are the program's own."""
    with pytest.warns(UserWarning, match=r"give solve_ivp max_step=0\.\d+"):
        linad.jit(lambda p: solution(si, "amplitude", "Radau", p))(0.0)
    f = linad.jit(lambda p: solution(si, "amplitude", "Radau", p, max_step=0.5))
    np.testing.assert_allclose(linad.jacobian(f)(0.0)[0], np.sin(TIMES), atol=1e-3)


@pytest.mark.rest
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_ordinary_models_are_taken_as_they_are(method):
    """Programs of them hold no parts, and warn of nothing."""

    def predators(t, y, p):
        return [1.1 * y[0] - p * y[0] * y[1], 0.1 * y[0] * y[1] - 0.4 * y[1]]

    def van_der_pol(t, y, p):
        return [y[1], 12.5 * p * (1 - y[0] ** 2) * y[1] - y[0]]

    def epidemic(t, y, p):
        return [-p * y[0] * y[1], p * y[0] * y[1] - 0.1 * y[1], 0.1 * y[1]]

    def brusselator(t, y, p):
        return [p / 0.4 + y[0] ** 2 * y[1] - 4 * y[0], 3 * y[0] - y[0] ** 2 * y[1]]

    models = [
        (predators, [10.0, 5.0]),
        (van_der_pol, [2.0, 0.0]),
        (epidemic, [0.99, 0.01, 0.0]),
        (brusselator, [1.5, 3.0]),
    ]
    for field, y0 in models:

        def f(m, p, field=field, y0=y0):
            options = {"rtol": 1e-6, "atol": 1e-9, "args": (p,)}
            return m.solve_ivp(field, (0, 30.0), y0, method, [30.0], **options)

        g = linad.jit(lambda p: (lambda found: (found.y, found.nfev))(f(si, p)))
        y, evaluations = g(0.4)
        truth = f(scipy.integrate, 0.4)
        np.testing.assert_allclose(y, truth.y, rtol=1e-5, atol=1e-7)
        assert method != "RK45" or evaluations == truth.nfev


def test_what_many_parameters_do_is_asked_in_groups(monkeypatch):
    """The right side is not run for each of them."""
    runs = []
    run = HeldSides.run
    monkeypatch.setattr(HeldSides, "run", lambda *given: runs.append(0) or run(*given))

    def last(p):
        field = lambda t, y: sum([a * np.cos(2 * t) for a in p])[np.newaxis]  # noqa: E731
        return si.solve_ivp(field, (0.0, 8.0), [0.0]).y[0, -1]

    counts = []
    for n in (40, 120):
        runs.clear()
        np.testing.assert_allclose(linad.grad(last)(np.zeros(n)), np.sin(16.0) / 2, atol=2e-3)
        counts.append(len(runs))
    assert counts[1] < 1.2 * counts[0]


@pytest.mark.parametrize("method", METHODS)
def test_parameters_beyond_an_if(method):
    """Each of the two sides refers to one of its own, the second one only where it is met."""

    def last(p):
        def field(t, y):
            return p[:1] * np.cos(2 * t) if t < 4 else p[1:] * np.sin(2 * t)

        return si.solve_ivp(field, (0.0, 8.0), [0.0], method, rtol=1e-5).y[0, -1]

    expected = [np.sin(8.0) / 2, (np.cos(8.0) - np.cos(16.0)) / 2]
    np.testing.assert_allclose(linad.grad(last)(np.zeros(2)), expected, atol=4e-3)
