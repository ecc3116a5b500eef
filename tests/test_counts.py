"""What programs consist of, in numbers that are the same on every machine.

Instructions and kernels of a call, bytes of scratch memory and of constants, what a call
allocates, sweeps and colours of a Jacobian: they decide what a call costs, and here they cannot
grow unseen. All are upper bounds, and were exact when they were written: where one falls, put
the new number here.
"""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

import linad
from linad.transforms.sparsity.compress import plan_for, symmetric_plan_for
from linad.transforms.sparsity.reach import pattern_of
from linad.transforms.tape_operator import TapeOperator


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


def hvp(f):
    """Of a function of one array; the vector comes last."""
    return lambda x, *more: linad.hvp(lambda x: f(x, *more[:-1]), (x,), more[-1:])


def jvp(f):
    return lambda x, v: linad.jvp(f, (x,), (v,))[1]


def vjp(f):
    return lambda *inputs: linad.vjp(f, *inputs[:-1])[1](inputs[-1])


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
    # The value; the ends of the gradient; what is between them.
    "Rosenbrock": (linad.value_and_grad(rosenbrock), normal(1000), Count(3, 3, 0, 0)),
    "Rosenbrock, HVP": (hvp(rosenbrock), normal(1000, 1000), Count(2, 2, 0, 0)),
    # Two calls of GEMM with transpose flags; A @ B itself is not needed. Constants are BLAS's.
    "matrix product": (vjp(product), normal((4, 5), (5, 3), (4, 3)), Count(2, 1, 0, 320)),
    # sum(kron(a, b)) = sum(a) sum(b), which the rules find by themselves.
    "Kronecker": (
        linad.grad(kron_sum, argnums=(0, 1)),
        normal((4, 4), (5, 5)),
        Count(4, 2, 128, 0),
    ),
    # The padded tangent is the only intermediate array.
    "Bratu, JVP": (jvp(bratu), normal((16, 16), (16, 16)), Count(3, 3, 2624, 0)),
    "Bratu, VJP": (vjp(bratu), normal((16, 16), (16, 16)), Count(7, 5, 4672, 0)),
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
        Count(36, 26, 1984, 1864),
    ),
    # Each power is kept, 64 bytes apart; the loops are cut into kernels of bounded length.
    "400 products": (linad.grad(products), normal(2), Count(411, 8, 25664, 0)),
    # Twenty steps are cut where they repeat, so that they share kernels.
    "Lotka-Volterra": (linad.grad(lotka_volterra), (PREY,), Count(121, 18, 2816, 0)),
    # 29 writes of one entry.
    "in place": (linad.grad(in_place), normal(30), Count(283, 7, 4160, 464)),
    # X is read twice forwards and once backwards, by GEMV.
    "logistic, HVP": (
        hvp(logistic),
        (*normal(5, (20, 5)), np.sign(normal(20)[0]), *normal(5)),
        Count(4, 2, 576, 384),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    f, inputs, bounds = PROGRAMS[name]
    jitted = linad.jit(f)
    for _ in range(3):
        result = jitted(*inputs)
    report = linad.explain(jitted)(*inputs)
    assert report.fallbacks == []
    found = Count(len(report.steps), report.kernels, report.arena_bytes, report.constant_bytes)
    assert all(a <= b for a, b in zip(found, bounds, strict=True)), found

    # A call allocates its result and no other array.
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    result = jitted(*inputs)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    leaves = linad.tree.flatten(result)[0]
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


@pytest.fixture
def sweeps(monkeypatch):
    """The seed axes of each sweep, by direction."""
    found = {"push": [], "pull": []}

    def watched(kind, method):
        def run(self, given, seeds=()):
            found[kind].append(seeds)
            return method(self, given, seeds)

        return run

    for kind in found:
        name = f"{kind}_leaves"
        monkeypatch.setattr(TapeOperator, name, watched(kind, getattr(TapeOperator, name)))
    return found


def test_sweeps_of_a_gradient(sweeps):
    """One, backwards; a Hessian-vector product takes one more of each."""
    linad.grad(wave)(np.ones(5))
    assert sweeps == {"push": [], "pull": [()]}


def test_sweeps_of_dense_jacobians(sweeps):
    """One sweep with as many seeds as the shorter side is long."""
    A = np.ones((4, 9))
    linad.jacobian(lambda x: np.tanh(A @ x))(np.ones(9))
    assert sweeps == {"push": [], "pull": [(4,)]}
    sweeps["pull"].clear()
    linad.jacobian(lambda x: np.tanh(A.T @ x))(np.ones(4))
    assert sweeps == {"push": [(4,)], "pull": []}


@pytest.mark.parametrize(
    "f, x, colours",
    [
        (np.sin, np.ones(50), 1),
        (lambda x: x[1:] - x[:-1] ** 2, np.ones(50), 2),
        (lambda x: x[2:] - 2 * x[1:-1] + x[:-2], np.ones(50), 3),
        (bratu, np.ones((12, 12)), 7),
        (lambda x: x * np.sum(x), np.ones(20), 20),
    ],
    ids=["diagonal", "bidiagonal", "tridiagonal", "grid", "dense"],
)
def test_colours(f, x, colours):
    """The grid could do with 5; the greedy colouring finds 7."""
    J = linad.linearize(f, x)[1]
    assert plan_for(pattern_of(J)).count <= colours


def test_star_colours_of_hessians():
    """A tridiagonal Hessian takes 3, an arrow 2."""
    chain = linad.hessian_operator(rosenbrock, np.ones(50))
    arrow = linad.hessian_operator(lambda x: np.sum(x[0] * x[1:] ** 2), np.ones(50))
    assert symmetric_plan_for(pattern_of(chain)).count <= 3
    assert symmetric_plan_for(pattern_of(arrow)).count <= 2
