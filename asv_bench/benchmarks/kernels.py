"""What the adjoint of a kernel costs, with its value, in units of the value."""

import numpy as np
from numba import njit

import linad

from . import median_seconds


def runge_kutta(theta, n, h):
    a, b, c, d, p, q = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    for _ in range(n):
        a1, b1 = p * (a - b * q), q * (d * p - c)
        p2, q2 = p + h / 2 * a1, q + h / 2 * b1
        a2, b2 = p2 * (a - b * q2), q2 * (d * p2 - c)
        p3, q3 = p + h / 2 * a2, q + h / 2 * b2
        a3, b3 = p3 * (a - b * q3), q3 * (d * p3 - c)
        p4, q4 = p + h * a3, q + h * b3
        a4, b4 = p4 * (a - b * q4), q4 * (d * p4 - c)
        p += h / 6 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        q += h / 6 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    return p * p + q * q


def gauss_seidel(u, f, sweeps, h):
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * f[i] - h * u[i] * u[i] * u[i])
    e = 0.0
    for i in range(len(u)):
        e += u[i] * u[i]
    return e


def conjugate_gradients(d, b, tol):
    n = len(b)
    x = np.zeros(n)
    r = b.copy()
    p = b.copy()
    q = np.zeros(n)
    rr = np.dot(r, r)
    while rr > tol:
        pq = 0.0
        for i in range(n):
            t = d[i] * p[i]
            if i > 0:
                t -= p[i - 1]
            if i < n - 1:
                t -= p[i + 1]
            q[i] = t
            pq += t * p[i]
        alpha = rr / pq
        new = 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            new += r[i] * r[i]
        for i in range(n):
            p[i] = r[i] + new / rr * p[i]
        rr = new
    return np.dot(x, x)


def newton(a):
    e = 0.0
    for i in range(len(a)):
        x = 1.0
        dx = 1.0
        while abs(dx) > 1e-12:
            dx = (x * x * x + x - a[i]) / (3.0 * x * x + 1.0)
            x = x - dx
        e += np.exp(-x) * x
    return e


def heat(u, r, steps):
    """In place, with a conductivity that depends on the solution."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                k = 1.0 + u[i, j] * u[i, j]
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] += r * k * (around - 4.0 * u[i, j])
    return u[1, 1]


def heat_exchanged(u, r, steps):
    """With two arrays that change places."""
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                k = 1.0 + u[i, j] * u[i, j]
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                new[i, j] = u[i, j] + r * k * (around - 4.0 * u[i, j])
        u, new = new, u
    return u


RNG = np.random.default_rng(0)
THETA = np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0])

KERNELS = {
    "rk4": (runge_kutta, (THETA, 1000, 0.01), ("theta",)),
    "gauss_seidel": (gauss_seidel, (RNG.random(200), RNG.random(200), 50, 0.1), ("u", "f")),
    "cg": (conjugate_gradients, (2.5 + RNG.random(200), RNG.random(200), 1e-20), ("d", "b")),
    "newton": (newton, (1 + RNG.random(1000),), ("a",)),
    "heat": (heat, (RNG.random((50, 50)), 0.05, 1000), ("u",)),
}
CHECKPOINTS = {"heat": 32}


class Adjoint:
    params = list(KERNELS)
    param_names = ["kernel"]
    unit = "ratio"

    def setup(self, name):
        function, self.arguments, active = KERNELS[name]
        self.plain = njit(error_model="numpy")(function)
        kernel = linad.kernel(checkpoints=CHECKPOINTS.get(name, 0))(function)
        call = kernel.specialized(self.arguments).call
        self.adjoint = call.adjoint(active)
        values = dict(zip(call.program.arguments, self.arguments, strict=False))
        self.bars = [values[a] for a in active]

    def fresh(self):
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]

    def value(self):
        self.plain(*self.fresh())

    def pull(self):
        bars = [np.zeros_like(b) for b in self.bars]
        self.adjoint.call_with_scratch([*self.fresh(), np.zeros(1), *bars, np.ones(1)])

    def track_adjoint_over_value(self, name):
        pull, value = median_seconds(self.pull, self.value)
        return pull / value
