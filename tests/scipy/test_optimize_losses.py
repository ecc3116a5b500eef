"""Losses of fits: SciPy's values, and the derivatives of the minimum."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.errors import UnsupportedError
from linad.scipy import optimize

T = np.linspace(0.0, 2.0, 9)
DATA = 2 * np.exp(-1.3 * T) + 0.1 * np.cos(9 * T) + 2.0 * (np.arange(9) == 4)
EXACT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-13}


def rho(z):
    t = 1 + z
    return np.stack([np.log(t), 1 / t, -1 / t**2])


def name_of(loss):
    return loss if isinstance(loss, str) else loss.__name__


LOSSES = ["linear", "soft_l1", "huber", "cauchy", "arctan", rho]


def fit(module, y, loss, scale):
    return module.least_squares(
        lambda p: p[0] * np.exp(-p[1] * T) - y, [2.0, 1.0], loss=loss, f_scale=scale, **EXACT
    )


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_all_that_a_fit_tells(loss):
    theirs = fit(scipy.optimize, DATA, loss, 0.2)
    found = linad.linearize(
        lambda y: [getattr(fit(optimize, y, loss, 0.2), k) for k in ("x", "cost", "fun", "jac")],
        DATA,
    )[0]
    for mine, name in zip(found, ("x", "cost", "fun", "jac"), strict=True):
        np.testing.assert_allclose(mine, theirs[name], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_the_minimum_moves_with_data_and_scale(loss):
    """By the stationarity of the cost, written out once more."""
    scale = 0.2
    if loss is rho:
        cost = np.log1p
    else:
        cost = {
            "linear": lambda z: z,
            "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
            "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.abs(z) + 1e-300) - 1),
            "cauchy": lambda z: np.log(1 + z),
            "arctan": np.arctan,
        }[loss]

    def total(p, y, c):
        return 0.5 * c**2 * np.sum(cost(((p[0] * np.exp(-p[1] * T) - y) / c) ** 2))

    J = linad.linearize(lambda y, c: fit(optimize, y, loss, c).x, DATA, scale)[1]
    p = fit(scipy.optimize, DATA, loss, scale).x
    slope = linad.grad(total)
    H = linad.jacobian(lambda p: slope(p, DATA, scale))(p)
    mixed = linad.jacobian(lambda y: slope(p, y, scale))(DATA)
    by_scale = linad.derivative(lambda c: slope(p, DATA, c))(scale)
    exact = -np.linalg.solve(H, np.column_stack([mixed, by_scale]))
    np.testing.assert_allclose(J.todense(), exact, rtol=1e-5, atol=1e-6)


def test_the_gradient_at_a_bound():
    def gradient(y):
        return optimize.least_squares(
            lambda p: p[0] * np.exp(-p[1] * T) - y,
            [1.5, 1.0],
            loss="cauchy",
            bounds=([0, 0], [1.8, 9]),
            **EXACT,
        ).grad

    found, J = linad.linearize(gradient, DATA)
    h = 1e-5 * np.cos(T)
    difference = (gradient(DATA + h) - gradient(DATA - h)) / 2e-5
    # SciPy's search ends where the slope is small, which differences magnify.
    np.testing.assert_allclose(J.pushforward(np.cos(T)), difference, atol=1e-3)
    assert abs(found[0]) > 0.01


def test_a_loss_of_a_curve_is_refused():
    with pytest.raises(UnsupportedError, match="curve_fit: a loss is not traced"):
        linad.jacobian(
            lambda y: optimize.curve_fit(
                lambda t, p, q: p * np.exp(-q * t), T, y, [2.0, 1.0], method="trf", loss="cauchy"
            )[0]
        )(DATA)
