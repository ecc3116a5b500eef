"""Traced values inside objects, and functions that are cached by such objects."""

import numpy as np

import linad
from linad.adoption.reached import reaches_traced

SOURCE = """
import functools

import numpy as np

class State:
    __slots__ = ("parts",)

    def __init__(self, vector):
        self.parts = {"vector": [vector]}

class Model:
    calls = 0

    @functools.lru_cache
    def predict(self, state):
        Model.calls += 1
        return np.array([state.parts["vector"][0][0], [0.5] * 2])

MODEL, FIXED = Model(), State(np.ones((1, 2)))

def predicted(x):
    state = State(x.reshape(1, 2))
    return MODEL.predict(state)[0] * MODEL.predict(state)[0] * MODEL.predict(FIXED)[1]
"""


def test_cached_functions_of_objects_that_hold_traced_values(installed):
    package = installed(SOURCE)
    x = np.array([0.3, 0.7])
    with linad.adopt(package):
        for _ in range(2):
            np.testing.assert_allclose(linad.jacobian(package.predicted)(x), np.diag(x))
        calls = package.Model.calls
        package.predicted(x)
        assert package.Model.calls == calls + 1  # the state that is new; not the fixed one


def test_what_is_looked_into():
    def look(x):
        inner = type("Owner", (), {})()
        inner.parts = ({"a": {1, 2}}, (x,))
        inner.itself = inner
        assert reaches_traced([inner])
        assert not reaches_traced([1.0, "a", np.ones(3), None, type, look])
        inner.parts = ()
        assert not reaches_traced([inner])
        assert reaches_traced([[[k] for k in range(2000)]])  # too many to say no
        return x

    linad.jvp(look, (1.0,), (1.0,))
