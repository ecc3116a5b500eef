"""Solvers: Bratu's equation by Newton's method, least squares, minima, derivatives of solutions."""

import numpy as np
import scipy.optimize

import linad

from . import median_seconds


def bratu(u, lam):
    """Δu + λ exp(u) = 0 on the unit square, times h²; u is zero on the boundary."""
    n = len(u)
    v = np.pad(u, 1)
    neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return neighbours - 4.0 * u + lam / (n + 1) ** 2 * np.exp(u)


class Bratu:
    """Newton's method with the sparse Jacobian that linad finds, to 1e-12."""

    params = [32, 128]
    param_names = ["n"]
    timeout = 300

    def setup(self, n):
        self.start = np.zeros((n, n))
        self.time_newton(n)  # pattern and colouring are kept

    def time_newton(self, n):
        found = linad.solve.newton(bratu, self.start, (5.0,), ftol=1e-12)
        assert found.success, found.message

    def time_newton_krylov(self, n):
        found = linad.solve.newton_krylov(
            bratu, self.start, (5.0,), ftol=1e-12, preconditioner="ilu"
        )
        assert found.success, found.message

    def time_fold(self, n):
        found = linad.solve.continuation(bratu, self.start, 0.0, step=0.5, folds=1)
        assert found.success, found.message

    def track_scipy_newton_krylov_over_newton(self, n):
        def differences():
            scipy.optimize.newton_krylov(lambda u: bratu(u, 5.0), self.start, f_tol=1e-12)

        above, below = median_seconds(differences, lambda: self.time_newton(n))
        return above / below

    track_scipy_newton_krylov_over_newton.unit = "ratio"


class LeastSquares:
    """A fit of three exponentials: the time is mostly Python's."""

    def setup(self):
        t = np.linspace(0.0, 3.0, 200)
        truth = np.array([1.0, 2.0, 0.5, 5.0, 0.2, 0.3])

        def model(p):
            return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t) + p[4] * np.exp(-p[5] * t)

        data = model(truth)
        self.f = lambda p: model(p) - data
        self.start = 1.2 * truth

    def time_levenberg_marquardt(self):
        linad.solve.levenberg_marquardt(self.f, self.start)

    def track_scipy_over_levenberg_marquardt(self):
        above, below = median_seconds(
            lambda: scipy.optimize.least_squares(self.f, self.start, method="lm"),
            self.time_levenberg_marquardt,
        )
        return above / below

    track_scipy_over_levenberg_marquardt.unit = "ratio"


class Minima:
    """Rosenbrock's chained function."""

    params = [100, 10_000]
    param_names = ["n"]
    timeout = 300

    def setup(self, n):
        self.f = lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
        self.start = np.full(n, 0.9)

    def time_newton_cg(self, n):
        linad.solve.newton_cg(self.f, self.start)

    def time_trust_region(self, n):
        linad.solve.trust_region(self.f, self.start)

    def time_lbfgs(self, n):
        linad.solve.lbfgs(self.f, self.start)


class Solutions:
    """A root, its gradient and its Hessian product, beside each other."""

    def setup(self):
        self.theta = np.linspace(1.0, 2.0, 100)

    def objective(self, theta):
        def f(x, theta):
            v = np.pad(x, 1)
            return theta * x + x**3 - 0.1 * (v[:-2] + v[2:]) - 1.0

        return np.sum(linad.solve.root(f, np.zeros(100), theta) ** 2)

    def time_root(self):
        self.objective(self.theta)

    def time_gradient(self):
        linad.grad(self.objective)(self.theta)

    def time_hessian_product(self):
        linad.hvp(self.objective, (self.theta,), (self.theta,))
