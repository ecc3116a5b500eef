"""Least squares: a polynomial with coefficients x (m,) against the sign function at n points."""

import numpy as np

import linad


def primal(x, n):
    t = -1 + np.arange(n) * 2 / (n - 1)
    return 0.5 * np.sum((np.sign(t) - np.vander(t, len(x), increasing=True) @ x) ** 2)


def prepare(data):
    return np.array(data["x"]), data["n"]


FUNCTIONS = {
    "primal": (prepare, linad.jit(primal), float),
    "gradient": (prepare, linad.jit(linad.grad(primal)), np.ndarray.tolist),
}
