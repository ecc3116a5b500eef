"""Newton's method and Newton-Krylov: known roots, true counts, and every way to fail."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg as sla
from solve.problems import (
    bratu,
    broyden_tridiagonal,
    freudenstein_roth,
    powell_badly_scaled,
    powell_singular,
    rosenbrock,
)

import linad
from linad.errors import OperandError, OptionError
from linad.solve import Status, newton, newton_krylov

BOTH = pytest.mark.parametrize("solver", [newton, newton_krylov])
WAYS = ["dense", "sparse", "krylov", "auto"]


class TestAnswers:
    @BOTH
    @pytest.mark.parametrize(
        "f, start, root",
        [
            (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
            (freudenstein_roth, [6.0, 5.0], [5.0, 4.0]),
            (lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1.0]), [2.0, 0.5], None),
        ],
    )
    def test_small(self, solver, f, start, root):
        found = solver(f, np.array(start))
        assert found.success, found.message
        expected = scipy.optimize.root(f, start, tol=1e-13).x if root is None else root
        np.testing.assert_allclose(found.x, expected, rtol=1e-12)
        np.testing.assert_array_equal(found.fun, f(found.x))
        np.testing.assert_allclose(found.jac.todense(), linad.jacobian(f)(found.x))

    def test_badly_scaled(self):
        found = newton(powell_badly_scaled, np.array([0.0, 1.0]), maxiter=200)
        assert found.success, found.message
        np.testing.assert_allclose(found.x, [1.098159329699759e-5, 9.106146739866667], rtol=1e-9)

    def test_singular_at_the_root(self):
        """Converges by halves, to a residual of zero as far as anything can tell."""
        found = newton(powell_singular, np.array([3.0, -1.0, 0.0, 1.0]), maxiter=100)
        assert found.success, found.message
        assert np.abs(found.fun).max() < 1e-20
        np.testing.assert_allclose(found.x, 0.0, atol=1e-9)

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("n", [8, 300])
    def test_broyden(self, way, n):
        found = newton(broyden_tridiagonal, -np.ones(n), linear_solver=way)
        assert found.success, found.message
        assert found.nit < 8
        expected = scipy.optimize.root(broyden_tridiagonal, -np.ones(n), tol=1e-13).x
        np.testing.assert_allclose(found.x, expected, rtol=1e-10)

    @pytest.mark.parametrize("n", [300, 20_000])
    def test_structure_is_used_where_the_pattern_is_dense(self, n):
        """x_i² + the mean of x = a_i: a diagonal and rank one, by Woodbury's formula."""
        truth = np.linspace(1.0, 2.0, n)

        def f(x):
            return x**2 + np.mean(x) - (truth**2 + 1.5)

        with linad.config(densify_limit=10 * n):
            found = newton(f, np.ones(n))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, truth, rtol=1e-12)
        assert found.njvp < 5  # neither columns of a dense matrix nor a Krylov iteration

    @pytest.mark.parametrize("factor", [1.0, 3000.0**2])
    def test_ends_where_rounding_is_all_that_is_left(self, factor):
        """Bratu's equation on a fine grid: units in the last place of u move F that much."""

        def f(u):
            v = np.pad(u, 1)
            return factor * (v[:-2] - 2.0 * u + v[2:] + np.exp(u) / (len(u) + 1) ** 2)

        found = newton(f, np.zeros(3000))
        assert found.success, found.message
        assert "to rounding" in found.message
        assert abs(found.x.max() - 0.140539) < 1e-6

    def test_a_given_matrix_is_taken_as_it_is(self):
        """A x + x³ = b: A + diag(3 x²) is made of the array, not of products with its columns."""
        n = 300
        A = np.random.default_rng(0).standard_normal((n, n)) / 20 + 3 * np.eye(n)
        b = A @ np.linspace(0, 1, n) + np.linspace(0, 1, n) ** 3
        found = newton(lambda x: A @ x + x**3 - b, np.zeros(n))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, np.linspace(0, 1, n), atol=1e-12)
        assert found.njvp <= 1  # at the end, for the rows beside the unknown that is 0
        dense = newton(lambda x: A @ x + x**3 - b, np.zeros(n), linear_solver="dense")
        assert dense.njvp == n * dense.nit + found.njvp

    def test_a_compiled_function_is_seen_through(self):
        """Its Jacobian counts as dense; that of the function it was made of is not."""
        found = newton(linad.jit(broyden_tridiagonal), -np.ones(2500))
        assert found.success, found.message
        assert found.njvp < 100
        krylov = newton_krylov(
            linad.jit(broyden_tridiagonal), -np.ones(2500), preconditioner="diagonal"
        )
        assert krylov.success, krylov.message
        np.testing.assert_allclose(krylov.x, found.x, atol=1e-10)

    def test_a_dense_pattern_without_structure_is_iterated(self):
        n = 2500
        found = newton(lambda x: x + 0.1 * np.sin(np.cumsum(x) / n) - 1.0, np.zeros(n))
        assert found.success, found.message
        assert 0 < found.njvp < 200

    def test_bratu_against_its_closed_form(self):
        n, lam = 255, 1.0
        found = newton_krylov(bratu, np.zeros(n), (lam,), preconditioner="ilu", ftol=1e-15)
        assert found.success, found.message
        c = scipy.optimize.brentq(lambda c: c - np.sqrt(2.0 * lam) * np.cosh(c / 4), 0.0, 3.0)
        x = np.linspace(0, 1, n + 2)[1:-1]
        exact = -2.0 * np.log(np.cosh((x - 0.5) * c / 2) / np.cosh(c / 4))
        np.testing.assert_allclose(found.x, exact, atol=2e-6)

    @BOTH
    def test_containers_and_shapes(self, solver):
        def f(x, scale):
            return {"sum": x["u"] + x["v"] - 3.0, "product": scale * x["u"] * x["v"] - 2.0 * scale}

        start = {"u": np.full((2, 2), 0.5), "v": np.full((2, 2), 3.0)}
        found = solver(f, start, (5.0,))
        assert found.success, found.message
        np.testing.assert_allclose(found.x["u"], 1.0)
        np.testing.assert_allclose(found.x["v"], 2.0)
        assert found.fun["sum"].shape == (2, 2)

    @BOTH
    def test_lists_of_numbers(self, solver):
        found = solver(lambda x: [x[0] ** 2 + x[1] - 3, x[0] - x[1]], [1, 1])
        assert found.success, found.message
        assert [type(v) for v in [*found.x, *found.fun]] == [np.float64] * 4
        np.testing.assert_allclose(found.x, (np.sqrt(13) - 1) / 2)

    def test_scalars_and_integers(self):
        found = newton(lambda x: x**2 - 2.0, 1)
        assert found.x == pytest.approx(np.sqrt(2.0), abs=1e-15)
        assert np.shape(found.x) == ()
        assert newton(lambda x, a: x - a, 0.0, args=3.0).x == 3.0

    def test_the_start_is_a_root(self):
        found = newton(lambda x: x - 1.0, np.ones(2))
        assert found.success
        assert found.nit == 0
        assert found.nfev == 1

    @BOTH
    def test_single_precision(self, solver):
        found = solver(broyden_tridiagonal, -np.ones(12, np.float32))
        assert found.success, found.message
        assert found.x.dtype == found.fun.dtype == np.float32
        exact = newton(broyden_tridiagonal, -np.ones(12)).x
        np.testing.assert_allclose(found.x, exact, rtol=1e-6)

    @BOTH
    def test_complex(self, solver):
        found = solver(lambda z: z**3 - 1.0, np.array([-1.0 + 1.0j, -1.0 - 1.0j, 2.0 + 0.1j]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, np.exp(2j * np.pi / 3 * np.array([1, -1, 0])))

    @pytest.mark.parametrize("way", WAYS)
    def test_complex_system(self, way):
        def f(z):
            return z * z + 0.3 * np.roll(z, 1) + 1j

        found = newton(f, np.exp(1j * np.arange(5.0)), linear_solver=way)
        assert found.success, found.message
        assert np.abs(f(found.x)).max() < 1e-12


class TestPreconditioners:
    def stiff(self, u):
        d = np.logspace(0, 3, 60)
        return d * u + np.sin(np.roll(u, 1)) - 1.0

    @pytest.mark.parametrize("kind", ["diagonal", "ilu", "operator", "function"])
    def test_each_saves_products(self, kind):
        D = sla.aslinearoperator(np.diag(1.0 / np.logspace(0, 3, 60)))
        given = {"operator": D, "function": lambda x, J: D}.get(kind, kind)
        plain = newton_krylov(self.stiff, np.zeros(60), ftol=1e-9)
        found = newton_krylov(self.stiff, np.zeros(60), ftol=1e-9, preconditioner=given)
        assert found.success, found.message
        assert found.njvp < plain.njvp
        np.testing.assert_allclose(self.stiff(found.x), 0.0, atol=1e-9)

    @pytest.mark.parametrize("wrap", [linad.jit, lambda f: f])
    def test_sparse_ones_are_factorised_once(self, wrap):
        n = 30

        def bratu(u):
            v = np.zeros((n + 2, n + 2), like=u)
            v[1:-1, 1:-1] = u
            around = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]
            return 4 * u - around - 5 * np.exp(u) / (n + 1) ** 2

        found = newton_krylov(wrap(bratu), np.zeros((n, n)))
        assert found.success, found.message
        assert found.preconditioner == "ilu"
        assert found.njvp < 60
        plain = newton_krylov(wrap(bratu), np.zeros((n, n)), preconditioner=None)
        assert plain.success, plain.message
        assert plain.preconditioner is None
        assert plain.njvp > 5 * found.njvp
        np.testing.assert_allclose(found.x, plain.x, rtol=1e-12)

    def test_dense_ones_are_not(self):
        n = 300
        found = newton_krylov(lambda x: x + 0.1 * np.sin(np.cumsum(x) / n) - 1.0, np.zeros(n))
        assert found.success, found.message
        assert found.preconditioner is None

    def test_a_factorisation_that_fails_is_done_without(self):
        """At the start the first equation does not depend on any unknown, and the row is zero."""
        n = 400

        def f(x):
            first = np.stack([(x[0] - 2.0) ** 2 - 1.0])
            return np.concatenate([first, 2.0 * x[1:] - np.tanh(x[:-1])])

        for start, used in ((2.0, None), (2.5, "ilu")):
            found = newton_krylov(f, np.full(n, start))
            assert found.success, found.message
            assert found.preconditioner == used
            assert found.x[0] == pytest.approx(3.0, rel=1e-14)

    @pytest.mark.parametrize("given", ["jacobi", np.eye(3), lambda x, J: None])
    def test_refused(self, given):
        with pytest.raises((OptionError, OperandError), match="newton_krylov: preconditioner must"):
            newton_krylov(self.stiff, np.zeros(60), preconditioner=given)


class TestCounts:
    @pytest.mark.parametrize("way", ["dense", "sparse", "krylov"])
    def test_newton(self, way):
        runs = []

        def f(x):
            runs.append(1)
            return freudenstein_roth(x)

        found = newton(f, np.array([15.0, -2.0]), linear_solver=way, maxiter=20)
        assert found.nfev == len(runs)
        assert found.njev <= found.nfev
        if way == "dense":
            assert found.njvp == 2 * found.nit
            assert found.nvjp == 0

    def test_colours_are_counted(self):
        def two_diagonals(x):
            return np.cosh(x) * x + np.pad(np.sin(x[:-1]), (1, 0)) - 1

        found = newton(two_diagonals, np.ones(300), linear_solver="sparse", maxiter=1)
        assert found.njvp == 2
        # Three diagonals are carried along the run: nothing is swept for the matrix. Later steps
        # use its factors again: products, and no other matrix.
        found = newton(broyden_tridiagonal, -np.ones(300), linear_solver="sparse", maxiter=1)
        assert found.njvp == 0
        found = newton(broyden_tridiagonal, -np.ones(300), linear_solver="sparse")
        assert found.nit < found.njvp < 8 * found.nit

    def test_newton_krylov(self):
        """Each GMRES vector is a product; each solve checks its residual with one more."""
        products = []

        class Told:
            def __call__(self, x, J):
                return sla.LinearOperator(J.shape, matvec=self.apply, dtype=float)

            def apply(self, v):
                products.append(1)
                return v

        found = newton_krylov(broyden_tridiagonal, -np.ones(50), preconditioner=Told())
        assert found.success
        assert found.nfev >= found.nit + 1
        assert found.njvp > 2 * found.nit
        assert found.nvjp == 0


class TestFailures:
    @BOTH
    def test_nan_at_the_start(self, solver):
        found = solver(np.log, np.array([-1.0]))
        assert found.status == Status.NOT_FINITE
        assert not found.success
        assert "in f(x0)" in found.message

    def test_nan_on_the_way_is_stepped_back_from(self):
        """The full Newton step for log x from 5 leads to x < 0."""
        found = newton(np.log, np.array([5.0]))
        assert found.success, found.message
        np.testing.assert_allclose(found.x, 1.0)

    def test_nan_all_around(self):
        def f(x):
            return np.where(x == 1.0, x, np.nan * x)

        found = newton(f, np.array([1.0]))
        assert found.status in (Status.NOT_FINITE, Status.SINGULAR)
        assert not found.success

    def test_infinite_slope(self):
        found = newton(lambda x: np.sqrt(x) - 1.0, np.array([0.0]))
        assert found.status == Status.NOT_FINITE
        assert "Jacobian" in found.message

    @BOTH
    def test_no_root(self, solver):
        found = solver(lambda x: x**2 + 1.0, np.array([0.0]))
        assert not found.success
        assert found.status in (Status.SINGULAR, Status.LINEAR_SOLVER)

    @pytest.mark.parametrize("way", WAYS)
    def test_singular_but_solvable(self, way):
        """Two equations that say the same: a least-squares step solves both."""
        found = newton(
            lambda x: np.stack([x[0] + x[1] - 1.0, 2 * x[0] + 2 * x[1] - 2.0]),
            np.zeros(2),
            linear_solver=way,
        )
        assert found.success, found.message
        assert np.sum(found.x) == pytest.approx(1.0)

    def test_inconsistent(self):
        found = newton(
            lambda x: np.stack([x[0] + x[1] - 1.0, x[0] + x[1] - 2.0]), np.array([0.3, 4.0])
        )
        assert found.status == Status.SINGULAR
        assert "stationary for |F|, and no root" in found.message

    def test_local_minimum_of_the_residual(self):
        found = newton(freudenstein_roth, np.array([0.5, -2.0]), maxiter=200)
        assert found.status in (Status.STAGNATED, Status.SINGULAR)
        np.testing.assert_allclose(found.x[1], -0.8968, atol=1e-2)

    @BOTH
    def test_out_of_steps(self, solver):
        found = solver(rosenbrock, np.array([-1.2, 1.0]), maxiter=1)
        assert found.status == Status.MAXITER
        assert found.nit == 1
        assert "1 steps" in found.message

    def test_tolerance_out_of_reach(self):
        found = newton(broyden_tridiagonal, -np.ones(20), ftol=1e-30)
        assert found.status == Status.STAGNATED
        assert "ftol=1.0e-30 was asked for" in found.message

    def test_krylov_without_progress(self):
        """A shift: the Krylov vectors see nothing of the solution until the very last."""
        e = np.eye(1, 200)[0]
        found = newton_krylov(
            lambda x: np.roll(x, 1) - e, np.zeros(200), inner_maxiter=5, restart=5
        )
        assert found.status == Status.LINEAR_SOLVER
        assert "preconditioner" in found.message

    @BOTH
    def test_wrong_sizes(self, solver):
        with pytest.raises(linad.errors.ShapeError, match="2 numbers for 2 .* returned 1"):
            solver(lambda x: x[:1], np.ones(2))

    def test_a_size_that_changes(self):
        sizes = iter([2, 3])
        with pytest.raises(linad.errors.ShapeError, match=r"same shapes .*now \[\(3,\)\]"):
            newton(lambda x: np.exp(x[:1]) * np.arange(1.0, 1 + next(sizes)) - x[1], np.ones(2))

    @BOTH
    @pytest.mark.parametrize(
        "f, x0, error, words",
        [
            (3, np.ones(2), TypeError, "must be a function"),
            (lambda x: x, (), linad.errors.TreeError, "x0 holds no array"),
            (lambda x: x, "a", linad.errors.DTypeError, r"x0 must hold numbers.*the text 'a'\)"),
            (lambda x: x, {"u": 1.0, "v": "2"}, linad.errors.DTypeError, r"x0\['v'\] must hold"),
            (lambda x: None, np.ones(2), linad.errors.OutputError, "None"),
            (lambda x: 1j * x, np.ones(2), linad.errors.DTypeError, "complex numbers for a real"),
            (lambda x: x, (np.ones(1), 1j), linad.errors.DTypeError, "real and complex"),
            (np.conj, np.ones(2) + 0j, linad.errors.NotHolomorphicError, "not holomorphic"),
        ],
    )
    def test_input_that_cannot_be_meant(self, solver, f, x0, error, words):
        with pytest.raises(error, match=words):
            solver(f, x0)

    def test_options_that_cannot_be_meant(self):
        with pytest.raises(ValueError, match="linear_solver must be .*, got 'lu'"):
            newton(np.sin, np.ones(1), linear_solver="lu")
        with pytest.raises(ValueError, match="xtol must be .*, got -1"):
            newton(np.sin, np.ones(1), xtol=-1.0)

    @BOTH
    def test_a_captured_traced_value_is_refused(self, solver):
        with pytest.raises(linad.errors.TracerError, match="captures from outside"):
            linad.grad(lambda a: solver(lambda x: x - a, 1.0).x)(2.0)

    def test_a_traced_start_is_refused(self):
        with pytest.raises(linad.errors.TracerError, match="x0 is traced"):
            linad.grad(lambda a: newton(lambda x: x - 1.0, a).x)(2.0)

    def test_the_function_may_write_into_its_argument(self):
        def f(x):
            x *= 2.0
            x -= 3.0
            return x

        start = np.zeros(2)
        found = newton(f, start)
        np.testing.assert_allclose(found.x, 1.5)
        np.testing.assert_array_equal(start, 0.0)
