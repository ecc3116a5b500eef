"""What linad costs for each operation, where the arrays are too small to cost anything."""

import time
import tracemalloc

import numpy as np

import linad

from . import median_seconds, ratio

try:
    import autograd
    import autograd.numpy as autograd_numpy
except ImportError:
    autograd = None


def chain(x, length, numpy=np):
    """Length elementwise operations, one after the other, then a sum."""
    functions = [numpy.sin, numpy.tanh, numpy.cos, numpy.exp]
    for i in range(length):
        x = functions[i % 4](x)
    return numpy.sum(x)


class Chain:
    """A chain of elementwise operations on three numbers."""

    params = [1, 10, 100]
    param_names = ["operations"]
    timeout = 120

    def setup(self, operations):
        self.x = np.array([0.3, 0.5, 0.7])
        self.v = np.array([1.0, -1.0, 0.5])
        self.f = lambda x: chain(x, operations)
        self.grad = linad.grad(self.f)
        _, self.J = linad.linearize(self.f, self.x)
        self.J @ self.v
        self.J.T @ np.ones(1)

    def time_value(self, operations):
        self.f(self.x)

    def time_linearize(self, operations):
        linad.linearize(self.f, self.x)

    def time_jvp(self, operations):
        linad.jvp(self.f, (self.x,), (self.v,))

    def time_vjp(self, operations):
        _, pullback = linad.vjp(self.f, self.x)
        pullback(1.0)

    def time_grad(self, operations):
        self.grad(self.x)

    def time_apply(self, operations):
        self.J @ self.v

    def time_apply_transpose(self, operations):
        self.J.T @ np.ones(1)

    def track_grad_over_value(self, operations):
        return ratio(lambda: self.grad(self.x), lambda: self.f(self.x))

    track_grad_over_value.unit = "ratio"

    def track_grad_microseconds_per_operation(self, operations):
        [seconds] = median_seconds(lambda: self.grad(self.x))
        return 1e6 * seconds / operations

    track_grad_microseconds_per_operation.unit = "us"


class AgainstAutograd:
    """The gradient of a chain of elementwise operations on three numbers; wanted: 0.5 or less."""

    params = [10, 100, 1000]
    param_names = ["operations"]
    timeout = 120

    def setup(self, operations):
        if autograd is None:
            raise NotImplementedError("autograd is not installed")
        self.x = np.array([0.3, 0.5, 0.7])
        self.ours = linad.grad(lambda x: chain(x, operations))
        self.theirs = autograd.grad(lambda x: chain(x, operations, autograd_numpy))
        np.testing.assert_allclose(self.ours(self.x), self.theirs(self.x))

    def track_grad_over_autograd(self, operations):
        return ratio(lambda: self.ours(self.x), lambda: self.theirs(self.x))

    track_grad_over_autograd.unit = "ratio"


class LongTape:
    """Time for each operation must not grow with the length of the program."""

    params = [1_000, 10_000, 100_000]
    param_names = ["operations"]
    timeout = 300

    def setup(self, operations):
        self.x = np.array([0.3, 0.5, 0.7])
        self.grad = linad.grad(lambda x: chain(x, operations))

    def track_grad_microseconds_per_operation(self, operations):
        self.grad(self.x)
        start = time.perf_counter()
        self.grad(self.x)
        return 1e6 * (time.perf_counter() - start) / operations

    track_grad_microseconds_per_operation.unit = "us"


class Memory:
    """Peak memory of a gradient, in arrays of the size of x, for each operation.

    One residual an operation is the least an elementwise chain can do with.
    """

    timeout = 120

    def setup(self):
        self.operations = 1000
        self.x = np.linspace(0.1, 1.0, 100_000)
        self.grad = linad.grad(lambda x: chain(x, self.operations))
        self.grad(self.x[:3])

    def track_peak_arrays_per_operation(self):
        tracemalloc.start()
        try:
            self.grad(self.x)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return peak / self.x.nbytes / self.operations

    track_peak_arrays_per_operation.unit = "arrays"
