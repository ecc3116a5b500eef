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


def to_the_end_with_rows(p, n, rows):
    h = 10.0 / n
    last = linad.while_loop(
        lambda c: c[1] < n, lambda c: (step(c[0], p, h), c[1] + 1), (START, 0), checkpoints=rows
    )
    return np.sum(last[0])


def promised(p, n):
    y = START
    for _ in linad.loop(n):
        y = step(y, p, 10.0 / n)
    return np.sum(y)


def ensemble(p, n):
    start = np.ones((2, 1000)) * START[:, None]
    last = linad.scan(lambda y, _: (step(y, p, 0.01), None), start, length=n)[0]
    return np.sum(last**2)


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
    "while, 4 rows": lambda p: to_the_end_with_rows(p, 1000, 4),
    "Python": lambda p: unrolled(p, 1000),
    "linad.loop, 100000 steps": lambda p: promised(p, 100_000),
    "ensemble of 1000, 100 steps": lambda p: ensemble(p, 100),
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


def implicit_euler(k):
    """Each step of a loop solves a system by Newton's method."""

    def on(y, _):
        return linad.solve.root(lambda z: z - y - 0.01 * (np.roll(z, 1) - k * z**3), y), None

    return np.sum(linad.scan(on, np.array([1.0, 2.0, 3.0]), length=100)[0])


def lone_root(k):
    return np.sum(linad.solve.root(lambda x: x**3 + k * x - np.arange(1.0, 4.0), np.ones(3)))


class Solvers:
    """Newton's method inside of compiled programs: once, and in each step of a loop."""

    params = ["root", "implicit Euler, 100 steps"]
    param_names = ["program"]
    timeout = 300

    def setup(self, program):
        f = lone_root if program == "root" else implicit_euler
        self.gradient = linad.jit(linad.grad(f))
        self.gradient(0.7)
        self.gradient(0.7)

    def time_gradient(self, program):
        self.gradient(0.7)


class InitialValues:
    """The gradient through solve_ivp, outside of programs, from the second call on."""

    params = ["RK45", "DOP853", "Radau"]
    param_names = ["method"]
    timeout = 300

    def setup(self, method):
        from linad.scipy.integrate import solve_ivp

        def end(p):
            found = solve_ivp(
                lambda t, y: rates(y, p), (0.0, 60.0), START, method=method, rtol=1e-7
            )
            return np.sum(found.y[:, -1] ** 2)

        self.gradient = linad.grad(end)
        self.gradient(RATES)

    def time_gradient(self, method):
        self.gradient(RATES)
