"""Elementwise functions over growing arrays: derivatives against the function itself."""

import numpy as np

import linad

from . import ratio, topics
from .workloads.elementwise import wave as wave_sum, waves as wave

try:
    import autograd
    import autograd.numpy as autograd_numpy
except ImportError:
    autograd = None

SIZES = [10, 1_000, 100_000, 1_000_000]


def wave_slope(x):
    """The diagonal of the Jacobian of tanh(x) sin(x) + x^2, by hand."""
    t, s = np.tanh(x), np.sin(x)
    return (1 - t * t) * s + t * np.cos(x) + 2 * x


class Elementwise:
    """tanh(x) sin(x) + x^2 and its sum."""

    params = SIZES
    param_names = ["size"]
    timeout = 120

    def setup(self, size):
        rng = np.random.default_rng(0)
        self.x, self.v, self.w = rng.standard_normal((3, size))
        self.grad = linad.grad(wave_sum)
        self.compiled = linad.jit(self.grad)
        for _ in range(2):
            self.compiled(self.x)
        _, self.J = linad.linearize(wave, self.x)
        slope = wave_slope(self.x)
        np.testing.assert_allclose(self.grad(self.x), slope)
        np.testing.assert_allclose(self.J @ self.v, slope * self.v)
        np.testing.assert_allclose(self.J.T @ self.w, slope * self.w)

    def time_value(self, size):
        wave(self.x)

    def time_linearize(self, size):
        linad.linearize(wave, self.x)

    def time_jvp(self, size):
        linad.jvp(wave, (self.x,), (self.v,))

    def time_vjp(self, size):
        _, pullback = linad.vjp(wave, self.x)
        pullback(self.w)

    def time_grad(self, size):
        self.grad(self.x)

    def time_compiled_grad(self, size):
        self.compiled(self.x)

    def time_apply(self, size):
        self.J @ self.v

    def time_apply_transpose(self, size):
        self.J.T @ self.w

    def track_jvp_over_value(self, size):
        return ratio(
            lambda: linad.jvp(wave, (self.x,), (self.v,)),
            lambda: wave(self.x),
        )

    track_jvp_over_value.unit = "ratio"

    def track_vjp_over_value(self, size):
        return ratio(
            lambda: linad.vjp(wave, self.x)[1](self.w),
            lambda: wave(self.x),
        )

    track_vjp_over_value.unit = "ratio"

    def track_grad_over_value(self, size):
        return ratio(lambda: self.grad(self.x), lambda: wave_sum(self.x))

    track_grad_over_value.unit = "ratio"

    def track_compiled_grad_over_value(self, size):
        return ratio(lambda: self.compiled(self.x), lambda: wave_sum(self.x))

    track_compiled_grad_over_value.unit = "ratio"


class AgainstByHand:
    """``J @ v`` and ``J.T @ w`` together, over the same sweeps written in NumPy by hand.

    Both sides hold their residuals already. Wanted at 1e6: 2.5 or less.
    """

    params = SIZES
    param_names = ["size"]
    timeout = 120

    def setup(self, size):
        rng = np.random.default_rng(0)
        self.x, self.v, self.w = rng.standard_normal((3, size))
        _, self.J = linad.linearize(wave, self.x)
        t, s, c = np.tanh(self.x), np.sin(self.x), np.cos(self.x)
        self.residuals = (1 - t * t, t, s, c, self.x)
        np.testing.assert_allclose(self.J @ self.v, self.pushforward(self.v))
        np.testing.assert_allclose(self.J.T @ self.w, self.pullback(self.w))

    def pushforward(self, dx):
        dt, t, s, c, x = self.residuals
        return dt * dx * s + t * (c * dx) + 2 * (x * dx)

    def pullback(self, ybar):
        dt, t, s, c, x = self.residuals
        return dt * (ybar * s) + c * (ybar * t) + 2 * (x * ybar)

    def track_pair_over_by_hand(self, size):
        def ours():
            self.J @ self.v
            self.J.T @ self.w

        def by_hand():
            self.pushforward(self.v)
            self.pullback(self.w)

        return ratio(ours, by_hand)

    track_pair_over_by_hand.unit = "ratio"


class AgainstAutograd:
    """The gradient of a sum of elementwise functions."""

    params = SIZES
    param_names = ["size"]
    timeout = 120

    def setup(self, size):
        if autograd is None:
            raise NotImplementedError("autograd is not installed")
        self.x = np.random.default_rng(0).standard_normal(size)
        self.ours = linad.grad(wave_sum)
        self.theirs = autograd.grad(lambda x: wave_sum(x, autograd_numpy))
        np.testing.assert_allclose(self.ours(self.x), self.theirs(self.x))

    def track_grad_over_autograd(self, size):
        return ratio(lambda: self.ours(self.x), lambda: self.theirs(self.x))

    track_grad_over_autograd.unit = "ratio"


Times, Ratios, AgainstPeers, OverSizes = topics.measured("elementwise")
