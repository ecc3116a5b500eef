"""Subclasses of ndarray that call ``np.ndarray.__new__`` with what they hold."""

import numpy as np
import pytest

import linad

SOURCE = """
import numpy as np

class State(np.ndarray):
    def __new__(cls, entries, unit):
        held = np.array([float(v) for v in entries])
        made = np.ndarray.__new__(cls, (3,), buffer=held, dtype=float)
        made.unit = unit
        return made

    def __array_finalize__(self, source):
        if source is not None:  # which has a unit, being a State
            self.unit = source.unit

    def scaled(self, factor):
        new = self.copy()
        new[:] = factor * np.asarray(self)
        return new

    def turn(self, by):
        self.base.setfield([self[0] * by, self[1], self[2]], dtype=float)

def product(x):
    return (State(x, "m") * State(x**2, "s")).scaled(x[1])

def in_place(x):
    state = State(x, "m")
    state.turn(x[2])
    return state * state
"""

X = np.array([0.3, 0.5, 0.7])


@pytest.mark.parametrize("name", ["product", "in_place"])
def test_subclasses_made_by_new(installed, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    slopes = [np.asarray(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    with linad.adopt(package.__name__):
        found = linad.jacobian(f)(X)
        jitted = linad.jacobian(linad.jit(f))(X)
    np.testing.assert_allclose(found, np.stack(slopes, axis=-1), atol=1e-8)
    np.testing.assert_allclose(jitted, found)
