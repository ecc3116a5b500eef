"""The heat equation as a kernel, here and in Warp on the CPU.

Warp's tape keeps no values that are overwritten, so with two arrays that change places its gradient
is wrong, and no error says so; it is right with an array for each step. Both forms are tracked.
"""

import importlib.util

import numpy as np

import linad

from . import median_seconds
from .kernels import heat_exchanged

STEPS = 100
START = np.random.default_rng(0).random((50, 50))


def in_warp():
    """A function of the number of arrays that returns the gradient of sum(heat(u)**2)."""
    import warp as wp

    wp.config.quiet = True

    @wp.kernel
    def step(u: wp.array2d(dtype=wp.float64), v: wp.array2d(dtype=wp.float64), r: wp.float64):
        i, j = wp.tid()
        if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
            k = wp.float64(1.0) + u[i, j] * u[i, j]
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            v[i, j] = u[i, j] + r * k * (around - wp.float64(4.0) * u[i, j])
        else:
            v[i, j] = u[i, j]

    def gradient(arrays):
        u = [wp.array(START, dtype=wp.float64, device="cpu", requires_grad=True)]
        u += [wp.zeros_like(u[0]) for _ in range(arrays - 1)]
        tape = wp.Tape()
        with tape:
            for n in range(STEPS):
                given = [u[n % arrays], u[(n + 1) % arrays], 0.05]
                wp.launch(step, dim=START.shape, inputs=given, device="cpu")
        end = u[STEPS % arrays]
        seed = wp.array(2.0 * end.numpy(), dtype=wp.float64, device="cpu")
        tape.backward(grads={end: seed})
        return u[0].grad.numpy()

    return gradient


class Warp:
    """Against Warp; skipped where it is not installed."""

    def setup(self):
        if importlib.util.find_spec("warp") is None:
            raise NotImplementedError("warp is not installed")
        kernel = linad.kernel(heat_exchanged)
        self.mine = linad.grad(lambda u: np.sum(kernel(u * 1.0, 0.05, STEPS) ** 2))
        self.warp = in_warp()
        self.expected = self.mine(START)

    def error(self, arrays):
        """Of Warp's gradient, relative to its largest entry."""
        found = self.warp(arrays)
        return np.abs(found - self.expected).max() / np.abs(self.expected).max()

    def track_time_of_warp_over_linad(self):
        ours, theirs = median_seconds(lambda: self.mine(START), lambda: self.warp(STEPS + 1))
        return theirs / ours

    def track_error_of_warp_with_an_array_a_step(self):
        return self.error(STEPS + 1)

    def track_error_of_warp_with_two_arrays(self):
        return self.error(2)

    track_time_of_warp_over_linad.unit = "ratio"
    track_error_of_warp_with_an_array_a_step.unit = "relative"
    track_error_of_warp_with_two_arrays.unit = "relative"
