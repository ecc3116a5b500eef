"""A Series of pandas beside a traced value: its numbers count, its index does not.

A stand-in takes the part of pandas, by the rules of its operators: they leave the operation to
what has a higher ``__pandas_priority__``, and make a plain array of anything else.
"""

import numpy as np
import pytest

import linad
from linad.errors import TracerError

X = np.array([1.0, 2.0, 4.0])


class Series:
    __pandas_priority__ = 3000
    __array_priority__ = 1000
    __module__ = "pandas.core.series"

    def __init__(self, values):
        self.values = np.asarray(values)

    def to_numpy(self):
        return self.values

    def __array__(self, dtype=None, copy=None):
        return self.values

    def _apply(self, ufunc, a, b):
        other = b if a is self else a
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Series(ufunc(np.asarray(a), np.asarray(b)))

    def __mul__(self, other):
        return self._apply(np.multiply, self, other)

    def __rmul__(self, other):
        return self._apply(np.multiply, other, self)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        if any(getattr(x, "__array_priority__", 0) > self.__array_priority__ for x in inputs):
            return NotImplemented
        return self._apply(ufunc, *inputs)


class Frame(Series):
    """A subclass, in a module of its own."""

    __module__ = "somewhere"


@pytest.mark.parametrize("kind", [Series, Frame])
def test_the_numbers_count(kind):
    s = kind([3.0, 5.0, 7.0])
    for f in (
        lambda x: x * s,
        lambda x: s * x,
        lambda x: np.multiply(x, s),
        lambda x: np.multiply(s, x),
    ):
        y, J = linad.linearize(f, X)
        assert np.array_equal(y, X * s.values)
        assert np.array_equal(J.todense(), np.diag(s.values))
    assert np.array_equal(linad.jacobian(lambda x: x @ kind(np.eye(3)))(X), np.eye(3))


def test_where_pandas_wants_plain_numbers_it_is_told():
    namespace = {"__name__": "pandas.core.construction", "np": np}
    exec("def construct(x):\n    return np.asarray(x)", namespace)
    with pytest.raises(TracerError, match="as pandas does.*to_numpy"):
        linad.grad(lambda x: np.sum(namespace["construct"](x)))(X)


def test_a_series_as_the_point():
    assert np.array_equal(linad.grad(lambda x: np.sum(x**2))(Series(X)), 2 * X)


def test_what_is_no_array_still_has_its_own_operators():
    class Unit:
        def __rmul__(self, other):
            return other * 2.0

    assert np.array_equal(linad.grad(lambda x: np.sum(x * Unit()))(X), [2, 2, 2])
