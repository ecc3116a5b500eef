"""Loops and branches in programs for a GPU: a thread a lane, or programs that the host repeats."""

import numpy as np
import pytest
from device_programs import (
    ENSEMBLE,
    LANES,
    RNG,
    STEP,
    alternating,
    gradient,
    nested,
    oscillators,
    relaxed,
)
from device_runs import check, checked
from kernels_in_python import kernels_in_python

import linad
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.program import KernelStoppedError

Y, K, H = *ENSEMBLE, STEP
A, B = RNG.normal(size=(9, 9)) / 6, RNG.normal(size=(9, 3))


def mixed(c, a):
    """Repetitions that are products of matrices."""
    return linad.fori_loop(0, 3, lambda k, c: np.sin(a @ c) * (k + 1), c)


def shrunk(c, a):
    return linad.while_loop(lambda c: np.sum(c * c) > 1e-2, lambda c: a @ c / 2, c)


def chosen(c, a):
    def step(c, j):
        return linad.cond(j > 1, lambda c: a @ c, np.sin, c), None

    return linad.scan(step, c, np.arange(4.0))[0]


def test_an_ensemble_is_one_kernel():
    assert checked(oscillators, Y, K, H)[-1] == f"repeat 5 x, in {LANES} threads"


def test_its_gradient_is_two_and_sums():
    """The step is shared: its derivative is a sum over the lanes, of parts that each lane adds."""
    labels = checked(gradient(oscillators), Y, K, H)
    assert [s for s in labels if "threads" in s] == 2 * [f"repeat 5 x, in {LANES} threads"]
    assert not [s for s in labels if "each" in s]
    assert "sum" in labels


def test_the_number_of_lanes_is_no_part_of_a_kernel():
    sources = [
        linad.explain(oscillators, target="cuda")(RNG.normal(size=(2, n)), RNG.normal(size=n), H)
        for n in (7, 1000)
    ]
    assert sources[0].sources == sources[1].sources


@pytest.mark.parametrize("f", [relaxed, alternating, nested])
def test_other_loops_in_lanes(f):
    assert "threads" in checked(f, Y, K)[0]
    checked(gradient(f), Y, K)


def test_branches_in_lanes():
    labels = checked(gradient(alternating), Y, K)
    assert [s for s in labels if "repeat" in s] == 2 * [f"repeat 5 x, in {LANES} threads"]


INNER = {
    "loop": lambda x: linad.fori_loop(0, 20, lambda k, c: np.sin(c) * k, x),
    "rows": lambda x: linad.scan(lambda c, k: (np.sin(c) * k, c * k), x, np.arange(4.0))[1],
    "backward": lambda x: linad.scan(lambda c, k: (c * k + x, c), x, x, reverse=True),
    "branch": lambda x: linad.cond(x[0] > 0, lambda x: x * 2, np.sin, x),
    "test": lambda x: linad.while_loop(lambda c: c[0] < x[1] + 2, lambda c: c + 0.3, x),
}


@pytest.mark.parametrize("name", INNER)
def test_loops_in_a_map(name):
    """Each thread has its own number of repetitions, its own branch."""
    xs = RNG.normal(size=(6, 2))

    def f(xs):
        return linad.map(INNER[name], xs)

    assert "threads" in checked(f, xs)[0]
    checked(gradient(f), xs)


def test_a_while_loop_in_lanes():
    assert checked(relaxed, Y, K) == [f"while, in {LANES} threads"]


@pytest.mark.parametrize("f", [mixed, shrunk, chosen])
def test_what_is_too_large_is_repeated_by_the_host(f):
    assert "each" in checked(f, B, A)[0]
    checked(gradient(f), B, A)


def test_repetitions_without_carries_are_threads():
    """Those that are no operations on whole arrays, since each takes a branch of its own."""
    xs = RNG.normal(size=(9, 3))

    def f(xs, k):
        return linad.map(lambda x: linad.cond(x[0] > 0, np.sin, lambda x: np.sum(x) * x * k, x), xs)

    assert checked(f, xs, H) == ["repeat 9 x, in 9 threads"]
    labels = checked(gradient(f), xs, H)
    assert [s for s in labels if "repeat" in s] == 2 * ["repeat 9 x, in 9 threads"]


def test_a_recurrence_of_numbers_is_one_thread():
    def f(x):
        return linad.scan(lambda c, x: (np.sin(c) + x, c), np.float64(0.5), x)

    assert checked(f, K) == [f"repeat {LANES} x, in one thread"]
    checked(gradient(f), K)


def test_rows_forward_and_back():
    def f(c, xs, k):
        return linad.scan(lambda c, x: (c * k + x, np.sin(c)), c, xs, reverse=True)

    checked(f, Y, RNG.normal(size=(4, 2, LANES)), K)
    checked(gradient(f), Y, RNG.normal(size=(4, 2, LANES)), K)


def test_sums_over_the_lanes_as_rows():
    """What a repetition sums over the lanes, and nobody needs before the end."""

    def f(y, k):
        def step(y, _):
            y = y * k + np.sin(y)
            return y, np.sum(y * y)

        return linad.scan(step, y, length=4)

    assert checked(f, Y[0], K)[0] == f"repeat 4 x, in {LANES} threads"


def test_lanes_that_need_each_other():
    def f(y):
        return linad.fori_loop(0, 3, lambda _, y: y / np.sqrt(np.sum(y * y)) + np.roll(y, 1), y)

    checked(f, K)
    checked(gradient(f), K)


def test_tables_with_an_entry_for_each_lane():
    table = RNG.normal(size=LANES)

    def f(y):
        return linad.fori_loop(0, 3, lambda _, y: np.sin(y) * table + y, y)

    assert checked(f, Y)[-1] == f"repeat 3 x, in {LANES} threads"
    checked(gradient(f), Y)


@pytest.mark.parametrize("dtype", ["f4", "c16", "c8"])
def test_dtypes(dtype):
    y = (Y + 1j * Y[::-1]).astype(dtype) if dtype[0] == "c" else Y.astype(dtype)
    h = np.dtype(dtype).type(0.1).real

    def f(y):
        return linad.fori_loop(0, 4, lambda _, y: y + h * y * y, y)

    checked(f, y)


def test_no_repetition():
    checked(lambda y, k: linad.while_loop(lambda s: s[0, 0] > 9, lambda s: s * k, y), Y, K)
    checked(lambda c, a: linad.while_loop(lambda c: c[0, 0] > 9, lambda c: a @ c, c), B, A)


@pytest.mark.parametrize("size", [1, 9])
def test_a_limit_stops_the_run(size):
    def f(y, a):
        return linad.while_loop(lambda y: y[0] < 9, lambda y: a @ y, y, limit=3)

    _, tape = linad.trace(f, np.full(size, 10.0), np.eye(size))
    with kernels_in_python():
        program = CUDA.compile(tape)
        assert program.run([np.full(size, 9.0), np.eye(size)])[0][0] == 9
        with pytest.raises(KernelStoppedError):
            program.run([np.ones(size), np.eye(size)])


@pytest.mark.rest
def test_compiled():
    """By LLVM, as tests elsewhere run the sources in Python."""
    check(gradient(oscillators), Y, K, H)
    check(relaxed, Y, K)
