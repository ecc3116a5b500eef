"""Whether traced numbers are known to be the same."""

import numpy as np
import pytest

import linad
from linad.transforms.likeness import alike

X = np.array([0.3, 0.3, 0.5])

PAIRS = {
    "an object": (lambda x: (s := x[0], s), True),
    "an entry": (lambda x: (x[0], x[0]), True),
    "entries": (lambda x: (x[0], x[1]), False),
    "sums": (lambda x: (x[0] + x[2], x[0] + x[2]), True),
    "other sums": (lambda x: (x[0] + x[2], x[1] + x[2]), False),
    "sines": (lambda x: (np.sin(x)[0], np.sin(x[:2])[0]), False),
    "rows": (lambda x: (np.sin(x[::-1])[2], np.sin(x[::-1])[2]), True),
    "factors": (lambda x: (2.0 * x[0], x[0] * 2.0 * 1.0), False),
    "kinds": (lambda x: (x[0], 0.3), False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_recorded_and_linearized(name):
    f, same = PAIRS[name]
    found = []

    def g(x):
        a, b = f(x)
        found.append(alike(a, b))
        return a + b

    linad.linearize(g, X)
    linad.trace(g, X)
    assert found == [same] * 2


def test_pushed():
    found = []

    def g(x):
        found.extend([alike(x[0], x[1]), alike(2.0 * x[0], x[1] + x[0])])
        return np.sum(x)

    linad.jvp(g, (X,), (np.array([1.0, 2.0, 0.0]),))
    linad.jvp(g, (X,), (np.array([2.0, 2.0, 0.0]),))
    assert found == [False, False, True, True]


def test_the_traces_around_count():
    found = []

    def g(y):
        def inner(x):
            a, b = x[0] + y[0], x[0] + y[1]
            found.extend([alike(a, b), alike(a, x[0] + y[0])])
            return a + b

        return linad.grad(inner)(X)

    linad.jacobian(g)(X)
    assert found == [False, True]


def test_plain_parts():
    assert alike((1.0, [X, slice(2)]), (1.0, [X.copy(), slice(2)]))
    assert not alike([1.0], [1])
    assert not alike(X, X[:2])
    assert not alike(object(), object())
