"""Solutions that are differentiated through: first and second order against closed forms, in
every mode and container, and nothing dropped in silence."""

import contextlib
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.optimize

import linad
from linad import solve
from linad.errors import ConvergenceError, ShapeError

d, g = linad.derivative, linad.grad
A = np.array([2.0, 3.0, 5.0])
WAYS = ["dense", "sparse", "krylov", "auto"]


def square_root(a):
    return solve.root(lambda x, a: x**2 - a, 1.0, a)


def cube_roots(a, **options):
    return solve.root(lambda x, a: x**3 - a, np.ones(3), a, **options)


class TestRoot:
    @pytest.mark.parametrize("first", [d, g])
    @pytest.mark.parametrize("second", [d, g])
    @pytest.mark.parametrize("third", [d, g])
    def test_orders_and_modes(self, first, second, third):
        a = 4.0
        assert square_root(a) == 2.0
        np.testing.assert_allclose(first(square_root)(a), 0.25)
        np.testing.assert_allclose(second(first(square_root))(a), -(a**-1.5) / 4)
        np.testing.assert_allclose(third(second(first(square_root)))(a), 3 / 8 * a**-2.5)

    @pytest.mark.parametrize("way", WAYS)
    def test_jacobian_and_its_derivative(self, way):
        def root(a):
            return cube_roots(a, linear_solver=way)

        exact = np.diag(A ** (-2 / 3) / 3)
        np.testing.assert_allclose(linad.jacobian(root)(A), exact, rtol=1e-9, atol=1e-12)
        second = linad.jacobian(linad.jacobian(root))(A)
        expected = np.zeros((3, 3, 3))
        expected[range(3), range(3), range(3)] = -2 / 9 * A ** (-5 / 3)
        np.testing.assert_allclose(second, expected, rtol=1e-8, atol=1e-12)

    def test_against_the_traced_solve(self):
        """A linear equation, whose derivatives NumPy's own solve has."""
        M = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, 0.1], [0.3, 0.4, 1.0]])

        def implicit(M, b):
            return np.sum(np.sin(solve.root(lambda x, M, b: M @ x - b, np.zeros(3), M, b)))

        def explicit(M, b):
            return np.sum(np.sin(np.linalg.solve(M, b)))

        for i in (0, 1):
            np.testing.assert_allclose(
                linad.grad(implicit, i)(M, A), linad.grad(explicit, i)(M, A), rtol=1e-10
            )
            np.testing.assert_allclose(
                linad.hessian(implicit, i)(M, A), linad.hessian(explicit, i)(M, A), rtol=1e-8
            )
        linad.check_derivatives(implicit, M, A)

    def test_both_directions_agree_on_many_seeds(self):
        def f(x, th):
            return th["k"] @ x + np.tanh(x) - th["b"]

        th = {"k": np.eye(3) * 2 + 0.1, "b": A}
        linad.check_derivatives(lambda th: solve.root(f, np.zeros(3), th), th)
        gradient = linad.grad(lambda th: np.sum(solve.root(f, np.zeros(3), th) ** 3))
        linad.check_derivatives(gradient, th)

    def test_containers(self):
        @dataclasses.dataclass
        class Parameters:
            a: object
            b: object

        def f(x, th, power):
            return {"p": x["p"] ** power - th.a, "q": x["q"] * np.sum(x["p"]) - th.b[0]}

        def root(th):
            return solve.root(f, {"p": np.ones(2), "q": 1.0}, th, 3)  # 3 is no parameter

        J = linad.jacobian(root)(Parameters(np.array([8.0, 27.0]), [10.0]))
        np.testing.assert_allclose(J["p"].a, np.diag([1 / 12, 1 / 27]), atol=1e-14)
        np.testing.assert_allclose(J["q"].b[0], 1 / 5)
        np.testing.assert_allclose(J["q"].a, [-10 / 25 / 12, -10 / 25 / 27])

    def test_no_unrolling(self):
        """The derivative keeps nothing of the solver's steps: same steps on the tape from
        a start that is near as from one that is far."""
        near, far = (
            linad.linearize(lambda a, s=s: solve.root(lambda x, a: x**3 - a, s, a), 8.0)[1]
            for s in (2.0, 1000.0)
        )
        assert len(near.steps) == len(far.steps)
        np.testing.assert_allclose(near.todense(), 1 / 12)
        np.testing.assert_allclose(far.todense(), 1 / 12)

    def test_one_factorisation_for_many_sweeps(self, monkeypatch):
        made = []
        original = solve.implicit.system
        monkeypatch.setattr(
            solve.implicit, "system", lambda *args: made.append(1) or original(*args)
        )
        _, J = linad.linearize(cube_roots, A)
        for _ in range(3):
            J @ A
            J.T @ A
        J.todense()
        assert made == [1]

    def test_the_start_does_not_matter(self):
        root = solve.root
        assert g(lambda x0: root(lambda x: x**2 - 4.0, x0))(1.0) == 0.0
        assert d(lambda x0: root(lambda x: x**2 - 4.0, x0))(1.0) == 0.0

    def test_other_solvers(self):
        for solver in (solve.newton_krylov, scipy.optimize.root):
            found = linad.jacobian(lambda a, s=solver: cube_roots(a, solver=s))(A)
            np.testing.assert_allclose(found, np.diag(A ** (-2 / 3) / 3), rtol=1e-7, atol=1e-12)

    def test_single_precision(self):
        single = A.astype(np.float32)
        found = linad.jacobian(cube_roots_single)(single)
        assert found.dtype == cube_roots_single(single).dtype == np.float32
        np.testing.assert_allclose(found, np.diag(A ** (-2 / 3) / 3), rtol=1e-5, atol=1e-7)

    def test_double_parameters_widen_a_single_start(self):
        x = solve.root(lambda x, a: x**2 - a, np.ones(1, np.float32), np.array([2.0]))
        assert x.dtype == np.float64
        np.testing.assert_allclose(x, np.sqrt(2.0), rtol=1e-14)

    @pytest.mark.parametrize("a", [-4.0 + 0.0j, 3.0 + 4.0j])
    def test_complex(self, a):
        def root(a):
            return solve.root(lambda z, a: z**2 - a, 1.0 + 1.0j, a)

        z = root(a)
        np.testing.assert_allclose(z**2, a)
        np.testing.assert_allclose(linad.jacobian(root)(a), 1 / (2 * z))
        second = linad.jacobian(linad.jacobian(root))(a)
        np.testing.assert_allclose(second, -1 / (4 * z**3))

    def test_complex_root_of_a_real_parameter(self):
        def size(a):
            return np.imag(solve.root(lambda z, a: z**2 + a, 1.0 + 1.0j, a))

        np.testing.assert_allclose([size(4.0), g(size)(4.0), g(g(size))(4.0)], [2, 0.25, -0.03125])

    def test_recorded(self):
        _, tape = linad.trace(square_root, np.float64(4.0))
        assert "solution" in [eqn.primitive.name for eqn in tape.equations]
        np.testing.assert_allclose(tape(np.float64(9.0)), 3.0)
        np.testing.assert_allclose(g(tape)(np.float64(9.0)), 1 / 6)

    def test_a_root_within_a_root(self):
        """y(a): y² = a; x(a): x³ = y(a), so x = a^(1/6)."""

        def inner(x, a):
            return x**3 - solve.root(lambda y, a: y**2 - a, 1.0, a)

        def outer(a):
            return solve.root(inner, 1.0, a)

        a = 3.0
        np.testing.assert_allclose(outer(a), a ** (1 / 6))
        np.testing.assert_allclose(g(outer)(a), a ** (-5 / 6) / 6)
        np.testing.assert_allclose(g(g(outer))(a), -5 / 36 * a ** (-11 / 6))

    def test_its_primitives_can_be_pickled(self):
        for primitive in (solve.implicit.solution, solve.implicit.apply_inverse):
            assert pickle.loads(pickle.dumps(primitive)) is primitive


def cube_roots_single(a):
    return solve.root(lambda x, a: x**3 - a, np.ones(3, np.float32), a)


def curve(x, a):
    return np.stack([x**2 - a, x - 1.0])


def written(x, a):
    r = np.zeros_like(x)
    r[0] = x[0] ** 2 - a
    r[1:] = np.diff(x) + a * x[:-1]
    return r


SOLUTIONS = {
    "written": lambda a: np.sum(solve.root(written, np.ones(3), a) ** 2),
    "root": lambda a: solve.root(lambda x, a: x**3 + x - a, 1.0, a),
    "fixed point": lambda a: solve.fixed_point(lambda x, a: np.cos(x) * a / 4, 1.0, a),
    "minimum": lambda a: solve.minimum(lambda x, a: np.exp(x) - a * x + x**2, 0.0, a),
    "least squares": lambda a: solve.least_squares(curve, 1.0, a, xtol=1e-14, ftol=0.0),
    "linear": lambda a: np.sum(
        solve.linear(lambda x, a: (2 + a) * x - 0.5 * a * np.roll(x, 1), np.ones(4), a) ** 2
    ),
}


@pytest.mark.parametrize("name", SOLUTIONS)
class TestEach:
    a = 1.7

    def test_every_mode_and_order(self, name):
        f, a, h = SOLUTIONS[name], self.a, 1e-4
        slope = (f(a + h) - f(a - h)) / (2 * h)
        bend = (f(a + h) - 2 * f(a) + f(a - h)) / h**2
        for first in (d, g):
            np.testing.assert_allclose(first(f)(a), slope, rtol=1e-6)
            for second in (d, g):
                np.testing.assert_allclose(second(first(f))(a), bend, rtol=1e-4)

    @pytest.mark.usefixtures("kernels")
    def test_compiled(self, name):
        f = SOLUTIONS[name]
        value, slope = linad.jit(f), linad.jit(g(f))
        for a in (self.a, self.a, 2.0):
            np.testing.assert_allclose(value(a), f(a), rtol=1e-12)
            np.testing.assert_allclose(slope(a), g(f)(a), rtol=1e-9)
        np.testing.assert_allclose(g(linad.jit(f))(self.a), g(f)(self.a), rtol=1e-9)


def test_a_compiled_function_is_seen_through():
    n = 500
    f = linad.jit(lambda x, a: a * x + x**3 - np.pad(x[1:], (0, 1)) - 1.0)
    with linad.config(densify_limit=10 * n):
        slope = g(lambda a: np.sum(solve.root(f, np.zeros(n), a)))(3.0)
    h = 1e-5
    above, below = (np.sum(solve.root(f, np.zeros(n), 3.0 + s)) for s in (h, -h))
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=1e-7)


def test_arrays_made_by_linad_numpy_are_plain_while_the_solver_runs():
    """They belonged to the derivative around it, and the solver took that for a captured value."""

    def energy(x, a):
        y = linad.numpy.zeros(3)
        y[0], y[1:] = x[0], x[0] * a
        return np.sum((y - 1.0) ** 2) + np.sum(np.exp(x) - x)

    def plain(x, a):
        return (x[0] - 1) ** 2 + 2 * (x[0] * a - 1) ** 2 + np.sum(np.exp(x) - x)

    slopes = [
        linad.grad(lambda a, f=f: solve.minimum(f, np.ones(2), a)[0])(3.0) for f in (energy, plain)
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-12)


class TestOthers:
    def test_minimum(self):
        """Of e^x - a x at log a."""

        def minimum(a, **options):
            return solve.minimum(lambda x, a: np.sum(np.exp(x) - a * x), np.zeros(3), a, **options)

        for solver in (solve.trust_region, solve.newton_cg):
            np.testing.assert_allclose(minimum(A, solver=solver), np.log(A), rtol=1e-10)
        np.testing.assert_allclose(linad.jacobian(minimum)(A), np.diag(1 / A), atol=1e-10)
        found = linad.hessian(lambda a: np.sum(minimum(a) ** 2))(A)
        np.testing.assert_allclose(found, np.diag((2 - 2 * np.log(A)) / A**2), atol=1e-9)

    def test_minimum_by_lbfgs(self):
        found = solve.minimum(
            lambda x, a: np.sum((x - a) ** 4 + (x - a) ** 2),
            np.zeros(3),
            A,
            solver=solve.lbfgs,
            gtol=1e-9,
            ftol=1e-16,
        )
        np.testing.assert_allclose(found, A, rtol=1e-6)

    def test_the_value_at_a_minimum(self):
        """The envelope theorem: only the explicit part of the derivative is left."""

        def f(x, a):
            return np.sum((x**2 - a) ** 2) + np.sum(x)

        def value(a):
            return f(solve.minimum(f, np.ones(3), a), a)

        x = solve.minimum(f, np.ones(3), A)
        np.testing.assert_allclose(linad.grad(value)(A), -2 * (x**2 - A), atol=1e-8)

    def test_least_squares(self):
        """The line through points, whose dependence on them is the pseudo-inverse."""
        t = np.linspace(-1.0, 2.0, 7)
        design = np.stack([np.ones(7), t], axis=1)

        def fit(y):
            return solve.least_squares(lambda c, y: c[0] + c[1] * t - y, np.zeros(2), y)

        y = np.cos(3 * t)
        np.testing.assert_allclose(fit(y), np.linalg.lstsq(design, y)[0], atol=1e-12)
        np.testing.assert_allclose(linad.jacobian(fit)(y), np.linalg.pinv(design), atol=1e-10)

    def test_least_squares_that_do_not_fit(self):
        """min (x² - a)² + (x - b)²: 2 x (x² - a) + x - b = 0 gives x and its derivatives."""

        def fit(a, b):
            return solve.least_squares(
                lambda x, a, b: np.stack([x**2 - a, x - b]), 1.0, a, b, ftol=0.0, xtol=1e-14
            )

        a, b = 2.0, 0.5
        x = fit(a, b)
        np.testing.assert_allclose(2 * x * (x**2 - a) + x - b, 0.0, atol=1e-12)
        slope = 6 * x**2 - 2 * a + 1
        xa, xb = 2 * x / slope, 1 / slope
        np.testing.assert_allclose(linad.grad(fit, 0)(a, b), xa, rtol=1e-9)
        np.testing.assert_allclose(linad.grad(fit, 1)(a, b), xb, rtol=1e-9)
        xaa = (2 * xa * slope - 2 * x * (12 * x * xa - 2)) / slope**2
        xab = -xb * (12 * x * xa - 2) / slope
        found = linad.hessian(fit, (0, 1))(a, b)
        np.testing.assert_allclose([found[0][0], found[0][1]], [xaa, xab], rtol=1e-8)

    def test_fixed_point(self):
        """Kepler's equation E = M + e sin E, whose derivatives are known."""

        def anomaly(M, e):
            return solve.fixed_point(lambda E, M, e: M + e * np.sin(E), 1.0, M, e)

        M, e = 0.7, 0.3
        E = anomaly(M, e)
        slope = 1 - e * np.cos(E)
        np.testing.assert_allclose(E, M + e * np.sin(E))
        np.testing.assert_allclose(linad.grad(anomaly, 0)(M, e), 1 / slope)
        np.testing.assert_allclose(linad.grad(anomaly, 1)(M, e), np.sin(E) / slope)
        np.testing.assert_allclose(linad.grad(linad.grad(anomaly))(M, e), -e * np.sin(E) / slope**3)

    def test_fixed_point_of_a_container(self):
        x = solve.fixed_point(lambda x, a: {"u": 0.5 * x["u"] + a}, {"u": np.zeros(2)}, 1.0)
        np.testing.assert_allclose(x["u"], 2.0)
        with pytest.raises(linad.errors.TreeError, match="fixed_point"):
            solve.fixed_point(lambda x: (x, x), np.zeros(2))

    @pytest.mark.parametrize("way", WAYS)
    def test_linear(self, way):
        k = np.array([1.0, 2.0, 0.5, 3.0])
        b = np.array([1.0, -1.0, 2.0])

        def stiffness(u, k):
            return -np.diff(k * np.diff(u, prepend=0.0, append=0.0))

        def implicit(k, b):
            return np.sum(solve.linear(stiffness, b, k, linear_solver=way) ** 2)

        def explicit(k, b):
            matrix = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
            return np.sum(np.linalg.solve(matrix, b) ** 2)

        np.testing.assert_allclose(implicit(k, b), explicit(k, b))
        for i in (0, 1):
            exact = linad.grad(explicit, i)(k, b)
            np.testing.assert_allclose(linad.grad(implicit, i)(k, b), exact, rtol=1e-8)
            exact = linad.hessian(explicit, i)(k, b)
            np.testing.assert_allclose(linad.hessian(implicit, i)(k, b), exact, rtol=1e-7)


def recorded(f):
    return lambda a: linad.trace(f, a)


CAPTURING = {
    "root": lambda a: solve.root(lambda x: x**2 - a, 1.0),
    "root with a constant": lambda a: solve.root(lambda x, b: x**2 - a * b, 1.0, 2.0),
    "root with a parameter": lambda a: solve.root(lambda x, b: x**2 - a * b, 1.0, a),
    "minimum": lambda a: solve.minimum(lambda x: (x - a) ** 2, 1.0),
    "least squares": lambda a: solve.least_squares(lambda x: np.stack([x - a, x]), 1.0),
    "fixed point": lambda a: solve.fixed_point(lambda x: 0.5 * x + a, 1.0),
    "linear": lambda a: solve.linear(lambda x: a * x, 1.0),
}


EXPLICIT = {
    "root": lambda a: solve.root(lambda x, a: x**2 - a, 1.0, a),
    "root with a constant": lambda a: solve.root(lambda x, a: x**2 - a * 2.0, 1.0, a),
    "root with a parameter": lambda a: solve.root(lambda x, a: x**2 - a * a, 1.0, a),
    "minimum": lambda a: solve.minimum(lambda x, a: (x - a) ** 2, 1.0, a),
    "least squares": lambda a: solve.least_squares(lambda x, a: np.stack([x - a, x]), 1.0, a),
    "fixed point": lambda a: solve.fixed_point(lambda x, a: 0.5 * x + a, 1.0, a),
    "linear": lambda a: solve.linear(lambda x, a: a * x, 1.0, a),
    "two paths": lambda a: solve.root(lambda x, a: x**2 - a, 1.0, a),
}
CAPTURING["two paths"] = lambda a: solve.root(
    lambda x: x**2 - a if x > 1.1 else 2 * (x * x - a), 1.0
)


@pytest.mark.usefixtures("kernels")
class TestCaptured:
    """Traced values that come in by closure, alone and beside arguments."""

    @pytest.mark.parametrize("name", list(CAPTURING))
    def test_as_by_arguments(self, name):
        f, wanted = CAPTURING[name], EXPLICIT[name]
        a = np.float64(2.0)
        np.testing.assert_allclose(f(a), wanted(a))
        np.testing.assert_allclose(d(f)(a), d(wanted)(a))
        np.testing.assert_allclose(g(f)(a), g(wanted)(a))
        np.testing.assert_allclose(d(g(f))(a), d(g(wanted))(a), atol=1e-12)
        compiled = linad.jit(linad.grad(f))
        for b in (2.0, 2.0, 3.0, 2.5):
            np.testing.assert_allclose(compiled(b), g(wanted)(np.float64(b)))

    def test_arrays_and_other_functions_around(self):
        w = np.arange(100.0)

        def f(a):
            b = np.sin(a)

            def residual(x, c):
                return x**3 - b[0] * c["t"] - b[1] * w.mean() * x

            return solve.root(residual, np.full(2, 9.0), {"t": np.ones(2)})

        def explicit(a):
            return solve.root(
                lambda x, b: x**3 - b[0] - b[1] * w.mean() * x, np.full(2, 9.0), np.sin(a)
            )

        a = np.array([0.5, 1.0])
        np.testing.assert_allclose(linad.jacobian(f)(a), linad.jacobian(explicit)(a))

    def test_in_a_loop(self):
        """Of a body that is recorded once."""

        def f(a):
            def step(x, _):
                return solve.root(lambda z: z**2 - x - a, 1.0), None

            return linad.scan(step, a, length=3)[0]

        def explicit(x, a):
            return np.sqrt(x + a)

        unrolled = linad.grad(lambda a: explicit(explicit(explicit(a, a), a), a))
        np.testing.assert_allclose(linad.grad(f)(2.0), unrolled(2.0))


class TestRefusals:
    def test_no_solution(self):
        with pytest.raises(ConvergenceError, match="root: newton: ") as caught:
            solve.root(lambda x, a: x**2 + a, 1.0, 1.0)
        assert caught.value.result.status != 0
        with pytest.raises(ConvergenceError, match="minimum: trust_region: unbounded:"):
            solve.minimum(lambda x, a: a * np.sum(x), np.zeros(2), 1.0)
        with pytest.raises(ConvergenceError, match="linear: the Jacobian is singular"):
            solve.linear(lambda x: x[::-1] * 0.0, np.ones(2))
        with pytest.raises(ConvergenceError, match="A is not linear in x"):
            solve.linear(lambda x: x**2 + x, np.ones(2))

    def test_singular_at_the_solution(self):
        """x² = a at a = 0 has a root, and no derivative."""
        y, J = linad.linearize(lambda a: solve.root(lambda x, a: x**2 - a, 0.0, a), 0.0)
        assert y == 0.0
        with pytest.raises(np.linalg.LinAlgError, match="root: the solution has no derivative"):
            J @ np.ones(1)

    def test_sizes(self):
        with pytest.raises(ShapeError, match="2 numbers for 2 unknowns, it returned 3"):
            solve.root(lambda x, a: np.ones(3) * a + x[0], np.zeros(2), 1.0)

    def test_a_solver_that_is_none(self):
        with pytest.raises(linad.errors.OutputError, match="an OptimizeResult"):
            solve.root(lambda x: x - 1.0, 0.0, solver=scipy.optimize.fsolve)
        with pytest.raises(ShapeError, match="the solver returned 2 numbers for 1 unknowns"):
            solve.root(
                lambda x: x - 1.0,
                0.0,
                solver=lambda f, x0: scipy.optimize.OptimizeResult(x=np.ones(2), success=True),
            )

    def test_input_that_cannot_be_meant(self):
        with pytest.raises(linad.errors.TreeError, match="root: x0 holds no array"):
            solve.root(lambda x: x, ())
        with pytest.raises(linad.errors.DTypeError, match="must hold numbers"):
            solve.root(lambda x: x, "text")
        with pytest.raises(linad.errors.DTypeError, match="least_squares: x0 is complex"):
            solve.least_squares(lambda x: x, 1j)
        with pytest.raises(ValueError, match="root: linear_solver must be .*, got 'qr'"):
            solve.root(lambda x: x, 1.0, linear_solver="qr")


def test_names_of_scipy_say_where_to_look():
    with pytest.raises(
        AttributeError, match=r"no attribute 'minimize'; linad.solve.newton_cg, trust_region"
    ):
        linad.solve.minimize  # noqa: B018  # the error is asked for
    with pytest.raises(
        AttributeError, match="'linad' has no attribute 'fit'; did you mean linad.solve.fit"
    ):
        linad.fit  # noqa: B018
    with pytest.raises(AttributeError, match="'linad.solve' has no attribute 'nothing'$"):
        linad.solve.nothing  # noqa: B018


def test_a_solution_within_adopted_code():
    def solved(a):
        return np.sum(linad.solve.root(lambda t: t**3 + t - a, np.ones(2)))

    a = np.array([0.4, 0.9])
    expected = linad.grad(solved)(a)
    with linad.adopt(solved):
        np.testing.assert_allclose(linad.grad(solved)(a), expected)


NESTED = {
    "eager": lambda f: g(g(f)),
    "of a program": lambda f: g(g(linad.jit(f))),
    "between": lambda f: g(linad.jit(g(f))),
    "in a program": lambda f: linad.jit(g(g(f))),
}


@pytest.mark.parametrize("ways", NESTED)
def test_second_derivatives_near_a_root_that_is_not_simple(ways, kernels):
    """2, to the digits that are there; so close to the root that none are, an error or NaN."""

    def f(a, start):
        return solve.root(lambda t, a: (t - a**2) ** 2 * np.exp(t * a), start, a)

    second = NESTED[ways](f)
    np.testing.assert_allclose(second(1.3, 2.5), 2, rtol=1e-6)
    np.testing.assert_allclose(second(1.3, 1.3**2 + 1e-9), 2, rtol=1e-5)
    for aside in (1e-12, -1e-13, 1e-14):
        if ways == "eager":
            with pytest.raises(ConvergenceError, match="rounding is all of the derivative"):
                second(1.3, 1.3**2 + aside)
        else:
            with contextlib.suppress(ConvergenceError):
                assert np.isnan(second(1.3, 1.3**2 + aside))


def test_messages_name_the_function_that_was_given():
    def told(p):
        return "a text"

    with pytest.raises(linad.errors.OutputError, match="^told returned a str"):
        linad.solve.least_squares(told, 1.0)
