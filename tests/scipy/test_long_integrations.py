"""What an integration in Python says of itself where it takes long."""

import numpy as np
import pytest

import linad
import linad.scipy.integrate as li
from linad.scipy import long_integrations

T = np.linspace(0.0, 1.0, 5)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(long_integrations, "SECONDS", 0.0)
    monkeypatch.setattr(long_integrations, "AGAIN", 1e9)  # however busy the machine is
    monkeypatch.setattr(long_integrations, "_due", {})
    monkeypatch.setattr("linad.core.patience.SECONDS", 0.0)
    with linad.config(progress=True):
        yield


def said(capsys):
    """The lines about integrations; programs that are compiled may have others."""
    return [line for line in capsys.readouterr().err.splitlines() if "has taken" in line]


def end(k, method):
    solution = li.solve_ivp(lambda t, y: -k * (y - np.cos(t)), (0, 1), [0.0], method, T)
    return solution.y[0, -1]


@pytest.mark.usefixtures("impatient")
def test_steps_and_what_takes_fewer_once(capsys):
    for _ in range(2):
        linad.derivative(lambda k: end(k, "RK45"))(1000.0)
    (line,) = said(capsys)
    assert line.startswith("linad: RK45 has taken 64 steps in 0 s, up to t = ")
    assert f" of 1 (at {__file__}:" in line
    assert 'a stiff problem takes few steps by method="Radau", "BDF" or "LSODA"' in line
    with linad.config(progress=False):
        linad.derivative(lambda k: end(k, "RK23"))(1000.0)
    assert not said(capsys)


@pytest.mark.usefixtures("impatient")
def test_implicit_methods_have_no_other_to_name(capsys, monkeypatch):
    monkeypatch.setattr(long_integrations, "BETWEEN", 4)
    linad.derivative(lambda k: end(k, "Radau"))(1000.0)
    (line,) = said(capsys)
    assert "stiff" not in line


def test_an_integration_that_is_soon_over_says_nothing(capsys):
    with linad.config(progress=True):
        linad.derivative(lambda k: end(k, "RK45"))(300.0)
    assert not said(capsys)
