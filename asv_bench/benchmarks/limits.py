"""Values and gradients against the limit: derived by hand, in one loop over preallocated results,
with elementary functions inlined so that the loop vectorises."""

import numpy as np
from numba import njit

import linad
from linad.sweeps.cpu.vector_math import FUNCTIONS

from . import ratio
from .workloads.elementwise import sum_sin, wave
from .workloads.likelihoods import log_normal

sin, cos, tanh, log = (FUNCTIONS[f"v_{name}"] for name in ("sin", "cos", "tanh", "log"))
REORDERED = {"reassoc", "nsz"}
"""Sums may be taken in any order, as linad takes them."""


@njit(error_model="numpy", fastmath=REORDERED)
def sum_sin_limit(x, slopes):
    total = 0.0
    for i in range(x.size):
        total += sin(x[i])
        slopes[i] = cos(x[i])
    return total


@njit(error_model="numpy", fastmath=REORDERED)
def wave_limit(x, slopes):
    total = 0.0
    for i in range(x.size):
        t, s = tanh(x[i]), sin(x[i])
        total += t * s + x[i] * x[i]
        slopes[i] = (1.0 - t * t) * s + t * cos(x[i]) + 2.0 * x[i]
    return total


@njit(error_model="numpy", fastmath=REORDERED)
def log_normal_limit(theta, y, slopes):
    scale = np.exp(-theta[1])
    first = second = logs = 0.0
    for i in range(y.size):
        logarithm = log(y[i])
        z = (logarithm - theta[0]) * scale
        first += z
        second += z * z
        logs += logarithm
    slopes[0], slopes[1] = -first * scale, y.size - second
    return 0.5 * second + y.size * theta[1] + logs


def _normal(n):
    return lambda rng: (rng.standard_normal(n),)


def _sample(rng):
    return np.array([0.1, 0.2]), np.exp(rng.standard_normal(100_000))


PROGRAMS = {
    "sum(sin), n=1000": (sum_sin, sum_sin_limit, _normal(1000)),
    "sum(tanh sin + square), n=1e4": (wave, wave_limit, _normal(10_000)),
    "sum(tanh sin + square), n=1e6": (wave, wave_limit, _normal(1_000_000)),
    "log-normal, 1e5 observations": (log_normal, log_normal_limit, _sample),
}


class Limits:
    """The value and the gradient of a jitted function."""

    params = list(PROGRAMS)
    param_names = ["program"]
    timeout = 120

    def setup(self, program):
        f, limit, make = PROGRAMS[program]
        arguments = make(np.random.default_rng(0))
        slopes = np.empty_like(arguments[0])
        compiled = linad.jit(linad.value_and_grad(f))
        for _ in range(3):
            value, gradient = compiled(*arguments)
        np.testing.assert_allclose(value, limit(*arguments, slopes))
        np.testing.assert_allclose(gradient, slopes)
        self.ours = lambda: compiled(*arguments)
        self.limit = lambda: limit(*arguments, slopes)

    def time_value_and_grad(self, program):
        self.ours()

    def track_over_limit(self, program):
        return ratio(self.ours, self.limit)

    track_over_limit.unit = "ratio"
