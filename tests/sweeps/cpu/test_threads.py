"""Sweeps that several threads share."""

import os
import time

import numpy as np
import pytest
from together import together

import linad
from linad.core import tree
from linad.sweeps.cpu import threads
from linad.sweeps.cpu.serial_loops import PIECE

N = 3 * PIECE + 12345


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def chain(x):
    return np.sum(np.sin(x) * np.tanh(x) + x * x)


def both(f, *args):
    """Results with one thread and with four; the function is compiled before."""
    g = linad.jit(f)
    g(*args)
    one = g(*args)
    with linad.config(threads=4):
        four = g(*args)
    return one, four


CASES = {
    "sum": (chain, (N,)),
    "gradient": (linad.grad(chain), (N,)),
    "columns": (lambda x: (np.sum(np.exp(x), axis=0), np.max(x, axis=0)), (N // 3, 3)),
    "rows": (lambda x: (np.sum(np.exp(x), axis=1), np.min(x, axis=1)), (N // 50, 50)),
    "wide columns": (lambda x: np.sum(np.exp(x), axis=0), (40, N // 40)),
    "product": (lambda x: np.prod(1 + 1e-9 * x, axis=(0, 2)), (N // 20, 4, 5)),
    "with BLAS": (lambda x: np.sum(np.tanh(x @ x.T) ** 2), (900, 40)),
    "with NumPy between": (lambda x: np.sum(np.unwrap(np.sin(x)) * np.exp(x)), (N,)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_number_of_threads_does_not_change_a_bit(name, rng):
    f, shape = CASES[name]
    x = rng.standard_normal(shape)
    one, four = both(f, x)
    expected = f(x)
    for a, b, c in zip(*[tree.flatten(v)[0] for v in (one, four, expected)], strict=True):
        assert np.array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-11, atol=1e-13)


def test_the_work_is_shared(rng):
    """The calling thread spends less of its own time; a busy machine does not change that."""
    g = linad.jit(linad.grad(chain))
    x = rng.standard_normal(2_000_000)
    g(x)
    g(x)
    spent = {1: [], 2: []}
    for _ in range(12):
        for count, times in spent.items():
            with linad.config(threads=count):
                start = time.thread_time()
                g(x)
                times.append(time.thread_time() - start)
    assert min(spent[2]) < 0.85 * min(spent[1])


def test_guards_stop_a_shared_sweep(rng):
    def f(x):
        y = np.exp(x)
        return np.sum(y) if np.max(y) < 1e6 else np.sum(y * 2)

    g = linad.jit(f)
    x = rng.standard_normal(N)
    with linad.config(threads=3):
        for shift in (0.0, 20.0, 0.0, 20.0):
            np.testing.assert_allclose(g(x + shift), f(x + shift), rtol=1e-12)


def test_threads_of_the_users_own_may_call_at_once(rng):
    g = linad.jit(linad.grad(chain))
    xs = [rng.standard_normal(N) for _ in range(4)]
    g(xs[0])
    expected = [g(x) for x in xs]

    def work(k):
        with linad.config(threads=3):
            for _ in range(5):
                np.testing.assert_array_equal(g(xs[k]), expected[k])

    together(4, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_process_makes_threads_of_its_own(rng):
    g = linad.jit(linad.grad(chain))
    x = rng.standard_normal(N)
    g(x)
    with linad.config(threads=3):
        expected = g(x)
        child = os.fork()
        if child == 0:
            same = np.array_equal(g(x), expected)
            os._exit(0 if same else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert np.array_equal(g(x), expected)


def test_without_helpers_one_thread_does_all(rng, monkeypatch):
    monkeypatch.setattr(threads, "_ask_for_help", lambda crew: False)
    one, four = both(linad.grad(chain), rng.standard_normal(N))
    assert np.array_equal(one, four)


def test_a_helper_that_comes_late_does_nothing(rng, monkeypatch):
    crews = []

    def late(crew):
        crews.append(crew)
        return True

    monkeypatch.setattr(threads, "_ask_for_help", late)
    one, four = both(linad.grad(chain), rng.standard_normal(N))
    assert np.array_equal(one, four)
    assert crews
    for crew in crews:
        crew.help()  # returns at once


def test_small_programs_ask_nobody(monkeypatch):
    monkeypatch.setattr(threads, "_ask_for_help", lambda crew: pytest.fail("asked for help"))
    g = linad.jit(linad.grad(chain))
    with linad.config(threads=2):
        for _ in range(3):
            g(np.ones(100))
