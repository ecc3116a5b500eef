"""The scripts in examples/ run as they are, and find what is known of their problems."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import linad

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(path, tmp_path):
    plot = tmp_path / "plot.png"
    done = subprocess.run(
        [sys.executable, "-W", "error", path, "--plot", plot],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout
    assert not done.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")


class TestLeastSquares:
    example = load("least_squares_fit")

    def test_certified_values(self):
        """To the ten digits that NIST certifies, from both of its starts."""
        for start in self.example.STARTS:
            found = self.example.fit(start)
            np.testing.assert_allclose(found.x, self.example.CERTIFIED, rtol=1e-9)
            squares = self.example.CERTIFIED_SUM_OF_SQUARES
            np.testing.assert_allclose(2 * found.cost, squares, rtol=1e-10)
        deviations = self.example.standard_deviations(found.x)
        np.testing.assert_allclose(deviations, self.example.CERTIFIED_DEVIATIONS, rtol=1e-8)

    def test_jacobian(self):
        b = self.example.STARTS[0]
        p = self.example.PRESSURE
        exact = np.stack([1 - np.exp(-b[1] * p), b[0] * p * np.exp(-b[1] * p)], axis=1)
        np.testing.assert_allclose(self.example.jacobian(b).todense(), exact, rtol=1e-13)


class TestBratu:
    example = load("bratu_newton")

    def reference(self, n, lam):
        """Newton's method with the sparse Jacobian written by hand."""
        one = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
        L = scipy.sparse.csc_array(scipy.sparse.kronsum(one, one) * (n + 1) ** 2)
        u = np.zeros(n * n)
        for _ in range(20):
            J = L + scipy.sparse.diags_array(lam * np.exp(u))
            u = u - scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(J), L @ u + lam * np.exp(u))
        return u.reshape(n, n)

    def test_solution(self):
        u = self.example.solve(15, 5.0)
        np.testing.assert_allclose(u, self.reference(15, 5.0), rtol=1e-7)

    def test_sensitivity(self):
        slope = self.example.sensitivity(self.reference(15, 5.0), 5.0)
        h = 1e-3
        expected = (self.reference(15, 5.0 + h) - self.reference(15, 5.0 - h)) / (2 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-5)

    def test_derivative(self):
        u = np.random.default_rng(0).standard_normal((4, 4))
        linad.check_derivatives(self.example.bratu, u, 2.0)

    def test_no_solution_is_said(self):
        """There is none for lambda above 6.81."""
        with pytest.raises(RuntimeError, match="did not converge"):
            self.example.solve(15, 9.0)


class TestBratuFold:
    example = load("bratu_fold")

    def test_solution(self):
        found = self.example.solve(15, 5.0)
        assert np.abs(found.fun).max() <= 1e-12
        np.testing.assert_allclose(found.x, TestBratu().reference(15, 5.0), rtol=1e-8)
        np.testing.assert_allclose(self.example.solve_by_differences(15, 5.0), found.x, rtol=1e-8)

    def test_fold_in_the_limit_of_fine_grids(self):
        """Errors fall as h²: two grids give the limit."""
        coarse, fine = (self.example.follow(n, points=14).folds[0].parameter for n in (15, 31))
        np.testing.assert_allclose((4 * fine - coarse) / 3, self.example.FOLD, rtol=1e-5)

    def test_the_upper_branch(self):
        """Two solutions of the same equation, one above the other."""
        branch = self.example.follow(15, points=20)
        k = int(np.argmin(np.abs(branch.parameters[10:] - 5.0))) + 10
        upper, lam = branch.path[k], branch.parameters[k]
        np.testing.assert_allclose(self.example.bratu(upper, lam), 0.0, atol=1e-9)
        assert upper.max() > 2 * self.example.solve(15, lam).x.max()


class TestGaussianProcess:
    example = load("hessian_of_gp")

    def test_minimum(self):
        x, y = self.example.draw_data()
        found = self.example.fit(x, y)
        assert found.success
        other = scipy.optimize.minimize(
            self.example.negative_log_likelihood,
            np.log(self.example.TRUTH),
            args=(x, y),
            method="Nelder-Mead",
            options={"xatol": 1e-6, "fatol": 1e-9},
        )
        np.testing.assert_allclose(found.x, other.x, atol=1e-4)
        deviations = self.example.uncertainties(found.x, x, y)
        assert np.all(np.abs(found.x - np.log(self.example.TRUTH)) < 3 * deviations)

    def test_derivatives(self):
        x, y = self.example.draw_data(n=8)
        theta = np.log([1.2, 0.7, 0.3])
        linad.check_derivatives(
            lambda theta: self.example.negative_log_likelihood(theta, x, y), theta
        )

    def test_likelihood_is_that_of_a_normal_distribution(self):
        from scipy.stats import multivariate_normal

        x, y = self.example.draw_data(n=12)
        theta = np.log([1.2, 0.7, 0.3])
        K = self.example.covariance(theta, x)
        np.testing.assert_allclose(
            self.example.negative_log_likelihood(theta, x, y),
            -multivariate_normal(np.zeros(12), K).logpdf(y),
            rtol=1e-10,
        )
