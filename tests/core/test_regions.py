"""Regions of arrays, read and written."""

import itertools

import numpy as np
import pytest

from linad.core.regions import Positions, counted_window
from linad.core.view_regions import region_of


def test_the_entry_of_numbers_that_do_not_lie_side_by_side():
    """A mask chose a number, of which there is one for each seed."""
    region, seeds = Positions(np.array([0]), 0), np.arange(6.0)[::2]
    np.testing.assert_array_equal(region.take(seeds), [[0.0], [2.0], [4.0]])
    region.put(seeds, np.array([[5.0], [6.0], [7.0]]))
    np.testing.assert_array_equal(seeds, [5.0, 6.0, 7.0])


INDICES = [
    0,
    -1,
    2,
    3,
    -4,
    slice(None),
    slice(1, -1),
    slice(None, None, -1),
    slice(5, 0, -2),
    slice(2, 2),
]


@pytest.mark.parametrize("shape", [(), (3,), (3, 1, 4), (2, 0)])
def test_windows_that_are_counted_are_those_of_numpy_s_views(shape):
    base = np.zeros(shape)
    strides = tuple([s // base.itemsize for s in base.strides])
    for n in range(len(shape) + 2):
        for index in itertools.product(INDICES, repeat=n):
            try:
                view = base[(*index, ...)]
            except IndexError:
                view = None
            found = [
                counted_window(index, 0, shape, base.strides, base.itemsize, base.ndim),
                counted_window((*index, ...), 0, shape, strides, 1, base.ndim),
            ]
            if view is None:
                assert found == [None, None]
            else:
                assert [w.key for w in found] == [region_of(view, base).key] * 2


@pytest.mark.parametrize("index", [(None,), (np.int64(1),), (True,), (..., 0), ([0, 1],)])
def test_other_indices_are_not_counted(index):
    assert counted_window(index, 0, (3, 4), (4, 1), 1, 2) is None
