"""The scripts in examples/ run as they are, and find what is known of their problems."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import linad

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
QUICK = "least_squares_fit"
"""The script that the default run starts; one takes seconds. The tests below call all of them."""
SCRIPTS = [
    pytest.param(path, id=path.stem, marks=() if path.stem == QUICK else pytest.mark.full)
    for path in sorted(EXAMPLES.glob("*.py"))
]


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fonts(tmp_path_factory):
    """Environment in which Matplotlib has its list of fonts, made here and not the user's own."""
    settings = os.environ | {"MPLCONFIGDIR": str(tmp_path_factory.mktemp("matplotlib"))}
    make = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(make, env=settings, capture_output=True, timeout=240, check=True)
    return settings


@pytest.mark.rest
@pytest.mark.parametrize("path", SCRIPTS)
def test_script_runs(path, tmp_path, fonts):
    plot = tmp_path / "plot.png"
    done = subprocess.run(
        [sys.executable, "-W", "error", path, "--plot", plot],
        cwd=tmp_path,
        env=fonts,
        capture_output=True,
        text=True,
        timeout=240,
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


@pytest.fixture(scope="module")
def cavity():
    found = load("driven_cavity").solve(63)
    assert found.success, found.message
    return found.x


class TestDrivenCavity:
    example = load("driven_cavity")

    def test_table(self, cavity):
        """Velocities to 0.006, which is how far the published table is off at most."""
        u, v = self.example.centre_lines(cavity)
        np.testing.assert_allclose(u(self.example.GHIA_Y), self.example.GHIA_U, atol=3e-3)
        np.testing.assert_allclose(v(self.example.GHIA_X), self.example.GHIA_V, atol=6e-3)

    def test_spectral_solution(self, cavity):
        """The extremes of Botella and Peyret, by extrapolation from two grids."""
        grid = np.linspace(0, 1, 4001)
        extremes = []
        for fields in (self.example.solve(31).x, cavity):
            u, v = self.example.centre_lines(fields)
            extremes.append(np.array([u(grid).min(), v(grid).min(), v(grid).max()]))
        limit = (4 * extremes[1] - extremes[0]) / 3
        np.testing.assert_allclose(limit, [-0.2140424, -0.2538030, 0.1795728], atol=1.5e-4)

    def test_stokes_flow_is_symmetric(self):
        psi = self.example.solve(15, 0.0).x[0]
        np.testing.assert_allclose(psi, psi[:, ::-1], atol=1e-12)

    def test_derivative(self):
        fields = np.random.default_rng(0).standard_normal((2, 5, 5))
        linad.check_derivatives(self.example.flow, fields, 10.0)


class TestBundleAdjustment:
    example = load("bundle_adjustment")

    def test_rotations(self):
        from scipy.spatial.transform import Rotation

        rng = np.random.default_rng(0)
        vectors, turns = rng.standard_normal((2, 6, 3))
        turns[0] = 0
        expected = Rotation.from_rotvec(turns).apply(vectors)
        np.testing.assert_allclose(self.example.rotate(vectors, turns), expected, atol=1e-14)
        # The derivative of a rotation by nothing is the cross product.
        v, dw = vectors[:1], rng.standard_normal((1, 3))
        _, dv = linad.jvp(lambda w: self.example.rotate(v, w), (np.zeros((1, 3)),), (dw,))
        np.testing.assert_allclose(dv, np.cross(dw, v), atol=1e-14)

    def test_jacobian_is_thin(self):
        scene = self.example.draw_scene(6, 20)
        J = linad.sparse_jacobian(scene.residual, self.example.dead_reckoning(scene))
        # All of a point, and of a camera all but the shift in the other direction.
        assert (np.diff(J.indptr) == 8).all()
        linad.check_derivatives(scene.residual, self.example.dead_reckoning(scene))

    def test_against_scipy(self):
        """`scipy.optimize.least_squares` with linad's Jacobian as a dense matrix, to the end."""
        scene = self.example.draw_scene(8, 60)
        assert np.bincount(scene.point).min() >= 2
        start = self.example.dead_reckoning(scene)
        found = self.example.adjust(scene, start)
        assert found.success, found.message

        def parts(x):
            return x[:48].reshape(8, 6), x[48:].reshape(60, 3)

        other = scipy.optimize.least_squares(
            lambda x: scene.residual(parts(x)).ravel(),
            np.concatenate([x.ravel() for x in start]),
            jac=lambda x: linad.sparse_jacobian(scene.residual, parts(x)).toarray(),
            x_scale="jac",
            xtol=1e-12,
        )
        assert found.cost == pytest.approx(other.cost, rel=1e-7)

    def test_against_differences(self):
        """A drift takes `least_squares`, which solves by iteration, many steps to straighten."""
        scene = self.example.draw_scene(20, 100)
        start = self.example.dead_reckoning(scene)
        found = self.example.adjust(scene, start)
        assert found.success, found.message
        runs = []

        def residual(x):
            runs.append(1)
            return scene.residual((x[:120].reshape(20, 6), x[120:].reshape(100, 3))).ravel()

        other = scipy.optimize.least_squares(
            residual,
            np.concatenate([x.ravel() for x in start]),
            jac_sparsity=linad.sparse_jacobian(scene.residual, start),
            x_scale="jac",
        )
        assert found.cost <= other.cost
        assert found.cost == pytest.approx(other.cost, rel=1e-4)
        assert 10 * found.nfev < len(runs)

    def test_truth(self):
        """What is left is the noise, and points come closer by a factor of 20."""
        example = self.example
        scene = example.draw_scene(20, 400)
        start = example.dead_reckoning(scene)
        found = example.adjust(scene, start)
        unknowns = sum(x.size for x in start) - 7
        # The cost is chi-squared: 1/2 sigma² times the degrees of freedom, ± its deviation.
        free = scene.pixels.size - unknowns
        chi = 2 * found.cost / example.NOISE**2
        assert abs(chi - free) < 4 * np.sqrt(2 * free)
        before, after = (np.median(example.errors(scene, x[1])) for x in (start, found.x))
        assert after < before / 20

    def test_aligned(self):
        rng = np.random.default_rng(0)
        points = rng.standard_normal((10, 3))
        moved = 1.7 * self.example.rotate(points, np.full((10, 3), 0.4)) + 2.0
        np.testing.assert_allclose(self.example.aligned(moved, points), points, atol=1e-12)


@pytest.fixture(scope="module")
def digits():
    X, labels = load("logistic_regression").load_digits()
    return X[::6], labels[::6]


class TestLogisticRegression:
    example = load("logistic_regression")

    def test_against_scikit_learn(self, digits):
        from sklearn.linear_model import LogisticRegression

        X, labels = digits
        found = self.example.fit(X, labels)
        assert found.success, found.message
        assert max(np.abs(g).max() for g in found.jac) <= 1e-10
        W, b = found.x
        other = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-10).fit(X, labels)
        np.testing.assert_allclose(W, other.coef_.T, atol=1e-6)
        # A number added to all of b changes nothing.
        np.testing.assert_allclose(
            b - b.mean(), other.intercept_ - other.intercept_.mean(), atol=1e-6
        )
        np.testing.assert_array_equal(self.example.predict(found.x, X), other.predict(X))

    def test_products_with_the_hessian(self, digits):
        """Against the formula: with p = softmax(z), dz -> p (dz - sum_k p dz)."""
        X, labels = digits
        rng = np.random.default_rng(0)
        (W, b), (V, c) = (
            (rng.standard_normal((64, 10)), rng.standard_normal(10)) for _ in range(2)
        )
        z = X @ W + b
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        dz = X @ V + c
        q = p * (dz - np.sum(p * dz, axis=1, keepdims=True))
        chosen = np.eye(10)[labels]
        found = linad.hvp(lambda w: self.example.loss(w, X, chosen), ((W, b),), ((V, c),))
        np.testing.assert_allclose(found[0], X.T @ q + self.example.STRENGTH * V, rtol=1e-11)
        np.testing.assert_allclose(found[1], q.sum(axis=0), atol=1e-12)


@pytest.fixture(scope="module")
def pelts():
    """The fit, and its sensitivities."""
    example = load("pelts")
    found = example.fit()
    assert found.success, found.message
    return found, example.sensitivities(found)


@pytest.mark.full
class TestPelts:
    example = load("pelts")

    def test_is_the_fit_of_the_demonstration(self, pelts):
        from linad.command.demo import fit_by_matrix

        found, _ = pelts
        demo = fit_by_matrix()
        np.testing.assert_allclose(found.x, demo.theta, atol=2e-5)
        errors = np.exp(found.x) * self.example.standard_errors(found)
        np.testing.assert_allclose(errors, demo.standard_errors, rtol=1e-4)

    @pytest.mark.parametrize("observation", [(0, 0), (13, 0), (5, 1)])
    def test_sensitivities(self, pelts, observation):
        """Against fits of changed data, by SciPy."""
        found, sensitivities = pelts

        def refitted(change):
            data = self.example.LOG_PELTS.copy()
            data[observation] += change
            return scipy.optimize.least_squares(
                lambda theta: self.example.residual(theta, data).ravel(),
                found.x,
                jac="3-point",
                xtol=1e-14,
                ftol=1e-14,
                gtol=1e-12,
            ).x

        slope = (refitted(1e-2) - refitted(-1e-2)) / 2e-2
        np.testing.assert_allclose(sensitivities[:, *observation], slope, atol=1e-4)

    def test_errors_agree_where_the_model_is_nearly_linear(self, pelts):
        found, sensitivities = pelts
        propagated = self.example.propagated_errors(found, sensitivities)
        np.testing.assert_allclose(propagated, self.example.standard_errors(found), rtol=0.1)


class TestRobertson:
    example = load("robertson")

    def test_reference(self):
        found = self.example.integrate()
        assert found.success, found.message
        assert self.example.error(found) < 1e-6
        assert found.y[:, -1].sum() == pytest.approx(1.0, abs=1e-12)

    def test_jacobian(self):
        y = np.array([0.7, 1e-5, 0.3])
        jac = linad.scipy_args(self.example.rates, "solve_ivp", method="Radau")["jac"]
        exact = self.example.jacobian_by_hand(0.0, y)
        np.testing.assert_allclose(scipy.sparse.csr_array(jac(0.0, y)).toarray(), exact, rtol=1e-14)


@pytest.mark.full
def test_training_elsewhere_is_training_here(capsys):
    example = load("training_as_onnx")
    losses, here, found, final = example.main(["--steps", "60"])
    np.testing.assert_allclose(losses, here, rtol=1e-10)
    for k, layer in enumerate(final):
        for name, value in layer.items():
            np.testing.assert_allclose(found[f"weights_{k}_{name}"], value, rtol=1e-9)
    assert "nodes" in capsys.readouterr().out
