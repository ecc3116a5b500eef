"""Indices in canonical form: they read, and write, what NumPy's own do."""

import numpy as np
import pytest

from linad.core.indices import BasicIndex, canonical

X = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
MASK = np.arange(12).reshape(3, 4) % 5 < 2
INDICES = {
    "basic": (1, slice(None, None, -2), None, ..., 2),
    "negative": (-1, -2),
    "array": np.array([[0, 1], [1, -1]]),
    "adjacent": (slice(None), np.array([0, 2]), np.array([[1], [3]])),
    "separated": (np.array([0, 1]), slice(1, None), np.array([3, 0])),
    "by an ellipsis": (np.array([0, 1]), ..., 2),
    "by an empty one": (0, 1, np.array([1, 2]), ..., 2),
    "by a new axis": (0, None, np.array([1, 2])),
    "mask": (slice(None), MASK),
    "mask of an axis": (..., np.array([True, False, True, True, False])),
    "true": True,
    "false": (slice(None), False, 1),
    "true between": (0, True, slice(None), np.array([1, 1])),
    "nothing": [],
    "everything": (),
}


@pytest.mark.parametrize("name", INDICES)
def test_reading(name):
    """Behind leading axes of seeds as well."""
    index = INDICES[name]
    shape, axes, made = canonical(index, X.shape)
    for lead in ((), (2,)):
        x = np.broadcast_to(X, lead + X.shape).reshape(lead + shape)
        if axes is not None:
            x = np.transpose(x, (*range(len(lead)), *[k + len(lead) for k in axes]))
        found, expected = x[made.seeded], X[index]
        np.testing.assert_array_equal(found, np.broadcast_to(expected, lead + expected.shape))


@pytest.mark.parametrize(
    "index, twice",
    [
        (np.array([0, 1]), False),
        (np.array([1, 0]), False),
        (np.array([0, -2]), True),
        ((np.array([0, 1, 0]), np.array([0, 1, 2])), False),
        ((np.array([0, 1, 0]), np.array([2, 1, -1])), True),
        ((np.array([0, 1, 0]), 1), True),
        (slice(None), False),
    ],
)
def test_entries_that_are_read_twice(index, twice):
    made = canonical(index, X.shape)[2]
    assert made.repeats(X.shape) == made.repeats((7, *X.shape)) == twice
    assert not BasicIndex((0,)).repeats(X.shape)


@pytest.mark.parametrize(
    "index, words",
    [
        (1.5, "are indices, got float"),
        ("name", "a traced array has no labels"),
        ((0, 0, 0, 0, 0), "4-dimensional, but 5 were indexed"),
        ((..., 0, ...), "single ellipsis"),
        ((slice(None), MASK[:2]), "boolean index did not match"),
    ],
)
def test_what_is_no_index(index, words):
    with pytest.raises(IndexError, match=words):
        canonical(index, X.shape)
