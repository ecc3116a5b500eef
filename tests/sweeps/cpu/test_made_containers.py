"""Containers that compiled code makes: as Python's own, counted as they should be."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest
from compiled_runs import direct

import linad
from linad.sweeps.cpu import made_results

pytestmark = pytest.mark.skipif(made_results.TABLE is None, reason="Python makes the results")

CONTAINERS = {
    "one in a tuple": lambda x: (2 * x,),
    "one in a list": lambda x: [2 * x],
    "one in a dictionary": lambda x: {"a": np.sum(x)},
    "a tuple in a tuple": lambda x: (np.sum(x), (2 * x,)),
    "in another order": lambda x: {"b": 2 * x, "a": np.sum(x)},
    "deep": lambda x: [[([{"a": [2 * x]}],), np.max(x)], {}],
    "all kinds": lambda x: (np.sum(x), [x + 1, {"b": x * 3, "a": (np.max(x),)}], (), [], {}),
    "constants": lambda x: [2 * x, 3, "text", None, {"a": True, "b": 2.5}],
    "several": lambda x: tuple([[k * x, k * np.sum(x)] for k in range(7)]),
}


def same(a, b):
    """Whether containers are alike, in types, order and leaves."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        assert gc.is_tracked(a) or type(a) is tuple  # which it lets go of those that hold numbers
        return all(same(u, v) for u, v in zip(a, b, strict=True))
    np.testing.assert_array_equal(a, b)
    return True


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name):
    f = CONTAINERS[name]
    jitted = direct(f, np.ones(4))
    for k in range(3):
        x = np.arange(4.0) + k
        assert same(jitted(x), f(x))


def test_each_call_makes_its_own():
    jitted = direct(CONTAINERS["all kinds"], np.ones(4))
    first, second = jitted(np.ones(4)), jitted(np.zeros(4))
    first[1].append(1)
    first[1][1]["c"] = 2
    first[4]["d"] = 3
    assert same(second, CONTAINERS["all kinds"](np.zeros(4)))
    assert same(jitted(np.ones(4)), CONTAINERS["all kinds"](np.ones(4)))


@pytest.mark.parametrize("name", CONTAINERS)
def test_nothing_is_left_behind(name):
    jitted, x = direct(CONTAINERS[name], np.ones(4)), np.ones(4)
    for _ in range(100):
        jitted(x)
    gc.collect()
    before = [sys.getrefcount(x), sys.getrefcount(None)]
    tracemalloc.start()
    try:
        for _ in range(500):  # Python keeps some empty containers for the next
            jitted(x)
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            jitted(x)
        assert tracemalloc.get_traced_memory()[0] - start < 2000
    finally:
        tracemalloc.stop()
    assert sys.getrefcount(x) == before[0]
    assert abs(sys.getrefcount(None) - before[1]) < 50


def set_allocator_that_fails_after(n):
    """Let the allocator of CPython's own tests fail at its n-th call from here; then work again."""
    testing = pytest.importorskip("_testcapi")
    testing.set_nomemory(n, n + 1)
    return testing.remove_mem_hooks


@pytest.mark.parametrize("name", ["all kinds", "deep"])
def test_no_memory(name):
    """What was made by then goes with the container that it was put into."""
    jitted, x = direct(CONTAINERS[name], np.ones(4)), np.arange(4.0)
    held = sys.getrefcount(x)
    failed = 0
    for n in range(40):
        for _ in range(20):
            restore = set_allocator_that_fails_after(n)
            try:
                found = jitted(x)
            except MemoryError:
                failed += 1
                found = None
            finally:
                restore()
        assert found is None or same(found, CONTAINERS[name](x))
    assert failed
    assert sys.getrefcount(x) == held
    assert same(jitted(x), CONTAINERS[name](x))


def test_value_and_grad_of_some_arguments():
    f = linad.value_and_grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    x, y = np.arange(3.0), np.ones(3)
    jitted = direct(f, x, y)
    value, (over_x, over_y) = jitted(x, y)
    assert value == 3.0
    np.testing.assert_array_equal(over_x, y)
    np.testing.assert_array_equal(over_y, x)
