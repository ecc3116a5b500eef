"""Bounds that move: unknowns at them go along, and the others answer."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.errors import UnsupportedError
from linad.scipy import optimize
from linad.testing import check_derivatives


def hill(x):
    """Least at (2, 2) when it is free; at the first bound u the second is 2 - (u - 2) / 4."""
    return np.sum((x - 2.0) ** 2) + 0.5 * (x[0] - 2.0) * (x[1] - 2.0)


def pairs(u):
    return [(-9.0, u), (None, 5.0)]


MINIMA = {
    **{
        method: lambda u, m=method: (
            optimize.minimize(hill, np.zeros(2), bounds=pairs(u), method=m, tol=1e-10).x
        )
        for method in ("L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell")
    },
    "Bounds": lambda u: (
        optimize.minimize(
            hill, np.zeros(2), bounds=optimize.Bounds([-9.0, -9.0], np.stack([u, 5.0]))
        ).x
    ),
    "constraints": lambda u: optimize.minimize(
        lambda x: hill(x[:2]) + (x[2] - x[1]) ** 2,
        np.zeros(3),
        bounds=[*pairs(u), (None, None)],
        constraints={"type": "eq", "fun": lambda x: x[2] - x[1]},
    ).x[:2],
    "fmin_l_bfgs_b": lambda u: optimize.fmin_l_bfgs_b(
        hill, np.zeros(2), bounds=pairs(u), approx_grad=True
    )[0],
    "fmin_tnc": lambda u: optimize.fmin_tnc(
        hill, np.zeros(2), bounds=pairs(u), approx_grad=True, disp=0
    )[0],
    "fmin_slsqp": lambda u: optimize.fmin_slsqp(
        hill, np.zeros(2), bounds=[(-9.0, u), (-9.0, 5.0)], iprint=0
    ),
    "differential_evolution": lambda u: (
        optimize.differential_evolution(hill, [(-9.0, u), (-9.0, 5.0)], rng=1).x
    ),
    "shgo": lambda u: optimize.shgo(hill, [(-9.0, u), (-9.0, 5.0)]).x,
    "basinhopping": lambda u: (
        optimize.basinhopping(
            hill, np.zeros(2), 1, rng=1, minimizer_kwargs={"method": "L-BFGS-B", "bounds": pairs(u)}
        ).x
    ),
}


@pytest.mark.parametrize("name", MINIMA)
def test_a_minimum_at_a_bound_that_moves(name):
    x, J = linad.linearize(MINIMA[name], 1.0)
    np.testing.assert_allclose(x, [1.0, 2.25], rtol=1e-4)
    np.testing.assert_allclose(J.pushforward(1.0), [1.0, -0.25], rtol=1e-9)
    assert np.all(linad.linearize(MINIMA[name], 3.0)[1].pushforward(1.0) == 0)


def test_a_lower_bound_and_the_value_there():
    def least(u):
        found = optimize.minimize(hill, np.full(2, 5.0), bounds=[(u, None), (None, None)])
        return found.fun, found.jac

    (_, slope), J = linad.linearize(least, 3.0)
    change, _ = J.pushforward(1.0)
    np.testing.assert_allclose(change, slope[0], rtol=1e-5)  # the marginal of the bound


NUMBERS = {
    "bounded": lambda u: (
        optimize.minimize_scalar(lambda x: (x - 2) ** 2, bounds=(0, u), method="bounded").x
    ),
    "fminbound": lambda u: optimize.fminbound(lambda x: (x - 2) ** 2, 0, u),
    "fminbound from below": lambda u: -optimize.fminbound(lambda x: (x + 2) ** 2, -u, 0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_at_a_bound_that_moves(name):
    x, J = linad.linearize(NUMBERS[name], 1.0)
    assert x == pytest.approx(1.0, abs=1e-4)
    assert J.pushforward(1.0) == 1.0
    assert linad.linearize(NUMBERS[name], 3.0)[1].pushforward(1.0) == 0.0


def test_a_number_beside_its_bound_is_free():
    f = linad.derivative(
        lambda a: (
            optimize.minimize_scalar(
                lambda x: (x - a) ** 2, bounds=(0, 1.00001), method="bounded"
            ).x
        )
    )
    assert f(1.0) == pytest.approx(1.0)


A = np.array([[2.0, 1.0], [1.0, 3.0], [0.5, -1.0]])
B = np.array([4.0, 3.0, 1.0])


def through(u, a, b):
    """The least squares of the second unknown where the first one is u."""
    rest = b - a[:, 0] * u
    return np.stack([u, np.dot(a[:, 1], rest) / np.dot(a[:, 1], a[:, 1])])


FITS = {
    "lsq_linear": lambda u, a, b: optimize.lsq_linear(a, b, ([-9, -9], np.stack([u, 9.0]))).x,
    "least_squares": lambda u, a, b: (
        optimize.least_squares(
            lambda x: a @ x - b, np.zeros(2), bounds=([-9, -9], np.stack([u, 9.0])), xtol=1e-14
        ).x
    ),
    "curve_fit": lambda u, a, b: optimize.curve_fit(
        lambda t, p, q: t @ np.stack([p, q]), a, b, bounds=([-9, -9], np.stack([u, 9.0]))
    )[0],
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_at_a_bound_that_moves(name):
    found, J = linad.linearize(FITS[name], 1.2, A, B)
    np.testing.assert_allclose(found, through(1.2, A, B), rtol=1e-6)
    exact = linad.linearize(through, 1.2, A, B)[1].todense()
    np.testing.assert_allclose(J.todense(), exact, rtol=1e-6, atol=1e-6)


def test_second_derivatives_of_a_linear_fit():
    check_derivatives(FITS["lsq_linear"], 1.2, A, B)
    check_derivatives(lambda b: optimize.lsq_linear(A, b, (-1.0, 0.1)).x, B)


def test_a_grid_that_moves_is_refused():
    with pytest.raises(UnsupportedError, match="brute: with finish=None"):
        linad.grad(lambda u: np.sum(optimize.brute(hill, [(0, u), (0, u)], finish=None)))(1.0)


@pytest.mark.parametrize("solver", ["exact", "lsmr"])
def test_an_unknown_beside_a_bound_that_scipy_does_not_tell_of(solver):
    """It ends 1e-9 within, and its active_mask is 0."""
    a, b = np.array([[-0.307, -0.184]]), np.array([0.773])
    given = {"bounds": (-0.1, 0.1), "method": "trf", "lsq_solver": solver}
    assert not scipy.optimize.lsq_linear(a, b, **given).active_mask.all()
    for scale in (1.0, 1e4, 1e-4):
        J = linad.linearize(lambda b, s=scale: optimize.lsq_linear(s * a, s * b, **given).x, b)[1]
        assert np.array_equal(J.todense(), np.zeros((2, 1)))


@pytest.mark.parametrize("seed", range(5))
def test_unknowns_within_bounds_move_beside_those_that_rest(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal(5)
    by_active_set, within = [
        linad.jacobian(lambda b, m=m: optimize.lsq_linear(a, b, (-0.2, 0.2), method=m).x)(b)
        for m in ("bvls", "trf")
    ]
    np.testing.assert_allclose(within, by_active_set, atol=1e-10)
