"""What one write into an array costs, as the number of writes grows: it must stay the same."""

import numpy as np

import linad

from . import median_seconds


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


PROGRAMS = {"entries": entries, "rows": rows}


class Writes:
    """A loop of n writes of one entry into an array of n entries."""

    params = [[100, 1_000, 10_000], list(PROGRAMS)]
    param_names = ["writes", "program"]
    timeout = 300

    def setup(self, writes, program):
        self.x = np.linspace(0.1, 0.9, writes)
        self.v = np.linspace(-1.0, 1.0, writes)
        self.f = PROGRAMS[program]
        _, self.J = linad.linearize(self.f, self.x)
        self.J.pullback(self.v)
        self.J.pushforward(self.v)

    def time_value(self, writes, program):
        self.f(self.x.copy())

    def time_linearize(self, writes, program):
        linad.linearize(self.f, self.x)

    def time_jvp(self, writes, program):
        linad.jvp(self.f, (self.x,), (self.v,))

    def time_pushforward(self, writes, program):
        self.J.pushforward(self.v)

    def time_pullback(self, writes, program):
        self.J.pullback(self.v)

    def track_linearize_microseconds_per_write(self, writes, program):
        return self._per_write(lambda: linad.linearize(self.f, self.x))

    def track_pullback_microseconds_per_write(self, writes, program):
        return self._per_write(lambda: self.J.pullback(self.v))

    def track_jvp_microseconds_per_write(self, writes, program):
        return self._per_write(lambda: linad.jvp(self.f, (self.x,), (self.v,)))

    def _per_write(self, function):
        [seconds] = median_seconds(function)
        return 1e6 * seconds / len(self.x)

    track_linearize_microseconds_per_write.unit = "us"
    track_pullback_microseconds_per_write.unit = "us"
    track_jvp_microseconds_per_write.unit = "us"


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
