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


BESIDE_LISTS = {
    "product": lambda x: [x[0], x[1], 1.0] * x,
    "difference": lambda x: x - (x[1], x[0], 2.0),
    "power": lambda x: x ** [x[0], 2.0, 1.0],
    "matrix": lambda x: np.outer(x, x) @ [x[0], x[1], x[2]],
    "lists in a list": lambda x: np.stack([x, x]) * [[x[0], 1.0, 2.0], [x[1], 3.0, x[2]]],
    "arrays in a list": lambda x: [x, 2 * x] * np.stack([x, x]),
    "ufunc": lambda x: np.multiply([x[0], x[1], 1.0], x),
    "maximum": lambda x: np.maximum(x, [x[2], x[1], 1.0]),
    "where": lambda x: np.where(x > 1.5, [x[0], x[1], 1.0], x),
    "clip": lambda x: np.clip(x, [x[0] - 1, x[0] - 2, 0.0], [5.0, 5.0, x[1]]),
    "correlate": lambda x: np.correlate([x[0], x[1], 2.0], x, "full"),
}


@pytest.mark.parametrize("f", BESIDE_LISTS.values(), ids=BESIDE_LISTS)
def test_lists_of_traced_numbers_beside_a_traced_array(f):
    x, h = np.array([1.0, 2.0, 3.0]), 1e-6
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(linad.jacobian(f)(x), np.stack(columns, axis=-1), atol=1e-6)


def test_numbers_beside_single_precision_stay_weak():
    x = np.float32([1.0, 2.0])
    for f in (lambda x: np.where(x > 1.5, x, 1.0), lambda x: np.clip(x, 0.5, 1.5)):
        assert linad.linearize(f, x)[0].dtype == np.float32
