"""How many sweeps and colours a derivative takes, in numbers that are the same on every machine.

They decide what a derivative costs, and here they cannot grow unseen. All are upper bounds, and
were exact when they were written: where one falls, put the new number here. What compiled
programs consist of is counted in `tests/sweeps/test_program_counts.py`.
"""

import sys

import numpy as np
import pytest

import linad
from linad.core.collection_pause import collection_paused
from linad.linalg.sparsity.compress import plan_for, symmetric_plan_for
from linad.linalg.sparsity.reach import Compact
from linad.transforms.tape_operator import TapeOperator


def wave(x):
    return np.sum(np.tanh(x) * np.sin(x) + x * x)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bratu(u):
    p = np.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u + np.exp(u)


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
    assert plan_for(Compact(J).relation).count <= colours


def test_star_colours_of_hessians():
    """A tridiagonal Hessian takes 3, an arrow 2."""
    chain = linad.hessian_operator(rosenbrock, np.ones(50))
    arrow = linad.hessian_operator(lambda x: np.sum(x[0] * x[1:] ** 2), np.ones(50))
    assert symmetric_plan_for(Compact(chain).relation).count <= 3
    assert symmetric_plan_for(Compact(arrow).relation).count <= 2


def squares(x):
    for _ in range(100):
        x = np.tanh(x) * x
    return np.sum(x)


def entries(x):
    total = 0.0
    for i in range(100):
        total = total + x[i] * x[i + 1]
    return total


def corners(x):
    total = 0.0
    for _ in range(100):
        total = total + x[0, 1] * x[1, 0]
    return total


def springs(x):
    energy = 0.0
    for i in range(100):
        d = x[i + 1] - x[i]
        energy = energy + 0.5 * (np.sqrt(np.sum(d * d)) - 1.0) ** 2
    return energy


def recurrence(x):
    y = np.zeros_like(x)
    for i in range(1, 101):
        y[i] = 0.5 * y[i - 1] + x[i]
    return np.sum(y)


def slices(x):
    for _ in range(100):
        x = x[0:]
    return np.sum(x)


def products(x):
    A = np.eye(3)
    for _ in range(100):
        x = A @ x
    return np.sum(x)


def sums(x):
    total = 0.0
    for _ in range(100):
        total = total + np.sum(x)
    return total


def views(x):
    for _ in range(100):
        x = x[:, None].T.reshape(3)
    return np.sum(x)


def dots(x):
    total = 0.0
    for _ in range(100):
        total = total + np.dot(x, x)
    return total


@pytest.mark.parametrize(
    "f, x, calls",
    [
        (squares, np.ones(3), 14),
        (slices, np.ones(3), 13),
        (products, np.ones(3), 11),
        (sums, np.ones(3), 19),
        (views, np.ones(3), 49),
        (dots, np.ones(3), 25),
        (entries, np.ones(101), 33),
        (corners, np.ones((2, 2)), 33),
        (springs, np.linspace(0.0, 9.0, 202).reshape(101, 2), 80),
        (recurrence, np.ones(101), 92),
    ],
)
def test_python_calls_of_an_eager_gradient(f, x, calls):
    """For each of a hundred rounds; what a function of Python does takes longer than NumPy's."""
    assert python_calls(linad.grad(f), x) <= 100 * calls


@pytest.mark.parametrize(
    "derivative, calls",
    [
        (linad.grad(lambda x: np.sum(np.sin(x))), 46),
        (lambda x: linad.jvp(np.sin, (x,), (x,)), 37),
        (lambda x: linad.vjp(np.sin, x)[1](x), 39),
    ],
    ids=["grad", "jvp", "vjp"],
)
def test_python_calls_of_a_derivative(derivative, calls):
    """Whatever its function does."""
    assert python_calls(derivative, np.ones(3)) <= calls


TEN = np.linspace(0.1, 1.0, 10)


@pytest.mark.parametrize(
    "f, x, calls",
    [
        (np.sort, TEN, 112),
        (np.median, TEN, 220),
        (lambda x: np.take(x, [1, 2]), TEN, 85),
        (lambda x: x[TEN > 0.5], TEN, 62),
        (np.trace, np.eye(10), 100),
        (lambda x: np.inner(x, x), TEN, 82),
        (np.prod, TEN, 74),
        (np.gradient, TEN, 265),
        (lambda y: np.interp(TEN, TEN, y), TEN, 310),
        (lambda A: np.einsum("ij,j->i", A, TEN), np.eye(10), 91),
        (lambda x: np.roll(x, 1), TEN, 72),
        (np.fft.fft, TEN, 106),
    ],
    ids=[
        "sort",
        "median",
        "take",
        "mask",
        "trace",
        "inner",
        "prod",
        "gradient",
        "interp",
        "einsum",
        "roll",
        "fft",
    ],
)
def test_python_calls_of_one_operation(f, x, calls):
    """With its derivative, of which 40 are; a few more than with the newest NumPy, whose own some
    of them are."""

    def pulled(x):
        y, pullback = linad.vjp(f, x)
        return pullback(y)

    assert python_calls(pulled, x) <= calls


def python_calls(f, x):
    """How many functions of Python a call runs; not the first."""
    f(x)
    found, given = [], sys.getprofile()
    with collection_paused():  # what other tests left behind has finalizers in Python
        sys.setprofile(lambda frame, event, arg: found.append(event))
        try:
            f(x)
        finally:
            sys.setprofile(given)
    return found.count("call")
