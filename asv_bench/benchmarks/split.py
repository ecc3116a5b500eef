"""One forward sweep, many reverse sweeps; and sweeps that two threads share."""

import time

import numpy as np

import linad

from . import ratio
from .workloads.likelihoods import ROWS
from .workloads.limit import limit

IN, HIDDEN, OUT = 200, 200, 100


class ManyReverseSweeps:
    """A perceptron from R^200 to R^100: one forward sweep, then a hundred cotangents."""

    timeout = 300

    def setup(self):
        rng = np.random.default_rng(0)
        self.w1 = rng.standard_normal((HIDDEN, IN)) / 14
        self.w2 = rng.standard_normal((OUT, HIDDEN)) / 14
        w1, w2 = self.w1, self.w2
        self.f = linad.jit(lambda x: np.tanh(w2 @ np.tanh(w1 @ x)))
        self.x = rng.standard_normal(IN)
        self.seeds = np.eye(OUT)
        self.between, self.rows = np.empty(HIDDEN), np.empty((OUT, IN))
        self.f(self.x)
        _, self.J = linad.linearize(self.f, self.x)
        np.testing.assert_allclose(self.batched(), self.one_by_one(), atol=1e-12)

    def batched(self):
        return self.J.pullback(self.seeds)

    def one_by_one(self):
        for seed, row in zip(self.seeds, self.rows, strict=True):
            row[:] = self.J.pullback(seed)
        return self.rows

    def products(self):
        """The matrix products of a batched sweep, and no more."""
        return (self.seeds @ self.w2) @ self.w1

    def products_one_by_one(self):
        """The same, one product of a matrix and a vector after the other, into one array."""
        for seed, row in zip(self.seeds, self.rows, strict=True):
            np.dot(seed, self.w2, self.between)
            np.dot(self.between, self.w1, row)

    def track_batched_over_products(self):
        """Wanted: 1.2 or less."""
        return ratio(self.batched, self.products)

    track_batched_over_products.unit = "ratio"

    def track_one_by_one_over_batched(self):
        return ratio(self.one_by_one, self.batched)

    track_one_by_one_over_batched.unit = "ratio"

    def track_one_by_one_over_products(self):
        """Wanted: 1.25 or less."""
        return ratio(self.one_by_one, self.products_one_by_one)

    track_one_by_one_over_products.unit = "ratio"

    def track_linearize_over_value(self):
        return ratio(lambda: linad.linearize(self.f, self.x), lambda: self.f(self.x))

    track_linearize_over_value.unit = "ratio"


@limit
def hessian_product(X, curvatures, v, out):
    out[:] = v
    between, part = np.empty(ROWS), np.empty(v.size)
    for start in range(0, len(X), ROWS):
        rows = X[start : start + ROWS]
        m = len(rows)
        np.dot(rows, v, between[:m])
        for i in range(m):
            between[i] *= curvatures[start + i]
        np.dot(rows.T, between[:m], part)
        out += part


class NewtonCG:
    """The Hessian of a logistic loss at a new point, and its products, 10,000 x 200."""

    timeout = 300

    def setup(self):
        rng = np.random.default_rng(0)
        self.X, self.w = rng.standard_normal((10_000, 200)), 0.1 * rng.standard_normal(200)
        self.y, self.v = (rng.random(10_000) > 0.5).astype(float), rng.standard_normal(200)

        def loss(w, X, y):
            z = X @ w
            return np.sum(np.logaddexp(0, z) - y * z) + 0.5 * w @ w

        self.gradient = linad.jit(linad.grad(loss))
        for _ in range(3):
            self.linearize()
        self.H = self.linearize()
        np.testing.assert_allclose(self.H @ self.v, self.product(), rtol=1e-9)
        p = 1 / (1 + np.exp(-(self.X @ self.w)))
        self.curvatures, self.out = p * (1 - p), np.empty(200)
        self.by_hand()
        np.testing.assert_allclose(self.out, self.product(), rtol=1e-9)

    def linearize(self):
        return linad.linearize(self.gradient, self.w, self.X, self.y, argnums=0)[1]

    def product(self):
        p = 1 / (1 + np.exp(-(self.X @ self.w)))
        return self.X.T @ (p * (1 - p) * (self.X @ self.v)) + self.v

    def products_of_x(self):
        """What a product with H needs of X, which is read twice."""
        return self.X.T @ (self.X @ self.v)

    def by_hand(self):
        """A product with H that reads X once, the slopes' slopes being known."""
        hessian_product(self.X, self.curvatures, self.v, self.out)

    def track_linearize_over_products(self):
        """The gradient reads X twice as well."""
        return ratio(self.linearize, self.products_of_x)

    track_linearize_over_products.unit = "ratio"

    def track_product_over_products(self):
        return ratio(lambda: self.H @ self.v, self.products_of_x)

    track_product_over_products.unit = "ratio"


class TwoThreads:
    """A loop over ten million entries, with one thread and with two; wanted: 1.7 or more."""

    timeout = 300
    number = 1

    def setup(self):
        self.x = np.linspace(0.0, 1.0, 10_000_000)
        self.sum = linad.jit(lambda x: np.sum(np.sin(x) * np.tanh(x)))
        for _ in range(2):
            self.sum(self.x)

    def seconds(self, threads, clock):
        with linad.config(threads=threads):
            start = clock()
            self.sum(self.x)
            return clock() - start

    def speedup(self, clock):
        found = {1: [], 2: []}
        for _ in range(9):
            for threads, times in found.items():
                times.append(self.seconds(threads, clock))
        return min(found[1]) / min(found[2])

    def track_speedup(self):
        return self.speedup(time.perf_counter)

    track_speedup.unit = "ratio"

    def track_share_of_the_calling_thread(self):
        """The same by the time the calling thread itself spends: right on a busy machine too."""
        return self.speedup(time.thread_time)

    track_share_of_the_calling_thread.unit = "ratio"
