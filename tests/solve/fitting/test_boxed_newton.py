"""Newton's steps within bounds, beside SciPy's least squares with bounds."""

import numpy as np
import pytest
import scipy.optimize
from scipy.stats import chi2

from linad.solve import maximum_likelihood
from linad.solve.fitting.boxed_newton import boxed_newton
from linad.solve.objectives import Objective


def problem(seed):
    """A sum of squares of parameters in unlike units, that depend on each other; its bounds."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    A = rng.standard_normal((k + 5, k)) * 10.0 ** rng.uniform(-2, 2, k)
    A += rng.uniform(0, 3) * A[:, [0]] * rng.standard_normal(k)
    true = rng.standard_normal(k) * 10.0 ** rng.uniform(-1, 1, k)
    y = A @ true + rng.standard_normal(k + 5)
    lower, upper = true - np.abs(rng.standard_normal(k)), true + np.abs(rng.standard_normal(k))
    lower[rng.random(k) < 0.3] = -np.inf
    upper[rng.random(k) < 0.3] = np.inf
    return A, y, (lower, upper), np.clip(rng.standard_normal(k), lower, upper)


def least(A, y, bounds):
    options = {"method": "bvls", "tol": 1e-14, "max_iter": 1000}
    return scipy.optimize.lsq_linear(A, y, bounds, **options).cost


# 9, 41, 115, 159: where L-BFGS-B ended too early
@pytest.mark.parametrize("seed", [2, 9, 41, 115, 159])
def test_likelihoods_within_bounds(seed):
    A, y, bounds, start = problem(seed)
    found = maximum_likelihood(lambda p: -0.5 * np.sum((A @ p - y) ** 2), start, bounds=bounds)
    assert found.success
    assert found.cost == pytest.approx(least(A, y, bounds), rel=1e-9)


@pytest.mark.rest
def test_profiles_beside_bounds_that_hold_others():
    for seed in range(0, 60, 4):
        A, y, (lower, upper), start = problem(seed)
        f = maximum_likelihood(
            lambda p, A=A, y=y: -0.5 * np.sum((A @ p - y) ** 2), start, bounds=(lower, upper)
        )
        ends = f.profile_intervals(names="p[0]")["p[0]"]
        for end, limit in zip(ends, (lower[0], upper[0]), strict=True):
            if end != limit:
                rest = least(A[:, 1:], y - A[:, 0] * end, (lower[1:], upper[1:]))
                assert rest - f.cost == pytest.approx(0.5 * chi2.ppf(0.95, 1), rel=1e-5)


def test_a_corner_and_a_saddle():
    """Where curvature is below 0 the steps go to the bounds; a saddle between them is no end."""
    lower, upper = np.array([-1.0, -1.0]), np.array([2.0, 3.0])
    f = Objective(lambda p: p[0] * p[1], np.array([0.5, -0.1]), (), "f")
    x, value, promise = boxed_newton(f, np.array([0.5, -0.1]), lower, upper)
    np.testing.assert_array_equal(x, [2.0, -1.0])
    assert (value, promise) == (-2.0, 0.0)
    x, value, promise = boxed_newton(f, np.zeros(2), lower, upper)
    np.testing.assert_array_equal(x, [0.0, 0.0])
    assert (value, promise) == (0.0, np.inf)


def test_steps_that_promise_too_little_are_not_tried():
    f = Objective(lambda p: np.sum(p**4 + p**2), np.ones(2), (), "f")
    wide = np.full(2, np.inf)
    end = boxed_newton(f, np.array([0.5, -0.1]), -wide, wide, enough=1e-3)
    least = boxed_newton(f, np.array([0.5, -0.1]), -wide, wide)
    assert least.value <= 1e-30
    assert least.promise < end.value < end.promise * 1.1 < 1.1e-3


def test_bounds_that_hold_nothing_cost_no_more_than_none():
    t = np.linspace(0.0, 3.0, 25)
    counts = np.random.default_rng(0).poisson(40 * np.exp(-1.1 * t) + 3)
    runs = []

    def log_likelihood(p):
        runs.append(p)
        expected = p["height"] * np.exp(-p["rate"] * t) + p["floor"]
        return np.sum(counts * np.log(expected) - expected)

    start = {"rate": 1.0, "height": 30.0, "floor": 1.0}
    free = maximum_likelihood(log_likelihood, start)
    alone = len(runs)
    wide = maximum_likelihood(log_likelihood, start, bounds={"rate": (0, 9), "floor": (-5, None)})
    np.testing.assert_allclose(wide.vector, free.vector, rtol=1e-9)
    assert len(runs) - alone <= alone + 3
