"""SciPy's solvers on linad's operators: each row of what SciPy accepts, against the truth.

The functions are plain NumPy: Rosenbrock's, an exponential fit, Bratu's equation.
"""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg as sla
from scipy.optimize import Bounds, NonlinearConstraint

import linad

TIGHT = {"rtol": 1e-6, "atol": 1e-6}


def rosenbrock(x):
    """Minimum 0 at (1, ..., 1)."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


gradient = linad.grad(rosenbrock)
START = np.array([1.3, 0.7, 0.8, 1.9])


def hessian(x):
    return linad.hessian_operator(rosenbrock, x)


def jacobian(f):
    """The function of x that gives the Jacobian operator of ``f``."""
    return lambda x, *args: linad.linearize(lambda x: f(x, *args), x)[1]


TIME = np.linspace(0.0, 2.0, 15)
TRUTH = np.array([2.5, 1.3, 0.5])


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


DATA = decay(TIME, *TRUTH)


def residual(p):
    return p[0] * np.exp(-p[1] * TIME) + p[2] - DATA


def bratu(u):
    """u'' + exp(u) = 0 on (0, 1), u = 0 at both ends, on a grid."""
    h = 1.0 / (u.size + 1)
    zero = np.zeros(1)
    left, right = np.concatenate([zero, u[:-1]]), np.concatenate([u[1:], zero])
    return (left - 2.0 * u + right) / h**2 + np.exp(u)


def bratu_solution(n):
    """The lower branch in closed form, u = -2 ln(cosh((x - 1/2) c / 2) / cosh(c / 4))."""
    c = scipy.optimize.brentq(lambda c: c - np.sqrt(2.0) * np.cosh(c / 4), 0.0, 3.0)
    x = np.linspace(0, 1, n + 2)[1:-1]
    return -2.0 * np.log(np.cosh((x - 0.5) * c / 2) / np.cosh(c / 4))


def circle(x):
    """Two equations whose root in the first quadrant is (sqrt 3, 1)."""
    return np.stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - np.sqrt(3.0)])


ROOT = np.array([np.sqrt(3.0), 1.0])


class TestMinimize:
    @pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
    def test_hessian_operator(self, method):
        """Lazily: no dense matrix is made, also where SciPy calls np.dot(hess, p)."""
        with linad.config(densify_limit=0):
            found = scipy.optimize.minimize(
                rosenbrock, START, method=method, jac=gradient, hess=hessian, tol=1e-9
            )
        np.testing.assert_allclose(found.x, 1.0, **TIGHT)

    @pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
    def test_hessian_product(self, method):
        found = scipy.optimize.minimize(
            rosenbrock,
            START,
            method=method,
            jac=gradient,
            hessp=lambda x, p: linad.hvp(rosenbrock, (x,), (p,)),
            tol=1e-9,
        )
        np.testing.assert_allclose(found.x, 1.0, **TIGHT)

    def test_dogleg(self):
        """Makes a small dense matrix, as the method must; it needs a positive Hessian."""

        def convex(x):
            return np.sum(np.exp(x) - 2.0 * x) + np.sum((x[1:] - x[:-1]) ** 2)

        def minimize():
            return scipy.optimize.minimize(
                convex,
                np.array([0.0, 1.0, -1.0]),
                method="dogleg",
                jac=linad.grad(convex),
                hess=lambda x: linad.hessian_operator(convex, x),
                tol=1e-10,
            )

        np.testing.assert_allclose(minimize().x, np.log(2.0), **TIGHT)
        with linad.config(densify_limit=0), pytest.raises(linad.errors.DensifyError):
            minimize()

    def test_trust_exact(self):
        found = scipy.optimize.minimize(
            rosenbrock,
            START,
            method="trust-exact",
            jac=gradient,
            hess=lambda x: hessian(x).todense(),
            tol=1e-9,
        )
        np.testing.assert_allclose(found.x, 1.0, **TIGHT)

    @pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "CG", "SLSQP", "TNC"])
    def test_value_and_gradient(self, method):
        found = scipy.optimize.minimize(
            linad.value_and_grad(rosenbrock),
            START,
            method=method,
            jac=True,
            tol=1e-10,
            options={"maxfun": 2000} if method == "TNC" else None,
        )
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-3 if method in ("TNC", "SLSQP") else 1e-5)

    def test_float32_gradient(self):
        """SciPy calls with float64; a float32 function inside is upcast."""

        def single(x):
            return np.sum((np.asarray(x, like=x).astype(np.float32) - np.float32(3)) ** 2)

        found = scipy.optimize.minimize(
            linad.value_and_grad(single), np.zeros(3), method="L-BFGS-B", jac=True
        )
        np.testing.assert_allclose(found.x, 3.0, rtol=1e-4)

    def test_bounds(self):
        found = scipy.optimize.minimize(
            rosenbrock,
            np.array([0.1, 0.1]),
            method="trust-constr",
            jac=gradient,
            hess=hessian,
            bounds=Bounds(-np.inf, [0.5, np.inf]),
            options={"gtol": 1e-9, "xtol": 1e-10, "barrier_tol": 1e-10},
        )
        # With x0 <= 1/2 the minimum is at x0 = 1/2, x1 = 1/4.
        np.testing.assert_allclose(found.x, [0.5, 0.25], rtol=1e-4)


def disc(x):
    return np.stack([x[0] ** 2 + x[1] ** 2])


class TestConstraints:
    """Minimise Rosenbrock's function within a disc of radius 1."""

    truth = np.array([0.78641515, 0.61769831])

    def test_trust_constr(self):
        def curvature(x, v):
            return linad.hessian_operator(lambda x: np.sum(disc(x) * v), x)

        constraint = NonlinearConstraint(
            disc, -np.inf, 1.0, jac=lambda x: jacobian(disc)(x).todense(), hess=curvature
        )
        found = scipy.optimize.minimize(
            rosenbrock,
            np.array([0.1, 0.2]),
            method="trust-constr",
            jac=gradient,
            hess=hessian,
            constraints=[constraint],
            options={"gtol": 1e-9, "xtol": 1e-12, "barrier_tol": 1e-9},
        )
        np.testing.assert_allclose(found.x, self.truth, rtol=1e-4)

    def test_slsqp(self):
        """The Jacobian as an operator: SLSQP makes it dense."""
        found = scipy.optimize.minimize(
            rosenbrock,
            np.array([0.1, 0.2]),
            method="SLSQP",
            jac=gradient,
            constraints=[
                {
                    "type": "ineq",
                    "fun": lambda x: 1.0 - disc(x),
                    "jac": jacobian(lambda x: 1.0 - disc(x)),
                }
            ],
            tol=1e-12,
        )
        np.testing.assert_allclose(found.x, self.truth, rtol=1e-5)


class TestLeastSquares:
    @pytest.mark.parametrize("method", ["trf", "dogbox"])
    @pytest.mark.parametrize("loss", ["linear", "soft_l1"])
    def test_operator(self, method, loss):
        """A robust loss probes with int8."""
        with linad.config(densify_limit=0):
            found = scipy.optimize.least_squares(
                residual,
                [1.0, 1.0, 0.0],
                jac=jacobian(residual),
                method=method,
                loss=loss,
                gtol=1e-12,
                ftol=1e-12,
                xtol=1e-12,
            )
        np.testing.assert_allclose(found.x, TRUTH, **TIGHT)

    @pytest.mark.parametrize("method", ["trf", "dogbox"])
    def test_bounded(self, method):
        found = scipy.optimize.least_squares(
            residual,
            [1.0, 1.0, 0.4],
            jac=jacobian(residual),
            bounds=(0.0, 10.0),
            method=method,
            gtol=1e-12,
            ftol=1e-12,
            xtol=1e-12,
        )
        np.testing.assert_allclose(found.x, TRUTH, **TIGHT)

    def test_dense(self):
        """method='lm' refuses operators; todense() is what it wants."""
        found = scipy.optimize.least_squares(
            residual, [1.0, 1.0, 0.0], jac=lambda p: jacobian(residual)(p).todense(), method="lm"
        )
        np.testing.assert_allclose(found.x, TRUTH, **TIGHT)

    def test_complex_residual_by_parts(self):
        """Complex residuals, real parameters: stack the parts."""
        z = np.exp((0.3 + 2j) * TIME)

        def parts(p):
            r = np.exp((p[0] + 1j * p[1]) * TIME) - z
            return np.concatenate([np.real(r), np.imag(r)])

        found = scipy.optimize.least_squares(parts, [0.2, 1.9], jac=jacobian(parts))
        np.testing.assert_allclose(found.x, [0.3, 2.0], **TIGHT)

    @pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
    def test_curve_fit(self, method):
        def slopes(t, a, b, c):
            return linad.linearize(lambda p: decay(t, p[0], p[1], p[2]), np.array([a, b, c]))[1]

        found, covariance = scipy.optimize.curve_fit(
            decay,
            TIME,
            DATA + 0.01 * np.cos(7 * TIME),
            p0=[1.0, 1.0, 0.0],
            jac=slopes if method == "lm" else lambda *args: slopes(*args).todense(),
            method=method,
        )
        exact, expected = scipy.optimize.curve_fit(
            decay, TIME, DATA + 0.01 * np.cos(7 * TIME), p0=[1.0, 1.0, 0.0]
        )
        np.testing.assert_allclose(found, exact, rtol=1e-5)
        np.testing.assert_allclose(covariance, expected, rtol=1e-3)

    @pytest.mark.parametrize("method", ["trf", "bvls"])
    def test_lsq_linear(self, method):
        J = jacobian(residual)(np.array([1.0, 1.0, 0.0]))
        b = J @ np.array([1.0, -2.0, 3.0])
        A = J if method == "trf" else J.todense()
        found = scipy.optimize.lsq_linear(A, b, tol=1e-13, method=method)
        np.testing.assert_allclose(found.x, [1, -2, 3], rtol=1e-6)
        bounded = scipy.optimize.lsq_linear(A, b, (0.0, np.inf), tol=1e-13, method=method)
        exact = scipy.optimize.nnls(J.todense(), b)[0]
        np.testing.assert_allclose(bounded.x, exact, atol=1e-5)


class TestRoots:
    @pytest.mark.parametrize("method", ["hybr", "lm"])
    def test_root(self, method):
        found = scipy.optimize.root(
            circle, [2.0, 0.5], jac=jacobian(circle), method=method, tol=1e-12
        )
        np.testing.assert_allclose(found.x, ROOT, **TIGHT)

    def test_fsolve(self):
        found = scipy.optimize.fsolve(circle, [2.0, 0.5], fprime=jacobian(circle), xtol=1e-12)
        np.testing.assert_allclose(found, ROOT, **TIGHT)

    def test_newton_krylov_with_inner_m(self):
        """A preconditioner made of an operator: the inverse of the Laplacian in a few CG steps."""
        n = 15
        J = linad.linearize(bratu, np.zeros(n))[1]
        inverse = np.linalg.inv(J.todense())
        M = linad.vstack([inverse])  # any operator of ours
        found = scipy.optimize.newton_krylov(bratu, np.zeros(n), inner_M=M, f_tol=1e-9)
        np.testing.assert_allclose(found, bratu_solution(n), atol=2e-4)
        np.testing.assert_allclose(bratu(found), 0.0, atol=1e-8)

    def test_inner_m_gets_the_jacobian_itself(self):
        """inner_M=J runs: SciPy applies it as it stands."""
        J = linad.linearize(lambda x: np.exp(0.05 * x) - x, np.zeros(4))[1]
        found = scipy.optimize.newton_krylov(
            lambda x: x - np.exp(0.05 * x), np.zeros(4), inner_M=J, f_tol=1e-10
        )
        np.testing.assert_allclose(found, np.exp(0.05 * found), rtol=1e-9)

    @pytest.mark.parametrize("solver", [sla.gmres, sla.minres])
    def test_newton(self, solver):
        """Bratu's equation by Newton's method, the Jacobian never formed."""
        n = 63
        u = np.zeros(n)
        with linad.config(densify_limit=0):
            for _ in range(8):
                r, J = linad.linearize(bratu, u)
                options = {"restart": n} if solver is sla.gmres else {}
                step, info = solver(J, -r, rtol=1e-10, **options)
                assert info == 0
                u = u + step
        np.testing.assert_allclose(bratu(u), 0.0, atol=1e-6)
        np.testing.assert_allclose(u, bratu_solution(n), atol=2e-5)


def attracted(t, y):
    """A stiff rate whose solution from (1, 0) is (cos t, sin t)."""
    target = np.stack([np.cos(t), np.sin(t)])
    away = y - target
    return np.stack([-target[1], target[0]]) - 1e4 * (away + away**3 + 0.5 * away[::-1])


def attracted_slope(t, y):
    return linad.linearize(lambda y: attracted(t, y), y)[1]


class TestIntegrate:
    @pytest.mark.parametrize(
        "method, form",
        [
            ("Radau", "operator"),
            ("BDF", "operator"),
            ("LSODA", "operator"),
            ("Radau", "sparse"),
            ("BDF", "sparse"),
        ],
    )
    def test_stiff(self, method, form):
        """LSODA takes no sparse array."""
        jac = {
            "operator": attracted_slope,
            "sparse": lambda t, y: scipy.sparse.csc_array(attracted_slope(t, y).todense()),
        }[form]
        found = scipy.integrate.solve_ivp(
            attracted, (0.0, 3.0), [1.0, 0.0], method=method, jac=jac, rtol=1e-8, atol=1e-9
        )
        assert found.success
        assert found.njev > 0
        # An explicit method would need some 10,000 evaluations.
        assert found.nfev < 2000
        np.testing.assert_allclose(found.y, [np.cos(found.t), np.sin(found.t)], atol=1e-6)


def symmetric(n=12):
    """A positive definite Hessian, as operator and dense."""

    def f(x):
        return np.sum(np.exp(x)) + 0.5 * np.sum((x[1:] - x[:-1]) ** 2)

    H = linad.hessian_operator(f, np.linspace(0.0, 1.0, n))
    return H, H.todense()


def general(n=12):
    """A well conditioned Jacobian that is not symmetric, as operator and dense."""

    def f(x):
        return 3.0 * x + np.sin(np.concatenate([x[1:], x[:1]])) + 0.1 * x**3

    J = linad.linearize(f, np.linspace(0.0, 1.0, n))[1]
    return J, J.todense()


class TestKrylov:
    @pytest.mark.parametrize("solver", [sla.cg, sla.minres, sla.bicg, sla.cgs, sla.bicgstab])
    def test_symmetric(self, solver):
        H, D = symmetric()
        b = np.sin(np.arange(12.0))
        with linad.config(densify_limit=0):
            x, info = solver(H, b, rtol=1e-12)
        assert info == 0
        np.testing.assert_allclose(x, np.linalg.solve(D, b), rtol=1e-8)

    @pytest.mark.parametrize(
        "solver, options",
        [
            (sla.gmres, {"restart": 12}),
            (sla.bicgstab, {}),
            (sla.lgmres, {}),
            (sla.bicg, {}),
            (sla.cgs, {}),
            (sla.qmr, {}),
            (sla.gcrotmk, {}),
            (sla.tfqmr, {}),
        ],
    )
    @pytest.mark.parametrize("side", ["J", "J.T", "J.H", "composed"])
    def test_general(self, solver, options, side):
        """bicg and qmr call rmatvec as well."""
        J, D = general()
        op, dense = {
            "J": (J, D),
            "J.T": (J.T, D.T),
            "J.H": (J.H, D.T),
            "composed": (2.0 * J @ J + linad.eye(12), 2 * D @ D + np.eye(12)),
        }[side]
        b = np.cos(np.arange(12.0))
        with linad.config(densify_limit=0):
            x, info = solver(op, b, rtol=1e-12, atol=0.0, **options)
        assert info == 0
        np.testing.assert_allclose(x, np.linalg.solve(dense, b), rtol=1e-8)

    @pytest.mark.parametrize("solver", [sla.gmres, sla.bicgstab, sla.qmr])
    def test_complex(self, solver):
        z = np.linspace(0.5, 1.0, 6) * np.exp(1j * np.arange(6))
        J = linad.linearize(lambda z: np.exp(z) + 2.0 * z, z)[1]
        b = np.arange(6) - 1j
        x, info = solver(J, b, rtol=1e-12)
        assert info == 0
        np.testing.assert_allclose(x, b / (np.exp(z) + 2), rtol=1e-8)

    def test_preconditioner(self):
        """Operators as M, too."""
        J, D = general()
        M = linad.vstack([np.linalg.inv(D)])
        b = np.ones(12)
        steps = []
        x, info = sla.gmres(J, b, M=M, rtol=1e-12, callback=steps.append, callback_type="pr_norm")
        assert info == 0
        assert len(steps) <= 2
        np.testing.assert_allclose(x, np.linalg.solve(D, b), rtol=1e-8)

    def test_float32_is_kept(self):
        x = np.linspace(0, 1, 8, dtype=np.float32)
        J = linad.linearize(lambda x: 3 * x + np.sin(x), x)[1]
        found, info = sla.cg(J, np.ones(8, np.float32), rtol=1e-5)
        assert info == 0
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, 1 / (3 + np.cos(x)), rtol=1e-5)

    @pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
    @pytest.mark.parametrize("damp", [0.0, 0.7])
    def test_least_squares(self, solver, damp):
        J = jacobian(residual)(TRUTH)
        D = J.todense()
        b = np.cos(TIME)
        with linad.config(densify_limit=0):
            found = solver(J, b, damp=damp, atol=1e-14, btol=1e-14)[0]
        expected = np.linalg.solve(D.T @ D + damp**2 * np.eye(3), D.T @ b)
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    @pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
    def test_lsmr_in_single_precision(self):
        """SciPy's lsmr warns of a cast of its own and answers in float64."""
        x = np.linspace(0, 1, 8, dtype=np.float32)
        J = linad.linearize(lambda x: 3 * x + np.sin(x), x)[1]
        found = sla.lsmr(J, np.ones(8, np.float32))[0]
        np.testing.assert_allclose(found, 1 / (3 + np.cos(x)), rtol=1e-4)


class TestSpectra:
    start = np.random.default_rng(0).standard_normal(12)

    @pytest.mark.parametrize("which", ["LA", "SA", "LM", "BE"])
    def test_eigsh(self, which):
        H, D = symmetric()
        with linad.config(densify_limit=0):
            values, vectors = sla.eigsh(H, k=4, which=which, v0=self.start)
        exact = np.linalg.eigvalsh(D)
        expected = {
            "LA": exact[-4:],
            "SA": exact[:4],
            "LM": exact[-4:],
            "BE": exact[[0, 1, -2, -1]],
        }
        np.testing.assert_allclose(values, expected[which], rtol=1e-9)
        np.testing.assert_allclose(H @ vectors, vectors * values, atol=1e-8)

    def test_eigs(self):
        J, D = general()
        with linad.config(densify_limit=0):
            values, vectors = sla.eigs(J, k=3, which="LM", v0=self.start)
        exact = np.linalg.eigvals(D)
        largest = exact[np.argsort(-abs(exact))]
        np.testing.assert_allclose(np.sort(abs(values)), np.sort(abs(largest[:3])), rtol=1e-8)
        np.testing.assert_allclose(J @ vectors, vectors * values, atol=1e-8)

    @pytest.mark.parametrize("solver", ["arpack", "lobpcg", "propack"])
    @pytest.mark.parametrize("tall", [True, False])
    def test_svds(self, solver, tall):
        J = jacobian(lambda x: np.concatenate([np.sin(x) * x, np.exp(x), np.cos(x[1:] * x[:-1])]))(
            np.linspace(0.1, 1.0, 14)
        )
        J = J if tall else J.T
        D = J.todense()
        with linad.config(densify_limit=0):
            u, s, vt = sla.svds(
                J,
                k=2,
                solver=solver,
                rng=np.random.default_rng(0),
                tol=1e-5 if solver == "lobpcg" else 1e-10,
                maxiter=500,
            )
        order = np.argsort(-s)
        np.testing.assert_allclose(s[order], np.linalg.svd(D, compute_uv=False)[:2], rtol=1e-6)
        np.testing.assert_allclose(J @ vt.T, u * s, atol=1e-5)

    def test_lobpcg(self):
        H, D = symmetric(24)
        X = np.random.default_rng(0).standard_normal((24, 3))
        with linad.config(densify_limit=0):
            values, vectors = sla.lobpcg(H, X, largest=True, tol=1e-8, maxiter=200)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(D)[-3:], rtol=1e-7)
        np.testing.assert_allclose(H @ vectors, vectors * values, atol=1e-5)

    def test_onenormest(self):
        J, D = general()
        found = sla.onenormest(J)
        assert found == pytest.approx(np.linalg.norm(D, 1), rel=1e-10)

    @pytest.mark.parametrize("shape", [(12,), (12, 3)])
    def test_expm_multiply(self, shape):
        J, D = general()
        B = np.random.default_rng(0).standard_normal(shape)
        with linad.config(densify_limit=0):
            found = sla.expm_multiply(0.2 * J, B, traceA=0.2 * np.trace(D))
        np.testing.assert_allclose(found, scipy.linalg.expm(0.2 * D) @ B, rtol=1e-9)

    def test_expm_multiply_at_many_times(self):
        J, D = general()
        found = sla.expm_multiply(-J, np.ones(12), start=0.0, stop=0.4, num=3, traceA=-np.trace(D))
        for t, row in zip([0.0, 0.2, 0.4], found, strict=True):
            np.testing.assert_allclose(row, scipy.linalg.expm(-t * D) @ np.ones(12), rtol=1e-8)

    if hasattr(sla, "funm_multiply_krylov"):  # since SciPy 1.17

        def test_funm_multiply_krylov(self):
            H, D = symmetric()
            found = sla.funm_multiply_krylov(scipy.linalg.expm, H, np.ones(12), assume_a="her")
            np.testing.assert_allclose(found, scipy.linalg.expm(D) @ np.ones(12), rtol=1e-7)
