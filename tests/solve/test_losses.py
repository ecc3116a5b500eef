"""Robust losses: those of SciPy, and what their model promises."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.solve.losses import LOSSES, Loss

levenberg_marquardt = linad.solve.levenberg_marquardt


WAYS = ["dense", "sparse", "krylov"]


T = np.linspace(0.0, 3.0, 25)


Y = 2.0 * np.exp(-1.2 * T) + 0.3 + 0.01 * np.cos(11 * T)


SPIKED = Y + np.where(np.arange(25) % 8 == 3, 1.5, 0.0)


def residual(p, y=Y):
    return p[0] * np.exp(-p[1] * T) + p[2] - y


class TestLosses:
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("loss", list(LOSSES))
    def test_against_scipy(self, loss, way):
        exact = scipy.optimize.least_squares(
            residual, [1.0, 1.0, 0.0], jac=linad.jacobian(residual), args=(SPIKED,), loss=loss,
            f_scale=0.05, xtol=1e-15, ftol=1e-15, gtol=1e-14,
        )  # fmt: skip
        found = levenberg_marquardt(
            residual, [1.0, 1.0, 0.0], (SPIKED,), loss=loss, f_scale=0.05, linear_solver=way
        )
        assert found.success, found.message
        np.testing.assert_allclose(found.cost, exact.cost, rtol=1e-8)
        np.testing.assert_allclose(found.x, exact.x, rtol=1e-5 if way == "dense" else 1e-3)

    def test_own(self):
        def squares(z):
            return z, np.ones_like(z), np.zeros_like(z)

        plain = levenberg_marquardt(residual, [1.0, 1.0, 0.0])
        found = levenberg_marquardt(residual, [1.0, 1.0, 0.0], loss=squares, f_scale=3.0)
        np.testing.assert_allclose(found.x, plain.x, rtol=1e-7)

    @pytest.mark.parametrize("loss", ["tukey", 3])
    def test_unknown(self, loss):
        with pytest.raises(ValueError, match="loss must be 'linear', 'soft_l1'"):
            levenberg_marquardt(residual, [1.0, 1.0, 0.0], loss=loss)

    def test_of_another_shape(self):
        with pytest.raises(linad.errors.OutputError, match="must return rho"):
            levenberg_marquardt(residual, [1.0, 1.0, 0.0], loss=lambda z: z)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_model(name):
    """ρ' and ρ'' by differences; the gradient of the model is that of the cost."""
    loss, r = Loss(name, 0.7), np.array([-3.0, -0.5, 0.1, 0.6, 2.0])
    z, h = np.array([0.05, 0.4, 1.5, 9.0]), 1e-5
    value, first, second = LOSSES[name](z)
    up, down = LOSSES[name](z + h), LOSSES[name](z - h)
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(second, (up[1] - down[1]) / (2 * h), rtol=1e-7, atol=1e-10)
    w, scaled = loss.model(r)
    np.testing.assert_allclose(w * scaled, loss.influence(r), rtol=1e-12)
    np.testing.assert_allclose(linad.grad(loss.cost)(r), loss.influence(r), rtol=1e-12)
    small = 1e-4 * r
    np.testing.assert_allclose(loss.cost(small), 0.5 * np.sum(small**2), rtol=1e-6)
