"""What one write into an array costs, as the number of writes grows: it must stay the same."""

import tracemalloc

import numpy as np

import linad

from . import median_seconds, topics


def entries(x):
    """A nonlinear Gauss-Seidel sweep: n writes, 3n reads, before and after."""
    for i in range(1, len(x) - 1):
        x[i] = 0.5 * (x[i - 1] + x[i + 1]) + 0.1 * x[i] ** 2
    return x


def rows(x):
    """n writes through a view of a view."""
    row = x.reshape(2, -1)[1]
    for i in range(1, len(row)):
        row[i] += 0.1 * row[i - 1] * row[i]
    return x


# Five algorithms of linear algebra on matrices with few diagonals, so that n steps should cost
# n times as much as one: d is the diagonal, and the other entries are made of it.


def gauss_seidel(d):
    """A sweep for the matrix with d on the diagonal and -1 beside it."""
    x = np.zeros_like(d)
    for i in range(1, len(d) - 1):
        x[i] = (1.0 + x[i - 1] + x[i + 1]) / d[i]
    return x


def thomas(d):
    """Elimination and back substitution for the same matrix, in place."""
    n = len(d)
    b = np.ones_like(d)
    for i in range(1, n):
        w = -1.0 / d[i - 1]
        d[i] += w
        b[i] -= w * b[i - 1]
    b[n - 1] /= d[n - 1]
    for i in range(n - 2, -1, -1):
        b[i] = (b[i] + b[i + 1]) / d[i]
    return b


def forward_substitution(d):
    """For the lower matrix with d on the diagonal and three diagonals of -0.5 below."""
    x = np.zeros_like(d)
    for i in range(len(d)):
        x[i] = (1.0 + 0.5 * np.sum(x[max(i - 3, 0) : i])) / d[i]
    return x


def cholesky_by_columns(d):
    """Of the matrix with d on the diagonal and two diagonals of -0.5 beside it.

    ``a[j]`` holds column j, from the diagonal downwards.
    """
    a = np.stack([d, -0.5 + 0.0 * d, -0.5 + 0.0 * d], axis=1)
    for j in range(len(d)):
        a[j] /= np.sqrt(a[j, 0])
        if j + 1 < len(d):
            a[j + 1, :2] -= a[j, 1] * a[j, 1:]
        if j + 2 < len(d):
            a[j + 2, 0] -= a[j, 2] ** 2
    return a


def householder(d):
    """R of the matrix with d on the diagonal and -1 beside it.

    ``a[i]`` holds the columns i - 1 to i + 2 of row i.
    """
    ones = 1.0 + 0.0 * d
    a = np.stack([-ones, d, -ones, 0.0 * d], axis=1)
    for k in range(len(d) - 1):
        x, y = a[k, 1], a[k + 1, 0]
        x = x + np.sign(x) * np.sqrt(x * x + y * y)
        scale = 2.0 / (x * x + y * y)
        both = scale * (x * a[k, 1:] + y * a[k + 1, :3])
        a[k, 1:] -= x * both
        a[k + 1, :3] -= y * both
    return a


PROGRAMS = {
    "entries": entries,
    "rows": rows,
    "Gauss-Seidel": gauss_seidel,
    "Thomas": thomas,
    "Householder QR": householder,
    "Cholesky by columns": cholesky_by_columns,
    "forward substitution": forward_substitution,
}


class Writes:
    """A loop of n steps that write entries of an array of n: plots over n, a line a program.

    The time and the memory of n writes should be straight lines through zero, and what one
    write costs, in microseconds and bytes, should not depend on n.
    """

    params = [[100, 300, 1_000, 3_000, 10_000], list(PROGRAMS)]
    param_names = ["n", "program"]
    timeout = 600

    def setup(self, n, program):
        ends = (0.1, 0.9) if program in ("entries", "rows") else (2.5, 3.5)
        self.x = np.linspace(*ends, n)
        self.v = np.linspace(-1.0, 1.0, n)
        self.f = PROGRAMS[program]
        y, self.J = linad.linearize(self.f, self.x)
        self.w = np.ones_like(y)
        self.J.pullback(self.w)
        self.J.pushforward(self.v)

    def time_value(self, n, program):
        self.f(self.x.copy())

    def time_linearize(self, n, program):
        linad.linearize(self.f, self.x)

    def time_jvp(self, n, program):
        linad.jvp(self.f, (self.x,), (self.v,))

    def time_pushforward(self, n, program):
        self.J.pushforward(self.v)

    def time_pullback(self, n, program):
        self.J.pullback(self.w)

    def track_linearize_microseconds_per_write(self, n, program):
        return self._per_write(lambda: linad.linearize(self.f, self.x))

    def track_pullback_microseconds_per_write(self, n, program):
        return self._per_write(lambda: self.J.pullback(self.w))

    def track_jvp_microseconds_per_write(self, n, program):
        return self._per_write(lambda: linad.jvp(self.f, (self.x,), (self.v,)))

    def track_linearize_bytes_per_write(self, n, program):
        return held_bytes(lambda: linad.linearize(self.f, self.x)) / n

    def track_pullback_peak_bytes_per_write(self, n, program):
        return peak_bytes(lambda: self.J.pullback(self.w)) / n

    def _per_write(self, function):
        [seconds] = median_seconds(function)
        return 1e6 * seconds / len(self.x)

    track_linearize_microseconds_per_write.unit = "us"
    track_pullback_microseconds_per_write.unit = "us"
    track_jvp_microseconds_per_write.unit = "us"
    track_linearize_bytes_per_write.unit = "bytes"
    track_pullback_peak_bytes_per_write.unit = "bytes"


def held_bytes(function):
    """Bytes that the function's result holds on to."""
    function()
    tracemalloc.start()
    result = function()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return held


def peak_bytes(function):
    """Bytes that the function needs while it runs."""
    function()
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


class SecondOrder:
    """A Hessian-vector product over n writes of one entry."""

    params = [100, 1_000]
    param_names = ["writes"]
    timeout = 300

    def setup(self, writes):
        self.x = np.linspace(0.1, 0.9, writes)
        self.f = lambda x: np.sum(entries(x) ** 2)

    def time_hvp(self, writes):
        linad.hvp(self.f, (self.x,), (self.x,))

    def track_hvp_microseconds_per_write(self, writes):
        [seconds] = median_seconds(lambda: linad.hvp(self.f, (self.x,), (self.x,)), warmup=1)
        return 1e6 * seconds / writes

    track_hvp_microseconds_per_write.unit = "us"


class WholeArrays:
    """Ten updates of a large array in place, beside the same without writing."""

    timeout = 120

    def setup(self):
        self.x = np.linspace(0.1, 0.9, 100_000)

        def in_place(x):
            y = x * 1.0
            for _ in range(10):
                y[1:-1] += 0.1 * (y[:-2] - 2.0 * y[1:-1] + y[2:])
                y *= 1.01
            return np.sum(y * y)

        def pure(x):
            y = x * 1.0
            for _ in range(10):
                inner = y[1:-1] + 0.1 * (y[:-2] - 2.0 * y[1:-1] + y[2:])
                y = np.concatenate([y[:1], inner, y[-1:]]) * 1.01
            return np.sum(y * y)

        self.in_place, self.pure = linad.grad(in_place), linad.grad(pure)
        np.testing.assert_allclose(self.in_place(self.x), self.pure(self.x))

    def time_in_place(self):
        self.in_place(self.x)

    def track_in_place_over_pure(self):
        above, below = median_seconds(lambda: self.in_place(self.x), lambda: self.pure(self.x))
        return above / below

    track_in_place_over_pure.unit = "ratio"


class OverSizes(topics.OverSizes):
    topic = "writes"
