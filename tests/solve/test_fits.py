"""A fit on its way: what it remembers of a point, and when it ends."""

import numpy as np
import pytest

from linad.errors import DTypeError, ShapeError
from linad.solve.fits import Fit
from linad.solve.status import Status, Stop


def fit_of(f, x0, bounds=None, name="levenberg_marquardt"):
    return Fit(name, f, np.array(x0), (), (None, None, None), 50, "auto", bounds)


def test_complex_residuals_are_fitted_by_parts_and_returned_whole():
    def r(x):
        return {"a": x[0] + 2j * x[1], "b": x * 3.0}

    fit = fit_of(r, [1.0, 2.0])
    assert sorted(np.abs(fit.r)) == [1.0, 3.0, 4.0, 6.0]
    assert fit.cost == 0.5 * (1 + 16 + 9 + 36)
    fun = fit.parts.joined(fit.problem.result(fit.r))
    assert fun["a"] == 1 + 4j
    np.testing.assert_array_equal(fun["b"], [3.0, 6.0])


def test_a_point_stays_within_bounds():
    fit = fit_of(lambda x: x - 5.0, [1.0, 1.0], bounds=(0.0, 2.0))
    np.testing.assert_array_equal(fit.at(np.array([4.0, -0.5])), [2.0, 0.5])
    np.testing.assert_array_equal(fit.at(np.array([4.0, -4.0]), 0.125), [1.5, 0.5])


def test_what_steps_promise():
    a = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    fit = fit_of(lambda x: a @ x - 1.0, [3.0, -2.0])
    fit._prepare()
    best = np.linalg.lstsq(a, np.ones(3), rcond=None)[0]
    p = best - fit.x
    gain = fit.cost - fit.cost_of(a @ best - 1.0)
    assert fit.promise(p, 0.0, np.ones(2)) == pytest.approx(gain)
    assert fit.promise_of_cut(p) == pytest.approx(gain)
    promised, light = fit.light_step()
    np.testing.assert_allclose(light, p, rtol=1e-6)
    assert promised == pytest.approx(gain)


def test_a_run_away_is_told():
    fit = fit_of(lambda x: np.exp(-x), [1.0])
    with pytest.raises(Stop) as stopped:
        fit.move(np.array([1e33]), None)
    assert stopped.value.status is Status.UNBOUNDED
    assert "bounds= keep parameters from running away" in stopped.value.detail


def test_what_is_no_fit_is_refused():
    with pytest.raises(DTypeError, match="^levenberg_marquardt: x0 is complex"):
        fit_of(lambda x: x, [1j])
    with pytest.raises(ShapeError, match="^gauss_newton: .* returned no numbers"):
        fit_of(lambda x: x[:0], [1.0], name="gauss_newton")


def test_steps_that_move_nothing_and_gain_nothing_are_the_end():
    fit = fit_of(lambda p: p - np.arange(3.0), [1.0, 1.0, 1.0])
    fit._prepare()
    fit.look()
    fit.nit, fit.refused, fit.strange, fit.moved, fit.gain = 1, 4, 1, 1e-9, 0.5
    with pytest.raises(Stop, match="start elsewhere") as stop:
        fit._check(fit.cost, 1e-9)
    assert stop.value.status is Status.STAGNATED
    assert not fit.is_doubtful(stop.value)
    fit.strange, fit.moved = 1, 1e-3
    fit._check(fit.cost, 1e-9)
