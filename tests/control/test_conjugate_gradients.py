"""Conjugate gradients and Newton's method on a device.

What goes to the host is whether an iteration goes on, and the status: no vector.
"""

import numpy as np
import pytest
from fake_device import Foreign, fake_gpu, transfers

import linad

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3))
RIDGE = 0.1


def test_conjugate_gradients():
    def step(w, x, b):
        _, J = linad.linearize(lambda w: np.tanh(x @ w), w)
        return linad.solve_linear(J.T @ J + RIDGE * linad.eye(4), b, method="cg")

    args = W[:, 0], X, W[:, 1]
    with fake_gpu() as device:
        f, there = linad.jit(step), [Foreign(device, a) for a in args]
        f(*there)
        with transfers(device) as moved:
            found = f(*there)
        assert set(moved) <= {1, 8, 16}  # whether it goes on; the status; and both in the end
        np.testing.assert_allclose(found.numpy(), step(*args), rtol=1e-9)
        slope = linad.jit(linad.grad(lambda *args: np.sum(step(*args)), argnums=(0, 2)))
        for a, b in zip(slope(*there), slope(*args), strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-8)


def test_newtons_method():
    def cost(w, x):
        return np.sum(np.log1p(np.exp(-(x @ w)))) + 0.5 * np.sum(w * w)

    def minimum(w, x):
        def goes_on(state):
            return np.sum(state[1] ** 2) > 1e-20

        def step(state):
            g, hessian = linad.linearize(linad.grad(cost), state[0], x, argnums=0)
            w = state[0] - linad.solve_linear(hessian, g, method="cg")
            return w, linad.grad(cost)(w, x)

        return linad.while_loop(goes_on, step, (w, linad.grad(cost)(w, x)))

    with fake_gpu() as device:
        f, there = linad.jit(minimum), [Foreign(device, a) for a in (W[:, 0], X)]
        f(*there)
        with transfers(device) as moved:
            found = f(*there)[0]
        assert set(moved) <= {1, 8, 16}
        np.testing.assert_allclose(linad.grad(cost)(found.numpy(), X), 0, atol=1e-10)


def test_what_does_not_converge():
    """NumPy's run of the function says what is wrong."""

    def step(w, b):
        _, J = linad.linearize(lambda w: w * np.array([1.0, -1, 2, -3]), w)
        return linad.solve_linear(J + 0 * linad.eye(4), b, method="cg", maxiter=1)

    failed = pytest.raises(linad.errors.ConvergenceError, match="cg on")
    with fake_gpu() as device, failed:
        linad.jit(step)(*[Foreign(device, a) for a in (W[:, 0], W[:, 1])])
