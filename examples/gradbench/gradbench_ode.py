"""The classical Runge-Kutta method, from 0 to 2 in s steps: y_0' = x_0, y_i' = x_i y_(i-1).

The gradient is that of the last entry of y(2).
"""

import numpy as np

import linad

END = 2.0


def slope(x, y):
    return x * np.concatenate([np.ones(1), y[:-1]])


def primal(x, s):
    h = END / s

    def step(y, _):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return linad.scan(step, np.zeros_like(x), length=s)[0]


def prepare(data):
    return np.array(data["x"]), data["s"]


FUNCTIONS = {
    "primal": (prepare, linad.jit(primal), np.ndarray.tolist),
    "gradient": (prepare, linad.jit(linad.grad(lambda x, s: primal(x, s)[-1])), np.ndarray.tolist),
}
