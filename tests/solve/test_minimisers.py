"""Minimisers: known minima, SciPy's interface, true counts, saddle points, every way to fail."""

import numpy as np
import pytest
import scipy.optimize
from solve.problems import beale, powell_singular, rosenbrock_value

import linad
from linad.solve import Status, lbfgs, newton_cg, trust_region

SECOND = pytest.mark.parametrize("solver", [newton_cg, trust_region])
ALL = pytest.mark.parametrize("solver", [newton_cg, trust_region, lbfgs])


def squares(f):
    return lambda x: np.sum(f(x) ** 2)


def wood(x):
    """(14) of Moré, Garbow and Hillstrom; minimum 0 at 1 from (-3, -1, -3, -1)."""
    return (
        100 * (x[1] - x[0] ** 2) ** 2
        + (1 - x[0]) ** 2
        + 90 * (x[3] - x[2] ** 2) ** 2
        + (1 - x[2]) ** 2
        + 10 * (x[1] + x[3] - 2) ** 2
        + 0.1 * (x[1] - x[3]) ** 2
    )


PROBLEMS = {
    "Rosenbrock": (rosenbrock_value, [-1.2, 1.0], [1.0, 1.0]),
    "Rosenbrock, 20": (rosenbrock_value, [0.0] * 20, [1.0] * 20),
    "Beale": (squares(beale), [1.0, 1.0], [3.0, 0.5]),
    "Wood": (wood, [-3.0, -1.0, -3.0, -1.0], [1.0] * 4),
}


class TestAnswers:
    @SECOND
    @pytest.mark.parametrize("name", list(PROBLEMS))
    def test_classical(self, solver, name):
        f, start, minimum = PROBLEMS[name]
        found = solver(f, np.array(start))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, minimum, rtol=1e-8)
        assert found.fun == f(found.x)
        np.testing.assert_allclose(found.jac, linad.grad(f)(found.x))
        v = np.arange(1.0, 1 + len(start))
        np.testing.assert_allclose(found.hess @ v, linad.hessian(f)(found.x) @ v, atol=1e-9)

    @pytest.mark.parametrize("name", list(PROBLEMS))
    def test_lbfgs(self, name):
        f, start, minimum = PROBLEMS[name]
        found = lbfgs(f, np.array(start), ftol=1e-15, gtol=1e-9)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, minimum, rtol=1e-5)

    @SECOND
    def test_singular_hessian(self, solver):
        found = solver(squares(powell_singular), np.array([3.0, -1.0, 0.0, 1.0]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 0.0, atol=1e-3)

    @ALL
    def test_containers(self, solver):
        def f(x, target):
            return np.sum((x["u"] - target) ** 2) + np.cosh(x["v"] - 1.0) + np.sum(x["u"]) ** 2

        found = solver(f, {"u": np.zeros((2, 2)), "v": 3.0}, (2.0,))
        assert found.success, found.message
        np.testing.assert_allclose(found.x["u"], 2.0 / 5.0, rtol=1e-4)
        np.testing.assert_allclose(found.x["v"], 1.0, rtol=1e-4)
        assert found.x["u"].shape == found.jac["u"].shape == (2, 2)

    @ALL
    def test_single_precision(self, solver):
        found = solver(rosenbrock_value, np.zeros(5, np.float32))
        assert found.success, found.message
        assert found.x.dtype == found.jac.dtype == np.float32
        np.testing.assert_allclose(found.x, 1.0, rtol=2e-2 if solver is lbfgs else 1e-3)

    @SECOND
    @pytest.mark.parametrize("scale", [1e-20, 1e20])
    def test_units_do_not_matter(self, solver, scale):
        found = solver(lambda x: scale * rosenbrock_value(x), np.array([-1.2, 1.0]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-8)

    @SECOND
    def test_a_large_constant(self, solver):
        """Rounding in f hides the last digits; the gradient finds them."""
        found = solver(lambda x: 1e10 + np.sum(np.cosh(x - 1.0)), np.zeros(3))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-7)

    @SECOND
    def test_the_last_digits_are_found_by_the_gradient(self, solver):
        """An arch of stiff bars: energies cancel, and near the minimum f is all rounding."""
        n = 11
        across = np.linspace(-1.0, 1.0, n)
        rest = np.stack([across, 0.2 * (1.0 - across**2)], axis=1)
        length = np.linalg.norm(np.diff(rest, axis=0), axis=1)

        def energy(u):
            x = np.concatenate([rest[:1], rest[1:-1] + u, rest[-1:]])
            stretch = np.linalg.norm(x[1:] - x[:-1], axis=1) - length
            bend = np.diff(x - rest, 2, axis=0)
            load = 0.1 * np.sum(u[:, 1])
            return np.sum(50.0 / length * stretch**2) + 50.0 * np.sum(bend**2) + load

        found = solver(energy, np.zeros((n - 2, 2)))
        assert found.success, found.message
        assert found.nit < 10
        assert np.abs(found.jac).max() < 1e-12

    def test_preconditioner(self):
        d = np.logspace(0, 6, 100)

        def f(x):
            return 0.5 * np.sum(d * (x - 1.0) ** 2) + 0.01 * np.sum(np.cos(x[1:] - x[:-1]))

        plain = newton_cg(f, np.zeros(100))
        for given in ("diagonal", lambda x, H: np.diag(1.0 / d)):
            found = newton_cg(f, np.zeros(100), preconditioner=given)
            assert found.success, found.message
            np.testing.assert_allclose(found.x, plain.x, rtol=1e-5)
        assert found.njvp < plain.njvp / 2

    def test_bounds(self):
        start = np.array([0.1, 0.1])
        found = lbfgs(rosenbrock_value, start, bounds=[(None, 0.5), (None, None)])
        np.testing.assert_allclose(found.x, [0.5, 0.25], rtol=1e-5)
        found = lbfgs(
            lambda x: np.sum(x["u"] ** 2), {"u": np.ones(3)}, bounds=({"u": 0.5}, {"u": np.inf})
        )
        np.testing.assert_allclose(found.x["u"], 0.5)


class TestOutsideOfTheDomain:
    """A trial where f is infinite or NaN is too long a step, and no end."""

    @pytest.mark.parametrize("outside", [np.inf, np.nan, None])
    @pytest.mark.parametrize("solver", [newton_cg, lbfgs])
    def test_is_left(self, solver, outside):
        def barrier(x):
            if outside is not None and np.any(x <= 0):
                return outside
            return np.sum(x**2 + 5 * x - 1e-3 * np.log(x))

        found = solver(barrier, np.array([1.0, 1.0, 10.0]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, (np.sqrt(25 + 8e-3) - 5) / 4, rtol=1e-3)

    def test_with_a_gradient_that_is_not_finite(self):
        found = lbfgs(lambda x: np.sum(2 * x - np.sqrt(x)), np.array([1.0, 9.0]), gtol=1e-8)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1 / 16, rtol=1e-5)

    def test_within_bounds(self):
        found = lbfgs(
            lambda x: np.sum(x) - 1e-3 * np.sum(np.log(x - 0.2)),
            np.array([1.0, 8.0]),
            bounds=[(None, 3.0), (4.0, None)],
        )
        assert found.success, found.message
        np.testing.assert_allclose(found.x, [0.201, 4.0], rtol=1e-4)


class TestSmallChangesOfLargeValues:
    """L-BFGS-B ends where f changes by a small part of itself, wherever that is."""

    def test_far_from_the_minimum(self):
        scales = 10.0 ** np.arange(5)
        found = lbfgs(lambda x: np.sum((x * scales - 1) ** 2) + 1e6, np.zeros(5), gtol=1e-10)
        assert found.status == Status.STAGNATED
        assert "its Hessian promises" in found.message

    @pytest.mark.parametrize("form", [lambda p: p, np.exp], ids=["as they are", "logarithms"])
    def test_success_is_near_the_minimum(self, form):
        """Counts of two isotopes over a background, by a detector with a dead time."""
        t = np.arange(0.0, 600.0, 10.0)

        def expected(a, fast, b, slow, background):
            rate = a * np.exp(-fast * t) + b * np.exp(-slow * t) + background
            return 10.0 * rate / (1 + 2e-4 * rate)

        truth = np.array([900.0, 0.029, 300.0, 0.0048, 5.0])
        counts = np.random.default_rng(22).poisson(expected(*truth))

        def minus_log_likelihood(p):
            mu = expected(*form(p))
            return np.sum(mu - counts * np.log(mu))

        start = np.array([500.0, 0.05, 500.0, 0.005, 1.0])
        start, truth = (start, truth) if form(1.0) == 1.0 else (np.log(start), np.log(truth))
        best = newton_cg(minus_log_likelihood, truth)
        assert best.success
        found = lbfgs(minus_log_likelihood, start)
        assert found.fun - best.fun < 0.5 or not found.success

    def test_at_the_minimum(self):
        found = lbfgs(lambda x: 1e6 + rosenbrock_value(x), np.zeros(3), ftol=1e-14, gtol=0.0)
        assert found.success, found.message

    @pytest.mark.parametrize("dtype", [float, np.float32])
    @pytest.mark.parametrize("slope", [2.0, np.e])  # e: f is 0 there, of terms that cancel
    def test_no_tolerance_is_below_rounding(self, slope, dtype):
        def f(x):
            return np.sum(np.exp(x) - dtype(slope) * x) + 0.1 * np.sum(np.diff(x) ** 2)

        starts = np.random.default_rng(0).standard_normal((6, 6)).astype(dtype)
        gtol = 1e-9 if dtype is float else 1e-5
        for bounds in (None, [(None, 0.5), *[(None, None)] * 5]):
            for start in starts:
                found = lbfgs(f, start, gtol=gtol, ftol=0.0, bounds=bounds)
                assert found.success or "Hessian" not in found.message


class TestInSciPy:
    @ALL
    def test_as_a_method(self, solver):
        found = scipy.optimize.minimize(
            rosenbrock_value, [0, 0, 0], method=solver, tol=1e-12, options={"maxiter": 300}
        )
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-5)

    @ALL
    def test_further_arguments_and_callbacks(self, solver):
        seen = []

        def callback(intermediate_result):
            seen.append(intermediate_result.fun)

        found = scipy.optimize.minimize(
            lambda x, a, b: np.sum((x - a) ** 4 + b * (x - a) ** 2),
            np.zeros(3),
            args=(np.arange(3.0), 2.0),
            method=solver,
            callback=callback,
        )
        np.testing.assert_allclose(found.x, np.arange(3.0), atol=1e-4)
        assert len(seen) == found.nit
        assert seen == sorted(seen, reverse=True)

    @SECOND
    def test_derivatives_by_hand(self, solver):
        """SciPy's own: the function then need not be traceable."""

        def untraceable(x):
            return scipy.optimize.rosen(np.asarray(x))

        for more in (
            {"jac": scipy.optimize.rosen_der, "hess": scipy.optimize.rosen_hess},
            {"jac": scipy.optimize.rosen_der, "hessp": scipy.optimize.rosen_hess_prod},
        ):
            found = scipy.optimize.minimize(
                untraceable, np.array([0.5, 2.0]), method=solver, tol=1e-8, **more
            )
            assert found.success, found.message
            np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)

    @SECOND
    def test_a_gradient_by_hand_is_differentiated(self, solver):
        found = solver(
            lambda x: np.sum(np.cosh(x - 1.0)), np.zeros(2), jac=lambda x: np.sinh(x - 1.0)
        )
        np.testing.assert_allclose(found.x, 1.0)

    @SECOND
    def test_limits_are_refused(self, solver):
        with pytest.raises(ValueError, match="bounds must be None"):
            scipy.optimize.minimize(
                rosenbrock_value, np.zeros(2), method=solver, bounds=[(0, 1), (0, 1)]
            )
        with pytest.raises(ValueError, match="constraints must be empty"):
            scipy.optimize.minimize(
                rosenbrock_value,
                np.zeros(2),
                method=solver,
                constraints=[{"type": "eq", "fun": lambda x: x[0]}],
            )

    def test_lbfgs_refuses_constraints_and_hessians(self):
        with pytest.raises(ValueError, match="lbfgs: constraints must be empty"):
            lbfgs(rosenbrock_value, np.zeros(2), constraints=[{"type": "eq"}])
        with pytest.raises(ValueError, match="it uses gradients only"):
            lbfgs(rosenbrock_value, np.zeros(2), hess=lambda x: x)


class TestCounts:
    @ALL
    def test_evaluations(self, solver):
        runs = []

        def f(x):
            runs.append(1)
            return rosenbrock_value(x)

        found = solver(f, np.zeros(6))
        assert found.nfev == len(runs)
        assert found.nvjp == found.njev >= found.nit

    @SECOND
    def test_products(self, solver):
        products = []

        def hessp(x, v):
            products.append(1)
            return scipy.optimize.rosen_hess_prod(x, v)

        found = solver(rosenbrock_value, np.zeros(6), jac=scipy.optimize.rosen_der, hessp=hessp)
        assert found.success, found.message
        assert found.njvp == len(products)
        assert found.nvjp == 0
        automatic = solver(rosenbrock_value, np.zeros(6))
        assert automatic.nit == found.nit
        assert automatic.njvp == found.njvp


class TestSaddles:
    @SECOND
    @pytest.mark.parametrize(
        "f, start, minimum",
        [
            (lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2, [0.0, 0.0], [1.0, 0.0]),
            (lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2, [0.0, 1.0], [1.0, 0.0]),
            (lambda x: x[0] ** 2 - x[1] ** 2 + 0.5 * x[1] ** 4, [1.0, 0.0], [0.0, 1.0]),
        ],
        ids=["at", "towards", "along"],
    )
    def test_left(self, solver, f, start, minimum):
        found = solver(f, np.array(start))
        assert found.success, found.message
        np.testing.assert_allclose(np.abs(found.x), minimum, atol=1e-6)

    @SECOND
    def test_not_looked_for(self, solver):
        found = solver(lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2, np.zeros(2), check_minimum=False)
        assert found.success
        np.testing.assert_array_equal(found.x, 0.0)
        assert found.njvp == 0

    @SECOND
    def test_reported_where_it_cannot_be_left(self, solver):
        """Negative curvature beside values that are not finite."""

        def f(x):
            return np.where(np.sum(x * x) > 0, np.inf, 0.0) - np.sum(x * x)

        found = solver(f, np.zeros(2))
        assert found.status == Status.INDEFINITE
        assert "a saddle point" in found.message


class TestFailures:
    @SECOND
    def test_a_start_at_a_kink_without_a_second_derivative(self, solver):
        """A boat that is at rest at first, with a drag of v |v|."""

        def cost(thrust):
            v = x = 0.0
            for u in thrust:
                v = v + 0.2 * (u - 0.2 * v * abs(v))
                x = x + 0.2 * v
            return np.sum(thrust**2) / 100 + 100 * (x - 3) ** 2 + 100 * v**2

        with np.errstate(invalid="ignore"):
            assert np.isnan(linad.hessian(cost)(np.zeros(9))).any()
            found = solver(cost, np.zeros(9))
            near = solver(cost, np.full(9, 0.1))
        assert found.success
        np.testing.assert_allclose(found.x, near.x, rtol=1e-6)

    @ALL
    def test_nan_at_the_start(self, solver):
        found = solver(lambda x: np.sum(np.log(x)), -np.ones(2))
        assert found.status == Status.NOT_FINITE
        assert not found.success

    @SECOND
    def test_nan_on_the_way_is_stepped_back_from(self, solver):
        found = solver(lambda x: np.sum(x - np.log(x)), np.full(2, 3.0))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0)

    @SECOND
    @pytest.mark.parametrize(
        "f",
        [lambda x: np.sum(x), lambda x: -np.sum(x**2), lambda x: np.sum(x**3)],
        ids=["linear", "quadratic", "cubic"],
    )
    def test_unbounded(self, solver, f):
        found = solver(f, -np.ones(2))
        assert found.status == Status.UNBOUNDED, found.message

    @ALL
    def test_out_of_steps(self, solver):
        found = solver(rosenbrock_value, np.zeros(4), maxiter=2)
        assert found.status == Status.MAXITER
        assert found.nit == 2

    @SECOND
    def test_tolerance_out_of_reach(self, solver):
        found = solver(lambda x: 1e6 * rosenbrock_value(x) + 0.1, np.zeros(3), gtol=1e-30)
        assert found.status == Status.STAGNATED or found.fun == 0.1
        assert found.success is (found.status == Status.CONVERGED)

    @ALL
    def test_nothing_to_vary(self, solver):
        found = solver(lambda x: np.sum(x**2) + 3.0, np.zeros(0))
        assert found.success, found.message
        assert found.fun == 3.0
        assert found.x.shape == found.jac.shape == (0,)

    @ALL
    @pytest.mark.parametrize(
        "f, x0, error, words",
        [
            (3, np.ones(2), TypeError, "fun must be a function"),
            (
                lambda x: x,
                np.ones(2),
                linad.errors.OutputError,
                "<lambda> must return a real scalar, .* shape .2,.*levenberg_marquardt minimises",
            ),
            (
                lambda x: np.sum(x, keepdims=True),
                np.ones(2),
                linad.errors.OutputError,
                "^[a-z_]+: <lambda> must return a real scalar, .* return its one entry",
            ),
            (
                lambda x: 1j * np.sum(x),
                np.ones(2),
                linad.errors.OutputError,
                r"^[a-z_]+: <lambda> must return a real scalar, .* np.abs\(\) or np.real\(\) of it",
            ),
            (lambda x: None, np.ones(2), linad.errors.OutputError, "it returned None: return the"),
            (np.sum, np.ones(2) + 1j, linad.errors.DTypeError, "x0 is complex"),
            (np.sum, [], linad.errors.TreeError, "no array"),
        ],
    )
    def test_input_that_cannot_be_meant(self, solver, f, x0, error, words):
        with pytest.raises(error, match=words):
            solver(f, x0)

    @SECOND
    def test_derivatives_of_wrong_size(self, solver):
        with pytest.raises(linad.errors.ShapeError, match="jac returned 3 numbers"):
            solver(rosenbrock_value, np.ones(2), jac=lambda x: np.ones(3))
        with pytest.raises(linad.errors.ShapeError, match="the Hessian must have shape"):
            solver(rosenbrock_value, np.ones(2), hess=lambda x: np.eye(3))

    def test_trust_radius(self):
        with pytest.raises(ValueError, match="initial_trust_radius"):
            trust_region(rosenbrock_value, np.ones(2), initial_trust_radius=0.0)


class TestUnitsOfUnknowns:
    """What unknowns are measured in decides on nothing."""

    @SECOND
    @pytest.mark.parametrize("power", [0, 4, 6, 10])
    def test_minimum_in_any(self, solver, power):
        x = np.linspace(0.0, 5.0, 200)
        counts = np.round(500 * np.exp(-x / 1.2) + 30 + 5 * np.sin(9 * x))
        units = np.array([10.0**power, 10.0**-power, 1.0])

        def cost(p):
            height, time, floor = p / units
            rate = height * np.exp(-x / time) + floor
            return np.sum(rate - counts * np.log(rate))

        def gradient(q):
            return linad.grad(cost)(q * units) * units

        found = solver(cost, np.array([300.0, 2.0, 50.0]) * units)
        assert found.success, found.message
        q = found.x / units
        H = linad.jacobian(gradient)(q)
        steps = np.linalg.solve(H, gradient(q)) / np.sqrt(np.diag(np.linalg.inv(H)))
        assert np.abs(steps).max() < 1e-2  # of standard errors

    @SECOND
    def test_a_gradient_that_was_asked_for_counts_alone(self, solver):
        scale = np.array([1.0, 1e-6])
        found = solver(lambda x: np.sum((x * scale - 1.0) ** 2), np.zeros(2), gtol=1e-3)
        assert found.success
        assert found.x[1] < 1e5

    @SECOND
    @pytest.mark.parametrize("n, span", [(40, 9), (120, 6)])
    def test_many_unknowns(self, solver, n, span):
        """Conjugate gradients alone take 600 steps there, and come nowhere."""

        def cost(z):
            return np.sum(np.cosh(z - 2.0)) + 0.1 * np.sum((z[1:] - z[:-1]) ** 2)

        units = 10.0 ** np.random.default_rng(0).uniform(-span / 2, span / 2, n)
        found = solver(lambda x: cost(x / units), 0.5 * units)
        assert found.success, found.message
        np.testing.assert_allclose(found.x / units, 2.0, rtol=1e-8)
        assert found.nit < 30
        assert found.njvp < 30 * n

    @SECOND
    def test_many_unknowns_and_a_gradient_that_was_asked_for(self, solver):
        units = 10.0 ** np.linspace(-3, 3, 40)

        def f(x):
            return np.sum(np.cosh(x / units - 2.0)) + 0.1 * np.sum(np.diff(x / units) ** 2)

        loose = solver(f, 0.5 * units, gtol=1e-1)
        assert loose.success
        assert np.abs(linad.grad(f)(loose.x)).max() > 1e-9
        tight = solver(f, 0.5 * units, gtol=1e-9)
        assert tight.success
        assert np.abs(linad.grad(f)(tight.x)).max() <= 1e-9


@pytest.mark.parametrize("method", [trust_region, newton_cg])
@pytest.mark.parametrize("seed", [20, 21, 30, 35])
def test_no_search_goes_round_at_a_minimum(method, seed):
    """The value's program and the Hessian's give gradients that differ in rounding."""
    t = np.linspace(0.3, 9.0, 40)
    y = 2 + 3 * np.cos(2 * t - 1) + np.random.default_rng(seed).normal(size=40)

    @linad.jit
    def cost(p):
        r = y - p[0] - p[1] * np.cos(2 * t - p[2])
        v = p[3] ** 2 * (1 - np.exp(-2 / p[4]))
        e = r[1:] - np.exp(-1 / p[4]) * r[:-1]
        first = 0.5 * (r[0] / p[3]) ** 2 + np.log(p[3]) + 0.5 * (np.log(p[4]) - 0.5) ** 2
        return first + 0.5 * np.sum(e**2) / v + 19.5 * np.log(v)

    found = method(cost, np.array([1.5, 2.5, 0.8, 1.2, 1.0]))
    again = method(cost, found.x * (1 + 1e-7))
    assert found.success
    assert again.success
    assert again.nit < 20


@pytest.mark.parametrize("gtol", [None, 1e-2])
def test_a_region_that_was_stuck_is_as_wide_as_the_steps_that_led_on(gtol):
    """A kink in one of unknowns of unlike sizes makes it narrow; Newton's steps lead away."""
    t = 0.05 * np.arange(400)
    peak = np.exp(-0.5 * ((t - 1.0) / 0.1) ** 2)
    peak /= peak.sum()

    def expected(p):
        decays = p[0] * np.exp(-t / p[1]) + p[2] * np.exp(-t / p[3])
        return np.convolve(np.interp(t - p[5], t, peak), decays)[:400] + p[4]

    counts = np.random.default_rng(8).poisson(expected([400.0, 0.8, 150.0, 3.5, 3.0, 0.02]))

    def cost(p):
        return np.sum(expected(p)) - np.sum(counts * np.log(expected(p)))

    start = np.array([300.0, 0.5, 100.0, 5.0, 1.0, 0.013])
    found = trust_region(cost, start, gtol=gtol)
    assert found.success, found.message
    assert found.nit < 60
