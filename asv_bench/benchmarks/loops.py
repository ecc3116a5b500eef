"""Loops that are compiled once: a thousand steps as a scan, a while loop and a Python loop."""

import numpy as np

import linad

START = np.array([30.0, 4.0])
RATES = np.array([0.55, 0.028, 0.8, 0.024])


def rates(y, p):
    return np.stack([y[0] * (p[0] - p[1] * y[1]), y[1] * (p[3] * y[0] - p[2])])


def step(y, p, h):
    k1 = rates(y, p)
    k2 = rates(y + h / 2 * k1, p)
    k3 = rates(y + h / 2 * k2, p)
    k4 = rates(y + h * k3, p)
    return y + h / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def scanned(p, n, **options):
    h = 10.0 / n
    return np.sum(linad.scan(lambda y, _: (step(y, p, h), None), START, length=n, **options)[0])


def to_the_end(p, n):
    h = 10.0 / n
    last = linad.while_loop(lambda c: c[1] < n, lambda c: (step(c[0], p, h), c[1] + 1), (START, 0))
    return np.sum(last[0])


def unrolled(p, n):
    y = START
    for _ in range(n):
        y = step(y, p, 10.0 / n)
    return np.sum(y)


FORMS = {
    "scan": lambda p: scanned(p, 1000),
    "scan, 100000 steps": lambda p: scanned(p, 100_000),
    "scan, 100000 steps, 320 rows": lambda p: scanned(p, 100_000, checkpoints=320),
    "while": lambda p: to_the_end(p, 1000),
    "Python": lambda p: unrolled(p, 1000),
}


class Gradients:
    """The gradient, compiled."""

    params = list(FORMS)
    param_names = ["form"]
    timeout = 300

    def setup(self, form):
        self.gradient = linad.jit(linad.grad(FORMS[form]))
        self.gradient(RATES)
        self.gradient(RATES)

    def time_gradient(self, form):
        self.gradient(RATES)
