"""Results that compiled code makes: arrays and numbers like NumPy's, counted as they should be."""

import gc
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from together import together

import linad
from linad.operators.provided import OTHER
from linad.sweeps.cpu import made_results, range_guards
from linad.sweeps.cpu.made_results import enter_making, plan_of
from linad.sweeps.places import Result

pytestmark = pytest.mark.skipif(made_results.TABLE is None, reason="Python makes the results")


def compiled(f, *args):
    """A jitted function whose short way has been written."""
    jitted = linad.jit(f)
    for _ in range(3):
        jitted(*args)
    assert jitted._short is not None
    return jitted


RESULTS = {
    "an array": lambda x: x * 2,
    "a number": np.sum,
    "an array without axes": lambda x: np.array(np.sum(x)) if isinstance(x, list) else x[0] * 1,
    "several": lambda x: {"a": (x * 2, np.sum(x)), "b": [x[:1] > 0, np.argmax(x), x[:0] * 2]},
    "with a constant": lambda x: (x + 1, 3, "text", None, True),
    "single precision": lambda x: (
        x.astype(np.float32) * 2,
        np.float32(2) * x.astype(np.float32)[0],
    ),
    "many axes": lambda x: np.ones((1, 2, 1, 3)) * x.reshape(2, 1, 1, 2, 1, 1),
    "complex": lambda x: (x + 1j, np.sum(x) * 1j),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    f = RESULTS[name]
    jitted = compiled(f, np.ones(4))
    for k in range(4):
        x = np.arange(4.0) + k
        found, expected = [linad.core.tree.flatten(g(x))[0] for g in (jitted, f)]
        for a, b in zip(found, expected, strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)
            if isinstance(a, np.ndarray):
                assert a.dtype is b.dtype
                assert a.shape == b.shape
                assert a.flags.owndata
                assert a.flags.c_contiguous
                assert a.flags.writeable
                assert sys.getrefcount(a) <= 4  # of the list, the loop, the call, and none more


def test_nothing_is_left_behind():
    """References of dtypes, arguments and results stay as they were; memory is given back."""
    jitted = compiled(RESULTS["several"], np.ones(4))
    x, wrong, square = np.ones(4), np.ones(4, np.float32), np.ones((2, 2))
    dtypes = [np.dtype(float), np.dtype(bool), np.dtype(np.int64)]

    def counts():
        gc.collect()
        return [sys.getrefcount(d) for d in dtypes], sys.getrefcount(x), sys.getrefcount(OTHER)

    for _ in range(100):
        jitted(x)
        jitted._short((x,))  # has a workspace of its own
    before = counts()
    tracemalloc.start()
    try:
        jitted(x)
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            jitted(x)
            assert jitted._short((wrong,)) is OTHER
            assert jitted._short((square,)) is OTHER
        assert tracemalloc.get_traced_memory()[0] - start < 2000
    finally:
        tracemalloc.stop()
    after = counts()
    assert all(abs(a - b) < 50 for a, b in zip(before[0], after[0], strict=True))
    assert before[1:] == after[1:]


def test_kernels_that_stop():
    """What was made is dropped; NumPy has the words."""
    jitted = compiled(lambda a, b: np.linalg.solve(a, b), np.eye(3), np.ones(3))
    for _ in range(50):
        with pytest.raises(np.linalg.LinAlgError):
            jitted(np.zeros((3, 3)), np.ones(3))
        np.testing.assert_array_equal(jitted(2 * np.eye(3), np.ones(3)), np.full(3, 0.5))


def test_too_many_and_too_few_arguments():
    program = linad.jit(lambda x, y: x + y).variant(np.ones(3), np.ones(3)).compiled.program
    workspace = program.borrow()
    plan = plan_of(2, program.results, [False])
    x = np.ones(3)
    np.testing.assert_array_equal(enter_making(workspace.header, plan, (x, x)), [2, 2, 2])
    for given in ((), (x,), (x, x, x), (x, 3.0), (x, None), (x, x[:2])):
        assert enter_making(workspace.header, plan, given) is OTHER


def test_no_memory():
    program = linad.jit(lambda x: x * np.ones((4, 1))).variant(np.ones(3)).compiled.program
    workspace = program.borrow()
    plan = plan_of(1, [Result((2**40, 2**15), np.dtype(float))], [False])
    for _ in range(3):
        with pytest.raises(MemoryError):
            enter_making(workspace.header, plan, (np.ones(3),))


def test_threads():
    jitted = compiled(lambda x: (np.sin(x), np.sum(x)), np.ones(50))

    def work(k):
        x = np.full(50, float(k))
        for _ in range(500):
            y, total = jitted(x)
            assert np.allclose(y, np.sin(k))
            assert total == 50.0 * k

    together(6, work)


@pytest.mark.compiles
def test_other_threads_may_come_by_while_a_twin_is_compiled(monkeypatch):
    """Python runs in the midst of a call then, and the plan of the call is everybody's."""
    kernel = range_guards.cache.kernel

    def slowly(*args):
        time.sleep(0.02)
        return kernel(*args)

    f = linad.jit(lambda x: (np.sin(x) * np.cos(x) + x / 7, np.sum(np.sin(x))))
    x = np.linspace(0, 1, 50)
    for _ in range(4):
        near = f(x)
    monkeypatch.setattr(range_guards.cache, "kernel", slowly)
    running, wrong = threading.Event(), []

    def others():
        while not running.is_set():
            wrong.extend([k for k in (0, 1) if not np.array_equal(f(x)[k], near[k])])

    thread = threading.Thread(target=others)
    thread.start()
    far = x * 1e12
    y, total = f(far)
    running.set()
    thread.join()
    assert not wrong
    np.testing.assert_allclose(y, np.sin(far) * np.cos(far) + far / 7, rtol=1e-15)
    assert total == pytest.approx(np.sum(np.sin(far)))
