"""Forks and threads in the middle of tracing, compiling and calling; recursion; errors there."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from together import together

import linad

X = np.linspace(0.1, 0.9, 5)

FORK = """
    import os, sys, threading, time, warnings
    import numpy as np, linad
    warnings.simplefilter("ignore")
    x = np.linspace(0.1, 0.9, 5)
    f = linad.jit(lambda x: np.sin(x) * np.cos(x) + x / 1.7)
    f(x)
    def compile_it():
        for n in range(4):
            f(x)
            g = linad.jit(linad.grad(lambda x: np.sum(np.sin(x) ** 2 + x * (n + 1.5))))
            g(x), g(x)
    thread = threading.Thread(target=compile_it)
    thread.start()
    children = []
    for wait in {waits}:
        time.sleep(wait)
        child = os.fork()
        if child == 0:
            ok = np.allclose(f(x), np.sin(x) * np.cos(x) + x / 1.7)
            g = linad.jit(lambda x: np.cumsum(x) * np.exp(-x))
            ok = ok and np.allclose(g(x), g(x))
            os._exit(0 if ok else 1)
        children.append(child)
    thread.join()
    for child in children:
        print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.compiles
@pytest.mark.full
def test_a_fork_while_another_thread_compiles():
    """The child has none of the threads, and must not wait for what they held."""
    code = textwrap.dedent(FORK.format(waits=[0.01, 0.05, 0.2, 0.5]))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True, text=True, timeout=240, env=dict(os.environ, LINAD_CACHE="0"),
    )  # fmt: skip
    assert done.stdout.split() == ["0"] * 4, done.stderr


BY_MULTIPROCESSING = """
    import multiprocessing, threading, time, warnings
    import numpy as np, linad
    warnings.simplefilter("ignore")
    x = np.linspace(0.1, 0.9, 5)
    f = linad.jit(linad.grad(lambda x: np.sum(np.sin(x) * np.cosh(x) + x / 1.7)))
    def work(queue):
        g = linad.jit(lambda x: np.cumsum(x) * np.exp(-x))
        queue.put([f(x), f(x), g(x), g(x)])
    thread = threading.Thread(target=lambda: [f(x) for _ in range(3)])
    thread.start()
    time.sleep({wait})
    forked = multiprocessing.get_context("fork")
    queue = forked.Queue()
    child = forked.Process(target=work, args=(queue,))
    child.start()
    first, second, third, fourth = queue.get(timeout=200)
    child.join()
    thread.join()
    assert np.allclose(first, f(x)) and np.allclose(second, f(x))
    assert np.allclose(third, np.cumsum(x) * np.exp(-x)) and np.allclose(fourth, third)
    print(child.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.compiles
@pytest.mark.full
@pytest.mark.parametrize("wait", [0.0, 0.1, 0.3])
def test_a_process_forked_during_a_first_compilation(wait):
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(BY_MULTIPROCESSING.format(wait=wait))],
        capture_output=True, text=True, timeout=240, env=dict(os.environ, LINAD_CACHE="0"),
    )  # fmt: skip
    assert done.stdout.split() == ["0"], done.stderr


def test_threads_share_a_function():
    def f(x, n):
        y = x * n
        return np.sin(y) if y[0] > 0.25 else np.cos(y)

    compiled = linad.jit(f)
    arguments = [(X * (1 + k % 3), 1 + k % 2) for k in range(6)]

    def work(k):
        found = [compiled(*arguments[(k + n) % 6]) for n in range(12)]
        return [np.allclose(y, f(*arguments[(k + n) % 6]), rtol=1e-14) for n, y in enumerate(found)]

    assert np.all(together(6, work))


def test_each_thread_has_its_own():
    def work(k):
        def f(x):
            return np.sum(np.sin(x) * (k + 1))

        g = linad.jit(linad.grad(f))
        h = linad.grad(linad.jit(f))
        wanted = np.cos(X) * (k + 1)
        return [np.allclose(d(X), wanted, rtol=1e-13) for d in (g, h) for _ in range(3)]

    assert np.all(together(4, work))


def test_errors_in_threads():
    """They arise in the thread whose call fails; the others go on."""

    @linad.jit
    def f(x):
        if x[0] < 0:
            raise KeyError("below")
        return np.sqrt(x)

    def work(k):
        found = []
        for _ in range(4):
            try:
                found.append(np.allclose(f(X if k % 2 else -X), np.sqrt(X)))
            except KeyError as error:
                found.append(str(error) == "'below'" and k % 2 == 0)
        return found

    assert np.all(together(4, work))


def test_recursion():
    @linad.jit
    def power(x, n):
        return x * 1.0 if n == 0 else x * power(x, n - 1)

    for _ in range(3):
        np.testing.assert_allclose(power(X, 6), X**7, rtol=1e-14)
    slope = linad.grad(lambda x: np.sum(power(x, 6)))
    np.testing.assert_allclose(slope(X), 7 * X**6, rtol=1e-13)


def test_recursion_without_end():
    f = linad.jit(lambda x: f(x) + 1)
    for _ in range(2):
        with pytest.raises(RecursionError):
            f(X)
