"""Each function of SciPy that takes a derivative, with each form of it: operator, CSR, dense.

What SciPy does not take is here too, so that a version that changes its mind is noticed; what it
makes of an operator without being asked to (a dense matrix) needs linad's permission.
"""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg as sla

import linad
from linad.errors import DensifyError

FORMS = {
    "operator": lambda J: J,
    "csr": lambda J: J.tosparse("csr"),
    "dense": lambda J: J.todense(),
}
START = np.array([0.3, 0.8, 0.6])


def convex(x):
    """Minimum at log 2; its Hessian is tridiagonal and positive definite everywhere."""
    return np.sum(np.exp(x) - 2.0 * x) + np.sum((x[1:] - x[:-1]) ** 2)


gradient = linad.grad(convex)


def residual(x):
    """Zero at log 2."""
    return np.concatenate([np.exp(x) - 2.0, 3.0 * (x[1:] - x[:-1])])


def system(x):
    """Zero at log 2."""
    return np.exp(x) - 2.0 + 0.1 * (x - np.roll(x, 1))


def model(t, a, b):
    return a * np.exp(-b * t)


TIME = np.linspace(0.0, 2.0, 9)


def hessian(form):
    return lambda x: form(linad.hessian_operator(convex, x))


def jacobian(f, form):
    return lambda x, *args: form(linad.linearize(f, x)[1])


def minimise(method, **more):
    def run(form):
        options = {"gtol": 1e-10} if method != "Newton-CG" else {"xtol": 1e-12}
        return scipy.optimize.minimize(
            convex, START, jac=gradient, hess=hessian(form), method=method, options=options, **more
        ).x

    return run


def constrained(jac, hess):
    """At the edge of a disc whose radius is that of the minimum: the constraint is just active."""

    def disc(x):
        return np.stack([np.sum(x**2)])

    def run(form):
        edge = 3 * np.log(2.0) ** 2
        constraint = scipy.optimize.NonlinearConstraint(
            disc,
            edge,
            edge,
            jac=jacobian(disc, form if jac else FORMS["dense"]),
            hess=(lambda x, v: form(linad.hessian_operator(lambda x: disc(x) @ v, x)))
            if hess
            else scipy.optimize.BFGS(),
        )
        return scipy.optimize.minimize(
            convex,
            START,
            jac=gradient,
            hess=hessian(FORMS["dense"]),
            method="trust-constr",
            constraints=constraint,
            options={"gtol": 1e-10, "xtol": 1e-12},
        ).x

    return run


def sequential(form):
    edge = 3 * np.log(2.0) ** 2

    def inside(x):
        return np.stack([edge - np.sum(x**2)])

    limit = {"type": "eq", "fun": inside, "jac": jacobian(inside, form)}
    return scipy.optimize.minimize(
        convex, START, jac=gradient, constraints=limit, method="SLSQP", tol=1e-13
    ).x


def fit(method, **more):
    def run(form):
        return scipy.optimize.least_squares(
            residual, START, jac=jacobian(residual, form), method=method, xtol=1e-14, **more
        ).x

    return run


def scaled(form):
    """``x_scale`` from the column norms of an operator, in the place of 'jac'."""
    J = linad.linearize(residual, START)[1]
    scale = 1.0 / np.asarray(J.column_norms())
    return scipy.optimize.least_squares(
        residual, START, jac=jacobian(residual, form), x_scale=scale, xtol=1e-14
    ).x


def curve(method):
    def run(form):
        def jac(t, a, b):
            return form(linad.linearize(lambda p: model(t, *p), np.array([a, b]))[1])

        data = model(TIME, 3.0, 0.7)
        found = scipy.optimize.curve_fit(model, TIME, data, p0=[1.0, 1.0], jac=jac, method=method)[
            0
        ]
        return found - [3.0, 0.7] + np.log(2.0)

    return run


def linear(form):
    J = linad.linearize(residual, START)[1]
    return scipy.optimize.lsq_linear(form(J), J @ np.full(3, np.log(2.0)), tol=1e-14).x


def root(method):
    def run(form):
        jac = jacobian(system, form)
        return scipy.optimize.root(system, START, jac=jac, method=method, tol=1e-13).x

    return run


def fsolve(form):
    return scipy.optimize.fsolve(system, START, fprime=jacobian(system, form), xtol=1e-13)


def newton_krylov(form):
    M = form(linad.linearize(system, np.full(3, np.log(2.0)))[1].inverse())
    return scipy.optimize.newton_krylov(system, START, inner_M=M, f_tol=1e-11)


def stiff(method):
    """y' = -k (exp(y) - 2), from START to its rest."""

    def rate(t, y):
        return -1e5 * system(y)

    def run(form):
        def jac(t, y):
            return form(linad.linearize(lambda y: rate(t, y), y)[1])

        found = scipy.integrate.solve_ivp(
            rate, (0.0, 10.0), START, method=method, jac=jac, rtol=1e-9, atol=1e-11
        )
        assert found.nfev < 5000  # an explicit method would need a million
        return found.y[:, -1]

    return run


def solved_by(solver, **options):
    """A linear system with the Hessian, whose solution is known."""

    def run(form):
        H = linad.hessian_operator(convex, START)
        x, info = solver(form(H), H @ np.full(3, np.log(2.0)), **options)
        assert info == 0
        return x

    return run


def fitted_by(solver):
    def run(form):
        J = linad.linearize(residual, START)[1]
        return solver(form(J), J @ np.full(3, np.log(2.0)), atol=1e-14, btol=1e-14)[0]

    return run


def from_spectrum(spectrum):
    """log 2 plus what a spectrum is off."""

    def run(form):
        H = linad.hessian_operator(convex, np.linspace(0.0, 1.0, 30))
        return np.log(2.0) + spectrum(form(H), H.todense())

    return run


def factorised(solve):
    def run(form):
        H = linad.hessian_operator(convex, START)
        A = form(H)
        A = A.tocsc() if scipy.sparse.issparse(A) else A
        return solve(A, H @ np.full(3, np.log(2.0)))

    return run


def largest(values, A):
    exact = np.linalg.eigvalsh(A)[-2:]
    return (np.sort(values.real) - exact) / exact


V0 = np.random.default_rng(0).standard_normal(30)
BLOCK = np.random.default_rng(0).standard_normal((30, 2))
TIGHT = {"rtol": 1e-13, "atol": 0.0}

ROWS = {
    "minimize Newton-CG hess": (minimise("Newton-CG"), "operator csr dense"),
    "minimize trust-constr hess": (minimise("trust-constr"), "operator csr dense"),
    "minimize trust-ncg hess": (minimise("trust-ncg"), "operator dense"),
    "minimize trust-krylov hess": (minimise("trust-krylov"), "operator dense"),
    "minimize dogleg hess": (minimise("dogleg"), "made dense, dense"),
    "minimize trust-exact hess": (minimise("trust-exact"), "dense"),
    "NonlinearConstraint jac": (constrained(True, False), "made dense, csr dense"),
    "NonlinearConstraint hess": (constrained(False, True), "operator csr dense"),
    "SLSQP constraint jac": (sequential, "made dense, dense"),
    "least_squares trf": (fit("trf"), "operator csr dense"),
    "least_squares dogbox": (fit("dogbox"), "operator csr dense"),
    "least_squares soft_l1": (fit("trf", loss="soft_l1"), "operator csr dense"),
    "least_squares bounded": (fit("trf", bounds=(0.0, 2.0)), "operator csr dense"),
    "least_squares x_scale='jac'": (fit("trf", x_scale="jac"), "csr dense"),
    "least_squares x_scale=norms": (scaled, "operator csr dense"),
    "least_squares tr_solver='exact'": (fit("trf", tr_solver="exact"), "dense"),
    "least_squares lm": (fit("lm"), "dense"),
    "curve_fit lm": (curve("lm"), "made dense, dense"),
    "curve_fit trf": (curve("trf"), "made dense, dense"),
    "lsq_linear": (linear, "operator csr dense"),
    "root hybr": (root("hybr"), "made dense, dense"),
    "root lm": (root("lm"), "made dense, dense"),
    "fsolve": (fsolve, "made dense, dense"),
    "newton_krylov inner_M": (newton_krylov, "operator csr dense"),
    "solve_ivp Radau": (stiff("Radau"), "made dense, csr dense"),
    "solve_ivp BDF": (stiff("BDF"), "made dense, csr dense"),
    "solve_ivp LSODA": (stiff("LSODA"), "made dense, dense"),
    **{
        solver.__name__: (solved_by(solver, **options), "operator csr dense")
        for solver, options in [
            (sla.cg, TIGHT),
            (sla.gmres, TIGHT),
            (sla.bicgstab, TIGHT),
            (sla.lgmres, TIGHT),
            (sla.minres, {"rtol": 1e-13}),
            (sla.bicg, TIGHT),
            (sla.cgs, TIGHT),
            (sla.qmr, TIGHT),
            (sla.gcrotmk, TIGHT),
            (sla.tfqmr, TIGHT),
        ]
    },
    "lsmr": (fitted_by(sla.lsmr), "operator csr dense"),
    "lsqr": (fitted_by(sla.lsqr), "operator csr dense"),
    "eigsh": (
        from_spectrum(lambda H, A: largest(sla.eigsh(H, 2, v0=V0)[0], A)),
        "operator csr dense",
    ),
    "eigs": (
        from_spectrum(lambda H, A: largest(sla.eigs(H, 2, v0=V0)[0], A)),
        "operator csr dense",
    ),
    "svds": (
        from_spectrum(lambda H, A: largest(sla.svds(H, 2, v0=V0)[1], A)),
        "operator csr dense",
    ),
    "lobpcg": (
        from_spectrum(lambda H, A: largest(sla.lobpcg(H, BLOCK, tol=1e-9, maxiter=60)[0], A)),
        "operator csr dense",
    ),
    "onenormest": (
        from_spectrum(lambda H, A: [sla.onenormest(H, t=8) / np.linalg.norm(A, 1) - 1]),
        "operator csr dense",
    ),
    "expm_multiply": (
        from_spectrum(
            lambda H, A: (
                sla.expm_multiply(H, V0, traceA=np.trace(A)) / scipy.linalg.expm(A).dot(V0) - 1
            )
        ),
        "operator csr dense",
    ),
    "splu": (factorised(lambda A, b: sla.splu(A).solve(b)), "made dense, csr dense"),
    "spsolve": (factorised(lambda A, b: sla.spsolve(A, b)), "made dense, csr dense"),
    "sparse.linalg.norm": (
        from_spectrum(lambda H, A: [sla.norm(H) / np.linalg.norm(A) - 1]),
        "csr",
    ),
    "sparse.hstack": (
        factorised(lambda A, b: sla.spsolve(scipy.sparse.hstack([A, A], "csc")[:, :3], b)),
        "csr",
    ),
}
"""What takes which form. "made dense": SciPy makes an array of an operator by itself."""


def run(call, form):
    with warnings.catch_warnings():
        # Of SciPy's own, on its way to say no.
        warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
        return call(FORMS[form])


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("row", list(ROWS))
def test_row(row, form):
    call, taken = ROWS[row]
    made_dense = form == "operator" and "made dense" in taken
    if form not in taken and not made_dense:
        with pytest.raises(Exception):  # noqa: B017, PT011 - of whatever kind SciPy's is
            np.testing.assert_allclose(run(call, form), np.log(2.0), rtol=1e-4)
        return
    with linad.config(densify_limit=2000 if form == "dense" or made_dense else 200):
        np.testing.assert_allclose(run(call, form), np.log(2.0), rtol=1e-4)
    if form != "operator" or row == "newton_krylov inner_M":  # whose inverse is dense itself
        return
    with linad.config(densify_limit=0):
        if made_dense:
            # SciPy may catch it, and say in its own words that it cannot take an operator.
            with pytest.raises((DensifyError, ValueError)):
                run(call, form)
        else:
            np.testing.assert_allclose(run(call, form), np.log(2.0), rtol=1e-4)
