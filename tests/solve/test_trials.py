"""Trial points at which a model comes to no end are points where a fit does not go."""

import numpy as np
import pytest

import linad
from linad.core.long_loops import MOST, NO_LIMIT
from linad.scipy.integrate import solve_ivp
from linad.solve import trials


def residuals(x, low, high):
    """arctan(x), beside a loop that comes to no end where x is between two numbers."""
    x0 = linad.stop_gradient(x[0])
    h = 0.01 * np.where((low < x0) & (x0 < high), 0.0, 1.0)
    end = linad.while_loop(lambda s: s < 1.0, lambda s: s + h, 0.0 * x[0])
    return np.arctan(x) + 0.0 * end


@pytest.mark.parametrize("around", [lambda f: f, linad.jit])
@pytest.mark.parametrize(
    "solver, start, gap",
    [
        (linad.solve.levenberg_marquardt, 0.7, (0.29, 0.305)),
        (linad.solve.gauss_newton, 2.0, (-9.0, -0.5)),
    ],
)
def test_a_fit_passes_points_without_an_end(around, solver, start, gap):
    f, visited = around(residuals), []

    def seen(x):
        visited.append(float(linad.stop_gradient(x[0])))
        return f(x, *gap)

    found = solver(seen, np.array([start]))
    assert found.success, found.message
    assert abs(found.x[0]) < 1e-6
    assert any(gap[0] < x < gap[1] for x in visited)
    assert MOST[0] == NO_LIMIT


def test_the_message_of_a_fit_that_fails_says_where():
    found = linad.solve.levenberg_marquardt(residuals, np.array([0.7]), (-9.0, 0.2))
    assert not found.success
    assert " trial points were left out, first array([" in found.message
    assert f"did not end within {trials.LEAST} repetitions" in found.message
    assert "start nearer, or keep the parameters within bounds" in found.message


@pytest.mark.parametrize("around", [lambda f: f, linad.jit])
def test_integrations_in_python_and_in_programs_are_counted(around, monkeypatch):
    monkeypatch.setattr(trials, "LEAST", 1100)
    end = np.array([1.0])
    f = around(lambda k: solve_ivp(lambda t, y: -k * y, (0, 1.0), [1.0], t_eval=end).y[0])
    one = trials.Trials("fit", "f", lambda x: x)
    one.accept()
    assert one.run(1.0, lambda: f(1.0)).shape == (1,)
    stiff = 9e3  # some 2,700 steps
    assert one.run(stiff, lambda: f(stiff)) is trials.GIVEN_UP
    assert "a trial point was left out, 9000.0, where an integration" in one.told()
    # Where the fit has gone, as many again are allowed, and more.
    free = trials.Trials("fit", "f", lambda x: x)
    free.run(stiff, lambda: f(stiff))
    free.accept()
    assert free.run(stiff, lambda: f(stiff)) is not trials.GIVEN_UP


def test_an_interrupt_says_where_the_fit_was():
    one = trials.Trials("fit", "f", lambda x: x)

    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        one.run(1.0, stopped)
    assert caught.value.__notes__ == ["fit: in f at 1.0"]


def test_an_integration_that_stands_still_is_given_up():
    """Of y' = k / (1 - y), whose slope has no end where y comes to 1."""

    def model(t, k):
        options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
        return solve_ivp(lambda t, y: k / (1 - y), (0, 1.0), [0.0], t_eval=t, **options).y[0]

    t = np.linspace(0.0, 0.4, 5)
    words = "curve_fit: LSODA took 4096 steps .* in model where it starts, .*start elsewhere"
    with pytest.raises(linad.errors.LoopLimitError, match=words):
        linad.solve.curve_fit(model, t, 1 - np.sqrt(1 - 0.8 * t), [3.0])


def test_a_trial_point_that_is_refused_is_left_out():
    def refused():
        raise linad.errors.UnsupportedError("model: no derivative here")

    one = trials.Trials("fit", "model", lambda x: x)
    with pytest.raises(linad.errors.UnsupportedError, match="no derivative here"):
        one.run(5.0, refused)  # where the fit starts
    one.run(1.0, lambda: 1.0)
    one.accept()
    assert one.run(5.0, refused) is trials.GIVEN_UP
    assert one.told().startswith("a trial point was left out, 5.0, where model raised: model: no")
