"""Short loops are run by NumPy while a function is recorded; long ones are compiled."""

import warnings

import numpy as np
import pytest

import linad
from linad.control import first_runs
from linad.control.control_primitive import ControlPrimitive

pytestmark = pytest.mark.usefixtures("kernels")


def looped(n):
    def f(x):
        y = linad.scan(lambda y, _: (np.sin(y) + x, y * x), x, length=n)[0]
        return linad.while_loop(lambda y: y < n, lambda y: y * 1.5 + 1.0, y)

    return f


def nested(n):
    def f(x):
        def step(y, _):
            return linad.while_loop(lambda z: z < 9.0, lambda z: z * 1.5 + x, 0.1 * y), None

        return linad.scan(step, x, length=n)[0]

    return f


def loops_of(f, x):
    value, tape = linad.trace(f, x)
    return value, [e.primitive for e in tape.equations if isinstance(e.primitive, ControlPrimitive)]


@pytest.mark.parametrize("f", [looped(20), nested(5)], ids=["looped", "nested"])
def test_a_short_loop_is_not_compiled(f):
    value, loops = loops_of(f, 0.7)
    assert all(loop._runner is None for loop in loops)
    np.testing.assert_allclose(value, f(0.7), rtol=1e-14)


@pytest.mark.parametrize("f", [looped(20), nested(5)], ids=["looped", "nested"])
def test_a_long_loop_is_compiled(f, monkeypatch):
    monkeypatch.setattr(first_runs, "WORTH", 2)
    value, loops = loops_of(lambda x: 1.01 * f(1.02 * x), 0.7)
    assert loops[0]._runner is not None
    np.testing.assert_allclose(value, 1.01 * f(1.02 * 0.7), rtol=1e-14)


def test_a_loop_that_is_met_again_and_again_is_compiled():
    f = looped(30)
    used = 0
    while used < 100:
        used += 1
        loop = loops_of(f, 0.3)[1][0]
        if loop._runner is not None:
            break
    assert 1 < used < 100


def test_a_loop_that_is_known_to_be_long_is_not_begun(monkeypatch):
    begun = []
    run = first_runs.FirstRun.__call__

    def counted(self, body, values):
        begun.append(body)
        return run(self, body, values)

    monkeypatch.setattr(first_runs.FirstRun, "__call__", counted)
    loops_of(lambda x: linad.scan(lambda y, _: (np.cos(y) * x, None), x, length=5)[0], 0.3)
    assert len(begun) == 5
    loops_of(lambda x: linad.scan(lambda y, _: (np.cos(y) * x, None), x, length=5000)[0], 0.3)
    assert len(begun) == 5


def test_large_arrays_count_for_more():
    x = np.linspace(0, 1, 40_000)
    loops = loops_of(lambda x: linad.scan(lambda y, _: (y * x + 1, None), x, length=20)[0], x)[1]
    assert loops[0]._runner is not None


def test_it_warns_no_more_than_compiled_code():
    def f(x):
        return linad.scan(lambda y, _: (np.exp(y), np.exp(y) - 1), x, length=9)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert linad.trace(f, 1.0)[0] == np.inf
