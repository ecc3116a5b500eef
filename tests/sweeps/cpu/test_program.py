"""Workspaces are borrowed: no run sees another, in threads, recursion, forks and interrupts."""

import _thread
import gc
import itertools
import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest
from together import together

import linad
from linad.sweeps.cpu.program import Workspace


def loss(x, a):
    y = x.copy()
    for _ in range(3):
        y[1:] = np.sin(y[:-1]) * a + y[1:]
    return np.sum(y * y)


gradient = linad.jit(linad.grad(loss))


def workspaces():
    gc.collect()
    return [w for w in gc.get_objects() if type(w) is Workspace]


def programs_of(jitted):
    for variants in jitted.variants.values():
        for variant in variants:
            yield variant.compiled.program


def check_idle(jitted, most):
    """All workspaces are back, and there are no more than runs at a time."""
    for program in programs_of(jitted):
        assert len(program.pool) <= most
        assert len({id(w.arena) for w in program.pool}) == len(program.pool)


class TestLinearizations:
    def test_two_of_one_function(self):
        jitted = linad.jit(lambda x: np.sin(x) * np.sum(x**2))
        points = [np.linspace(k, k + 1, 4) for k in range(5)]
        dense = [linad.jacobian(jitted.function)(x) for x in points]
        alive = [linad.linearize(jitted, x)[1] for x in points]
        rng = np.random.default_rng(0)
        for _ in range(30):
            k, w = rng.integers(5), rng.normal(size=4)
            np.testing.assert_allclose(alive[k].T @ w, dense[k].T @ w, rtol=1e-12)
            np.testing.assert_allclose(alive[k] @ w, dense[k] @ w, rtol=1e-12)

    def test_the_arguments_may_be_overwritten(self):
        jitted = linad.jit(lambda x: x * x * x)
        x = np.arange(1.0, 4.0)
        for _ in range(2):
            J = linad.linearize(jitted, x)[1]
            expected = J.todense()
            x *= 2
            np.testing.assert_array_equal(J.todense(), expected)

    def test_shapes_in_between(self):
        jitted = linad.jit(lambda x: np.sum(np.sin(x) * x))
        alive = {n: linad.linearize(jitted, np.arange(1.0, n + 1))[1] for n in (2, 5, 3)}
        for n in (3, 2, 5, 2):
            x = np.arange(1.0, n + 1)
            expected = np.cos(x) * x + np.sin(x)
            np.testing.assert_allclose(alive[n].T @ np.ones(1), expected, rtol=1e-13)
            np.testing.assert_allclose(linad.grad(jitted)(x), expected, rtol=1e-13)

    def test_pickled(self):
        J = linad.linearize(gradient, np.arange(1.0, 6.0), 0.5)[1]
        K = pickle.loads(pickle.dumps(J))
        w = np.arange(5.0)
        for found, expected in zip(K.pullback(w), J.pullback(w), strict=True):
            np.testing.assert_array_equal(found, expected)


class TestRecursion:
    def test_through_a_primitive_that_runs_in_numpy(self):
        """A program that calls itself while it runs gets another workspace."""

        @linad.primitive
        def again(x, *, depth):
            return jitted(x * 0.5, depth - 1) if depth else x

        again.pullback(
            lambda x, *, depth: (
                linad.vjp(lambda x: run(x * 0.5, depth - 1), x) if depth else (x, lambda w: w)
            )
        )

        def run(x, depth):
            y = np.sin(x) + x
            return y * again(y, depth=depth) + np.cos(y)

        jitted = linad.jit(run)

        def plain(x, depth):
            y = np.sin(x) + x
            return y * (plain(y * 0.5, depth - 1) if depth else y) + np.cos(y)

        x = np.linspace(0.1, 1, 5)
        for _ in range(3):
            np.testing.assert_allclose(jitted(x, 4), plain(x, 4), rtol=1e-13)


class TestThreads:
    def test_first_calls_at_the_same_time(self):
        for round_ in range(3):
            jitted = linad.jit(linad.grad(lambda x, c=1.0 + round_: np.sum(np.sin(x) * c * x)))

            def call(n, jitted=jitted):
                x = np.linspace(0, 1, 3 + n % 4)
                return [(x, jitted(x)) for _ in range(5)]

            for x, y in itertools.chain(*together(8, call)):
                np.testing.assert_allclose(y, jitted.function(x), rtol=1e-13)
            assert len(jitted.variants) == 4
            assert all(len(v) == 1 for v in jitted.variants.values())

    def test_many_shapes(self):
        jitted = linad.jit(linad.grad(loss))
        expected = {}
        for n in range(4, 9):
            x = np.linspace(0.1, 1, n)
            expected[n] = [linad.grad(loss)(x * s, 0.5) for s in (1, 2, 3)]

        def call(seed):
            rng = np.random.default_rng(seed)
            for _ in range(150):
                n, s = rng.integers(4, 9), rng.integers(3)
                found = jitted(np.linspace(0.1, 1, n) * (s + 1), 0.5)
                np.testing.assert_allclose(found, expected[n][s], rtol=1e-12)

        together(8, call)
        check_idle(jitted, 8)

    def test_long_runs_let_each_other_run(self):
        """Runs that release the interpreter overlap: each has memory of its own."""
        jitted = linad.jit(lambda x: np.sum(np.sin(x[1:] * x[:-1])) * x)
        xs = [np.linspace(0, k + 1, 200_000) for k in range(4)]
        expected = [jitted.function(x) for x in xs]
        jitted(xs[0]), jitted(xs[0])

        def call(k):
            for _ in range(6):
                np.testing.assert_allclose(jitted(xs[k]), expected[k], rtol=1e-11)

        together(4, call)
        check_idle(jitted, 4)

    def test_one_linearization_in_several_threads(self):
        x = np.linspace(0.1, 1, 50)
        J = linad.linearize(linad.jit(lambda x: np.sin(x) * np.sum(x)), x)[1]
        dense = J.todense()

        def call(seed):
            rng = np.random.default_rng(seed)
            for _ in range(100):
                w = rng.normal(size=50)
                np.testing.assert_allclose(J.T @ w, dense.T @ w, rtol=1e-9, atol=1e-11)
                np.testing.assert_allclose(J @ w, dense @ w, rtol=1e-9, atol=1e-11)

        together(6, call)

    def test_other_arguments_evict(self, monkeypatch):
        """More kinds of arguments than are remembered, in several threads."""
        monkeypatch.setattr(sys.modules["linad.jit.known_paths"], "SIGNATURES", 4)
        jitted = linad.jit(lambda x, n: x * n)

        def call(seed):
            rng = np.random.default_rng(seed)
            return all(jitted(2.0, n) == 2 * n for n in rng.integers(0, 12, 100).tolist())

        assert all(together(4, call))
        assert len(jitted.variants) <= 4


class TestInterrupts:
    @pytest.fixture
    def heard(self):
        """Interrupts are answered, also where the test run was started in the background."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def make(self, action):
        """A jitted function with an operation in NumPy between two compiled stretches."""

        @linad.primitive
        def between(x):
            action()
            return x * 1.0

        between.pullback(lambda x: (between(x), lambda w: w))

        def f(x):
            y = np.sin(x) * 2
            return np.cos(between(y)) * y + x

        return linad.jit(f)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError, SystemExit])
    def test_exceptions_in_the_middle(self, error):
        raised = []

        def action():
            if raised:
                raise raised.pop()

        jitted = self.make(action)
        x = np.linspace(0, 1, 6)
        expected = jitted(x)
        for k in range(6):
            np.testing.assert_allclose(jitted(x), expected, rtol=1e-14)
            # The long way, and Python, run it once more each: f might catch it.
            raised += [error("now")] * 3
            with pytest.raises(error):
                jitted(x + k)
            raised.clear()
        np.testing.assert_allclose(jitted(x), expected, rtol=1e-14)
        check_idle(jitted, 1)

    def test_an_interrupt_of_the_main_thread(self, heard):
        """During a long run: raised after it, and the next one is right."""
        jitted = linad.jit(lambda x: np.sum(np.sin(x)) + np.sum(np.exp(np.cos(x))) * x[0])
        x = np.linspace(0, 1, 3_000_000)
        expected = [jitted(x), jitted(x)][1]
        interrupts = 0
        for k in range(6):
            timer = threading.Timer(0.004 * k, _thread.interrupt_main)
            try:
                timer.start()
                for _ in range(3):
                    assert jitted(x) == expected
                timer.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                interrupts += 1
            timer.join()
            assert jitted(x) == expected
        assert interrupts == 6
        check_idle(jitted, 2)

    def test_a_failing_first_call(self):
        def f(x):
            if len(calls) < 2:
                calls.append(1)
                raise RuntimeError("not yet")
            return x * 2

        calls = []
        jitted = linad.jit(f)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="not yet"):
                jitted(1.0)
        assert jitted(1.0) == jitted(2.0) / 2 == 2


# A program of its own: whoever imports it by name finds it, and no thread of the tests is
# running when it forks.
PROCESSES = """
import multiprocessing, sys
import numpy as np
import linad

def loss(x, a):
    return np.sum(np.exp(-a * x) * np.sin(x))

gradient = linad.jit(linad.grad(loss))

def child(x):
    return gradient(x, 0.5), gradient(np.append(x, 1.0), 0.5)

if __name__ == "__main__":
    xs = [np.linspace(0.1, 1, n) for n in (4, 5, 6)]
    for x in xs:
        gradient(x, 0.5), gradient(x, 0.5)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        found = pool.map_async(child, xs).get(timeout=240)
    for x, (first, other) in zip(xs, found, strict=True):
        np.testing.assert_allclose(first, gradient(x, 0.5), rtol=1e-14)
        longer = np.append(x, 1.0)
        np.testing.assert_allclose(other, linad.grad(loss)(longer, 0.5), rtol=1e-12)
    print("the same")
"""


class TestProcesses:
    @pytest.mark.rest
    @pytest.mark.parametrize(
        "method",
        [
            pytest.param(method, marks=() if method == "fork" else pytest.mark.full)
            for method in multiprocessing.get_all_start_methods()
        ],
    )
    def test_children(self, method, tmp_path):
        script = tmp_path / "processes.py"
        script.write_text(PROCESSES, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script), method], capture_output=True, text=True, timeout=300
        )
        assert done.stdout == "the same\n", done.stderr

    @pytest.mark.rest
    def test_a_linearization_sent_to_a_child(self):
        x = np.linspace(0.1, 1, 4)
        J = linad.linearize(linad.jit(np.sin), x)[1]
        code = (
            "import pickle, sys, numpy as np\n"
            "J = pickle.load(sys.stdin.buffer)\n"
            "pickle.dump((J @ np.ones(4), J.T @ np.ones(4)), sys.stdout.buffer)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(J),
            capture_output=True,
            check=True,
            timeout=300,
        )
        for found in pickle.loads(done.stdout):
            np.testing.assert_allclose(found, np.cos(x), rtol=1e-14)


class TestMemory:
    def test_workspaces_die_with_their_function(self):
        before = len(workspaces())
        jitted = linad.jit(linad.grad(lambda x: np.sum(np.sin(x) * x[::-1])))
        x = np.ones(1000)
        for _ in range(3):
            jitted(x)
            linad.linearize(jitted, x)[1].rmatvec(x)
        program = weakref.ref(next(programs_of(jitted)))
        assert len(workspaces()) > before
        del jitted
        assert len(workspaces()) == before
        assert program() is None

    def test_runs_leave_nothing(self):
        x = np.linspace(0, 1, 5000)
        jitted = linad.jit(linad.value_and_grad(lambda x: np.sum(np.sin(x[1:] * x[:-1]))))
        for _ in range(3):
            jitted(x)
            linad.linearize(jitted, x)
        tracemalloc.start()
        try:
            jitted(x)
            gc.collect()
            start = tracemalloc.get_traced_memory()[0]
            for _ in range(50):
                jitted(x)
                linad.linearize(jitted, x)
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] - start < 20_000
        finally:
            tracemalloc.stop()
        check_idle(jitted, 1)
