"""Minima within bounds and under robust losses: derivatives, against the exact ones and those of
other methods."""

import functools

import numpy as np
import pytest
import scipy.optimize

import linad
from linad import solve
from linad.errors import OptionError, ShapeError, TreeError

A = np.array([2.0, -1.0, 0.3, 0.5])
LOWER = np.array([0.0, 0.0, 0.0, -np.inf])
UPPER = np.array([1.0, 1.0, 1.0, np.inf])
TIGHT = {"gtol": 1e-12, "ftol": 0.0}


def nearest(a, bounds=(LOWER, UPPER), **options):
    """The point of a box that is nearest to a: clip(a)."""
    f = lambda x: np.sum((x - a) ** 2)  # noqa: E731
    return solve.minimum(
        f, np.full(4, 0.5), solver=solve.lbfgs, bounds=bounds, **{**TIGHT, **options}
    )


def fitted(a, bounds=(LOWER, UPPER), **options):
    return solve.least_squares(lambda x: x - a, np.full(4, 0.5), bounds=bounds, **options)


@pytest.mark.parametrize("solution", [nearest, fitted])
def test_held_by_bounds(solution):
    """An unknown on its bound does not move with the parameters, and the others do."""
    np.testing.assert_allclose(solution(A), np.clip(A, LOWER, UPPER), atol=1e-8)
    moves = np.diag([0.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(linad.jacobian(solution)(A), moves, atol=1e-12)
    slope = linad.grad(lambda a: np.sum(solution(a) ** 3))
    expected = 3 * np.clip(A, LOWER, UPPER) ** 2 * np.diag(moves)
    np.testing.assert_allclose(slope(A), expected, atol=1e-7)
    np.testing.assert_allclose(linad.jit(slope)(A), expected, atol=1e-7)


@pytest.mark.parametrize("solution", [nearest, fitted])
def test_traced_bounds(solution):
    """What a bound holds moves with the bound."""

    def f(sides):
        return solution(A, bounds=(sides[0], sides[1]))

    sides = np.stack([LOWER, UPPER])
    sides[:, 3] = -9.0, 9.0
    J = linad.jacobian(f)(sides)
    expected = np.zeros((4, 2, 4))
    expected[0, 1, 0] = expected[1, 0, 1] = 1.0
    np.testing.assert_allclose(J, expected, atol=1e-12)


@pytest.mark.rest
@pytest.mark.parametrize("solution", [nearest, fitted])
def test_traced_bounds_in_programs(solution):
    run = linad.jit(lambda top: solution(A, bounds=(0.0, top)))
    for top in (0.9, 0.9, 0.7, 0.55):
        np.testing.assert_allclose(run(top), np.clip(A, 0.0, top), atol=1e-8)


def coupled(a, lower, **options):
    def f(x):
        chain = x["left"][1] * x["right"] + np.sum(np.diff(x["left"]) ** 2)
        return np.sum(np.cosh(x["left"] - a)) + (x["right"] - 1) ** 4 + chain

    start = {"left": np.ones(2), "right": 2.0}
    found = solve.minimum(
        f, start, solver=solve.lbfgs, bounds=({"left": lower, "right": 0.5}, None), **TIGHT
    )
    return np.append(found["left"], found["right"])


@pytest.mark.rest
def test_a_container_and_both_orders():
    """Against differences of solutions, and of gradients."""
    a, lower = np.array([0.2, 1.5]), np.array([0.8, -1.0])
    for k in (0, 1):
        given = [a, lower]

        def f(v, k=k):
            return np.sin(coupled(*[v if i == k else g for i, g in enumerate(given)]))  # noqa: B023

        J = linad.jacobian(f)(given[k])
        slope = linad.grad(lambda v: np.sum(f(v)))
        for i in range(2):
            h = 1e-4 * np.eye(2)[i]
            rate = (f(given[k] + h) - f(given[k] - h)) / 2e-4
            np.testing.assert_allclose(J[:, i], rate, atol=1e-5)
            rate = (slope(given[k] + h) - slope(given[k] - h)) / 2e-4
            second = linad.jvp(slope, (given[k],), (np.eye(2)[i],))[1]
            np.testing.assert_allclose(second, rate, atol=1e-5)


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 1), (0, 1), (0, 1), (None, None)],
        scipy.optimize.Bounds(LOWER, UPPER),
        (LOWER, [1.0, 1.0, 1.0, None]),
    ],
)
def test_forms(bounds):
    np.testing.assert_allclose(
        linad.jacobian(lambda a: nearest(a, bounds))(A), np.diag([0.0, 0, 1, 1]), atol=1e-12
    )


def test_other_ways_to_hand_them_on():
    """By a method that stays inside, and with a solver that has its options already."""

    def by_scipy(a):
        solver = functools.partial(scipy.optimize.least_squares, bounds=(LOWER, UPPER))
        return solve.least_squares(lambda x: x - a, np.full(4, 0.5), solver=solver, xtol=1e-14)

    moves = np.diag([0.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(linad.jacobian(by_scipy)(A), moves, atol=1e-12)


def test_single_precision():
    a = A.astype(np.float32)
    f = lambda a: solve.least_squares(  # noqa: E731
        lambda x: x - a, np.full(4, 0.5, np.float32), bounds=(0.1, 0.7)
    )
    found = f(a)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(linad.jacobian(f)(a), np.diag([0.0, 0, 1, 1]))
    assert found[0] == np.float32(0.7)


T = np.linspace(0.0, 3.0, 25)
SPIKES = np.where(np.arange(25) % 8 == 3, 1.5, 0.0)


@pytest.mark.rest
@pytest.mark.parametrize(
    "loss",
    [
        "soft_l1",
        "huber",
        "cauchy",
        lambda z: (2 * (np.sqrt(1 + z) - 1), (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
    ],
)
def test_robust_losses(loss):
    """Against differences of the solution."""

    def f(c):
        y = c[0] * np.exp(-c[1] * T) + SPIKES
        return solve.least_squares(
            lambda p: p[0] * np.exp(-p[1] * T) - y, np.ones(2), loss=loss, f_scale=0.1, gtol=1e-12
        )

    c = np.array([2.0, 1.2])
    J = linad.jacobian(f)(c)
    for k in range(2):
        h = 1e-3 * np.eye(2)[k]
        np.testing.assert_allclose(J[:, k], (f(c + h) - f(c - h)) / 2e-3, atol=2e-4)
    plain = linad.jacobian(
        lambda c: solve.least_squares(
            lambda p: p[0] * np.exp(-p[1] * T) - c[0] * np.exp(-c[1] * T) - SPIKES, np.ones(2)
        )
    )
    assert np.abs(plain(c) - J).max() > 1e-3  # it is another problem


class TestRefusals:
    @pytest.mark.parametrize(
        "bounds, error, words",
        [
            ([(0, 1)] * 3, OptionError, "bounds must have 4 pairs"),
            ([(0, 1, 2)] * 4, OptionError, r"bounds\[0\] must be a pair"),
            ((np.zeros(3), 1.0), ShapeError, r"the lower bounds must have the shape \(4,\)"),
            ((0.0, "high"), OptionError, "upper bounds must be numbers"),
            ((0.0, "5"), OptionError, "upper bounds must be numbers or None, got '5'"),
            (3.0, OptionError, "bounds must be"),
            ((1.0, 0.0), OptionError, "lower end below an upper one"),
        ],
    )
    def test_bounds(self, bounds, error, words):
        with pytest.raises(error, match=words):
            nearest(A, bounds)

    def test_containers(self):
        with pytest.raises(TreeError, match="least_squares: the lower bounds"):
            solve.least_squares(
                lambda x: [x["a"] - 1.0], {"a": np.zeros(2)}, bounds=({"b": 0.0}, None)
            )

    def test_solvers_without_bounds(self):
        with pytest.raises(OptionError, match="linad.solve.lbfgs takes them"):
            solve.minimum(np.sum, np.zeros(2), bounds=[(0, 1)] * 2)
        with pytest.raises(OptionError, match="bounds"):
            fitted(A, solver=solve.gauss_newton)

    def test_constraints(self):
        with pytest.raises(OptionError, match="minimum: constraints must be empty"):
            solve.minimum(np.sum, np.zeros(2), constraints={"type": "eq", "fun": np.sum})
