"""Parameters on which residuals depend by steps alone: told from those without any effect."""

import numpy as np
import pytest
from scipy.optimize import OptimizeWarning

import linad
from linad.errors import OutputError
from linad.scipy.integrate import solve_ivp
from linad.scipy.optimize import brentq
from linad.solve import curve_fit, fit
from linad.solve.fitting.stepwise_residuals import depends_by_steps

OPEN = pytest.warns(OptimizeWarning, match="the data do not determine all parameters")
T = np.linspace(0.0, 2.0, 40)
INSIDE = np.abs(T - 1.0) < 0.45


def box(t, depth, width, idle, center):
    edge = depth * (np.abs(t - 1.0) < width) + 0.0 * idle
    return edge + np.exp(-((t - center) ** 2))


def test_the_width_of_a_box():
    """Nothing depends on idle, nor on a center that is out of reach, but is not at half of it."""
    with OPEN:
        found = curve_fit(box, T, 3.0 * INSIDE, [1.0, 0.6, 2.0, 60.0])
    assert [depends_by_steps(found, i) for i in range(1, 4)] == [True, False, False]
    report = found.report()
    assert "width: residuals depend on it by steps alone" in report
    assert "comparisons, rounding, or decisions on plain numbers" in report
    assert "idle: no residual depends on it" in report
    assert "center: no residual depends on it" in report


def test_within_bounds_alone_and_in_residuals():
    def r(p):
        assert p["width"] <= 0.62
        return {"all": p["depth"] * (np.abs(T - 1.0) < p["width"]) - 3.0 * INSIDE}

    with OPEN:
        found = fit(r, {"depth": 1.0, "width": 0.6}, bounds={"width": (0.0, 0.62)})
    assert depends_by_steps(found, 1)


def test_rounding_of_a_parameter_that_is_zero():
    with OPEN:
        found = curve_fit(lambda t, a, b: np.round(a) * t + b, T, 3.0 * T, [0.0, 0.2])
    assert depends_by_steps(found, 0)
    assert "fixed=['a']" in found.report()


def test_a_root_that_comparisons_find():
    def bisected(level):
        low, high = 0.0, 5.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if middle * np.exp(middle) > level:
                high = middle
            else:
                low = middle
        return low

    def model(t, a, k):
        return a * np.array([bisected(k * x) for x in t])

    t = T + 0.5
    with OPEN:
        found = curve_fit(model, t, model(t, 2.0, 1.3), [1.0, 1.0])
    assert "find a root by linad.scipy.optimize.brentq" in found.report()
    with pytest.raises(OutputError, match="a root by linad.scipy.optimize.brentq"):
        linad.grad(bisected)(1.3)

    def solved(t, a, k):
        roots = [brentq(lambda u, x=x: u * np.exp(u) - k * x, 0.0, 5.0) for x in t]
        return a * np.stack(roots)

    known = curve_fit(solved, t, model(t, 2.0, 1.3), [1.0, 1.0])
    np.testing.assert_allclose(known.x, [2.0, 1.3])


def test_several_such_parameters_share_a_sentence():
    def rounded(t, a, b):
        return np.round(a * t + b, 2)

    with pytest.warns(OptimizeWarning):
        report = curve_fit(rounded, T, 3.0 * T, [1.0, 0.2]).report()
    assert report.count("by steps alone") == 1
    assert "a, b: residuals depend on them by steps alone" in report


@pytest.mark.parametrize("jump", [pytest.param(False, marks=pytest.mark.rest), True])
def test_what_only_the_steps_of_an_integrator_depend_on(jump):
    """How far a ball flies does not depend on how high it was thrown, but for its rounding."""

    def flown(t, speed, drag, height):
        def rhs(t, y):
            size = np.sqrt(y[2] ** 2 + y[3] ** 2)
            return [y[2], y[3], -drag * size * y[2], -9.81 - drag * size * y[3]]

        y = solve_ivp(rhs, (0, 1), [0, height, speed, speed / 2], t_eval=t, rtol=1e-6).y
        return y[0] + jump * (height > 1.55)

    t = np.linspace(0.1, 1.0, 9)
    with OPEN:
        found = curve_fit(flown, t, flown(t, 30.0, 0.2, 1.5), [25.0, 0.1, 1.5])
    assert depends_by_steps(found, 2) == jump
    assert ("height: no residual depends on it" in found.report()) == (not jump)
