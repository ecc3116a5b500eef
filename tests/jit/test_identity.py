"""Which arguments are one object, and which functions ask for that."""

import functools
import sys

import numpy as np
import pytest

import linad
from linad.jit.identity import compares_objects, first_of_each, memory_of_all


def asks(x, y):
    return x is y


def asks_not(x, y):
    return x is None or y is not None


def calls(x, y):
    return asks(x, y) + 1.0


def holds(x, y):
    return [a for a in (x, y) if any(a is b for b in (x, y))]


@pytest.mark.parametrize(
    "f, found",
    [
        (asks, True),
        (asks_not, False),
        (calls, True),
        (holds, True),
        (functools.partial(asks, 1), True),
        (lambda x, y: x == y, False),
        (np.sum, False),
    ],
)
def test_who_asks(f, found):
    assert compares_objects(f) == found


def test_one_object():
    a, b = np.ones(2), np.ones(2)
    assert first_of_each([a, b, a, 3, 3, b]) == [0, 1, 0, 3, 4, 1]


def test_shared_memory():
    base = np.zeros(8)
    same = [memory_of_all([x[:4], x[2:], x[6:]]) for x in (base, np.ones(8))]
    assert same[0] == same[1]
    assert same[0] != memory_of_all([base[:4], base[1:], base[6:]])
    assert same[0] != memory_of_all([base[:4], base[2:].copy(), base[6:]])
    frozen = base[:4]
    frozen.flags.writeable = False
    assert same[0] != memory_of_all([frozen, base[2:], base[6:]])


WEIGHTS, DEFAULT = np.ones(2), np.ones(2)


def weighted(x):
    return x * WEIGHTS if WEIGHTS is DEFAULT else x * WEIGHTS + DEFAULT


def test_arrays_outside_that_become_one(monkeypatch):
    x, jitted = np.array([0.5, 0.7]), linad.jit(weighted)
    for weights in (DEFAULT, DEFAULT, np.ones(2), np.ones(2), DEFAULT, np.full(2, 3.0)):
        monkeypatch.setattr(sys.modules[__name__], "WEIGHTS", weights)
        for _ in range(2):
            np.testing.assert_array_equal(jitted(x), weighted(x))
