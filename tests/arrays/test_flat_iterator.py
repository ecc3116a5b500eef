"""``x.flat`` of a traced array: it reads, iterates and is written as NumPy's."""

import numpy as np
import pytest

import linad

X = np.arange(6.0).reshape(2, 3)
KEYS = [0, -1, slice(1, None, 2), slice(None), ..., [1, 4], np.array([0, -1, 0]), (2,)]
KEYS += [X.ravel() > 2]


def traced(f, x):
    """What a function does to a traced copy: the value."""
    return linad.linearize(lambda x: f(x.copy()) + 0.0 * x.flat[0], x)[0]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key):
    expected = X.flat[key]
    found = traced(lambda x: x.flat[key] * 1.0, X)
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("value", [7.0, [1.0, 2.0], np.arange(9.0)], ids=repr)
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing(key, value):
    def write(x):
        x.flat[key] = value
        return x

    try:
        expected = write(X.copy())
    except ValueError:
        with pytest.raises(ValueError, match="single item of array"):
            traced(write, X)
        return
    np.testing.assert_array_equal(traced(write, X), expected)
    kept = np.isnan(write(np.full_like(X, np.nan)))
    J = linad.jacobian(lambda x: write(x.copy()) + 0.0 * x)(X).reshape(6, 6)
    np.testing.assert_array_equal(J, np.diag(kept.ravel()))


def test_iteration_and_functions():
    assert traced(lambda x: sum(v**2 for v in x.flat), X) == np.sum(X**2)
    assert traced(lambda x: len(x.flat) * x, X)[0, 1] == 6.0
    np.testing.assert_array_equal(traced(lambda x: np.sin(x.T.flat), X), np.sin(X.T.flat))


def test_what_is_read_while_it_is_written():
    def shift(x):
        x.flat[1:] = x.reshape(-1)[:-1]
        return x

    np.testing.assert_array_equal(traced(shift, X), shift(X.copy()))


def test_places_that_are_not_there():
    def write(x):
        x.flat[[1, 9, 2]] = 5.0
        return x

    with pytest.raises(IndexError, match="out of bounds"):
        traced(write, X)
