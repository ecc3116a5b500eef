"""What programs consist of, in numbers that are the same on every machine.

Instructions and kernels of a call, bytes of scratch memory and of constants, what a call
allocates: they decide what a call costs, and here they cannot grow unseen. All are upper
bounds, and were exact when they were written: where one falls, put the new number here.
"""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

import linad
from linad.sweeps import plan


class Count(NamedTuple):
    """Bounds for one program."""

    instructions: int
    kernels: int
    scratch: int
    constants: int


def sum_sin(x):
    return np.sum(np.sin(x))


def wave(x):
    return np.sum(np.tanh(x) * np.sin(x) + x * x)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def product(A, B):
    return A @ B


def kron_sum(a, b):
    return np.sum(np.kron(a, b))


def bratu(u):
    p = np.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u + np.exp(u)


def network(W, V, x):
    return np.sum(V @ np.tanh(W @ x))


def gaussian_process(t, D, y):
    K = np.exp(t[0]) * np.exp(-D * np.exp(t[1])) + np.exp(t[2]) * np.eye(len(D))
    L = np.linalg.cholesky(K)
    return 0.5 * np.sum(y * np.linalg.solve(K, y)) + np.sum(np.log(np.diagonal(L)))


def products(x):
    y, a = x[0], x[1]
    for _ in range(400):
        y = y * a
    return y


def lotka_volterra(t):
    y = t[4:]
    for _ in range(20):
        y = y + 0.01 * np.stack([y[0] * (t[0] - t[1] * y[1]), y[1] * (t[3] * y[0] - t[2])])
    return np.sum(y * y)


def in_place(x):
    for i in range(1, 30):
        x[i] = 0.5 * x[i] + x[i - 1] * x[i]
    return np.sum(x)


def logistic(w, X, y):
    return np.sum(np.logaddexp(0, -y * (X @ w)))


def log_normal(theta, y):
    logs, sigma = np.log(y), np.exp(theta[1])
    z = (logs - theta[0]) / sigma
    return 0.5 * np.sum(z * z) + np.sum(logs) + y.size * theta[1]


def hvp(f):
    """Of a function of one array; the vector comes last."""
    return lambda x, *more: linad.hvp(lambda x: f(x, *more[:-1]), (x,), more[-1:])


def jvp(f):
    return lambda x, v: linad.jvp(f, (x,), (v,))[1]


def vjp(f):
    return lambda *inputs: linad.vjp(f, *inputs[:-1])[1](inputs[-1])


def written_product(A, B, W):
    def f(A, B):
        C = np.empty_like(A, shape=W.shape)
        C[:] = A @ B
        return C

    return linad.vjp(f, A, B)[1](W)


def normal(*shapes):
    rng = np.random.default_rng(0)
    return tuple([rng.standard_normal(s) for s in shapes])


PREY = np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0])
POINTS = np.arange(6.0)
SQUARED = np.subtract.outer(POINTS, POINTS) ** 2

PROGRAMS = {
    # One loop from x to its gradient; nothing is stored on the way.
    "sum of sines": (linad.grad(sum_sin), normal(3), Count(1, 1, 0, 0)),
    # The gradient is a constant: one copy.
    "sum": (linad.grad(np.sum), normal(3), Count(1, 1, 0, 24)),
    # Value and slopes share one loop.
    "wave": (linad.value_and_grad(wave), normal(1000), Count(1, 1, 0, 0)),
    # All sums are taken in one pass over the sample, and the logarithms are not stored.
    "log-normal": (
        linad.value_and_grad(log_normal),
        (np.array([0.1, 0.2]), np.exp(normal(2000)[0])),
        Count(4, 4, 384, 0),
    ),
    # The ends; what is between them, with the terms of the value; their sum.
    "Rosenbrock": (linad.value_and_grad(rosenbrock), normal(1000), Count(3, 3, 128, 0)),
    "Rosenbrock, HVP": (hvp(rosenbrock), normal(1000, 1000), Count(2, 2, 0, 0)),
    # Two calls of GEMM with transpose flags; A @ B itself is not needed. Constants are BLAS's.
    "matrix product": (vjp(product), normal((4, 5), (5, 3), (4, 3)), Count(2, 1, 0, 320)),
    "matrix product, written": (
        written_product,
        normal((4, 5), (5, 3), (4, 3)),
        Count(2, 1, 0, 320),
    ),
    "two results": (lambda x: (np.sin(x), x[::-1] * 2), normal(60), Count(2, 2, 0, 0)),
    # sum(kron(a, b)) = sum(a) sum(b), which the rules find by themselves.
    "Kronecker": (
        linad.grad(kron_sum, argnums=(0, 1)),
        normal((4, 4), (5, 5)),
        Count(4, 2, 128, 0),
    ),
    # With the value: the sums once more where they are not finite, and no product stored.
    "Kronecker, value": (
        linad.value_and_grad(kron_sum, argnums=(0, 1)),
        normal((6, 6), (7, 7)),
        Count(6, 4, 192, 0),
    ),
    # The padded tangent is the only intermediate array.
    "Bratu, JVP": (jvp(bratu), normal((16, 16), (16, 16)), Count(3, 3, 2624, 0)),
    "Bratu, VJP": (vjp(bratu), normal((16, 16), (16, 16)), Count(7, 5, 4672, 0)),
    # A middle and its borders, in place of four windows of padded zeros.
    "Bratu, VJP, large": (vjp(bratu), normal((40, 40), (40, 40)), Count(5, 5, 12928, 0)),
    # Four products, one loop. Scratch: W x, and its cotangent.
    "network": (
        linad.grad(network, argnums=(0, 1)),
        normal((8, 6), (5, 8), (6, 7)),
        Count(5, 2, 1792, 1200),
    ),
    # One factorisation for the determinant, the solution and their derivatives; two
    # instructions do nothing unless the matrix is not symmetric.
    "Gaussian process": (
        linad.grad(gaussian_process),
        (np.array([0.0, 0.5, -1.0]), SQUARED, POINTS),
        Count(32, 25, 2048, 1320),
    ),
    # A loop there and a loop back; each power is kept. Loops do not follow what is read of what
    # they carry: whether there is NaN, and the guard that asks, are the last two of both.
    # Two loops; then zeros, which are filled and not copied from a constant, and two entries.
    "400 products": (linad.grad(products), normal(2), Count(7, 7, 3328, 17)),
    "Lotka-Volterra": (linad.grad(lotka_volterra), (PREY,), Count(6, 6, 448, 49)),
    # 29 writes of one entry; constants: where they are. The last two ask for NaN: in a loop of
    # writes at places that move it is not followed whether each entry is read before it is
    # overwritten, and one that is not has a cotangent of zero before the slope x[i - 1].
    "in place": (linad.grad(in_place), normal(30), Count(6, 5, 768, 2097)),
    # X is read twice forwards and once backwards, by GEMV.
    "logistic, HVP": (
        hvp(logistic),
        (*normal(5, (20, 5)), np.sign(normal(20)[0]), *normal(5)),
        Count(4, 2, 576, 384),
    ),
}


LONG = ("400 products", "Lotka-Volterra")
"""Programs that take seconds to record."""


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.full if n in LONG else ()) for n in PROGRAMS],
)
def test_program(name):
    f, inputs, bounds = PROGRAMS[name]
    jitted = linad.jit(f)
    jitted(*inputs), jitted(*inputs)
    report = linad.explain(jitted)(*inputs)
    assert report.fallbacks == []
    found = Count(len(report.steps), report.kernels, report.arena_bytes, report.constant_bytes)
    assert all(a <= b for a, b in zip(found, bounds, strict=True)), found


TRAFFIC = {
    "wave": 1.0,
    "log-normal": 1.01,
    "Rosenbrock": 1.01,
    "Rosenbrock, HVP": 1.01,
    "Bratu, JVP": 2.6,
    "Bratu, VJP, large": 1.8,
    "logistic, HVP": 3.8,
}
"""Bytes that a call reads and writes over those of its arguments and results."""


@pytest.mark.parametrize("name", TRAFFIC)
def test_traffic(name):
    f, inputs, _ = PROGRAMS[name]
    jitted = linad.jit(f)
    jitted(*inputs)
    results = linad.core.tree.flatten(jitted(*inputs))[0]
    least = sum([np.asarray(a).nbytes for a in (*inputs, *results)])
    assert linad.explain(jitted)(*inputs).moved_bytes <= TRAFFIC[name] * least


FEW = ("Bratu, VJP", "network", "Gaussian process", "logistic, HVP")
"""Programs with every kind of instruction: loops, products, factors, products of vectors."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in FEW else pytest.mark.full) for n in PROGRAMS],
)
def test_a_call_allocates_its_results_and_no_other_array(name):
    f, inputs, _ = PROGRAMS[name]
    jitted = linad.jit(f)
    for _ in range(3):
        result = jitted(*inputs)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = jitted(*inputs)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    leaves = linad.core.tree.flatten(result)[0]
    own = 160 + 112 * len(leaves)  # the array objects themselves, tuples around them
    assert peak <= sum([np.asarray(x).nbytes for x in leaves]) + own


def test_repetitions_share_kernels():
    """Ten times as many steps are as many kernels."""

    def steps(n):
        def f(x):
            for _ in range(n):
                x = np.sin(x) @ np.ones((3, 3))
            return np.sum(x)

        return linad.explain(linad.jit(linad.grad(f)))(np.ones(3))

    few, many = steps(5), steps(50)
    assert many.kernels == few.kernels
    assert len(many.steps) <= 12 * len(few.steps)


def program_of(f, *args):
    program = linad.jit(f).variant(*args).compiled.program
    program.give_back(program.borrow())  # made when it is first needed
    return program.lowering


def gauss_seidel(x, b):
    x = x.copy()
    for i in range(1, len(x) - 1):
        x[i] = np.sin(x[i - 1]) + x[i + 1] * b[i]
    return np.sum(x**2)


@pytest.mark.usefixtures("kernels")
def test_a_loop_of_writes_is_linear():
    counts = {}
    for n in (20, 40, 80):
        x = np.linspace(0, 1, n)
        program = program_of(linad.grad(gauss_seidel), x, x)
        counts[n] = len(program.instructions)
        assert sum([i.extent for i in program.instructions]) < 12 * n  # entries touched
    assert counts[80] <= 4 * counts[20]
    assert counts[80] < 8 * 80


def test_shapes_share_kernels():
    sources = set()
    for n in (20, 30):
        x = np.linspace(0, 1, n)
        sources |= {i.source for i in program_of(linad.grad(gauss_seidel), x, x).instructions}
    assert len(sources) <= 25


def test_constants_share_kernels():
    def scaled(c, n):
        program = program_of(lambda x: np.sin(x) * c + x, np.linspace(0, 1, n))
        return [i.source for i in program.instructions]

    # Short loops that leave entries over are written otherwise than the others.
    for n, m in ((16, 1000), (14, 30)):
        assert scaled(3.0, n) == scaled(-0.5, m) != scaled(2.0, n)  # 2 y is y + y
        assert scaled(2.0, n) == scaled(2, m)


def test_scratch_memory_is_reused():
    """It does not grow with the length of a chain of products."""

    def chain(n):
        def f(a):
            y = a
            for _ in range(n):
                y = np.tanh(y @ a)
            return y

        return program_of(f, np.linspace(0, 1, 400).reshape(20, 20)).arena_size

    assert chain(12) == chain(6) <= 3 * (400 * 8 + 128)


def without_repetition(x):
    y, order = [x[0], x[1], x[2]], np.random.default_rng(0)
    for _ in range(150):
        i, j, k = order.integers(0, 3, 3)
        term = y[j] * y[k] if order.random() < 0.5 else y[j] + 0.1 * y[k]
        y[i] = np.tanh(term)
    return np.sum(np.stack(y))


@pytest.mark.usefixtures("kernels")
def test_programs_of_numbers_without_repetition_are_a_few_straight_lines(monkeypatch):
    """876 equations; what one hands to another stays in a register."""
    gradient, x = linad.jit(linad.grad(without_repetition)), np.array([0.3, 0.5, 0.7])
    report = linad.explain(gradient)(x)
    assert report.kernels <= len(report.steps) <= 14
    found = gradient(x)
    np.testing.assert_allclose(found, linad.grad(without_repetition)(x), rtol=1e-12)
    for most in (7, 200):  # wherever they are cut
        monkeypatch.setattr(plan, "NUMBERS", most)
        again = linad.jit(linad.grad(without_repetition))
        assert len(linad.explain(again)(x).steps) > len(report.steps)
        np.testing.assert_array_equal(again(x), found)


@pytest.mark.usefixtures("kernels")
def test_long_programs_without_repetition_share_kernels_of_one_equation(monkeypatch):
    """A scalar program of many different stretches does not compile each of them."""
    monkeypatch.setattr(plan, "NUMBERS", 0)
    gradient, x = linad.jit(linad.grad(without_repetition)), np.array([0.3, 0.5, 0.7])
    report = linad.explain(gradient)(x)
    assert report.kernels < len(report.steps) / 5
    np.testing.assert_allclose(gradient(x), linad.grad(without_repetition)(x), rtol=1e-12)
    monkeypatch.setattr(plan, "RARE", 10**9)
    again = linad.jit(linad.grad(without_repetition))
    assert linad.explain(again)(x).kernels > 1.5 * report.kernels


@pytest.mark.usefixtures("kernels")
def test_views_of_arguments_are_not_kept():
    """The matrix of a product is an argument: its transpose is taken again, not copied."""
    X, (w,) = normal((40, 20))[0], normal(20)
    y = np.sign(X @ w)

    def strided(w, X, y):
        return np.sum(np.tanh(X[::2].T.reshape(20, 2, 10)[:, 0].T @ w) * y[:10])

    for f in (logistic, strided):
        gradient = linad.jit(linad.grad(f))
        for _ in range(3):
            gradient(w, X, y)
        H = linad.linearize(gradient, w, X, y, argnums=0)[1]
        expected = linad.linearize(linad.grad(f), w, X, y, argnums=0)[1]
        np.testing.assert_allclose(H.todense(), expected.todense(), rtol=1e-12)
        (variants,) = gradient.variants.values()
        forward = variants[0].compiled.derived((0,), None).forward
        assert sum([np.prod(v.shape) for v in forward.tape.outputs]) <= 4 * len(y) + len(w) < X.size


@pytest.mark.parametrize("dtype", ["d", "f", "D", "l", "?"])
def test_equal_entries_are_kept_once(dtype):
    """Results, operands of loops and writes: entries that a program knows are filled, not read."""

    def f(x):
        ones, zeros = np.ones(1000, dtype), np.tile([-0.0, 0.0], 500)
        y = 1.0 * x
        y[:1000] = ones.real
        return ones, np.where(x[:1000] > 0, ones, 0), y, zeros

    jitted, x = linad.jit(f), np.linspace(-1.0, 1.0, 2000)
    for _ in range(3):
        found = jitted(x)
    for a, b in zip(found, f(x), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
    assert linad.explain(jitted)(x).constant_bytes < 8200  # the zeros are of both signs
