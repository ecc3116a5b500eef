"""`linad.scipy_args`: every solver and SciPy method that takes a derivative, each form."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse
from scipy.optimize import NonlinearConstraint
from solve.nist_runs import Regression, digits

import linad
from linad.solve.scipy_arguments import SINKS

START = np.array([1.3, 0.7, 0.8, 1.9])


def rosenbrock(x):
    """Minimum 0 at (1, ..., 1)."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def convex(x):
    """Minimum at log 2; its Hessian is positive definite everywhere, as dogleg needs."""
    return np.sum(np.exp(x) - 2.0 * x) + np.sum((x[1:] - x[:-1]) ** 2)


SECOND_ORDER = [
    (method, form)
    for method, sink in SINKS["minimize"].items()
    if method is not None and sink.forms
    for form in ("auto", *sink.forms)
]


class TestMinimize:
    @pytest.mark.parametrize("method, form", SECOND_ORDER)
    def test_second_order(self, method, form):
        keywords = linad.scipy_args(convex, "minimize", method, form)
        # Nothing becomes dense unawares.
        with linad.config(densify_limit=100 if form == "csr" else 0):
            found = scipy.optimize.minimize(x0=np.array([0.0, 1.0, -1.0]), tol=1e-9, **keywords)
        np.testing.assert_allclose(found.x, np.log(2.0), rtol=1e-6)

    def test_every_method_of_scipy_is_known(self):
        known = {method.lower() for method in SINKS["minimize"] if method is not None}
        assert {name.lower() for name in scipy.optimize._minimize.MINIMIZE_METHODS} == known

    @pytest.mark.parametrize("method", [None, "BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP"])
    def test_first_order(self, method):
        keywords = linad.scipy_args(rosenbrock, "minimize", method)
        options = {"maxfun": 2000} if method == "TNC" else None
        found = scipy.optimize.minimize(x0=START, tol=1e-10, options=options, **keywords)
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-3 if method in ("TNC", "SLSQP") else 1e-5)

    @pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
    def test_without_derivatives(self, method):
        keywords = linad.scipy_args(convex, "minimize", method)
        found = scipy.optimize.minimize(x0=np.zeros(2), tol=1e-8, **keywords)
        np.testing.assert_allclose(found.x, np.log(2.0), atol=1e-4)

    @pytest.mark.parametrize("method", ["L-BFGS-B", "trust-ncg"])
    def test_further_arguments(self, method):
        def shifted(x, centre, scale):
            return scale * np.sum((x - centre) ** 4 + (x - centre) ** 2)

        found = scipy.optimize.minimize(
            x0=np.zeros(3),
            args=(np.arange(3.0), 2.0),
            tol=1e-9,
            **linad.scipy_args(shifted, scipy.optimize.minimize, method),
        )
        np.testing.assert_allclose(found.x, np.arange(3.0), atol=1e-5)

    def test_integers_at_the_start(self):
        keywords = linad.scipy_args(convex, "minimize", "Newton-CG")
        found = scipy.optimize.minimize(x0=[0, 1, 2], tol=1e-9, **keywords)
        np.testing.assert_allclose(found.x, np.log(2.0), rtol=1e-6)

    def test_sparse_hessian(self):
        hess = linad.scipy_args(convex, "minimize", "trust-constr", "csr")["hess"]
        H = hess(START)
        assert scipy.sparse.issparse(H)
        np.testing.assert_allclose(H.toarray(), linad.hessian(convex)(START))


def disc(x):
    return np.stack([x[0] ** 2 + x[1] ** 2])


class TestConstraints:
    truth = np.array([0.78641515, 0.61769831])

    @pytest.mark.parametrize("form", ["auto", "csr", "dense"])
    def test_trust_constr(self, form):
        keywords = linad.scipy_args(disc, NonlinearConstraint, form=form)
        found = scipy.optimize.minimize(
            x0=np.array([0.1, 0.2]),
            constraints=[NonlinearConstraint(lb=-np.inf, ub=1.0, **keywords)],
            options={"gtol": 1e-9, "xtol": 1e-12, "barrier_tol": 1e-9},
            **linad.scipy_args(rosenbrock, "minimize", "trust-constr"),
        )
        np.testing.assert_allclose(found.x, self.truth, rtol=1e-4)

    def test_slsqp(self):
        inside = linad.scipy_args(lambda x: 1.0 - disc(x), "constraint")
        found = scipy.optimize.minimize(
            x0=np.array([0.1, 0.2]),
            constraints=[{"type": "ineq", **inside}],
            tol=1e-12,
            **linad.scipy_args(rosenbrock, "minimize", "SLSQP"),
        )
        np.testing.assert_allclose(found.x, self.truth, rtol=1e-5)


TIME = np.linspace(0.0, 2.0, 15)
TRUTH = np.array([2.5, 1.3, 0.5])


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


DATA = decay(TIME, *TRUTH)


def residual(p, data=DATA):
    return decay(TIME, p[0], p[1], p[2]) - data


class TestLeastSquares:
    @pytest.mark.parametrize(
        "method, form",
        [(m, f) for m, s in SINKS["least_squares"].items() for f in ("auto", *s.forms)],
    )
    @pytest.mark.parametrize("loss", ["linear", "soft_l1"])
    def test_each(self, method, form, loss):
        if method == "lm" and loss != "linear":
            loss = "linear"  # SciPy's lm has no other
        found = scipy.optimize.least_squares(
            x0=[1.0, 1.0, 0.0],
            loss=loss,
            gtol=1e-12,
            ftol=1e-12,
            xtol=1e-12,
            **linad.scipy_args(residual, "least_squares", method, form),
        )
        np.testing.assert_allclose(found.x, TRUTH, rtol=1e-6)

    def test_operators_stay_operators(self):
        keywords = linad.scipy_args(residual, "least_squares", "trf", "operator")
        with linad.config(densify_limit=0):
            scipy.optimize.least_squares(x0=[1.0, 1.0, 0.0], args=(DATA,), **keywords)
        assert keywords["jac"](TRUTH).shape == (15, 3)

    def test_the_form_that_wins(self):
        """Dense and scaled while small, sparse where the pattern is thin, else the operator."""
        small = linad.scipy_args(residual, "least_squares")
        assert small["x_scale"] == "jac"
        assert type(small["jac"](TRUTH)) is np.ndarray

        def chain(x):
            return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

        x0 = np.full(300, 1.1)
        for f in (chain, linad.jit(chain)):
            thin = linad.scipy_args(f, "least_squares", "trf", x0=x0)
            assert scipy.sparse.issparse(thin["jac"](x0))
            found = scipy.optimize.least_squares(**thin)
            np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)

        def full(x):
            return np.fft.irfft(np.fft.rfft(x)[:-1]) * np.sum(x)

        x0 = np.ones(2500)
        wide = linad.scipy_args(full, "least_squares", x0=x0)
        assert "x_scale" not in wide
        assert wide["jac"](x0).shape == (2498, 2500)
        with pytest.raises(linad.errors.OptionError, match="form='operator'"):
            linad.scipy_args(full, "least_squares")["jac"](x0)

    def test_badly_scaled(self):
        run = Regression("Misra1a")
        for start in run.starts:
            keywords = linad.scipy_args(run.residual, "least_squares", x0=start)
            found = scipy.optimize.least_squares(**keywords, ftol=1e-12, xtol=1e-12, gtol=1e-12)
            assert digits(found.x, run.certified) > 6

    @pytest.mark.parametrize("method", [None, "lm", "trf", "dogbox"])
    def test_curve_fit(self, method):
        noisy = DATA + 0.01 * np.cos(7 * TIME)
        found, covariance = scipy.optimize.curve_fit(
            xdata=TIME,
            ydata=noisy,
            p0=[1, 1, 0],
            **linad.scipy_args(decay, "curve_fit", method),
        )
        exact, expected = scipy.optimize.curve_fit(decay, TIME, noisy, p0=[1.0, 1.0, 0.0])
        np.testing.assert_allclose(found, exact, rtol=1e-5)
        np.testing.assert_allclose(covariance, expected, rtol=1e-3)


def circle(x):
    return np.stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - np.sqrt(3.0)])


def bratu(u, lam=1.0):
    v = np.pad(u, 1)
    return v[:-2] - 2.0 * u + v[2:] + lam / (len(u) + 1) ** 2 * np.exp(u)


class TestRoots:
    @pytest.mark.parametrize("method", [None, "hybr", "lm"])
    def test_root(self, method):
        keywords = linad.scipy_args(circle, "root", method)
        found = scipy.optimize.root(x0=[2, 0.5], tol=1e-12, **keywords)
        np.testing.assert_allclose(found.x, [np.sqrt(3.0), 1.0], rtol=1e-8)

    def test_fsolve(self):
        found = scipy.optimize.fsolve(x0=[2.0, 0.5], **linad.scipy_args(circle, "fsolve"))
        np.testing.assert_allclose(found, [np.sqrt(3.0), 1.0], rtol=1e-8)

    @pytest.mark.parametrize("line_search", ["armijo", "wolfe", None])
    def test_newton_krylov(self, line_search):
        """Exact products: SciPy's own differences cannot come so far."""
        counted = []

        def counting(u):
            counted.append(1)
            return bratu(u)

        keywords = linad.scipy_args(counting, scipy.optimize.newton_krylov)
        found = scipy.optimize.newton_krylov(
            xin=np.zeros(40), f_tol=1e-15, inner_maxiter=40, line_search=line_search, **keywords
        )
        assert np.abs(bratu(found)).max() <= 1e-15
        assert len(counted) < 30

    def test_newton_krylov_keeps_shapes_and_takes_a_preconditioner(self):
        def grid(u):
            return bratu(u.reshape(-1)).reshape(u.shape)

        J = linad.linearize(bratu, np.zeros(20))[1]
        M = np.linalg.inv(J.todense())
        found = scipy.optimize.newton_krylov(
            xin=np.zeros((4, 5)), f_tol=1e-14, inner_M=M, **linad.scipy_args(grid, "newton_krylov")
        )
        assert found.shape == (4, 5)
        assert np.abs(grid(found)).max() <= 1e-14

    def test_root_krylov(self):
        keywords = linad.scipy_args(bratu, "root", "krylov")
        found = scipy.optimize.root(x0=np.zeros(15), args=(2.0,), **keywords)
        assert found.success
        np.testing.assert_allclose(bratu(found.x, 2.0), 0.0, atol=6e-6)  # its default fatol

    def test_newton_krylov_refuses_to_guess(self):
        method = linad.scipy_args(circle, "newton_krylov")["method"]
        with pytest.raises(linad.errors.LinadError, match="was not evaluated"):
            method(None, np.ones(2))


def robertson(t, y, k=3e7):
    a = 0.04 * y[0] - 1e4 * y[1] * y[2]
    b = k * y[1] ** 2
    return np.stack([-a, a - b, b])


class TestIntegrate:
    @pytest.mark.parametrize(
        "method, form",
        [(m, f) for m in ("Radau", "BDF", "LSODA") for f in ("auto", *SINKS["solve_ivp"][m].forms)],
    )
    def test_stiff(self, method, form):
        """Reference: E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II"."""
        found = scipy.integrate.solve_ivp(
            t_span=(0.0, 40.0),
            y0=[1.0, 0.0, 0.0],
            args=(3e7,),
            rtol=1e-8,
            atol=1e-12,
            **linad.scipy_args(robertson, "solve_ivp", method, form),
        )
        assert found.success
        assert found.njev > 0
        np.testing.assert_allclose(
            found.y[:, -1], [0.7158270688, 9.185534765e-6, 0.2841637457], rtol=1e-5
        )

    def test_the_best_form_is_sparse_where_it_is_taken(self):
        jac = linad.scipy_args(robertson, "solve_ivp", "BDF")["jac"]
        assert scipy.sparse.issparse(jac(0.0, np.ones(3)))
        jac = linad.scipy_args(robertson, "solve_ivp", "LSODA")["jac"]
        assert type(jac(0.0, np.ones(3))) is np.ndarray

    @pytest.mark.parametrize("method", [None, "RK45", "RK23", "DOP853"])
    def test_explicit(self, method):
        keywords = linad.scipy_args(lambda t, y: -y, "solve_ivp", method)
        found = scipy.integrate.solve_ivp(t_span=(0.0, 1.0), y0=[1.0], rtol=1e-8, **keywords)
        np.testing.assert_allclose(found.y[0, -1], np.exp(-1.0), rtol=1e-5)


class TestRefusals:
    @pytest.mark.parametrize(
        "arguments, words",
        [
            (("solve", None), "solver must be one of minimize.*, got 'solve'"),
            (("minimize", "newton"), "must be one of BFGS.*, got 'newton'"),
            (("root", "hybr", "csr"), "does not take form='csr'; it takes dense"),
            (("minimize", "BFGS", "dense"), "takes no derivative"),
            (("solve_ivp", "Radau", "operator"), "it takes csr or dense"),
        ],
    )
    def test_words(self, arguments, words):
        with pytest.raises(ValueError, match=words):
            linad.scipy_args(convex, *arguments)

    def test_no_function(self):
        with pytest.raises(TypeError, match="f must be a function, got 3"):
            linad.scipy_args(3, "minimize")
