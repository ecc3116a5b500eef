"""What linad costs for each operation, where the arrays are too small to cost anything."""

import functools
import time
import tracemalloc

import numpy as np

import linad

from . import median_seconds, ratio, topics
from .workloads.elementwise import chain

try:
    import autograd
    import autograd.numpy as autograd_numpy
except ImportError:
    autograd = None


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


class Compiled:
    """What a call of a compiled program costs beside its work: three numbers, or small matrices."""

    timeout = 120

    def setup(self):
        self.x = np.array([0.3, 0.5, 0.7])
        self.gradient = linad.jit(linad.grad(lambda x: np.sum(np.sin(x))))
        self.hand_written = hand_written_gradient()
        rng = np.random.default_rng(0)
        self.a, self.b = rng.standard_normal((16, 32)), rng.standard_normal((32, 8))
        self.w = rng.standard_normal((16, 8))
        self.outs = np.empty((16, 8)), np.empty((16, 32)), np.empty((32, 8))
        self.pulled, self.pulled_by_hand, self.product, self.product_by_hand = seed_loops(
            self.a, self.b, self.w
        )
        for _ in range(3):
            self.gradient(self.x)

    def time_gradient(self):
        self.gradient(self.x)

    def track_gradient_over_hand_written(self):
        return ratio(lambda: self.gradient(self.x), lambda: self.hand_written(self.x))

    track_gradient_over_hand_written.unit = "ratio"

    def track_pullback_over_hand_written(self):
        """C = A B with both adjoint products, called from Numba; wanted: 1.25 or less."""
        arguments = (self.a, self.b, self.w, *self.outs)
        return ratio(lambda: self.pulled(*arguments), lambda: self.pulled_by_hand(*arguments))

    track_pullback_over_hand_written.unit = "ratio"

    def track_product_over_hand_written(self):
        """The way into a program and out of it, without adjoint products; wanted: 1.05 or less."""
        arguments = (self.a, self.b, self.outs[0])
        return ratio(lambda: self.product(*arguments), lambda: self.product_by_hand(*arguments))

    track_product_over_hand_written.unit = "ratio"

    def track_call_over_numpy(self):
        """One array in, one out: beside the one operation of NumPy that it is."""
        doubled = linad.jit(lambda x: x * 2.0)
        for _ in range(3):
            doubled(self.x)
        return ratio(lambda: doubled(self.x), lambda: self.x * 2.0)

    track_call_over_numpy.unit = "ratio"

    def track_products_and_pullbacks_over_numpy(self):
        """The slowest of J @ v, J.T @ w and the closure of `vjp`, beside one operation of NumPy."""
        f = linad.jit(lambda x: np.tanh(x) * x)
        for _ in range(3):
            f(self.x)
        pullback = linad.vjp(f, self.x)[1]
        J = linad.linearize(f, self.x)[1]
        ways = [lambda: J @ self.x, lambda: J.T @ self.x, lambda: pullback(self.x)]
        return max([ratio(way, lambda: self.x * 2.0, warmup=4) for way in ways])

    track_products_and_pullbacks_over_numpy.unit = "ratio"

    def track_nanoseconds_per_instruction(self):
        """A program of a thousand writes of one entry, beside one of a hundred."""
        seconds = {}
        for n in (100, 1100):
            f = linad.jit(functools.partial(staircase, n=n))
            x = np.linspace(0.0, 1.0, n)
            for _ in range(2):
                f(x)
            steps = len(linad.explain(f)(x).steps)
            [seconds[steps]] = median_seconds(functools.partial(f, x))
        (few, fast), (many, slow) = sorted(seconds.items())
        return 1e9 * (slow - fast) / (many - few)

    track_nanoseconds_per_instruction.unit = "ns"


def staircase(x, n):
    """Each entry from the one before: as many instructions as entries."""
    y = x.copy()
    for i in range(1, n):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


def hand_written_gradient():
    import numba

    @numba.njit
    def gradient(x):
        return np.cos(x)

    return gradient


def seed_loops(a, b, w, n=1000):
    """C = A B and its pullback n times in compiled code: by linad, and with np.dot by hand."""
    import numba

    def both(a, b, w):
        c, pull = linad.vjp(np.matmul, a, b)
        return c, pull(w)

    pullback, product = linad.jit(both).njit(a, b, w), linad.jit(np.matmul).njit(a, b)

    @numba.njit
    def pulled(a, b, w, c, abar, bbar):
        for _ in range(n):
            pullback(a, b, w, c, abar, bbar)

    @numba.njit
    def pulled_by_hand(a, b, w, c, abar, bbar):
        for _ in range(n):
            np.dot(a, b, c)
            np.dot(w, b.T, abar)
            np.dot(a.T, w, bbar)

    @numba.njit
    def multiplied(a, b, c):
        for _ in range(n):
            product(a, b, c)

    @numba.njit
    def multiplied_by_hand(a, b, c):
        for _ in range(n):
            np.dot(a, b, c)

    return pulled, pulled_by_hand, multiplied, multiplied_by_hand


class OverSizes(topics.OverSizes):
    topic = "overhead"
