"""What a search tells besides its answer: it moves with traced values, or is refused."""

import copy

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError
from linad.scipy import optimize
from linad.scipy.refusedparts import RefusedPart

PLACE = np.array([0.3, 0.7])


def bowl(a):
    return lambda x: np.sum((x - a) ** 2 * (1 + x**2)) + 0.3 * x[0] * x[1] * a[0]


def exact_inverse(a):
    """The inverse of the Hessian at the minimum."""
    x = optimize.minimize(bowl(a), np.zeros(2), tol=1e-12).x
    return np.linalg.inv(linad.hessian(bowl(a))(x))


def slopes(f, *args):
    return linad.linearize(f, *args)[1].todense()


@pytest.mark.parametrize(
    "inverse",
    [
        lambda a: optimize.minimize(bowl(a), np.zeros(2), method="BFGS").hess_inv,
        lambda a: optimize.fmin_bfgs(bowl(a), np.zeros(2), disp=0, full_output=True)[3],
        lambda a: (
            optimize.basinhopping(
                bowl(a), np.zeros(2), 1, rng=1, minimizer_kwargs={"method": "BFGS"}
            ).lowest_optimization_result.hess_inv
        ),
    ],
    ids=["minimize", "fmin_bfgs", "basinhopping"],
)
def test_an_inverse_hessian_moves_as_the_exact_one(inverse):
    np.testing.assert_allclose(slopes(inverse, PLACE), slopes(exact_inverse, PLACE), rtol=1e-6)


def test_a_gradient_at_a_bound():
    def gradient(a):
        bounds = [(None, 0.1), (None, None)]
        return optimize.minimize(bowl(a), np.zeros(2), bounds=bounds, tol=1e-12).jac

    def exact(a):
        y = optimize.minimize_scalar(lambda y: bowl(a)(np.stack([0.1, y])), tol=1e-12).x
        return linad.grad(bowl(a))(np.stack([0.1, y]))

    np.testing.assert_allclose(slopes(gradient, PLACE), slopes(exact, PLACE), atol=1e-7)
    assert abs(slopes(gradient, PLACE)[0, 0]) > 1


def test_local_minima_of_a_global_search():
    def wells(a):
        found = optimize.shgo(lambda x: (x[0] ** 2 - a) ** 2 + 0.1 * x[0], [(-2.0, 2.0)], n=20)
        return found.xl[:, 0], found.funl

    (xl, funl), J = linad.linearize(wells, 1.0)
    moved, lowered = J.pushforward(1.0)
    np.testing.assert_allclose(moved, 4 * xl / (12 * xl**2 - 4), rtol=1e-6)
    np.testing.assert_allclose(lowered, -2 * (xl**2 - 1), rtol=1e-5)


T = np.linspace(0.0, 2.0, 9)
DATA = 2 * np.exp(-1.3 * T) + 0.05 * np.cos(9 * T)


def misfit(y):
    return lambda p: p[0] * np.exp(-p[1] * T) - y


def fitted(y):
    p = optimize.least_squares(misfit(y), [2.0, 1.0], xtol=1e-14).x
    J = linad.jacobian(misfit(y))(p)
    return np.linalg.inv(J.T @ J), misfit(y)(p)


def leastsq(y):
    _, covariance, told, *_ = optimize.leastsq(misfit(y), [2.0, 1.0], full_output=True)
    return covariance, told["fvec"]


def curve_fit(y):
    _, covariance, told, *_ = optimize.curve_fit(
        lambda t, p, q: p * np.exp(-q * t), T, y, [2.0, 1.0], full_output=True
    )
    r = told["fvec"]
    return covariance / (r @ r) * 7, r


@pytest.mark.parametrize("fit", [leastsq, curve_fit])
def test_the_covariance_and_the_residuals_of_a_fit(fit):
    np.testing.assert_allclose(slopes(fit, DATA), slopes(fitted, DATA), rtol=1e-5, atol=1e-6)


def test_the_covariance_of_a_root():
    def covariance(a):
        return optimize.root(lambda x: x**3 + a * x - 1, np.ones(2), method="lm").cov_x

    def exact(a):
        x = optimize.root(lambda x: x**3 + a * x - 1, np.ones(2), tol=1e-13).x
        return np.diag((3 * x**2 + a) ** -2)

    np.testing.assert_allclose(slopes(covariance, PLACE), slopes(exact, PLACE), rtol=1e-6)


def test_the_gradient_of_a_fit_at_a_bound():
    def gradient(y):
        found = optimize.least_squares(misfit(y), [1.5, 1.0], bounds=([0, 0], [1.8, 9]), xtol=1e-14)
        return found.grad

    def exact(y):
        q = optimize.least_squares(lambda q: misfit(y)(np.stack([1.8, q[0]])), [1.0]).x[0]
        p = np.stack([1.8, q])
        return linad.grad(lambda p: 0.5 * np.sum(misfit(y)(p) ** 2))(p)

    np.testing.assert_allclose(slopes(gradient, DATA), slopes(exact, DATA), atol=1e-5)


@pytest.mark.parametrize(
    "read",
    [
        lambda a: optimize.minimize(bowl(a), np.zeros(2), method="L-BFGS-B").hess_inv.todense(),
        lambda a: optimize.minimize(bowl(a), np.zeros(2), method="Nelder-Mead").final_simplex[0],
        lambda a: (
            optimize.root(lambda x: x**3 + np.sum(a) * x - 1, np.ones(2), method="hybr").fjac @ a
        ),
        lambda a: (
            optimize.fsolve(lambda x: x**3 + a * x - 1, np.ones(2), full_output=1)[1]["qtf"] * a
        ),
        lambda a: np.sum(
            optimize.brute(lambda x: (x - a[0]) ** 2, [(-1, 1)], Ns=5, full_output=True)[3]
        ),
        lambda a: optimize.lsq_linear(np.eye(2), a, (-1.0, 0.5)).unbounded_sol[0],
    ],
    ids=["hess_inv", "simplex", "fjac", "qtf", "grid", "unbounded"],
)
def test_what_is_not_traced_is_refused_where_it_is_read(read):
    with pytest.raises(UnsupportedError, match=r"of the result is not traced by linad; \w+"):
        linad.jacobian(read)(PLACE)


def test_every_way_to_read_it_is_refused():
    part = RefusedPart("root", "fjac", "use another")
    uses = [abs, float, list, lambda p: p == 0, lambda p: p != p, lambda p: p >= 1]
    uses += [lambda p: 1.0 in p, lambda p: 2 // p, lambda p: p.T, np.isfinite]
    for use in uses:
        with pytest.raises(UnsupportedError, match="root: fjac of the result"):
            use(part)
    assert "use another" in repr(copy.deepcopy([part]))
    assert len({part}) == 1


def test_what_is_refused_may_stay_unread():
    found = []

    def least(a):
        found.append(optimize.minimize(bowl(a), np.zeros(2), method="L-BFGS-B"))
        return found[-1].x

    linad.jacobian(least)(PLACE)
    assert "hess_inv" in repr(found[-1])
