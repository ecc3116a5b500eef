"""Bounds of `levenberg_marquardt`, against SciPy's."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.errors import ArgumentError, OptionError

levenberg_marquardt = linad.solve.levenberg_marquardt


WAYS = ["dense", "sparse", "krylov"]


T = np.linspace(0.0, 3.0, 25)


Y = 2.0 * np.exp(-1.2 * T) + 0.3 + 0.01 * np.cos(11 * T)


def residual(p, y=Y):
    return p[0] * np.exp(-p[1] * T) + p[2] - y


def problems(count):
    """Random residuals in random boxes, of linear, curved and wavy kinds."""
    rng = np.random.default_rng(5)
    for k in range(count):
        n = int(rng.integers(1, 6))
        A = rng.standard_normal((n + int(rng.integers(0, 12)), n))
        b = 3.0 * rng.standard_normal(len(A))
        bend = [lambda z: z, lambda z: np.sinh(z / 2), lambda z: z + 0.3 * np.sin(z)][k % 3]
        lower = np.where(rng.random(n) < 0.6, -rng.random(n), -np.inf)
        upper = np.where(rng.random(n) < 0.6, rng.random(n), np.inf)
        start = np.clip(0.1 * rng.standard_normal(n), 0.9 * lower, 0.9 * upper)
        yield (lambda x, A=A, b=b, bend=bend: bend(A @ x) - b), start, (lower, upper)


class TestBounds:
    @pytest.mark.parametrize("way", WAYS)
    def test_against_scipy(self, way):
        for f, start, bounds in problems(20):
            with np.errstate(over="ignore"):
                exact = scipy.optimize.least_squares(
                    f, start, bounds=bounds, x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-12
                )
            found = levenberg_marquardt(f, start, bounds=bounds, linear_solver=way)
            assert found.success, found.message
            assert ((bounds[0] <= found.x) & (found.x <= bounds[1])).all()
            assert found.cost <= exact.cost * (1 + 1e-6) + 1e-12

    @pytest.mark.parametrize(
        "bounds",
        [
            ([0, 0, 0], [1.5, 5, 1]),
            (0, [1.5, 5, np.inf]),
            scipy.optimize.Bounds([0, 0, 0], [1.5, 5, 1]),
            (None, [1.5, None, None]),
        ],
    )
    def test_forms(self, bounds):
        found = levenberg_marquardt(residual, [1.0, 1.0, 0.5], bounds=bounds)
        assert found.success, found.message
        assert found.x[0] == 1.5

    def test_containers(self):
        def f(p):
            return p["a"] * np.exp(-p["b"] * T) - Y

        start = {"a": 1.0, "b": 1.0}
        bounds = {"a": 0.0, "b": None}, {"a": 1.5, "b": None}
        found = levenberg_marquardt(f, start, bounds=bounds)
        assert found.success, found.message
        assert found.x["a"] == 1.5

    def test_everything_held(self):
        found = levenberg_marquardt(residual, [1.0, 1.0, 0.5], bounds=([1, 1, 0.5], [1, 1, 0.5]))
        assert found.success, found.message
        np.testing.assert_array_equal(found.x, [1.0, 1.0, 0.5])

    @pytest.mark.parametrize(
        "bounds, words",
        [
            (([0, 0], [1, 1]), r"shape \(3,\) of the unknowns"),
            ((2, 3), "x0 must lie within the bounds, but unknown 0 starts at 1"),
            ((1, 0), "must not exceed the upper one"),
            (3, "bounds must be .lower, upper."),
            ({"a": 1}, "bounds must be .lower, upper."),
        ],
    )
    def test_what_cannot_be_meant(self, bounds, words):
        with pytest.raises(ValueError, match=words):
            levenberg_marquardt(residual, [1.0, 1.0, 0.5], bounds=bounds)


def test_bounds_with_the_labels_of_x0_in_another_order():
    """Place by place they would bound other unknowns."""
    pandas = pytest.importorskip("pandas")

    def r(p):
        return p - np.array([3.0, -1.0, 0.5])

    def cost(p):
        return np.sum(r(p) ** 2)

    x0 = pandas.Series({"a": 1.0, "b": 2.0, "c": 3.0})
    sides = [pandas.Series(side) for side in ({"a": -1, "b": 0, "c": 0}, {"a": 2, "b": 9, "c": 5})]
    turned = [side[["c", "a", "b"]] for side in sides]
    solvers = (
        lambda bounds: linad.solve.lbfgs(cost, x0, bounds=bounds).x,
        lambda bounds: linad.solve.levenberg_marquardt(r, x0, bounds=bounds).x,
        lambda bounds: linad.solve.minimum(cost, x0, bounds=bounds, solver=linad.solve.lbfgs),
        lambda bounds: linad.solve.least_squares(r, x0, bounds=bounds),
    )
    for solver in solvers:
        np.testing.assert_allclose(solver(tuple(sides)), [2, 0, 0.5], atol=1e-5)
        for bounds in (tuple(turned), (None, turned[1])):
            with pytest.raises(ArgumentError, match=r"at place 0 is 'c', where x0 has 'a'"):
                solver(bounds)


@pytest.mark.rest
def test_pairs_are_bounds_unless_they_may_be_lower_and_upper():
    t = np.linspace(0, 4, 30)
    y = 2.5 * np.exp(-1.3 * t) + 0.5

    def decay(t, a, rate, c):
        return a * np.exp(-rate * t) + c

    pairs = [(0, 2.0), (None, 3), (0, None)]
    sides = tuple(zip(*pairs, strict=True))
    given = [pairs, tuple(pairs), np.array([(0, 2.0), (-np.inf, 3), (0, np.inf)])]
    fits = [
        lambda b: linad.solve.curve_fit(decay, t, y, [1, 1, 0.2], bounds=b),
        lambda b: linad.solve.curve_fit(decay, t, y, np.array([1, 1, 0.2]), bounds=b),
        lambda b: linad.solve.fit(lambda p: decay(t, *p) - y, [1, 1, 0.2], bounds=b),
        lambda b: linad.solve.least_squares(
            *(lambda p: decay(t, *p) - y, np.array([1, 1, 0.2])), bounds=b
        ),
    ]
    for fit in fits:
        expected = fit(sides)
        for bounds in given:
            found = fit(bounds)
            np.testing.assert_array_equal(
                getattr(found, "x", found), getattr(expected, "x", expected)
            )
    for start in ([0.4], 0.4, np.array([0.4])):
        found = linad.solve.curve_fit(lambda t, a: a + 0 * t, t, y, start, bounds=[(0, 0.5)])
        np.testing.assert_array_equal(found.x, np.full(np.shape(start), 0.5))
    with pytest.raises(OptionError, match="if these are pairs"):
        linad.solve.curve_fit(lambda t, a, b: a * t + b, t, y, [1, 1], bounds=[(0, None), (0, 3)])
    named = {"a": 1.0, "rate": 1.0, "c": 0.2}
    with pytest.raises(OptionError, match="pairs"):  # in which order is not said
        linad.solve.curve_fit(decay, t, y, named, bounds=pairs)


@pytest.mark.parametrize("solve", [linad.solve.lbfgs, linad.solve.least_squares])
def test_lists_are_bounds_of_arrays_in_containers(solve):
    goal = np.array([1.0, 2.0, 3.0])

    def off(p):
        parts = [p["w"] - goal, np.reshape(p["more"][0] - 4.0, 1)]
        return np.concatenate(parts)

    f = off if solve is linad.solve.least_squares else lambda p: np.sum(off(p) ** 2)
    start = {"w": np.ones(3), "more": [0.0]}
    sides = {"w": [0, None, 0], "more": [0]}, {"w": [5, 1.5, 2.5], "more": [3]}
    found = solve(f, start, bounds=sides)
    found = found.get("x", found)
    np.testing.assert_allclose(found["w"], [1.0, 1.5, 2.5])
    np.testing.assert_allclose(found["more"], [3.0])
