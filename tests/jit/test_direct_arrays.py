"""Arrays from outside that only meet traced values are read at each run; others are compared."""

import numpy as np
import pytest

import linad
from linad.core.tape import unchanged
from linad.jit.traced_results import GIVING, PAIRS

X = np.array([[0.5, 1.0], [2.0, -3.0]])
W = np.array([[1.0, 2.0], [3.0, 4.0]])


def compares(f):
    tape = linad.jit(f).variant(X).tape
    return any(e.primitive is unchanged for e in tape.equations)


ONE = ["abs"] + [f"np.{f.__name__}" for f in GIVING - PAIRS - {abs, np.where, np.clip}]
MEETINGS = [
    *[f"{name}(x) * W" for name in sorted(ONE)],
    *[f"np.{name}(x, W)" for name in sorted(f.__name__ for f in PAIRS)],
    *["np.where(x > 0, x, x) * W", "np.clip(x, 0.0, 1.0) * W"],
    *["x.T @ W", "x.sum() * W", "x.dot(W)"],
]


@pytest.mark.parametrize("text", MEETINGS)
def test_arrays_that_meet_traced_values(text):
    """The code of a function tells, so each has code of its own."""
    assert not compares(eval(f"lambda x: {text}"))


def test_what_plain_numpy_makes_something_of_is_compared():
    assert compares(lambda x: x * np.sum(W))
    assert compares(lambda x: x * (W * 2))
    assert not compares(lambda x: abs(x) * W)
