"""How cost grows: with the size of arrays, the length of the tape, the number of seeds."""

import time

import numpy as np
from benchmarks import median_seconds
from benchmarks.workloads.elementwise import chain, wave, wave_gradient

import linad

SIZES = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
LENGTHS = [1, 3, 10, 30, 100, 300, 1_000, 3_000]
SEEDS = [1, 2, 5, 10, 20, 50, 100]


def growth(seconds):
    """Curves by name: x, and seconds of each contestant there."""
    return {
        "size": over_size(seconds),
        "length": over_length(seconds),
        "seeds": over_seeds(seconds),
    }


def curve(xs, rows):
    names = list(rows[0])
    return {"x": xs, **{n: [row[n] for row in rows] for n in names}}


def over_size(seconds):
    """The gradient of sum(tanh(x) sin(x) + x^2) in n numbers."""
    rows = []
    for n in SIZES:
        x = np.random.default_rng(0).standard_normal(n)
        eager = linad.grad(wave)
        compiled = linad.jit(eager)
        slopes = np.empty_like(x)
        wave_gradient(x, slopes)
        np.testing.assert_allclose(compiled(x), slopes)
        functions = {
            "NumPy, the function": lambda x=x: wave(x),
            "eager gradient": lambda x=x, f=eager: f(x),
            "compiled gradient": lambda x=x, f=compiled: f(x),
            "gradient by hand": lambda x=x, slopes=slopes: wave_gradient(x, slopes),
        }
        times = median_seconds(*functions.values(), seconds=seconds / 2)
        rows.append(dict(zip(functions, times, strict=True)))
    return curve(SIZES, rows)


def over_length(seconds):
    """The gradient of a chain of elementwise functions on three numbers."""
    x = np.array([0.3, 0.5, 0.7])
    rows = []
    for n in LENGTHS:
        eager = linad.grad(lambda x, n=n: chain(x, n))
        compiled = linad.jit(eager)
        start = time.perf_counter()
        compiled(x)
        recorded = time.perf_counter()
        compiled(x)
        made = time.perf_counter()
        functions = {
            "NumPy, the function": lambda n=n: chain(x, n),
            "eager gradient": lambda f=eager: f(x),
            "compiled gradient": lambda f=compiled: f(x),
        }
        times = median_seconds(*functions.values(), seconds=seconds / 2)
        row = dict(zip(functions, times, strict=True))
        row |= {"first call: recording": recorded - start}
        row |= {"second call: compiling": made - recorded}
        rows.append(row)
    return curve(LENGTHS, rows)


def over_seeds(seconds):
    """Pullbacks of a network R^200 -> R^100: seeds one by one, and together."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((150, 200)) / 14, rng.standard_normal((100, 150)) / 12

    def f(x):
        return np.tanh(B @ np.tanh(A @ x))

    x = rng.standard_normal(200)
    J, compiled = linad.linearize(f, x)[1], linad.linearize(linad.jit(f), x)[1]
    rows = []
    for n in SEEDS:
        W = rng.standard_normal((n, 100))
        np.testing.assert_allclose(compiled.pullback(W), J.pullback(W))

        def each(J, W=W):
            for w in W:
                J.pullback(w)

        functions = {
            "NumPy, the function": lambda: f(x),
            "eager, one by one": lambda g=each: g(J),
            "eager, together": lambda W=W: J.pullback(W),
            "compiled, one by one": lambda g=each: g(compiled),
            "compiled, together": lambda W=W: compiled.pullback(W),
        }
        times = median_seconds(*functions.values(), seconds=seconds / 2)
        rows.append(dict(zip(functions, times, strict=True)))
    return curve(SEEDS, rows)
