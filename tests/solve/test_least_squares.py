"""Gauss-Newton and Levenberg-Marquardt: every way to solve, counts, failures.

Certified answers are in `test_certified.py`.
"""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from solve.nist_runs import Regression
from solve.problems import (
    beale,
    freudenstein_roth,
    powell_badly_scaled,
    powell_singular,
    rosenbrock,
)

import linad
from linad.solve import Status, gauss_newton, levenberg_marquardt

BOTH = pytest.mark.parametrize("solver", [gauss_newton, levenberg_marquardt])
WAYS = ["dense", "sparse", "krylov", "auto"]
T = np.linspace(0.0, 2.0, 30)


class TestAnswers:
    @BOTH
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize(
        "f, start, minimum",
        [
            (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
            (beale, [1.5, 0.6], [3.0, 0.5]),
            (freudenstein_roth, [6.0, 5.0], [5.0, 4.0]),
        ],
    )
    def test_classical(self, solver, way, f, start, minimum):
        found = solver(f, np.array(start), linear_solver=way)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, minimum, rtol=1e-7)
        np.testing.assert_allclose(found.cost, 0.5 * np.sum(f(found.x) ** 2))
        J = linad.jacobian(f)(found.x)
        np.testing.assert_allclose(found.jac.todense(), J)
        np.testing.assert_allclose(found.grad, J.T @ f(found.x), atol=1e-12)
        assert found.optimality == np.abs(found.grad).max()

    def test_a_minimum_that_is_no_root(self):
        found = levenberg_marquardt(freudenstein_roth, np.array([0.5, -2.0]))
        assert found.success, found.message
        np.testing.assert_allclose(2 * found.cost, 48.9842536, rtol=1e-7)

    def test_badly_scaled(self):
        found = levenberg_marquardt(powell_badly_scaled, np.array([0.0, 1.0]), ftol=0.0, xtol=1e-12)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, [1.098159329699759e-5, 9.106146739866667], rtol=1e-8)

    @BOTH
    def test_singular_at_the_minimum(self, solver):
        found = solver(powell_singular, np.array([3.0, -1.0, 0.0, 1.0]))
        assert found.success, found.message
        assert found.nit < 40  # no floor of the damping holds it back
        np.testing.assert_allclose(found.x, 0.0, atol=1e-3)

    @pytest.mark.parametrize("way", WAYS)
    def test_against_scipy(self, way):
        """Two exponentials through noise, which no model of two exponentials fits."""
        data = np.exp(-T) + 0.5 * np.exp(-3 * T) + 0.02 * np.cos(20 * T)

        def f(p):
            return p[0] * np.exp(-p[1] * T) + p[2] * np.exp(-p[3] * T) - data

        start = np.array([1.0, 0.5, 0.3, 5.0])
        exact = scipy.optimize.least_squares(f, start, method="lm", xtol=1e-15, ftol=1e-15)
        found = levenberg_marquardt(f, start, linear_solver=way, ftol=0.0, xtol=1e-12)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, exact.x, rtol=1e-5)
        np.testing.assert_allclose(found.cost, exact.cost, rtol=1e-10)

    @BOTH
    def test_complex_residuals(self, solver):
        z = np.exp((0.3 + 2j) * T)
        found = solver(lambda p: np.exp((p[0] + 1j * p[1]) * T) - z, np.array([0.1, 1.8]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, [0.3, 2.0])
        assert found.fun.dtype == complex
        assert found.fun.shape == T.shape

    @BOTH
    def test_containers(self, solver):
        def f(p, t):
            return {"line": p["a"] * t + p["b"] - 3 * t + 1, "prior": 0.0 * p["b"]}

        found = solver(f, {"a": 0.0, "b": np.zeros(1)}, (T,))
        assert found.success, found.message
        np.testing.assert_allclose([found.x["a"], found.x["b"][0]], [3, -1], rtol=1e-9)
        assert found.fun["line"].shape == T.shape

    @BOTH
    def test_single_precision(self, solver):
        found = solver(beale, np.array([1.5, 0.6], np.float32))
        assert found.success, found.message
        assert found.x.dtype == np.float32
        np.testing.assert_allclose(found.x, [3.0, 0.5], rtol=1e-4)

    @BOTH
    def test_residuals_that_are_all_rounding(self, solver):
        """Differences of single-precision numbers: their cost stays above zero."""
        n = 100
        factor = np.float32(1 / (n + 1) ** 2)

        def f(u):
            v = np.pad(u, 1)
            return v[:-2] - 2 * u + v[2:] + factor * np.exp(u)

        found = solver(f, np.zeros(n, np.float32))
        assert found.success, found.message
        exact = solver(f, np.zeros(n))
        np.testing.assert_allclose(found.x, exact.x, atol=1e-3)

    @BOTH
    def test_a_compiled_function_is_seen_through(self, solver):
        n = 400

        def f(x):
            return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

        found = solver(linad.jit(f), np.full(n, 1.1))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
        assert found.njvp < n  # no dense matrix was made

    @BOTH
    def test_dependent_columns(self, solver):
        """Only p0 + p1 is determined: Gauss-Newton takes the shortest step."""
        found = solver(lambda p: (p[0] + p[1]) * T - 3 * T, np.array([0.5, 0.0]))
        assert found.success, found.message
        np.testing.assert_allclose(np.sum(found.x), 3.0)

    def test_units_do_not_matter(self):
        units = np.array([1e-6, 1e6])
        plain = levenberg_marquardt(rosenbrock, np.array([-1.2, 1.0]))
        scaled = levenberg_marquardt(lambda x: rosenbrock(x * units), [-1.2, 1.0] / units)
        assert scaled.nit == plain.nit
        np.testing.assert_allclose(scaled.x * units, plain.x, rtol=1e-6)


class TestCounts:
    @BOTH
    @pytest.mark.parametrize("way", ["dense", "krylov"])
    def test_evaluations(self, solver, way):
        runs = []

        def f(x):
            runs.append(1)
            return rosenbrock(x)

        found = solver(f, np.array([-1.2, 1.0]), linear_solver=way)
        assert found.nfev == len(runs)
        assert (found.nvjp > 0) == (way == "krylov")
        if way == "krylov" and solver is levenberg_marquardt:
            # The gradient at each point, and 16 cotangents for the norms of columns.
            assert found.nvjp > 17 * found.nit
        if way == "dense":
            assert found.njvp == 2 * (found.nit + 1)


class TestFailures:
    @BOTH
    def test_nan(self, solver):
        found = solver(lambda x: np.log(x), -np.ones(2))
        assert found.status == Status.NOT_FINITE
        assert not found.success
        found = solver(lambda x: np.sqrt(x) - 1.0, np.zeros(1))
        assert found.status == Status.NOT_FINITE
        assert "Jacobian" in found.message

    @BOTH
    def test_nan_on_the_way_is_stepped_back_from(self, solver):
        found = solver(np.log, np.array([5.0]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0)

    @BOTH
    def test_nan_all_around(self, solver):
        def f(x):
            return np.where(np.sum(np.abs(x)) == 2.0, x, np.nan)

        found = solver(f, np.ones(2))
        assert found.status in (Status.NOT_FINITE, Status.STAGNATED), found.message

    @BOTH
    def test_out_of_steps(self, solver):
        found = solver(rosenbrock, np.array([-1.2, 1.0]), maxiter=2)
        assert found.status == Status.MAXITER
        assert found.nit == 2
        assert "2 steps, cost" in found.message

    def test_steps_of_all_tries_are_one_count(self):
        """After 200 steps a fit is tried in other ways."""
        run = Regression("MGH10")
        with np.errstate(all="ignore"):
            found = levenberg_marquardt(run.residual, run.starts[0], maxiter=500)
        assert found.status == Status.MAXITER
        assert found.nit == 500
        assert "500 steps, cost" in found.message

    @BOTH
    def test_nothing_to_improve(self, solver):
        found = solver(lambda x: 0.0 * x + 1.0, np.ones(2))
        assert found.success
        assert found.nit == 0

    @BOTH
    @pytest.mark.parametrize(
        "f, x0, error, words",
        [
            (np.sin, np.ones(2) + 1j, linad.errors.DTypeError, "x0 is complex"),
            (lambda x: x[:0], np.ones(2), linad.errors.ShapeError, "returned no numbers"),
            (None, np.ones(2), TypeError, "must be a function"),
        ],
    )
    def test_input_that_cannot_be_meant(self, solver, f, x0, error, words):
        with pytest.raises(error, match=words):
            solver(f, x0)

    def test_options_that_cannot_be_meant(self):
        with pytest.raises(ValueError, match="ftol must be .*, got -1"):
            gauss_newton(np.sin, np.ones(1), ftol=-1)
        with pytest.raises(ValueError, match="damping must be a number > 0, got 0"):
            levenberg_marquardt(np.sin, np.ones(1), damping=0)
        with pytest.raises(ValueError, match="linear_solver must be .*, got 'qr'"):
            levenberg_marquardt(np.sin, np.ones(1), linear_solver="qr")
