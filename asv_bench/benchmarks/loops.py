"""Loops that are compiled once: a thousand steps as a scan, a while loop and a Python loop."""

import json
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

import linad

from .imports import run_fresh
from .real_problems import smallest_ratio
from .workloads import dynamics

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


def written(p, n):
    y = np.zeros((n + 1, 2), like=p)
    y[0] = START
    for i in range(n):
        y[i + 1] = step(y[i], p, 10.0 / n)
    return np.sum(y[-1])


def loop_in_a_loop(p, samples, steps):
    y, path = START, []
    for k in range(samples):
        h = p[0] / 0.55 * (1 + k % 2) / (samples * steps)
        for _ in range(steps):
            y = step(y, p, h)
        path.append(y)
    return np.sum(np.stack(path))


def sweeps_over_a_plane(p):
    """Gauss and Seidel's method for Laplace's equation, entry by entry."""
    u = np.zeros((12, 12), like=p)
    u[0] = p[0] * np.arange(12.0)
    for _ in range(20):
        for i in range(1, 11):
            for j in range(1, 11):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(u**2)


def cells_on_a_ring(p):
    u = np.sin(np.arange(20.0)) * p[0]
    for _ in range(20):
        new = np.zeros(20, like=p)
        for i in range(20):
            new[i] = np.tanh(p[1] * u[i - 1] + p[0] * u[i] - p[1] * u[(i + 1) % 20])
        u = new
    return np.sum(u**2)


def cheapest_path(p):
    """A dynamic programme over a table."""
    d = np.zeros((16, 16), like=p)
    for i in range(16):
        for j in range(16):
            best = 0.0
            if i and j:
                best = np.minimum(np.minimum(d[i - 1, j], d[i, j - 1]), d[i - 1, j - 1])
            d[i, j] = best + p[0] * np.sin(i * j) + p[3]
    return d[-1, -1]


def triangular_system(p):
    """Solved by hand; each row of the loop is longer than the one before."""
    x = np.zeros(40, like=p)
    for i in range(40):
        total = 0.0
        for j in range(i):
            total = total + np.sin(i * j) * x[j]
        x[i] = (p[i % 4] - total) / 40.0
    return np.sum(x**2)


def pair_forces(p):
    x, v = np.arange(5) * 1.1 * p[0], np.zeros(5) * p[0]
    for _ in range(30):
        forces = [0.0] * 5
        for i in range(5):
            for j in range(i + 1, 5):
                r = x[j] - x[i]
                force = p[1] / r**2 - p[3] / r**3
                forces[i], forces[j] = forces[i] + force, forces[j] - force
        v = v + 0.01 * np.stack(forces)
        x = x + 0.01 * v
    return np.sum(x**2)


def stiff_fit(p, method):
    """Two solutions of the equations of three reactions, at times of their own."""
    from linad.scipy.integrate import solve_ivp

    k = p * np.array([0.07, 4e3, 4e3, 4e5])

    def reactions(t, y, scale):
        slow, fast, faster = scale * k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return [fast - slow, slow - fast - faster, faster]

    total = 0.0
    for scale, times in ((1.0, np.linspace(0.1, 1.0, 5)), (0.9, np.linspace(1.0, 40.0, 8))):
        found = solve_ivp(
            *(reactions, (0.0, times[-1]), [1.0, 0.0, 0.0]),
            method=method,
            t_eval=times,
            args=(scale,),
            rtol=1e-6,
            atol=1e-9,
        )
        total = total + np.sum(found.y**2)
    return total


FORMS = {
    "scan": lambda p: scanned(p, 1000),
    "scan, 100000 steps": lambda p: scanned(p, 100_000),
    "scan, 100000 steps, 320 rows": lambda p: scanned(p, 100_000, checkpoints=320),
    "while": lambda p: to_the_end(p, 1000),
    "while, 4 rows": lambda p: to_the_end_with_rows(p, 1000, 4),
    "Python": lambda p: unrolled(p, 1000),
    "Python, states written": lambda p: written(p, 1000),
    "Python, 20 times 10 steps": lambda p: loop_in_a_loop(p, 20, 10),
    "Python, 5 times 200 steps": lambda p: loop_in_a_loop(p, 5, 200),
    "linad.loop, 100000 steps": lambda p: promised(p, 100_000),
    "ensemble of 1000, 100 steps": lambda p: ensemble(p, 100),
    "sweeps over a plane": sweeps_over_a_plane,
    "cells on a ring": cells_on_a_ring,
    "cheapest path": cheapest_path,
    "triangular system": triangular_system,
    "pair forces": pair_forces,
    "two solve_ivp, BDF": lambda p: stiff_fit(p, "BDF"),
    "two solve_ivp, Radau": lambda p: stiff_fit(p, "Radau"),
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


def compiled(f, *args):
    made = linad.jit(f)
    made(*args)
    made(*args)
    return made


def by_hand():
    return dynamics.lotka_volterra_gradient(dynamics.START)


class Ratios:
    """Processor time of gradients over that of the loop by hand, 1,000 steps, or of another form;
    for as many steps."""

    params = [
        "scan",
        "scan, hvp",
        "Python",
        "scan, 100000 steps",
        "linad.loop, 100000 steps",
        "320 rows over all",
        "while over scan",
        "while, 4 rows, over scan",
        "ensemble of 1000, a step over 1000 steps by hand",
    ]
    param_names = ["form"]
    timeout = 300

    def setup(self, form):
        above, scale, below = form, 1.0, None
        if form == "scan, hvp":
            g = linad.grad(FORMS["scan"])
            hvp = compiled(lambda p: linad.jvp(g, (p,), (p,))[1], RATES)
            self.pair = (lambda: hvp(RATES)), by_hand, 1.0
            return
        if " over scan" in form:
            above, below = form.removesuffix(" over scan").removesuffix(","), "scan"
        if form == "320 rows over all":
            above, below = "scan, 100000 steps, 320 rows", "scan, 100000 steps"
        elif "100000" in form or form.startswith("ensemble"):
            above, scale = form.removesuffix(", a step over 1000 steps by hand"), 0.01
        if form.startswith("ensemble"):
            above = "ensemble of 1000, 100 steps"
        g = compiled(linad.grad(FORMS[above]), RATES)
        h = None if below is None else compiled(linad.grad(FORMS[below]), RATES)
        self.pair = (lambda: g(RATES)), (by_hand if h is None else lambda: h(RATES)), scale

    def track_ratio(self, form):
        above, below, scale = self.pair
        return scale * smallest_ratio(above, below, 25)

    track_ratio.unit = "ratio"


FIRST = """
import json, sys, time
from benchmarks import loops

# Numba's own start is not counted.
loops.compiled(loops.linad.grad(lambda p: loops.np.sum(p * p)), loops.RATES)
g = loops.linad.jit(loops.linad.grad(loops.FORMS[sys.argv[1]]))
start = time.process_time()
g(loops.RATES)
g(loops.RATES)
print(json.dumps(time.process_time() - start))
"""


class FirstCalls:
    """Processor time of the first two calls in a new process, with an empty folder of kernels and
    then with a full one. Wanted of loops in loops: 3 or less."""

    params = [
        "scan",
        "scan, 100000 steps",
        "Python",
        "Python, states written",
        "Python, 20 times 10 steps",
        "Python, 5 times 200 steps",
        "linad.loop, 100000 steps",
        "sweeps over a plane",
        "cells on a ring",
        "cheapest path",
        "triangular system",
        "pair forces",
        "two solve_ivp, BDF",
        "two solve_ivp, Radau",
    ]
    param_names = ["form"]
    timeout = 600

    def setup(self, form):
        with tempfile.TemporaryDirectory() as folder:
            self.cold, self.warm = (self._seconds(form, folder) for _ in range(2))

    def _seconds(self, form, folder):
        path = str(Path(__file__).parents[1])
        said = run_fresh(FIRST, form, LINAD_CACHE_DIR=folder, PYTHONPATH=path)
        return json.loads(said.splitlines()[-1])

    def track_cold(self, form):
        return self.cold

    def track_warm(self, form):
        return self.warm

    track_cold.unit = track_warm.unit = "s"


class Workspaces:
    """What a compiled gradient keeps from step to step."""

    params = ["scan, 100000 steps", "scan, 100000 steps, 320 rows"]
    param_names = ["form"]
    timeout = 300

    def track_bytes(self, form):
        """Wanted: 1.6 MB, and a hundredth of it with 320 rows."""
        return linad.explain(linad.grad(FORMS[form]))(RATES).arena_bytes

    track_bytes.unit = "bytes"


class Recording:
    """A plain loop of Python's, recorded: what a step of the first call costs."""

    timeout = 600

    def _recorded(self, n):
        linad.jit(lambda p: unrolled(p, n))(RATES)

    def setup(self):
        self._recorded(1000)

    def track_microseconds_an_operation(self):
        """Wanted: 5 or less. Processor time from 1,000 to 6,000 steps."""
        spent = []
        for n in (1000, 6000):
            start = time.process_time()
            self._recorded(n)
            spent.append(time.process_time() - start)
        operations = len(linad.trace(lambda p: unrolled(p, 1), RATES)[1].equations) - 1
        return 1e6 * (spent[1] - spent[0]) / (5000 * operations)

    track_microseconds_an_operation.unit = "us"

    def track_bytes_a_step(self):
        """Wanted: none, but for the numbers that change."""
        most = []
        for n in (500, 2000):
            tracemalloc.start()
            self._recorded(n)
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return (most[1] - most[0]) / 1500

    track_bytes_a_step.unit = "bytes"


def solve_minimum(a):
    found = linad.solve.minimum(lambda x: np.sum(np.exp(x) - a * x), np.zeros(3))
    return np.sum(found)


def fit(a):
    t = np.linspace(0.0, 4.0, 30)
    y = a * np.exp(-0.7 * t) + 0.5
    start = np.array([1.0, 1.0, 0.0])
    found = linad.solve.least_squares(lambda c: c[0] * np.exp(-c[1] * t) + c[2] - y, start)
    return np.sum(found)


def implicit_euler(k):
    """Each step of a loop solves a system by Newton's method."""

    def on(y, _):
        return linad.solve.root(lambda z: z - y - 0.01 * (np.roll(z, 1) - k * z**3), y), None

    return np.sum(linad.scan(on, np.array([1.0, 2.0, 3.0]), length=100)[0])


def lone_root(k):
    return np.sum(linad.solve.root(lambda x: x**3 + k * x - np.arange(1.0, 4.0), np.ones(3)))


SOLVERS = {
    "root": lone_root,
    "implicit Euler, 100 steps": implicit_euler,
    "minimum": solve_minimum,
    "least squares": fit,
}


class Solvers:
    """Solvers inside of compiled programs: once, and in each step of a loop."""

    params = list(SOLVERS)
    param_names = ["program"]
    timeout = 300

    def setup(self, program):
        self.gradient = linad.jit(linad.grad(SOLVERS[program]))
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
