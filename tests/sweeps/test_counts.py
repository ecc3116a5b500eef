"""What programs are made of, in numbers: instructions, kernels, bytes. A loss shows here."""

import gc
import tracemalloc

import numpy as np
import pytest

import linad
from linad.sweeps.instructions import Fallback


def program_of(f, *args):
    jitted = linad.jit(f)
    jitted(*args)
    jitted(*args)
    ((variant,),) = jitted.variants.values()
    return jitted, variant.compiled.program


def labels(program):
    assert not any(isinstance(i, Fallback) for i in program.lowering.instructions)
    return [i.label for i in program.lowering.instructions]


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def mul(c, a, b):
    c[:] = a @ b


def gauss_seidel(x, b):
    x = x.copy()
    for i in range(1, len(x) - 1):
        x[i] = np.sin(x[i - 1]) + x[i + 1] * b[i]
    return np.sum(x**2)


class TestInstructions:
    def test_one_loop(self):
        _, program = program_of(linad.grad(lambda x: np.sum(np.sin(x))), np.ones(3))
        assert labels(program) == ["cos"]
        assert program.lowering.arena_size == 0

    def test_a_chain_is_one_loop(self):
        def f(x):
            return np.sum(np.tanh(np.exp(-x * x) + 1) * x)

        _, program = program_of(linad.value_and_grad(f), np.linspace(0, 1, 50))
        assert len(labels(program)) == 1
        assert program.lowering.arena_size == 0

    def test_rosenbrock(self):
        _, program = program_of(linad.grad(rosenbrock), np.linspace(0, 1, 100))
        assert len(labels(program)) <= 4

    def test_a_product_written_into_an_argument(self):
        rng = np.random.default_rng(0)
        a, b, w = rng.normal(size=(16, 32)), rng.normal(size=(32, 8)), rng.normal(size=(16, 8))

        def pulled(a, b, w):
            def f(a, b):
                c = np.empty_like(a, shape=w.shape)
                mul(c, a, b)
                return c

            return linad.vjp(f, a, b)[1](w)

        jitted, program = program_of(pulled, a, b, w)
        assert labels(program) == ["gemm", "gemm"]
        assert program.lowering.arena_size == 0
        for found, expected in zip(jitted(a, b, w), (w @ b.T, a.T @ w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)

    def test_a_loop_of_writes_is_linear(self):
        counts = {}
        for n in (20, 40, 80):
            x = np.linspace(0, 1, n)
            _, program = program_of(linad.grad(gauss_seidel), x, x)
            counts[n] = len(labels(program))
            sizes = [i.extent for i in program.lowering.instructions]
            assert sum(sizes) < 12 * n  # entries touched
        assert counts[80] - counts[40] <= 2 * (counts[40] - counts[20]) + 2
        assert counts[80] < 8 * 80

    def test_kernels_are_shared(self):
        """By the steps of a loop, by shapes, by constants."""
        sources = set()
        for n in (20, 30):
            x = np.linspace(0, 1, n)
            _, program = program_of(linad.grad(gauss_seidel), x, x)
            sources |= {i.source for i in program.lowering.instructions}
        assert len(sources) <= 25

        def scaled(c, n):
            _, program = program_of(lambda x: np.sin(x) * c + x, np.linspace(0, 1, n))
            return [i.source for i in program.lowering.instructions]

        assert scaled(2.0, 3) == scaled(-0.5, 1000)


class TestAllocation:
    @pytest.mark.parametrize(
        "f, size",
        [
            (linad.grad(lambda x: np.sum(np.sin(x))), 1),
            (linad.grad(rosenbrock), 1),
            (lambda x: np.sum(np.exp(x) * x), 0),
            (lambda x: (np.sin(x), x[::-1] * 2), 2),
            (linad.grad(lambda x: gauss_seidel(x, x)), 1),
        ],
        ids=["sine", "rosenbrock", "sum", "two", "loop"],
    )
    def test_only_the_results(self, f, size):
        """The second call, and each later one, allocates its results."""
        x = np.linspace(0, 1, 60)
        jitted, _ = program_of(f, x)
        jitted(x)
        gc.collect()
        tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            y = jitted(x)
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        # An array's own struct, and a tuple of addresses, beside its entries.
        assert peak <= size * x.nbytes + 1200
        assert y is not None

    def test_arenas_are_reused(self):
        """Scratch memory does not grow with the length of a chain of products."""

        def chain(n):
            def f(a):
                y = a
                for _ in range(n):
                    y = np.tanh(y @ a)
                return y

            return program_of(f, np.linspace(0, 1, 400).reshape(20, 20))[1].lowering.arena_size

        assert chain(12) == chain(6) <= 3 * (400 * 8 + 128)
