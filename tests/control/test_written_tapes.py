"""Tapes that are written out give what their operations give, one after the other."""

import numpy as np

from linad.control import written_tapes
from linad.control.captured import Closed
from linad.control.written_tapes import written


def recorded(f, *x):
    return Closed(lambda x: f(*x), (), x).paths[0].tape


def test_a_written_tape_gives_the_same():
    """Numbers, arrays, constants, parameters, and operations of several results."""

    def f(t, y):
        rate = np.exp(-2.0 * t) + y[0] / 3.0
        w, vectors = np.linalg.eigh(np.outer(y, y) + np.diag(np.arange(40.0)))
        return np.concatenate([rate * y, w, vectors[:, 0] ** 2, np.stack([rate, t])])

    y = np.cos(np.arange(40.0))
    tape = recorded(f, np.float64(0.3), y)
    for t in (0.3, 1.7):
        read = [] if len(tape.inputs) == 2 else [np.diag(np.arange(40.0))]
        given = [np.float64(t), y + t, *read]
        (expected,), (found,) = tape.run(given), written(tape)(*given)
        np.testing.assert_array_equal(found, expected)


def test_guards_are_left_out():
    """The path that was recorded goes on where Python would take another."""
    tape = recorded(lambda x: 2.0 * x if x > 0 else -x, np.float64(1.0))
    assert written(tape)(np.float64(-3.0)) == (-6.0,)


def test_a_tape_that_is_recorded_anew_is_compiled_once():
    written_tapes._maker.cache_clear()
    for c in (2.0, 3.0):
        tape = recorded(lambda x, c=c: c * np.sin(x), np.float64(1.0))
        assert written(tape)(np.float64(0.5)) == (c * np.sin(0.5),)
    assert written_tapes._maker.cache_info().misses == 1
