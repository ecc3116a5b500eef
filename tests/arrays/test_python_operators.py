"""The operators of a traced array: how an operation finds its trace."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive

BESIDE = [2, 2.0, np.float64(2.0), np.array([2.0, 3.0])]


@pytest.mark.parametrize("other", BESIDE, ids=lambda other: type(other).__name__)
def test_the_trace_is_known_beside_a_plain_operand(other, monkeypatch):
    """Not every argument is asked: the primitive itself is not called."""

    def asked(self, *args, **params):
        raise AssertionError(f"{self.name} looked for a trace among its arguments")

    def f(x):
        with monkeypatch.context() as m:
            m.setattr(Primitive, "__call__", asked)
            return x * other - x if hasattr(other, "dtype") else other * x * other - x * other

    x = np.array([0.5, 1.5])
    factor = other - 1.0 if hasattr(other, "dtype") else other * other - other
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(y, factor * x)
    np.testing.assert_allclose(J @ np.ones(2), factor * np.ones(2))


def test_lists_of_traced_numbers_beside_a_traced_array():
    x = np.array([1.0, 2.0])
    J = linad.jacobian(lambda x: x * [x[1], x[0]] + (x[0], 3))(x)
    np.testing.assert_array_equal(J, [[3.0, 1.0], [2.0, 1.0]])
    J = linad.jacobian(lambda x: [[x[0], 1.0], [0, x[1]]] @ x)(x)
    np.testing.assert_array_equal(J, [[2.0, 1.0], [0.0, 4.0]])
